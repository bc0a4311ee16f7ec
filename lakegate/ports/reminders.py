"""Port of reminders of queued files: calls that come when their time to wait is over."""

from datetime import timedelta
from typing import Protocol

from lakegate.landing.files import FileVersion


class Reminders(Protocol):
    """Reminders are hints: each may come twice, late or never."""

    def remind(self, file: FileVersion, after: timedelta) -> None:
        """Have whoever receives files be called for this one, so much later."""
