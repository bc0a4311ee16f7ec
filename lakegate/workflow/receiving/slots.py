"""Slots: the jobs that are under way, by lane and table. It reads branches and the runner, and decides nothing.

An attempt whose job is about to start counts, too. One that waits, after its job, for other files or for its next try
does not: it holds no slot.
"""

from collections.abc import Container, Iterator, Mapping
from datetime import timedelta

from lakegate.audit.model.lane import Lane
from lakegate.landing.attempts import Attempt, earliest_time
from lakegate.workflow.attempts.claims import files_claimed_on, files_open_to, list_open_attempts
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import has_ended
from lakegate.workflow.receiving.shares import JobsUnderWay
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.reader import answer_or_no

LATE = timedelta(days=1, hours=1)  # after a batch's earliest time, which is a day before its first file landed


def jobs_under_way(service: Service, tables: Container[str], last: Attempt | None = None) -> JobsUnderWay:
    """Return the jobs under way. Attempts whose jobs have not started are looked for in these `tables` alone. The job
    of the attempt that has `last` does not count.
    """
    last_branch = last.branch if last else ""
    lanes = {run.branch: run.lane for run in service.runner.open_runs() if run.branch != last_branch}
    jobs: dict[Lane, dict[str, int]] = {lane: {} for lane in Lane}
    branches = dict[str, str]()
    for branch, lane in (*lanes.items(), *_starting_jobs(service, tables, {*lanes, last_branch})):
        table = attempt.table if (attempt := Attempt.parse(branch)) else ""
        jobs[lane][table] = jobs[lane].get(table, 0) + 1
        branches.setdefault(table, branch)
    return JobsUnderWay(jobs=jobs, branches=branches)


def _starting_jobs(
    service: Service, tables: Container[str], other_branches: Container[str]
) -> Iterator[tuple[str, Lane]]:
    """Yield the branches of these tables' attempts whose jobs are about to start, with their lanes. An attempt that
    cannot be started, such as one with a broken job, must not hold back its table for ever.
    """
    for attempts in _open_by_table(service, tables, other_branches).values():
        about_to_start = [
            attempt for attempt in attempts if answer_or_no(_is_starting, service, attempt, "job_not_counted")
        ]
        late = next(
            (attempt for attempt in about_to_start if answer_or_no(_is_late, service, attempt, "job_not_counted")), None
        )
        yield from ((attempt.branch, _lane(service, attempt)) for attempt in about_to_start if attempt is not late)


def _lane(service: Service, attempt: Attempt) -> Lane:
    """Return the lane of an attempt's job, Spark's until the job is frozen."""
    job = readable_job_of(service.store, attempt)
    return job.lane if job else Lane.SPARK


def _open_by_table(
    service: Service, tables: Container[str], other_branches: Container[str]
) -> Mapping[str, list[Attempt]]:
    """Return the open attempts of these tables by table, without those of the other branches."""
    attempts_by_table: dict[str, list[Attempt]] = {}
    for attempt in list_open_attempts(service.branches):
        if attempt.table in tables and attempt.branch not in other_branches:
            attempts_by_table.setdefault(attempt.table, []).append(attempt)
    return attempts_by_table


def _is_starting(service: Service, attempt: Attempt) -> bool:
    """Return True if the attempt has no run yet, and has files to decide or is about to claim some."""
    if has_ended(service.store, attempt):
        return False
    claims = files_claimed_on(service, attempt)
    return (not claims or bool(files_open_to(service, attempt, claims))) and service.runner.find(attempt.branch) is None


def _is_late(service: Service, attempt: Attempt) -> bool:
    return service.clock.now() - earliest_time(attempt.batch) > LATE
