"""`Notifier` in memory."""

from lakegate.errors import OutcomeUnknown, Retryable
from lakegate.ports import Message


class MemoryNotifier:
    """`Notifier` that keeps its messages. With `failing` set it keeps none and raises that error."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.error: Retryable | OutcomeUnknown | None = None

    def notify(self, message: Message) -> None:
        if self.error:
            raise self.error
        self.messages.append(message)
