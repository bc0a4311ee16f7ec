"""Port of the clock."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time and randomness, so that tests own both."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def nonce(self) -> str:
        """Return eight hex digits that no other caller has."""
