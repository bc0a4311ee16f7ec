"""Wire: operations, answers and errors as JSON, between a command line and the installation's functions.

The two may be of different releases. A format, a name or a member that the reader does not know is an error, because an
argument that is passed over may be the one that matters.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from lakegate.audit.model.codec import PARSE_ERRORS, from_plain, to_plain
from lakegate.errors import (
    Conflict,
    ContractFaults,
    Fault,
    Misconfigured,
    OutcomeUnknown,
    Refused,
    Retryable,
)
from lakegate.landing.attempts import Attempt
from lakegate.operations.operation import Operation
from lakegate.workflow.retry import UnderWay

FORMAT = 1
LARGEST = 6 * 1024**2 - 1024  # bytes of a function's request and of its answer, less their headers
KINDS = {kind.__name__: kind for kind in (Retryable, OutcomeUnknown, Conflict, Refused, Misconfigured)}
T = TypeVar("T")


class UnreadableError(Exception):
    """An answer that this release cannot read."""


class FunctionFault(Exception):
    """A fault in lakegate itself, in the function that was asked. The function's log has its traceback."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An error on its way. `kind` is its class's name; `attempt` is UnderWay's, `source` and `faults` are
    ContractFaults'.
    """

    kind: str
    message: str
    notes: tuple[str, ...] = ()
    attempt: Attempt | None = None
    source: str = ""
    faults: tuple[Fault, ...] = ()

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        kind, lines = type(error).__name__, tuple(getattr(error, "__notes__", ()))
        if isinstance(error, UnderWay):
            return cls(kind=kind, message=str(error), notes=lines, attempt=error.attempt)
        if isinstance(error, ContractFaults):
            return cls(kind=kind, message=str(error), notes=lines, source=error.source, faults=error.faults)
        return cls(kind=kind, message=str(error), notes=lines)

    def error(self) -> Exception:
        """Return the error that was sent. A class that is none of lakegate's errors is a fault of the function."""
        error = self._error()
        for line in self.notes:
            error.add_note(line)
        return error

    def _error(self) -> Exception:
        if self.attempt:
            return UnderWay(self.attempt)
        if self.kind == ContractFaults.__name__:
            return ContractFaults(self.source, self.faults)
        kind = KINDS.get(self.kind)
        return kind(self.message) if kind else FunctionFault(f"{self.kind}: {self.message}")


def request(operation: Operation[object]) -> str:
    """Return an operation as a function's request."""
    return _envelope_text(operation=type(operation).__name__, arguments=operation)


def read_request(text: str, kinds: Iterable[type[Operation[object]]]) -> Operation[object]:
    """Return the operation that is asked for. Raise Misconfigured if it is none of the `kinds` ones, exactly."""
    try:
        envelope = _envelope(text)
        kind = {operation.__name__: operation for operation in kinds}[envelope["operation"]]
        return _exactly(kind, envelope["arguments"])
    except UnreadableError as error:
        raise _unlike(str(error)) from error
    except PARSE_ERRORS as error:
        raise _unlike(f"it does not know this request ({type(error).__name__}: {error})") from error


def _unlike(difference: str) -> Misconfigured:
    return Misconfigured(
        f"the installation's release of lakegate differs from the command line's: {difference}. "
        f"Deploy the command line's release, or use the installation's"
    )


def answer(value: object) -> str:
    """Return what a function answers with."""
    return _envelope_text(answer=value)


def failure(error: Exception) -> str:
    """Return what a function answers with if an operation failed."""
    return _envelope_text(error=Failure.of(error))


def read_answer(kind: Any, text: str) -> Any:
    """Return an answer of this kind, or raise the error that the function answers with. Raise UnreadableError if it is
    neither.
    """
    try:
        envelope = _envelope(text)
        failure = _exactly(Failure, envelope["error"]) if "error" in envelope else None
        if not failure:
            return _exactly(kind, envelope["answer"])
    except PARSE_ERRORS as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error
    raise failure.error()


def _envelope_text(**members: object) -> str:
    """Return the outermost object. Its text is ASCII, so that no one on the way takes it for binary."""
    return json.dumps({"format": FORMAT, **to_plain(members)})


def _envelope(text: str) -> dict[str, Any]:
    """Return the outermost object. Raise UnreadableError for a newer format, or one of PARSE_ERRORS."""
    envelope = json.loads(text)
    if envelope["format"] > FORMAT:
        raise UnreadableError(f"it has format {envelope['format']}, and up to format {FORMAT} is read")
    return cast(dict[str, Any], envelope)


def _exactly(kind: type[T], plain: Any) -> T:
    """Return the value, which has no member that this release does not know."""
    value = from_plain(kind, plain)
    if unknown := sorted(set(_unknown(plain, to_plain(value)))):
        raise UnreadableError(f"this is not known here: {', '.join(unknown)}")
    return value


def _unknown(plain: Any, rebuilt: Any) -> Iterator[str]:
    """Yield the names of members that reading left out."""
    if isinstance(plain, dict):
        for name, member in plain.items():
            if name in rebuilt:
                yield from _unknown(member, rebuilt[name])
            else:
                yield name
    elif isinstance(plain, list):
        for item, other in zip(plain, rebuilt, strict=True):
            yield from _unknown(item, other)
