"""Carrying data files over: what an earlier attempt appended and audited is appended to the next one's branch by
metadata alone, so that its job need only run the checks of table scope again.

Nothing is carried where that would not be the very same table; then the next attempt appends and audits from the files.
Which it is stands in the frozen job, before the branch is touched: a slow worker with another plan in hand would touch
it after the audit.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import structlog

from lakegate.audit.evaluation.reuse import may_be_reused
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import FileReport, Report
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN, FileChanges, Ref
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.service import Service

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Reusable:
    """Data files by file version's id, and the report of the attempt that appended them."""

    data_files: Mapping[str, tuple[str, ...]]
    report: Report


def reusable_data_files(
    service: Service, attempt: Attempt, base: str, plan: Plan, report: Report | None, files: Iterable[FileVersion]
) -> Reusable | None:
    """The data files of these claimed files, if they can be carried and nobody has put others on the branch."""
    entries = _entries(service, base, plan, report, list(files)) if report else None
    if report is None or entries is None:
        return None
    paths = {entry.id: tuple(data.path for data in entry.data_files) for entry in entries}
    wanted = FileChanges(added=frozenset(path for its in paths.values() for path in its))
    there = service.tables.compare(plan.table, Ref(MAIN, base), Ref(attempt.branch))
    return Reusable(data_files=paths, report=report) if there in (FileChanges(), wanted) else None


def reuse_data_files(service: Service, job: Job) -> None:
    """Put what the job carries on its branch, before it starts. Done again it changes nothing; where the branch has
    something else, the job will say so.
    """
    wanted = frozenset(path for file in job.files for path in file.data_files)
    if not job.reuses or service.tables.compare(job.plan.table, Ref(MAIN, job.base), Ref(job.branch)) != FileChanges():
        return
    with suppress(Conflict, Refused):  # another worker was first
        source = _source(service, job)
        service.tables.append(job.plan.table, job.branch, source, wanted)
        log.info("data_files_reused", branch=job.branch, source=str(source), data_files=len(wanted))


def _source(service: Service, job: Job) -> Ref:
    """The commit that was audited by the report which the job names."""
    attempt = Attempt.parse(job.reuses.rpartition("/")[2].removesuffix(".json"))
    report = read_report(service.store, attempt) if attempt else None
    if report is None:
        raise Refused(f"the report {job.reuses} is gone")
    return Ref(report.branch, report.audited)


def _entries(
    service: Service, base: str, plan: Plan, report: Report, files: list[FileVersion]
) -> list[FileReport] | None:
    """What the report says of these files, if it is of the same plan and the same table, and they may be carried."""
    if report.error or report.evolves or report.plan_hash != plan.hash or not plan.depends_on:
        return None
    known = {entry.id: entry for entry in report.files}
    found = [
        entry
        for file in files
        if (entry := known.get(file.id)) and not entry.replaces.versions and may_be_reused(plan, entry)
    ]
    if len(found) < len(files) or not any(entry.data_files for entry in found):
        return None
    table = service.tables.identity(Ref(MAIN, base), plan.table)
    same = table is not None and table == service.tables.identity(Ref(report.branch, report.audited), plan.table)
    return found if same else None
