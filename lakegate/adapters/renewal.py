"""Tokens that are renewed in time, whoever issues them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

import structlog

from lakegate.adapters.http import SECONDS
from lakegate.errors import Retryable
from lakegate.ports import Clock

log = structlog.get_logger()
MARGIN = timedelta(minutes=5)  # before its end a token is renewed: more than any one call takes, and clocks differ
CALL = timedelta(seconds=SECONDS)  # no call takes longer
PAUSE = timedelta(seconds=30)  # before an issuer that has not answered is asked again


@dataclass(frozen=True, kw_only=True)
class IssuedToken:
    """A token, and when it expires."""

    token: str
    expires_at: datetime


class RenewedToken(ABC):
    """Tokens of one identity, each used until shortly before it expires: five minutes, or half of a shorter life. While
    the issuer does not answer, the last one is used for as long as it outlives a call.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, Lock()
        self._last = IssuedToken(token="", expires_at=datetime.min.replace(tzinfo=UTC))
        self._due = self._last.expires_at

    def token(self) -> str:
        with self._lock:
            if self._clock.now() >= self._due:
                self._renew()
            return self._last.token

    def _renew(self) -> None:
        moment = self._clock.now()
        try:
            self._last = self.issue()
        except Retryable as error:
            now, end = self._clock.now(), self._last.expires_at
            if not self._last.token or now + CALL >= end:
                raise
            log.warning("token_not_renewed", error=str(error), until=end.isoformat())
            self._due = min(now + PAUSE, end - CALL)
        else:
            self._due = self._last.expires_at - min(MARGIN, (self._last.expires_at - moment) / 2)

    @abstractmethod
    def issue(self) -> IssuedToken:
        """Ask the issuer for a new token."""
