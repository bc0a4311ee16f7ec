"""A rule's schedule → a canary lands."""

from typing import Any

from handlers.runtime import service
from lakegate.workflow.receiving.canary import drop_canary


def handler(_event: dict[str, Any], _context: object) -> None:
    """Drop one canary."""
    drop_canary(service())
