"""Open attempts, and the commits that their jobs and reports refer to."""

from collections.abc import Iterator

from lakegate.audit.model.job import Job
from lakegate.audit.model.report import Report
from lakegate.errors import Conflict, Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import Branch
from lakegate.workflow.attempts.claims import list_open_branches
from lakegate.workflow.attempts.job import job_name, job_of
from lakegate.workflow.attempts.reports import read_report, report_name
from lakegate.workflow.attempts.reuse import reused_report
from lakegate.workflow.service import Service
from lakegate.workflow.verification.facts import Open


def read_open(service: Service) -> tuple[Open, ...]:
    """Look at every open attempt, each alone."""
    return tuple(
        _read_attempt(service, branch, attempt) for branch, attempt in list_open_branches(service.branches).items()
    )


def _read_attempt(service: Service, branch: Branch, attempt: Attempt) -> Open:
    try:
        job, report = job_of(service.store, attempt), read_report(service.store, attempt)
        commits = dict.fromkeys(_commits(service, job, report))
        base = service.branches.base(branch.name)
        return Open(
            attempt=attempt,
            job=job_name(attempt) if job else "",
            report=report_name(attempt) if report else "",
            unknown=tuple(commit for commit in commits if not _exists(service, commit, attempt.table)),
            has_rows=bool(service.branches.changes(base, branch.head).tables),
        )
    except (Conflict, Misconfigured, Refused) as error:
        return Open(attempt=attempt, unread=str(error))


def _commits(service: Service, job: Job | None, report: Report | None) -> Iterator[str]:
    if job:
        yield job.base
    if job and job.reuses:
        yield reused_report(service, job).audited
    if report:
        yield from (report.base, report.audited)


def _exists(service: Service, commit: str, table: str) -> bool:
    try:
        service.branches.table_folders(commit, (table,))
    except Conflict:
        return False
    return True
