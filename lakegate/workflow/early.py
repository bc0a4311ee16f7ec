"""Files that may only be early: nothing is wrong with them but that rows they refer to are not on main (yet).

Where two tables' files arrive together, the one that refers waits for the other and is tried again. Both waiting and
trying have an end, so that a reference to nothing is rejected as such.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from lakegate.audit.job import Job
from lakegate.audit.plan import Plan
from lakegate.audit.report import FileReport, Report, Verdict
from lakegate.audit.wire import from_json
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.claims import claims_on, is_open, job_name
from lakegate.workflow.service import Service

PATIENCE = timedelta(hours=1)  # with files of a referenced table that are still under way
ATTEMPTS = 3  # of one batch: a table that changes all the time must not keep an orphan from being rejected


@dataclass(frozen=True, kw_only=True)
class Early:
    """The files to be tried again, `now` or once files of the tables they refer to are decided."""

    files: tuple[FileVersion, ...] = ()
    now: bool = True


def early(service: Service, attempt: Attempt, report: Report | None, files: Iterable[FileVersion]) -> Early:
    """Those of the files that failed which may only be early."""
    body = service.store.read(job_name(attempt))
    if report is None or body is None or attempt.number >= ATTEMPTS:
        return Early()
    plan, reports = from_json(Job, body).plan, {entry.id: entry for entry in report.files}
    missed = {file: tables for file in files if (tables := missing(plan, reports.get(file.id)))}
    open_files = _open(service, attempt, list(missed))
    tables = frozenset[str]().union(*(missed[file] for file in open_files))
    if not tables:
        return Early()
    if service.clock.now() - report.finished_at < PATIENCE and _under_way(service, tables):
        return Early(files=tuple(open_files), now=False)
    moved = service.catalog.moved(report.base, service.catalog.head(MAIN) or "", tables)
    return Early(files=tuple(file for file in open_files if missed[file] & moved))


def missing(plan: Plan, report: FileReport | None) -> frozenset[str]:
    """The tables that lack rows which the file refers to, if that is all that is wrong with it."""
    if report is None or report.faults:
        return frozenset()
    referring = {metric.id: metric.refers_to.table for metric in plan.metrics if metric.refers_to}
    failed = {check.metric for check in report.checks if check.verdict is Verdict.FAIL}
    return frozenset(referring[metric] for metric in failed) if failed <= referring.keys() else frozenset()


def _open(service: Service, attempt: Attempt, files: Sequence[FileVersion]) -> list[FileVersion]:
    _, receipts = main_receipts(service, files)
    return [file for file in files if is_open(receipts, file, attempt)]


def _under_way(service: Service, tables: frozenset[str]) -> bool:
    """Whether an attempt at one of these tables has files that are not decided."""
    attempts = (Attempt.parse(branch.name) for branch in service.catalog.branches())
    others = [attempt for attempt in attempts if attempt and not attempt.nonce and attempt.table in tables]
    return any(_open(service, other, claims_on(service, other)) for other in others)
