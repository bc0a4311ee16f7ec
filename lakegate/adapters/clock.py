"""`Clock`: the machine's time in UTC, and random nonces. Tests use a clock set by hand instead."""

import secrets
from datetime import UTC, datetime


class SystemClock:
    """A clock that reads the machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def nonce(self) -> str:
        return secrets.token_hex(4)
