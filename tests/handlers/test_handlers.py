"""The functions' events: what AWS sends is parsed, what must be delivered again is named."""

import json
from typing import Any

import pytest

from handlers import canary, ingest, reconcile, settle
from lakegate.adapters.express import ExpressJobRunner
from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.ports import JobState
from lakegate.testing.jobs import USAGE
from lakegate.workflow.attempts.usage import usage_of
from tests.ports.test_express import told
from tests.support.aws_events import object_created, run_ended
from tests.world.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    for module in (ingest, settle, reconcile, canary):
        monkeypatch.setattr(module, "service", lambda: world.service)
    return world


def sqs(*files: FileVersion) -> dict[str, Any]:
    """Return what SQS hands over: an "Object Created" event as EventBridge puts it in the queue, a message each."""
    return {"Records": [{"messageId": f"m{n}", "body": json.dumps(created(file))} for n, file in enumerate(files)]}


def created(file: FileVersion) -> dict[str, Any]:
    return object_created(file.bucket, file.key, file.version_id, size=file.size, sequencer="00617F08299329D189")


def test_files_of_one_delivery_are_one_batch_and_one_job(world: World) -> None:
    files = [world.drop(f"{n}.parquet", rows=n, deliver=False) for n in range(1, 13)]
    assert ingest.handler(sqs(*files), None) == {"batchItemFailures": []}
    assert world.job_runs() == 1
    world.run()
    assert sum(world.rows_on_main().values()) == 78


@pytest.mark.parametrize("name", ["a b+%#?.parquet", "*?[]{}.parquet", "é漢\"'.parquet", "x" * 980 + ".parquet"])
def test_awkward_keys_arrive_as_they_are(world: World, name: str) -> None:
    ingest.handler(sqs(world.drop(name, rows=1, deliver=False)), None)
    world.run()
    assert world.rows_on_main() == {name: 1}


def test_a_message_that_is_no_event_goes_to_the_dead_letters_alone(world: World) -> None:
    event = sqs(world.drop("1.parquet", rows=1, deliver=False))
    event["Records"] += [{"messageId": "bad", "body": "hello"}, {"messageId": "worse", "body": '{"detail": []}'}]
    assert ingest.handler(event, None) == {
        "batchItemFailures": [{"itemIdentifier": "bad"}, {"itemIdentifier": "worse"}]
    }
    assert world.job_runs() == 1


def test_files_that_cannot_be_received_now_are_delivered_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> str:
        raise Retryable("EMR does not answer")

    event = sqs(world.drop("1.parquet", rows=1, deliver=False))
    with monkeypatch.context() as patch:
        patch.setattr(world.runner, "start", unreachable)
        assert ingest.handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert ingest.handler(event, None) == {"batchItemFailures": []}
    world.run()
    assert world.rows_on_main() == {"1.parquet": 1}


def test_the_end_of_a_job_run_settles_its_attempt_however_often_it_is_told(world: World) -> None:
    world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run(settle_after=False)
    for _ in range(3):
        settle.handler(run_ended(run.id), None)
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.publications("1.parquet") == 1


def test_the_end_of_a_job_run_is_noted_with_what_it_took_although_its_batch_is_settled_already(world: World) -> None:
    world.drop("1.parquet", rows=3)
    (run,), (attempt,) = world.runner.open_runs(), world.attempts()
    world.run()
    assert usage_of(world.store, attempt) is None
    settle.handler(run_ended(run.id), None)
    assert usage_of(world.store, attempt) == USAGE


def test_the_end_of_an_express_job_is_noted_as_lambda_tells_it_and_settles_its_attempt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[str] = []
    monkeypatch.setattr(settle, "settle_run", lambda _, run: settled.append(run))
    settle.handler(told("wap-a.b-a1"), None)
    assert settled == ["express-wap-a.b-a1"]
    assert ExpressJobRunner("express", world.store, world.clock).get(*settled).state is JobState.SUCCEEDED


def test_reconcile_fails_its_invocation_when_a_step_could_not_be_finished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> None:
        raise Retryable("Nessie does not answer")

    reconcile.handler({}, None)
    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    with monkeypatch.context() as patch:
        patch.setattr(world.service.publisher, "merge", unreachable)
        with pytest.raises(Retryable, match="Nessie does not answer"):
            reconcile.handler({}, None)
    reconcile.handler({}, None)
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_schedule_lands_a_canary_whose_event_is_like_any_other(world: World) -> None:
    canary.handler({}, None)
    (file,) = world.landing.versions()
    assert ingest.handler(sqs(file), None) == {"batchItemFailures": []}
    assert world.job_runs() == 1
