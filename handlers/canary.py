"""A rule's schedule → a canary lands."""

from typing import Any

from handlers.packages import unpack
from handlers.runtime import service
from lakegate.workflow.receiving.canary import drop_canary


def handler(_event: dict[str, Any], _context: object) -> None:
    """Drop one canary, a file that Arrow writes."""
    unpack()
    drop_canary(service())
