"""`Tokens` in memory: numbered tokens that live for a quarter of an hour."""

from datetime import datetime, timedelta
from threading import Lock

from lakegate.ports import Clock

LIFE, MARGIN = timedelta(minutes=15), timedelta(minutes=5)


class MemoryTokens:
    """Tokens that nobody verifies. `until` holds when each one that was issued expires."""

    def __init__(self, clock: Clock) -> None:
        self.until: dict[str, datetime] = {}
        self._clock, self._lock, self._last = clock, Lock(), ""

    def token(self) -> str:
        with self._lock:
            now = self._clock.now()
            if not self._last or now >= self.until[self._last] - MARGIN:
                self._last = f"token {len(self.until) + 1}"
                self.until[self._last] = now + LIFE
            return self._last
