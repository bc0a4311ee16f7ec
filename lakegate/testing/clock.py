"""`Clock` that stands still until a test moves it."""

from datetime import datetime, timedelta

from lakegate.testing.lake import EPOCH


class MemoryClock:
    """`Clock` that stands still until a test moves it."""

    def __init__(self, now: datetime = EPOCH) -> None:
        self.time = now
        self.nonces = 0

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def nonce(self) -> str:
        self.nonces += 1
        return f"{self.nonces:08x}"
