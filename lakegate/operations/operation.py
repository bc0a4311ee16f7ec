"""Operations as values: an operation has its arguments, the kind of its answer, and whether it changes anything."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from lakegate.ports.lake import Reading
from lakegate.workflow.service import Service

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Operation(ABC, Generic[T_co]):
    """A frozen dataclass whose members are the arguments. `answer` is the kind of what it returns."""

    answer: ClassVar[Any]
    changes: ClassVar[bool]
    hint: ClassVar[str] = "ask for less"

    @abstractmethod
    def on(self, installation: "Direct") -> T_co:
        """Carry the operation out."""

    def shorter(self) -> "Operation[T_co] | None":
        """Return the same operation with a shorter answer, or None if there is none."""
        return None


class Operations(Protocol):
    """An installation that carries operations out, here or elsewhere."""

    def run(self, operation: Operation[T]) -> T:
        """Return the operation's answer, or raise its error."""


@dataclass(frozen=True, kw_only=True)
class Direct:
    """Operations in this process. `by` names the person in main's log, and `sweep` runs reconcile once. `reading` reads
    with a person's token for the catalog, or without one as this process.
    """

    service: Service
    by: str
    sweep: Callable[[], None]
    reading: Callable[[str], Reading]

    def run(self, operation: Operation[T]) -> T:
        return operation.on(self)
