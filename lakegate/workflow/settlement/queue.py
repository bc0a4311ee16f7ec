"""Turns: batches whose verdicts depend on what their own table holds are published one after the other, oldest first.

Every publish makes the audits of the others old. Were each audited again at once, all but one would be in vain every
time; so only the one whose turn it is goes on, and the rest wait. A batch is in line from its first audit on, and steps
out of line where a job of its crashes, or where all that it has left waits for files that it refers to, so that nobody
waits for a wait: those may be in the line themselves.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import structlog

from lakegate.audit.job import Job
from lakegate.audit.report import Report, Verdict
from lakegate.errors import PASSING, Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobState
from lakegate.workflow.claims import claims_on, not_taken_on, open_attempts, open_files, readable_job_of
from lakegate.workflow.reports import report_in_force
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.references import Again, premature

log = structlog.get_logger()


def takes_turns(job: Job) -> bool:
    """Whether verdicts of an attempt with this job depend on what its own table holds."""
    return job.plan.table in job.plan.depends_on


def ahead(service: Service, attempt: Attempt) -> Attempt | None:
    """An attempt at an older batch of the same table that is to be published first."""
    older = [other for other in _others(service, attempt) if other.batch < attempt.batch]
    asked = (_is_waiting, _is_audited_again)
    return next((other for other in older if any(_holds(ask, service, other) for ask in asked)), None)


def waiting(service: Service, attempt: Attempt) -> Iterator[Attempt]:
    """The attempts at other batches of the same table that are audited and have something to publish, oldest first."""
    return (other for other in _others(service, attempt) if _holds(_is_waiting, service, other))


def _holds(ask: Callable[[Service, Attempt], bool], service: Service, attempt: Attempt) -> bool:
    """An attempt that can't be asked is not in line: it would keep all others of its table from being published."""
    try:
        return ask(service, attempt)
    except PASSING:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, which its own sweep says more of)
        log.warning("not_in_line", branch=attempt.branch, error=str(error), kind=type(error).__name__)
        return False


def _others(service: Service, attempt: Attempt) -> list[Attempt]:
    attempts = open_attempts(service.catalog)
    others = [it for it in attempts if it.table == attempt.table and it.batch != attempt.batch]
    return sorted(others, key=lambda other: (other.batch, other.number))


def _is_waiting(service: Service, attempt: Attempt) -> bool:
    report = _report(service, attempt)
    if report is None or report.error:
        return False
    passed = {entry.id for entry in report.files if entry.verdict is not Verdict.FAIL}
    good = [file for file in claims_on(service, attempt) if file.id in passed]
    left = open_files(service, attempt, not_taken_on(service, attempt, good)) if good else []
    job = readable_job_of(service.store, attempt) if left else None
    aside = premature(service, attempt, job, report, left) if job else Again()
    return bool(left) and (aside.now or len(aside.files) < len(left))


def _is_audited_again(service: Service, attempt: Attempt) -> bool:
    """By what it carries, or appended again: whichever it is, it comes after an audit, not after crashes alone."""
    job = readable_job_of(service.store, attempt)
    if job is None or not (job.carries or _was_audited(service, attempt, job)):
        return False
    run = service.runner.find(attempt.branch)
    return run is None or run.state is JobState.RUNNING


def _was_audited(service: Service, attempt: Attempt, job: Job) -> bool:
    """Whether the last attempt at any of its files, but for those that crashed just before it, has a report."""
    ids = {file.id for file in job.files}
    for number in range(min(job.crashed, default=attempt.number) - 1, 0, -1):
        other = replace(attempt, number=number)
        its = readable_job_of(service.store, other)
        if its and not ids.isdisjoint(file.id for file in its.files):
            return _report(service, other) is not None
    return False


def _report(service: Service, attempt: Attempt) -> Report | None:
    with suppress(Refused, Misconfigured):  # what can't be read must keep no other from being published
        return report_in_force(service.store, attempt)
    return None
