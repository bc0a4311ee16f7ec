"""Files that may only be early: nothing is wrong with them but that rows they refer to are not on main (yet).

Where two tables' files arrive together, the one that refers waits for the other and is tried again. Both waiting and
trying have an end, so that a reference to nothing is rejected as such.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from lakegate.audit.job import Job
from lakegate.audit.plan import Plan
from lakegate.audit.report import FileReport, Report
from lakegate.errors import PASSING, Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open
from lakegate.ports import MAIN
from lakegate.workflow.archive import known
from lakegate.workflow.claims import claims_on, open_attempts, open_files, readable_job_of
from lakegate.workflow.reports import read_report
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.keys import failing, put_aside

log = structlog.get_logger()
PATIENCE = timedelta(hours=13)  # with files of a referenced table that are under way: jobs may queue for twelve
ATTEMPTS = 3  # of one batch: a table that changes all the time must not keep an orphan from being rejected


@dataclass(frozen=True, kw_only=True)
class Again:
    """Files that the next attempt is to take, `now` or later: then the sweep, or whoever else settles, looks again."""

    files: tuple[FileVersion, ...] = ()
    now: bool = True


def early(service: Service, attempt: Attempt, job: Job, report: Report | None, files: Iterable[FileVersion]) -> Again:
    """Those of the files, of which rows refer to nothing, that may only be early."""
    missed = _missed(service, attempt, job, report, files)
    if report is None or not missed:
        return Again()
    tables = _all(missed)
    if _waits(service, attempt, report, tables):
        return Again(files=tuple(missed), now=False)
    moved = service.catalog.moved(report.base, service.catalog.head(MAIN) or "", tables)
    return Again(files=tuple(file for file in missed if missed[file] & moved))


def premature(
    service: Service, attempt: Attempt, job: Job, report: Report | None, files: Iterable[FileVersion]
) -> Again:
    """Those of the good files whose rows were put aside and may only be early: not to be published yet."""
    aside = {entry.id for entry in report.files if entry.quarantined} if report else set()
    return early(service, attempt, job, report, [file for file in files if file.id in aside])


def missing(plan: Plan, report: FileReport | None) -> frozenset[str]:
    """The tables that lack rows which the file refers to, if that is all that is wrong with it: in what is left of it,
    in what is put aside or in what would be, were it within the budget.
    """
    if report is None or report.faults:
        return frozenset()
    referring = {metric.id: metric.refers_to.table for metric in plan.metrics if metric.refers_to}
    wrong = failing(report)
    if wrong - referring.keys():
        return frozenset()
    return frozenset(referring[metric] for metric in (wrong | put_aside(report)) & referring.keys())


def _missed(
    service: Service, attempt: Attempt, job: Job, report: Report | None, files: Iterable[FileVersion]
) -> dict[FileVersion, frozenset[str]]:
    """The open ones of these files that may only be early, with the tables that lack rows; none in a last attempt."""
    if report is None:
        return {}
    reports = {entry.id: entry for entry in report.files}
    missed = {file: tables for file in files if (tables := missing(job.plan, reports.get(file.id)))}
    receipts = known(service, missed)
    tries = _tries(service, attempt, [file for file in missed if is_open(receipts, file, attempt)], receipts)
    return {file: missed[file] for file in tries if tries[file] < ATTEMPTS}


def _tries(
    service: Service, attempt: Attempt, files: list[FileVersion], receipts: Mapping[str, Receipt]
) -> dict[FileVersion, int]:
    """How many audits missed rows for each of the files since it was last rejected; other new attempts don't count."""
    since = {file: entry.attempt if (entry := entry_of(receipts, file)) else 0 for file in files}
    tries = dict.fromkeys(files, 1)
    for number in range(min(since.values(), default=0) + 1, attempt.number if files else 0):
        other = replace(attempt, number=number)
        job, report = readable_job_of(service.store, other), None
        with suppress(Refused, Misconfigured):
            report = read_report(service.store, other)
        entries = {entry.id: entry for entry in report.files} if report else {}
        for file in files:
            tries[file] += bool(job and number > since[file] and missing(job.plan, entries.get(file.id)))
    return tries


def _all(missed: Mapping[FileVersion, frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*missed.values())


def _waits(service: Service, attempt: Attempt, report: Report, tables: frozenset[str]) -> bool:
    """Whether files of these tables are under way, and there is patience left."""
    return service.clock.now() - report.finished_at < PATIENCE and _under_way(service, attempt, tables)


def _under_way(service: Service, own: Attempt, tables: frozenset[str]) -> bool:
    """Whether another attempt at one of these tables has files that are not decided."""
    attempts = open_attempts(service.catalog)
    others = [it for it in attempts if it.table in tables and it.branch != own.branch]
    return any(_has_open_files(service, other) for other in others)


def _has_open_files(service: Service, other: Attempt) -> bool:
    """Of what can't be read nobody waits for anything."""
    try:
        return bool(open_files(service, other, claims_on(service, other)))
    except PASSING:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, which its own sweep says more of)
        log.warning("not_waited_for", branch=other.branch, error=str(error), kind=type(error).__name__)
        return False
