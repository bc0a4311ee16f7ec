"""Exit codes, and texts for errors: the only place where an error becomes either. It knows no command."""

from enum import IntEnum
from typing import TypeGuard

from lakegate.errors import Conflict, ContractFaults, LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.operations.wire import FunctionFault


class Exit(IntEnum):
    """Exit codes that a script may rely on."""

    SUCCESS = 0
    REJECTED = 1  # a file was rejected, a contract has faults, or an invariant forbids it
    MISUSE = 2  # the command, its arguments or the settings must change
    UNREACHABLE = 3  # a service does not answer, or work is not finished: try again
    FAULT = 70  # a fault in lakegate itself
    UNREAD = 141  # the reader of the output has gone; shells use this code


_OF_FILES = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
CODES: dict[type[LakegateError], Exit] = {
    ContractFaults: Exit.REJECTED,
    Refused: Exit.REJECTED,
    Misconfigured: Exit.MISUSE,
    Retryable: Exit.UNREACHABLE,
    OutcomeUnknown: Exit.UNREACHABLE,
    Conflict: Exit.UNREACHABLE,
}


def exit_code(error: Exception) -> Exit:
    if _is_about_a_file(error):
        return Exit.MISUSE
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), Exit.FAULT)


def _is_about_a_file(error: Exception) -> TypeGuard[OSError]:
    """Return True if the error is about a file of this machine: a named path that can't be read or written. Arrow names
    the path in its message alone.
    """
    return isinstance(error, _OF_FILES) or (isinstance(error, OSError) and error.filename is not None)


def paragraph(error: Exception) -> str:
    """Return the text that a person reads instead of a traceback, with notes on the work that is done at the end."""
    return "\n".join([_error_text(error), *getattr(error, "__notes__", ())])


def _error_text(error: Exception) -> str:
    if isinstance(error, OutcomeUnknown):
        return f"{error}\nIt may have happened nevertheless. Before you try again, run: lakegate status"
    if isinstance(error, LakegateError):
        return str(error)
    if _is_about_a_file(error):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"unexpected {type(error).__name__}: {error}\nThis is a fault in lakegate itself; {_place_of_error(error)}."


def _place_of_error(error: Exception) -> str:
    if isinstance(error, FunctionFault):
        return "the log of the function that was asked shows where"
    return "the same command with LAKEGATE_DEBUG=1 shows where"
