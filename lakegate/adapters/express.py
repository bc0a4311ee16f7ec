"""`JobRunner` on a Lambda function: the express lane. A run is known from notes in the store alone, because Lambda
lists no calls that wait or are under way.

The runner notes that it called the function, the function that it has taken the run, and whoever is told of the end
notes that. Lambda may call twice for one call, so only the taken note keeps an attempt from running twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3

from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.audit.model.lane import Lane
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import Clock, JobRun, JobState, Reach, Store, Usage

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

PREFIX = "express-"  # of a run's id, before its branch
UNDER_WAY = "notes/express/"
TIMEOUT = timedelta(minutes=5)  # of the function
LONGEST_WAIT = timedelta(minutes=1)  # of a call for its turn, after which Lambda gives it up
MARGIN = timedelta(seconds=30)  # for what is told late
MB_IN_GB, SECONDS_IN_HOUR = 1024, 3600
SUCCESS, TAKEN_BY_OTHER = (
    "Success",
    "taken",
)  # Lambda's word for an answer, and the function's for a run that another call took


@dataclass(frozen=True, kw_only=True)
class RunMark:
    """A note of the time at which a run was called or taken."""

    taken_at: datetime


class ExpressJobRunner:
    """A job runner of one function, for one lane. Nobody can cancel its runs."""

    def __init__(self, function: str, store: Store, clock: Clock) -> None:
        self._function, self._store, self._clock = function, store, clock

    @cached_property
    def _lambda(self) -> "LambdaClient":
        return boto3.client("lambda", config=CONFIG)

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:  # noqa: ARG002 - its role narrows
        """See the port. A call that cannot be recorded is made again by the next start, and does nothing then."""
        if lane is not Lane.EXPRESS:
            raise Misconfigured(f"the express function does not run the {lane} lane of {attempt.branch}")
        note_name = _running_name(attempt.branch)
        if self._store.read(note_name) is None:
            with aws_errors(f"starting the express job of {attempt.branch}"):
                self._lambda.invoke(
                    FunctionName=self._function,
                    InvocationType="Event",
                    Payload=json.dumps({"branch": attempt.branch, "job": job_uri}),
                )
            self._store.create(note_name, to_json(RunMark(taken_at=self._clock.now())).encode())
        return f"{PREFIX}{attempt.branch}"

    def get(self, run_id: str) -> JobRun:
        run = self.find(run_id.removeprefix(PREFIX)) if run_id.startswith(PREFIX) else None
        if run is None:
            raise Misconfigured(f"there is no express run {run_id}")
        return run

    def open_runs(self) -> list[JobRun]:
        return [run for run in _list_runs(self._store, self._clock.now()) if run.state is JobState.RUNNING]

    def find(self, branch: str) -> JobRun | None:
        return next(iter(_runs_of(self._store, [branch], self._clock.now())), None)


def _list_runs(store: Store, now: datetime) -> list[JobRun]:
    """Return the runs that are listed as under way, although some may have ended."""
    return _runs_of(store, [name.removeprefix(UNDER_WAY) for name in store.names(UNDER_WAY)], now)


def _runs_of(store: Store, branches: Sequence[str], now: datetime) -> list[JobRun]:
    """Return the runs of these branches, of those that have one. Notes are read together, and those of a run that is
    known to have ended are not looked at again.
    """
    ends = store.read_many(map(_end_name, branches))
    open_ones = [branch for branch in branches if _end_name(branch) not in ends]
    bodies = store.read_many(name(branch) for branch in open_ones for name in (_taken_name, _running_name))
    runs = [_run_of_note(branch, ends[_end_name(branch)]) for branch in branches if branch not in open_ones]
    return runs + [run for branch in open_ones if (run := _without_end(branch, bodies, now))]


def _without_end(branch: str, bodies: Mapping[str, bytes], now: datetime) -> JobRun | None:
    """Return the run of a branch, if there is one. A run whose end nobody has told of in time has failed."""
    latest = _latest(bodies.get(_taken_name(branch)), bodies.get(_running_name(branch)))
    if latest is None:
        return None
    run = JobRun(id=f"{PREFIX}{branch}", branch=branch, state=JobState.RUNNING, lane=Lane.EXPRESS)
    reason = f"nobody has told of its end by {latest:%Y-%m-%d %H:%M:%S} UTC"
    return run if now <= latest else replace(run, state=JobState.FAILED, reason=reason, ended_at=latest)


def forget_ended(store: Store, now: datetime) -> None:
    """Remove the notes by which runs under way are listed, of those that have ended and are known by other notes."""
    for run in _list_runs(store, now):
        is_over = run.state is not JobState.RUNNING
        if is_over and (store.read(_end_name(run.branch)) or store.read(_taken_name(run.branch))):
            store.delete(_running_name(run.branch))


def _running_name(branch: str) -> str:
    return f"{UNDER_WAY}{branch}"


def _taken_name(branch: str) -> str:
    return f"begun/{branch}/express.json"


def _end_name(branch: str) -> str:
    return f"attempts/{branch}/express.json"


def _run_of_note(branch: str, body: bytes) -> JobRun:
    try:
        return from_json(JobRun, body)
    except PARSE_ERRORS as error:
        problem = f"the note {_end_name(branch)} can't be read: {error!r}"
        raise Misconfigured(f"{problem}. The attempt's files stay undecided until it is repaired") from error


def _latest(mark: bytes | None, call_note: bytes | None) -> datetime | None:
    """Return the time by which the run has ended, or None if there is none."""
    if mark is not None and (at := _time(mark)):
        return at + TIMEOUT + MARGIN
    if call_note is not None and (at := _time(call_note)):
        return at + LONGEST_WAIT + TIMEOUT + MARGIN
    return None


def _time(body: bytes) -> datetime | None:
    try:
        return from_json(RunMark, body).taken_at
    except PARSE_ERRORS:
        return None


def is_end(event: Mapping[str, Any]) -> bool:
    """Return True if Lambda tells of the end of an asynchronous call."""
    return "requestPayload" in event


def run_of(event: Mapping[str, Any]) -> str:
    """Return the id of the run that Lambda tells of. Raise one of NO_EVENT for anything else."""
    return f"{PREFIX}{event['requestPayload']['branch']}"


def record_end(store: Store, event: Mapping[str, Any], at: datetime) -> str:
    """Record the end of a run as Lambda tells it of an asynchronous call, and return the run's id. A second call for
    it, which found it taken, tells nothing of its end. Raise one of NO_EVENT for anything else.
    """
    run_id = run_of(event)
    condition, answer = str(event["requestContext"]["condition"]), event.get("responsePayload") or {}
    if answer.get("outcome") == TAKEN_BY_OTHER:
        return run_id
    branch = run_id.removeprefix(PREFIX)
    run = JobRun(
        id=run_id,
        branch=branch,
        state=JobState.SUCCEEDED if condition == SUCCESS else JobState.FAILED,
        reason="" if condition == SUCCESS else _reason(condition, answer),
        ended_at=at,
        usage=_usage(answer) if condition == SUCCESS else None,
        lane=Lane.EXPRESS,
    )
    store.create(_end_name(branch), to_json(run).encode())
    return run_id


def _reason(condition: str, answer: Mapping[str, Any]) -> str:
    """Return why a call failed, without the error's text, which may hold values that are masked elsewhere."""
    kind = str(answer.get("errorType", ""))
    return f"{condition}: {kind} (its text is in the function's log)" if kind else condition


def _usage(answer: Mapping[str, Any]) -> Usage:
    """Return what a run took, as the function tells it. Lambda bills memory by time, and a share of a core with it."""
    seconds, gb = float(answer["seconds"]), float(answer["memory_mb"]) / MB_IN_GB
    return Usage(
        seconds=round(seconds), vcpu_hours=0, memory_gb_hours=gb * seconds / SECONDS_IN_HOUR, storage_gb_hours=0
    )
