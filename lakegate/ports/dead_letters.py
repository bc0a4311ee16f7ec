"""Port of dead letters: events that a function could not handle, however often it was called."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """An event that could not be handled: a file version landed, or a job run ended. It has neither if it is no event
    of these.
    """

    id: str
    arrival: tuple[str, str, str] | None = None  # key, version id and sequencer
    run: str = ""


class DeadLetters(Protocol):
    """Queues of dead letters."""

    def read(self) -> list[DeadLetter]:
        """Return letters, as many as a sweep has time for. They stay until they are deleted."""

    def delete(self, letters: Iterable[DeadLetter]) -> None:
        """Delete letters that this object has read."""
