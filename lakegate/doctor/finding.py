"""A finding: one line of what `lakegate doctor` says."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from lakegate.errors import TRANSIENT, LakegateError


class Verdict(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    WRONG = "wrong"
    UNKNOWN = "unknown"  # it could not be tried from here, or nobody has tried it


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A subject, what was found of it, and what to do about it."""

    subject: str
    verdict: Verdict
    said: str
    todo: str = ""


def ok(subject: str, message: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.OK, said=message)


def wrong(subject: str, message: str, todo: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.WRONG, said=message, todo=todo)


def unknown(subject: str, message: str, todo: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.UNKNOWN, said=message, todo=todo)


def is_transient(error: LakegateError) -> bool:
    return isinstance(error, TRANSIENT)


def findings_or_error(
    subject: str,
    act: Callable[[], list[Finding]],
    todo: str,
    is_unknown: Callable[[LakegateError], bool] = is_transient,
) -> list[Finding]:
    """Return the findings of something that reads, or one finding of why it could not. What may be gone at the next
    try is unknown, unless the caller says otherwise; all else is wrong.
    """
    try:
        return act()
    except LakegateError as error:
        message = str(error).removeprefix(f"{subject}: ")
        return [(unknown if is_unknown(error) else wrong)(subject, message, todo)]
