"""Tokens that are renewed in time, whoever issues them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

from lakegate.ports import Clock

MARGIN = timedelta(minutes=5)  # before its end a token is renewed: more than any one call takes, and clocks differ


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A token, and when it expires."""

    token: str
    until: datetime


class Renewed(ABC):
    """Tokens of one identity, each used until shortly before it expires: five minutes, or half of a shorter life."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, Lock()
        self._token, self._due = "", datetime.min.replace(tzinfo=UTC)

    def token(self) -> str:
        with self._lock:
            now = self._clock.now()
            if now >= self._due:
                issued = self.issue()
                self._token, self._due = issued.token, issued.until - min(MARGIN, (issued.until - now) / 2)
            return self._token

    @abstractmethod
    def issue(self) -> Issued:
        """Ask the issuer for a new token."""
