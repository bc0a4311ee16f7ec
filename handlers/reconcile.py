"""A rule's schedule → reconcile. An unfinished step fails the invocation, so that the alarm goes off."""

from typing import Any

from handlers.runtime import service
from lakegate.counts import count
from lakegate.errors import LakegateError, Retryable
from lakegate.workflow.reconcile import reconcile


def handler(_event: dict[str, Any], _context: object) -> None:
    """Sweep once."""
    errors: list[LakegateError] = reconcile(service())
    if errors:
        raise Retryable(f"{count(len(errors), 'step')} of the sweep failed. The first: {errors[0]}") from errors[0]
