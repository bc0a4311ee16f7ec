"""`Channel` in memory."""

from lakegate.errors import LakegateError
from lakegate.ports import Event


class MemoryChannel:
    """`Channel` that keeps its events. With `failing` set it keeps none and raises that error."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.error: LakegateError | None = None

    def send(self, event: Event) -> None:
        if self.error:
            raise self.error
        self.events.append(event)
