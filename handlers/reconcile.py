"""A rule's schedule → reconcile. An unfinished step fails the invocation, so that the alarm goes off."""

from typing import Any

from handlers.runtime import service
from lakegate.workflow.reconcile import sweep


def handler(_event: dict[str, Any], _context: object) -> None:
    """Sweep once."""
    sweep(service())
