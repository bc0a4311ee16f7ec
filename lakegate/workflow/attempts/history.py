"""What became of earlier attempts at the same files, since these were last rejected: a person's retry begins anew."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from lakegate.audit.model.report import Report
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import End, given_up, report_in_force
from lakegate.workflow.ledger.receipts import receipts_of
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class AttemptHistory:
    """The attempts that crashed one after the other just before this one, by number; before those, the last report.
    `never_began` are those of them whose jobs did not get through to the files.
    """

    consecutive_crashes: tuple[int, ...] = ()
    never_began: tuple[int, ...] = ()
    report: Report | None = None


def attempt_history(service: Service, attempt: Attempt, base: str, files: Iterable[FileVersion]) -> AttemptHistory:
    """`base` is the attempt's, `files` are those that it claims. An attempt that has no job had nothing to say."""
    files, report, crashed = list(files), None, list[int]()
    for number in range(attempt.number - 1, _last_rejected(service, attempt, base, files), -1):
        other = replace(attempt, number=number)
        job = job_of(service.store, other)
        if job is None or not {file.id for file in files} & {file.id for file in job.files}:
            continue
        if report := _report(service, other):
            break
        crashed.insert(0, number)
    ends = {number: given_up(service.store, replace(attempt, number=number)) for number in crashed}
    never_began = tuple(number for number in crashed if ends[number] is End.NEVER_BEGAN)
    return AttemptHistory(consecutive_crashes=tuple(crashed), never_began=never_began, report=report)


def _last_rejected(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> int:
    """The number of the last attempt that rejected one of the files; 0 where none did."""
    if attempt.number == 1:
        return 0
    receipts = receipts_of(service, Ref(MAIN, base), files)
    entries = [entry_of(receipts, file) for file in files]
    return max((e.attempt for e in entries if e and e.decision is Decision.REJECTED), default=0)


def _report(service: Service, attempt: Attempt) -> Report | None:
    with suppress(Refused):
        return report_in_force(service.store, attempt)
    return None
