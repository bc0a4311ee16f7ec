"""Flights: a line for each open attempt with an undecided file: how far it is, and what it waits for.

An attempt that cannot be read has a line that says why, and hides no other.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from lakegate.audit.model.job import Job
from lakegate.audit.model.lane import Lane
from lakegate.errors import Conflict, LakegateError, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.standing import is_open
from lakegate.ports import MAIN, Branch, JobRun, JobState, Ref
from lakegate.workflow.attempts.claims import files_claimed_at, files_claimed_on
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import has_begun, report_name, why_handed_over
from lakegate.workflow.ledger.receipts import receipts_of
from lakegate.workflow.overview.line import Line
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.backoff import ending, named_attempts
from lakegate.workflow.settlement.queue import facts_of
from lakegate.workflow.settlement.reader import crash_of, end_of, left_to_spark
from lakegate.workflow.settlement.rules import Wait, settlement

AT_ONCE = 10  # branches that are looked at: as many connections as clients keep
MOST_EXPLANATIONS = 20  # batches that say what they wait for: each costs some twenty requests
UNREAD = "unreadable"
AUDITED_STATE = "audited"
HANDED_OVER = "handed over to Spark"
ENDED_PREFIX = "in a job that "  # a state of a job that has ended badly begins so


@dataclass(frozen=True, kw_only=True)
class BranchClaims:
    """Files that a branch claims, and those of them that are not decided."""

    files: Sequence[FileVersion] = ()
    open_files: Sequence[FileVersion] = ()


def flights(service: Service, attempts: Mapping[Branch, Attempt], settled_branches: set[Branch]) -> list[Line]:
    """Return the lines of open attempts whose branch is not in `settled_branches`. Add the branches to that set on
    which all files are decided.
    """
    looked_at = [branch for branch in attempts if branch not in settled_branches]
    main = Ref(MAIN, service.branches.head(MAIN) or "")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda branch: _claims(service, attempts[branch], branch.head, main), looked_at))
    lines = list[Line]()
    for branch, claims in zip(looked_at, answers, strict=True):
        attempt = attempts[branch]
        if isinstance(claims, Exception):
            lines.append(_line(attempt, (), UNREAD, (_text(claims),), service.clock.now()))
        elif claims.open_files:
            lines.append(_flight(service, attempt, claims.open_files))
        elif claims.files:
            settled_branches.add(branch)
    return lines


def _claims(service: Service, attempt: Attempt, head: str, main: Ref) -> BranchClaims | Exception:
    """Look at a branch's files by this commit of main. A branch that is gone by now has none."""
    try:
        files = files_claimed_at(service, attempt, head)
        receipts = receipts_of(service, main, files)
        return BranchClaims(files=files, open_files=[file for file in files if is_open(receipts, file, attempt)])
    except Conflict:
        return BranchClaims()
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one branch, whose line shows the error)
        return error


def _flight(service: Service, attempt: Attempt, files: Sequence[FileVersion]) -> Line:
    try:
        job = job_of(service.store, attempt)
        state, reasons = _stage(service, attempt, job)
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, whose line shows the error)
        job, state, reasons = None, UNREAD, (_text(error),)
    line = _line(attempt, files, state, reasons, min(file.landed_at for file in files))
    return replace(line, lane=job.lane, lane_why=job.lane_why) if job else line


def _line(
    attempt: Attempt, files: Sequence[FileVersion], state: str, reasons: tuple[str, ...], moment: datetime
) -> Line:
    return Line(
        batch=attempt.batch,
        table=attempt.table,
        branch=attempt.branch,
        files=tuple(file.key for file in files),
        versions=tuple(file.version_id for file in files),
        state=state,
        rows=0,
        reasons=reasons,
        since=moment,
        attempt=attempt.number,
    )


def _stage(service: Service, attempt: Attempt, job: Job | None) -> tuple[str, tuple[str, ...]]:
    """Return how far an attempt is, in words, and the reasons if its job has ended badly, or has handed its files
    over.
    """
    if service.store.read(report_name(attempt)) is not None:
        return AUDITED_STATE, ()
    run = service.runner.find(attempt.branch)
    if job and job.lane is Lane.EXPRESS and (reason := _left_by_express(service, attempt, job, run)):
        return HANDED_OVER, (reason,)
    if run is None:
        return "claimed", ()
    if run.state is JobState.RUNNING:
        began = job is None or has_begun(service.store, attempt)
        return "appending and auditing" if began else "waiting for a job", _in_parts(job)
    crash = crash_of(service, attempt, job, run) if job else None
    reasons = (run.reason,) if run.reason else ()
    if crash is None or crash.is_last:
        return f"{ENDED_PREFIX}{ending(run)}", reasons
    state = f"{ENDED_PREFIX}{ending(run) if crash.began else 'read no file'}"
    following = f"attempt a{attempt.number + 1} starts"
    begins = "two attempts, at half of the files each, start" if crash.halves else following
    return f"{state}; {begins} after {crash.due:%Y-%m-%d %H:%M:%S} UTC", reasons


def _in_parts(job: Job | None) -> tuple[str, ...]:
    """Return why an attempt has a part of its batch, if crashes are the reason."""
    if job is None or not job.crashed_with_others:
        return ()
    attempts = named_attempts(job.crashed_with_others)
    return (f"{attempts} crashed, so the batch is tried in parts, to find the file that ends the job",)


def _left_by_express(service: Service, attempt: Attempt, job: Job, run: JobRun | None) -> str:
    """Return why an attempt on the express lane leaves its files to Spark, or "" if it does not."""
    if reason := why_handed_over(service.store, attempt):
        return reason
    return left_to_spark(service, attempt, job, run) if run and run.state is not JobState.RUNNING else ""


def with_waits(service: Service, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the same lines. The first ones whose jobs have ended say what they wait for."""
    lines_to_explain = [line for line in lines if line.state == AUDITED_STATE or line.state.startswith(ENDED_PREFIX)][
        :MOST_EXPLANATIONS
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waits = dict(zip(map(id, lines_to_explain), pool.map(partial(_wait, service), lines_to_explain), strict=True))
    pairs = ((line, waits.get(id(line))) for line in lines)
    return tuple(replace(line, waits_for=wait.reason, waits_until=wait.due) if wait else line for line, wait in pairs)


def _wait(service: Service, line: Line) -> Wait | None:
    """Return what settling the batch would wait for now, or the error if it cannot be settled. Nothing is recorded."""
    attempt = Attempt(table=line.table, batch=line.batch, number=line.attempt)
    try:
        job = job_of(service.store, attempt)
        end = end_of(service, attempt, job) if job else None
        claims = files_claimed_on(service, attempt, job) if end else []
        if job is None or end is None or not claims:
            return None
        return settlement(facts_of(service, attempt, job, claims, end)).wait
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, whose line shows the error)
        return Wait(reason=_text(error), files=())


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, LakegateError) else f"{type(error).__name__}: {error}"
