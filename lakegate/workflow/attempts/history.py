"""An attempt's history: the attempts before it at the same files, back to the last one that rejected any of them.

A person's retry begins a new history.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import Report
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import UNTOLD, End, had_begun, how_given_up, report_in_force, why_handed_over
from lakegate.workflow.ledger.receipts import receipts_of
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class AttemptHistory:
    """The numbers of the attempts that crashed one after the other just before this one, and the report of the attempt
    before those, if it left one. `never_began` are those crashed attempts whose jobs never reached the files, and
    `files` has the ids of all files that each one's job had. Those in `handed_over` are no crashes: since then, Spark
    has the files, and `handover_reason` is the last one's reason.
    """

    consecutive_crashes: tuple[int, ...] = ()
    never_began: tuple[int, ...] = ()
    files: Mapping[int, frozenset[str]] = field(default_factory=dict)
    handed_over: tuple[int, ...] = ()
    handover_reason: str = ""
    report: Report | None = None

    def crashed_with_others(self, ids: Collection[str]) -> tuple[int, ...]:
        """Return the crashed attempts whose jobs had other files beside these."""
        return tuple(number for number in self.consecutive_crashes if self.files[number].difference(ids))


def attempt_history(service: Service, attempt: Attempt, base: str, files: Iterable[FileVersion]) -> AttemptHistory:
    """Return the history of an attempt that claims these files; `base` is the commit its branch was made from. Attempts
    without a job, and those at other files, do not count.
    """
    files, report, crashes, handed_over = list(files), None, list[Attempt](), set[int]()
    ids, files_by_number = {file.id for file in files}, dict[int, frozenset[str]]()
    for number in range(attempt.number - 1, _last_rejected(service, attempt, base, files), -1):
        earlier = replace(attempt, number=number)
        job = job_of(service.store, earlier)
        files_by_number[number] = frozenset(file.id for file in job.files) if job else frozenset()
        if job is None or ids.isdisjoint(files_by_number[number]):
            continue
        with suppress(Refused):  # a report that cannot be read counts as none
            report = report_in_force(service.store, earlier)
        handed_over.update(job.handed_over)
        if report:
            break
        if job.lane is Lane.EXPRESS and how_given_up(service.store, earlier) is not End.NEVER_BEGAN:
            handed_over.add(number)
        else:
            crashes.insert(0, earlier)
    return AttemptHistory(
        consecutive_crashes=tuple(crash.number for crash in crashes),
        never_began=tuple(crash.number for crash in crashes if not had_begun(service.store, crash)),
        files=files_by_number,
        handed_over=tuple(sorted(handed_over)),
        handover_reason=_handover_reason(service, replace(attempt, number=max(handed_over))) if handed_over else "",
        report=report,
    )


def _handover_reason(service: Service, last: Attempt) -> str:
    return f"attempt a{last.number} handed its files over: {why_handed_over(service.store, last) or UNTOLD}"


def _last_rejected(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> int:
    """Return the number of the last attempt that rejected one of the files; 0 if none did."""
    if attempt.number == 1:
        return 0
    receipts = receipts_of(service, Ref(MAIN, base), files)
    entries = [entry_of(receipts, file) for file in files]
    return max((e.attempt for e in entries if e and e.decision is Decision.REJECTED), default=0)
