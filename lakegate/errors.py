"""Every error that the product raises on purpose. Each class answers "what now?", and none has a vendor's words.

LakegateError
├── Retryable        nothing happened or it is safe to do again: try later
├── OutcomeUnknown   it may have happened: look before trying again
├── Conflict         another worker was first: read again and decide anew
├── Refused          an invariant forbids it: the data or the state must change first
└── Misconfigured    a person must change a setting, a contract or a command
    └── ContractFaults   the contract is wrong, with every fault by line
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


class LakegateError(Exception):
    """A root of all errors. Catch it at a process's edge, or where one step's failure must not stop the others."""


def foreseen(errors: Iterable[Exception]) -> list[LakegateError]:
    """Return the errors of many steps, once all were tried. Raise the first that is not a LakegateError, a bug."""
    every_error = list(errors)
    for error in every_error:
        if not isinstance(error, LakegateError):
            raise error
    return [error for error in every_error if isinstance(error, LakegateError)]


@contextmanager
def error_note(text: str) -> Iterator[None]:
    """Raise an error from within unchanged, with a note for people of the work that is done all the same."""
    try:
        yield
    except LakegateError as error:
        error.add_note(text)
        raise


class Retryable(LakegateError):
    """Nothing happened, or doing it again is safe."""


class OutcomeUnknown(LakegateError):
    """It may have happened: look before trying again."""


class Conflict(LakegateError):
    """Another worker changed a fact that this step relied on: read again and decide anew."""


class Refused(LakegateError):
    """An invariant forbids the step; repeating it unchanged will not help."""


class Misconfigured(LakegateError):
    """A person must change a setting, a contract or a command."""


TRANSIENT = (Retryable, OutcomeUnknown, Conflict)
"""Errors that may be gone at the next try."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of a contract; `line` counts from 1. `write` has lines that it lacks, as YAML, if it lacks any."""

    line: int
    message: str
    write: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class ContractFaults(Misconfigured):
    """A contract that cannot be loaded, with every fault found in it."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{source}:{fault.line}: {fault.message}" for fault in self.faults))
