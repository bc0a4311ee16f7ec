"""`Tokens` in memory: numbered tokens that live for a quarter of an hour."""

from datetime import datetime, timedelta
from threading import Lock

from lakegate.errors import Retryable
from lakegate.ports import Clock

LIFE, MARGIN, CALL = timedelta(minutes=15), timedelta(minutes=5), timedelta(seconds=90)


class MemoryTokens:
    """Tokens that nobody verifies. `expiries` holds when each one that was issued expires; `answers` is False while the
    issuer is out of reach.
    """

    def __init__(self, clock: Clock) -> None:
        self.expiries: dict[str, datetime] = {}
        self.answers = True
        self._clock, self._lock, self._last = clock, Lock(), ""

    def token(self) -> str:
        with self._lock:
            if self._lives_for() <= (MARGIN if self.answers else CALL):
                self._issue()
            return self._last

    def _lives_for(self) -> timedelta:
        return self.expiries[self._last] - self._clock.now() if self._last else timedelta()

    def _issue(self) -> None:
        if not self.answers:
            raise Retryable("the issuer does not answer")
        self._last = f"token {len(self.expiries) + 1}"
        self.expiries[self._last] = self._clock.now() + LIFE
