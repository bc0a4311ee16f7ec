"""Reports of attempts, and notes of how attempts ended, which say whether a report counts.

An attempt ends once: with its report, or given up or handed over so that another may follow. The first note holds for
everybody, so a job that finishes after it was given up changes nothing.
"""

from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum

from lakegate.audit.model.codec import PARSE_ERRORS, NewerFormat, from_json, to_json
from lakegate.audit.model.job import CUT_OFF
from lakegate.audit.model.report import Report, parse_report
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import Store

PREFIX = "reports/"
UNTOLD = "its express job left no reason that can be read"


def report_name(attempt: Attempt) -> str:
    return f"{PREFIX}{attempt.branch}.json"


def begun_name(attempt: Attempt) -> str:
    return f"begun/{attempt.branch}"


def handover_name(attempt: Attempt) -> str:
    """Return the name of what the job leaves that hands its files over."""
    return f"handovers/{attempt.branch}.json"


def _our_handover_name(attempt: Attempt) -> str:
    """Return the name of what we note instead where the job left nothing: workers and jobs have rights apart."""
    return f"attempts/{attempt.branch}/handover.json"


def has_left_something(store: Store, attempt: Attempt) -> bool:
    """Return True if there is a report of the attempt, or a reason for which its files are handed over."""
    return bool(store.read_many([report_name(attempt), handover_name(attempt), _our_handover_name(attempt)]))


def has_begun(store: Store, attempt: Attempt) -> bool:
    """Return True if the attempt's job reached its files and was not cut off from them. Only then does a crash say
    something about the files.
    """
    return store.read(begun_name(attempt)) not in (None, CUT_OFF)


def was_cut_off(store: Store, attempt: Attempt) -> bool:
    """Return True if the attempt's job recorded that a service was out of its reach."""
    return store.read(begun_name(attempt)) == CUT_OFF


def hand_over(store: Store, attempt: Attempt, reason: str) -> None:
    """Record that the attempt's files are handed over to Spark, for want of its job's word, unless that is recorded."""
    store.create(_our_handover_name(attempt), to_json({"reason": reason}).encode())


def why_handed_over(store: Store, attempt: Attempt) -> str:
    """Return the reason for which the attempt's files are handed over to Spark, or "" if they are not. Its job's word
    is the better one.
    """
    names = (handover_name(attempt), _our_handover_name(attempt))
    bodies = store.read_many(names)
    if not bodies:
        return ""
    body = next(bodies[name] for name in names if name in bodies)
    with suppress(*PARSE_ERRORS):
        return str(from_json(dict[str, str], body)["reason"]) or UNTOLD
    return UNTOLD


class End(StrEnum):
    """An attempt's end: its report counts, or it was given up, perhaps before its job reached the files, or it was
    handed over to Spark.
    """

    REPORT = "reported"
    GIVEN_UP = "given up"
    NEVER_BEGAN = "given up before it began"
    HANDED_OVER = "handed over"


_GIVEN_UP = (End.GIVEN_UP, End.NEVER_BEGAN, End.HANDED_OVER)


def record_end(store: Store, attempt: Attempt, end: End) -> bool:
    """Record the attempt's end unless one is recorded already. Return True if the recorded end is this one; the ways of
    giving up count as one.
    """
    alike = (end,) if end is End.REPORT else _GIVEN_UP
    return store.create(_end_name(attempt), to_json(end).encode()) or _recorded_end(store, attempt) in alike


def how_given_up(store: Store, attempt: Attempt) -> End | None:
    """Return how the attempt was given up; None if it was not."""
    end = _recorded_end(store, attempt)
    return end if end in _GIVEN_UP else None


def has_ended(store: Store, attempt: Attempt) -> bool:
    """Return True if the attempt's end is recorded. A crash that no attempt follows is not."""
    return store.read(_end_name(attempt)) is not None


def had_begun(store: Store, attempt: Attempt) -> bool:
    """Return True if the attempt's job had begun on its files when the attempt was given up. The job may have gone on
    since. An attempt that was never given up has begun if its job has by now.
    """
    end = how_given_up(store, attempt)
    return end is End.GIVEN_UP if end else has_begun(store, attempt)


def _recorded_end(store: Store, attempt: Attempt) -> End | None:
    """Return the attempt's recorded end, if there is one. Raise Misconfigured if the note is not one of lakegate's."""
    body = store.read(_end_name(attempt))
    end = next((choice for choice in End if body == to_json(choice).encode()), None)
    if body is not None and end is None:
        problem = f"the note {_end_name(attempt)} has no content that lakegate writes: {body[:40]!r}"
        raise Misconfigured(f"{problem}. The attempt's files stay undecided until it is repaired")
    return end


def _end_name(attempt: Attempt) -> str:
    return f"attempts/{attempt.branch}/end.json"


def accept_report(store: Store, attempt: Attempt) -> Report | None:
    """Record the attempt's report as its end and return it; None if there is none yet or the attempt was given up
    first. Raise as `read_report` does.
    """
    body = store.read(report_name(attempt))
    return _read(attempt, body) if body is not None and record_end(store, attempt, End.REPORT) else None


def report_in_force(store: Store, attempt: Attempt) -> Report | None:
    """Return the attempt's report unless it was given up, and note nothing. Raise as `read_report` does."""
    report = read_report(store, attempt)
    return None if report is None or how_given_up(store, attempt) else report


def read_report(store: Store, attempt: Attempt) -> Report | None:
    """Return the attempt's report, or None if there is none yet. Raise Refused if it cannot be read, and Misconfigured
    if a newer release wrote it: its files then wait, undecided, until this release is updated.
    """
    body = store.read(report_name(attempt))
    return None if body is None else _read(attempt, body)


def readable_report(store: Store, attempt: Attempt) -> Report | None:
    """Return the report of an attempt that is not the caller's own, or None if there is none or it cannot be read."""
    with suppress(Refused, Misconfigured):
        return read_report(store, attempt)
    return None


def readable_reports(store: Store, attempts: Iterable[Attempt]) -> list[Report]:
    """Return those reports of these attempts, in their order, that are there and can be read."""
    attempts_by_name = {report_name(attempt): attempt for attempt in attempts}
    bodies, reports = store.read_many(attempts_by_name), list[Report]()
    for name, attempt in attempts_by_name.items():
        with suppress(Refused, Misconfigured):
            reports += [_read(attempt, bodies[name])] if name in bodies else []
    return reports


def _read(attempt: Attempt, body: bytes) -> Report:
    try:
        return parse_report(body)
    except NewerFormat as error:
        raise Misconfigured(
            f"{report_name(attempt)}: {error}. The attempt's files stay undecided until then"
        ) from error
    except PARSE_ERRORS as error:
        raise Refused(f"the report {report_name(attempt)} can't be read: {error!r}") from error
