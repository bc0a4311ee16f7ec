"""Runs of the express lane have a call of the function, and notes, of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from lakegate.adapters.events import NO_EVENT
from lakegate.adapters.express import ExpressJobRunner, RunMark, forget_ended, is_end, record_end
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.lane import Lane
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobState, Reach
from lakegate.testing import MemoryClock, MemoryStore

ATTEMPT = Attempt(table="nyc.flights", batch="20130131T0405-1a2b3c4d", number=1)
JOB = f"s3://service/attempts/{ATTEMPT.branch}/job.json"
REACH = Reach(reads=(JOB,), writes=(), tables={})
TAKEN = f"begun/{ATTEMPT.branch}/express.json"
SECRET = "123-45-6789"


def told(branch: str, condition: str = "Success", answer: object = None) -> dict[str, Any]:
    """Lambda's record of the end of an asynchronous call."""
    return {
        "version": "1.0",
        "requestContext": {"functionArn": "arn", "condition": condition, "approximateInvokeCount": 1},
        "requestPayload": {"branch": branch, "job": JOB},
        "responsePayload": answer if answer is not None else {"seconds": 1.8, "memory_mb": 3072},
    }


@dataclass
class Called:
    """A client that takes every call, or none."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    error: Exception | None = None

    def invoke(self, **call: Any) -> None:
        if self.error:
            raise self.error
        self.calls.append(call)


@pytest.fixture
def clock() -> MemoryClock:
    return MemoryClock()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def called() -> Called:
    return Called()


@pytest.fixture
def runner(store: MemoryStore, clock: MemoryClock, called: Called) -> ExpressJobRunner:
    made = ExpressJobRunner("lakegate-express", store, clock)
    made.__dict__["_lambda"] = called
    return made


def start(runner: ExpressJobRunner) -> str:
    return runner.start(ATTEMPT, JOB, REACH, Lane.EXPRESS)


def state(runner: ExpressJobRunner) -> JobState:
    run = runner.find(ATTEMPT.branch)
    assert run
    return run.state


def test_the_function_is_called_once_without_waiting_for_its_answer(runner: ExpressJobRunner, called: Called) -> None:
    assert start(runner) == start(runner)
    [call] = called.calls
    assert (call["FunctionName"], call["InvocationType"]) == ("lakegate-express", "Event")
    assert json.loads(call["Payload"]) == {"branch": ATTEMPT.branch, "job": JOB}


def test_a_call_that_was_refused_is_made_again_by_the_next_start(runner: ExpressJobRunner, called: Called) -> None:
    called.error = OSError("no network")
    with pytest.raises(OSError, match="no network"):
        start(runner)
    assert runner.find(ATTEMPT.branch) is None
    called.error = None
    start(runner)
    assert len(called.calls) == 1


def test_only_the_express_lane_is_started(runner: ExpressJobRunner, called: Called) -> None:
    with pytest.raises(Misconfigured, match="spark lane"):
        runner.start(ATTEMPT, JOB, REACH, Lane.SPARK)
    assert called.calls == []


def test_a_run_is_under_way_until_its_end_is_told(runner: ExpressJobRunner, store: MemoryStore) -> None:
    run = start(runner)
    assert [it.id for it in runner.open_runs()] == [run]
    record_end(store, told(ATTEMPT.branch), runner._clock.now())
    assert runner.open_runs() == []
    assert runner.get(run).state is JobState.SUCCEEDED


def test_what_is_listed_of_runs_under_way_does_not_grow_with_those_that_there_were(
    runner: ExpressJobRunner, store: MemoryStore
) -> None:
    start(runner)
    forget_ended(store, runner._clock.now())
    assert len(runner.open_runs()) == 1
    record_end(store, told(ATTEMPT.branch), runner._clock.now())
    forget_ended(store, runner._clock.now())
    assert store.names("notes/") == []
    assert state(runner) is JobState.SUCCEEDED


def test_whoever_asks_for_runs_writes_nothing(runner: ExpressJobRunner, store: MemoryStore) -> None:
    start(runner)
    record_end(store, told(ATTEMPT.branch), runner._clock.now())
    before = dict(store.objects)
    assert runner.open_runs() == []
    assert store.objects == before


@pytest.mark.parametrize(("is_taken", "minutes"), [(False, 6.5), (True, 5.5)])
def test_a_run_that_nobody_tells_the_end_of_has_failed_when_the_function_cannot_be_at_it_any_more(
    runner: ExpressJobRunner, store: MemoryStore, clock: MemoryClock, *, is_taken: bool, minutes: float
) -> None:
    start(runner)
    if is_taken:
        store.write(TAKEN, to_json(RunMark(taken_at=clock.now())).encode())
    limit = clock.now() + timedelta(minutes=minutes)
    clock.time = limit
    assert state(runner) is JobState.RUNNING
    clock.time = limit + timedelta(seconds=1)
    assert state(runner) is JobState.FAILED
    assert runner.open_runs() == []
    run = runner.find(ATTEMPT.branch)
    assert run
    assert run.ended_at == limit
    forget_ended(store, clock.now())
    assert bool(store.names("notes/")) is not is_taken  # nothing else tells that there was one


def test_a_run_whose_start_was_not_noted_is_found_by_the_note_that_it_is_taken(
    runner: ExpressJobRunner, store: MemoryStore, clock: MemoryClock
) -> None:
    store.write(TAKEN, to_json(RunMark(taken_at=clock.now())).encode())
    assert state(runner) is JobState.RUNNING


def test_a_run_that_ended_well_says_what_it_took(runner: ExpressJobRunner, store: MemoryStore) -> None:
    run = start(runner)
    assert record_end(store, told(ATTEMPT.branch), runner._clock.now()) == run
    usage = runner.get(run).usage
    assert usage
    assert (usage.seconds, usage.vcpu_hours, usage.storage_gb_hours) == (2, 0, 0)
    assert usage.memory_gb_hours == pytest.approx(3 * 1.8 / 3600)


@pytest.mark.parametrize(
    ("condition", "answer", "reason"),
    [
        ("RetriesExhausted", {"errorType": "ValueError", "errorMessage": SECRET}, "RetriesExhausted: ValueError"),
        ("RetriesExhausted", {"errorType": "Sandbox.Timedout"}, "RetriesExhausted: Sandbox.Timedout"),
        ("EventAgeExceeded", {}, "EventAgeExceeded"),
    ],
)
def test_a_call_that_failed_is_told_without_the_errors_text(
    runner: ExpressJobRunner, store: MemoryStore, condition: str, answer: object, reason: str
) -> None:
    run = start(runner)
    record_end(store, told(ATTEMPT.branch, condition, answer), runner._clock.now())
    found = runner.get(run)
    assert found.state is JobState.FAILED
    assert found.reason.startswith(reason)
    assert SECRET not in found.reason + str(store.objects)


def test_the_first_end_that_is_told_holds(runner: ExpressJobRunner, store: MemoryStore) -> None:
    run = start(runner)
    for condition in ("Success", "RetriesExhausted"):
        record_end(store, told(ATTEMPT.branch, condition), runner._clock.now())
    assert runner.get(run).state is JobState.SUCCEEDED


def test_a_call_that_found_its_run_taken_tells_nothing_of_its_end(runner: ExpressJobRunner, store: MemoryStore) -> None:
    run = start(runner)
    assert record_end(store, told(ATTEMPT.branch, answer={"outcome": "taken"}), runner._clock.now()) == run
    assert state(runner) is JobState.RUNNING


def test_an_end_is_told_apart_from_a_state_change_of_emr() -> None:
    assert [is_end(told(ATTEMPT.branch)), is_end({"detail": {"jobRunId": "00run"}})] == [True, False]


@pytest.mark.parametrize("event", [{}, {"requestPayload": []}, {"requestPayload": {"branch": "b"}}, {"detail": {}}])
def test_what_tells_of_no_run_notes_nothing(store: MemoryStore, clock: MemoryClock, event: dict[str, Any]) -> None:
    with pytest.raises(NO_EVENT):
        record_end(store, event, clock.now())
    assert store.objects == {}


def test_an_end_that_cannot_be_read_is_a_mistake(runner: ExpressJobRunner, store: MemoryStore) -> None:
    store.write(f"attempts/{ATTEMPT.branch}/express.json", b"{")
    with pytest.raises(Misconfigured, match="can't be read"):
        runner.find(ATTEMPT.branch)
