"""`Reminders` in memory."""

from datetime import datetime, timedelta

from lakegate.landing.files import FileVersion
from lakegate.testing.clock import MemoryClock


class MemoryReminders:
    """`Reminders` that wait for a test to take those that are due."""

    def __init__(self, clock: MemoryClock) -> None:
        self._clock = clock
        self.reminders: list[tuple[datetime, FileVersion]] = []

    def remind(self, file: FileVersion, after: timedelta) -> None:
        self.reminders.append((self._clock.now() + after, file))

    def take_due(self) -> list[FileVersion]:
        """Return the files whose reminders come by now, and forget them."""
        now = self._clock.now()
        due = [file for at, file in self.reminders if at <= now]
        self.reminders = [(at, file) for at, file in self.reminders if at > now]
        return due
