"""Reuse of data files: an attempt takes over what an earlier one appended and audited, so that its job runs only the
checks of table scope. Data files move by metadata alone.

Data files are reused only where the table is the very same; otherwise the job appends and audits from the files. The
frozen job says which, and it is frozen before the branch is touched: a slow worker with another plan would otherwise
touch the branch after the audit.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from lakegate.audit.evaluation.reuse import may_be_reused
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import FileReport, Report
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN, FileChanges, Ref
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import read_report, report_name
from lakegate.workflow.service import Service

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Reusable:
    """A job's files, each with data files that can be reused, and the report of the attempt that appended these."""

    files: tuple[JobFile, ...]
    report: Report


def reusable_data_files(
    service: Service, attempt: Attempt, base: str, plan: Plan, report: Report, files: Iterable[FileVersion]
) -> Reusable | None:
    """Return the claimed files with their data files by an earlier `report`; None unless all of them can be reused and
    the branch has no others.
    """
    files = list(files)
    entries = _reusable_files(plan, report, files)
    if entries is None or not _is_kept(service, attempt, report):
        return None
    if not _is_same_table(service, base, report):  # asked last: what is not kept may have been cleaned
        return None
    paths = {entry.id: tuple(data.path for data in entry.data_files) for entry in entries}
    expected_changes = FileChanges(adds=frozenset(path for file_paths in paths.values() for path in file_paths))
    if service.tables.compare(plan.table, Ref(MAIN, base), Ref(attempt.branch)) not in (
        FileChanges(),
        expected_changes,
    ):
        return None
    job_files = (JobFile(id=file.id, key=file.key, uri="", size=file.size, data_files=paths[file.id]) for file in files)
    return Reusable(files=tuple(job_files), report=report)


def _is_kept(service: Service, attempt: Attempt, report: Report) -> bool:
    """Return True if cleaning cannot have deleted what the report's attempt appended: that attempt's branch is open, or
    one since is, whose frozen job reuses the same.
    """
    first = replace(attempt, number=report.attempt)
    if service.branches.head(first.branch) is not None:
        return True
    later_attempts = (replace(attempt, number=number) for number in range(report.attempt + 1, attempt.number))
    jobs = (
        readable_job_of(service.store, other)
        for other in later_attempts
        if service.branches.head(other.branch) is not None
    )
    return any(job and job.reuses == service.store.uri(report_name(first)) for job in jobs)


def reuse_data_files(service: Service, job: Job) -> None:
    """Append the data files that the job reuses to its branch, before the job starts. Done again, it changes nothing.
    If the branch has something else, the job will report it.
    """
    paths = frozenset(path for file in job.files for path in file.data_files)
    if not job.reuses or service.tables.compare(job.plan.table, Ref(MAIN, job.base), Ref(job.branch)) != FileChanges():
        return
    with suppress(Conflict, Refused):  # another worker was first
        report = reused_report(service, job)
        source = Ref(report.branch, report.audited)
        service.tables.append(job.plan.table, job.branch, source, paths)
        log.info("data_files_reused", branch=job.branch, source=str(source), data_files=len(paths))


def reused_report(service: Service, job: Job) -> Report:
    """Return the report of the attempt whose data files the job reuses. Raise Refused if there is none."""
    attempt = Attempt.parse(job.reuses.rpartition("/")[2].removesuffix(".json"))
    report = read_report(service.store, attempt) if attempt else None
    if report is None:
        raise Refused(f"the report {job.reuses} is missing, and this attempt reuses its data files")
    return report


def _reusable_files(plan: Plan, report: Report, files: list[FileVersion]) -> list[FileReport] | None:
    """Return the report's entries of these files, if it is of the same plan and all of them may be reused."""
    if report.error or report.evolves or report.plan_hash != plan.hash or not plan.depends_on:
        return None
    entries_by_id = {entry.id: entry for entry in report.files}
    entries = [
        entry
        for file in files
        if (entry := entries_by_id.get(file.id)) and not entry.replaces.versions and may_be_reused(plan, entry)
    ]
    if len(entries) < len(files) or not any(entry.data_files for entry in entries):
        return None
    return entries


def _is_same_table(service: Service, base: str, report: Report) -> bool:
    """Return True if the table at the base is the one that the report's attempt has audited."""
    table = service.tables.identity(Ref(MAIN, base), report.table)
    return table is not None and table == service.tables.identity(Ref(report.branch, report.audited), report.table)
