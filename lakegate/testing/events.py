"""`Channel` in memory."""

from lakegate.errors import LakegateError
from lakegate.ports import Event


class MemoryChannel:
    """`Channel` that keeps its events. With `failing` set it keeps none and raises that error."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failing: LakegateError | None = None

    def tell(self, event: Event) -> None:
        if self.failing:
            raise self.failing
        self.events.append(event)
