"""Remote: operations that the installation's own functions carry out."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from lakegate.errors import Misconfigured, OutcomeUnknown, Refused
from lakegate.operations import wire
from lakegate.operations.operation import Operation
from lakegate.operations.wire import LARGEST

T = TypeVar("T")


class Functions(Protocol):
    """The installation's functions: one answers questions, and another carries acts out."""

    def call(self, operation: str, text: str, *, changes: bool) -> str:
        """Return the function's answer. Raise OutcomeUnknown if an act's answer is lost: it may have happened."""


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Operations in the installation. Who asks is for AWS to say, so no request names a person."""

    functions: Functions

    def run(self, operation: Operation[T]) -> T:
        text, name = wire.request(operation), type(operation).__name__
        if len(text) > LARGEST:
            raise Refused(f"{name}: the request has {len(text):,} bytes, and the limit is {LARGEST:,}. Ask for less")
        answer = self.functions.call(name, text, changes=operation.changes)
        try:
            return cast(T, wire.read_answer(operation.answer, answer))
        except wire.UnreadableError as error:
            message = (
                f"{name}: the installation's answer cannot be read: {error}. Use the installation's release of lakegate"
            )
            raise (OutcomeUnknown if operation.changes else Misconfigured)(message) from error
