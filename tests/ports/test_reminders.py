"""Tests of what every `Reminders` promises, and what `ingest` makes of those that come out of its queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from handlers import ingest
from lakegate.adapters import sqs
from lakegate.adapters.sqs import SqsReminders
from lakegate.landing.files import FileVersion
from lakegate.ports import Reminders
from lakegate.testing import MemoryClock, MemoryReminders
from lakegate.workflow.receiving.arrivals import Arrival
from tests.support.aws_events import object_created

FILE = FileVersion(
    bucket="landing", key="a b/é.csv", version_id="v1", size=3, landed_at=datetime(2013, 1, 31, tzinfo=UTC)
)
CREATED = object_created("landing", "other.csv", "v2")
Bodies = list[dict[str, Any]]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield boto3.client("sqs").create_queue(QueueName="ingest")["QueueUrl"]


def bodies(queue: str) -> Bodies:
    """Return those of the messages that are due."""
    answer = boto3.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in answer.get("Messages", ())]


@pytest.fixture(params=["memory", "sqs"])
def reminders(request: pytest.FixtureRequest) -> tuple[Reminders, Callable[[], list[str]]]:
    """Reminders, and the keys of those that are due."""
    if request.param == "memory":
        memory = MemoryReminders(MemoryClock())
        return memory, lambda: [file.key for file in memory.take_due()]
    queue = request.getfixturevalue("queue")
    return SqsReminders(queue), lambda: [body["detail"]["object"]["key"] for body in bodies(queue)]


def test_a_reminder_comes_when_its_time_is_over_and_not_before(
    reminders: tuple[Reminders, Callable[[], list[str]]],
) -> None:
    port, due = reminders
    port.remind(FILE, timedelta(minutes=5))
    assert due() == []
    port.remind(FILE, timedelta())
    assert due() == [FILE.key]


@pytest.mark.parametrize(("after", "seconds"), [(0.1, 1), (20, 20), (100_000, 900)])
def test_a_reminder_comes_not_too_early_and_is_put_off_no_longer_than_sqs_allows(
    queue: str, monkeypatch: pytest.MonkeyPatch, after: float, seconds: int
) -> None:
    asked = dict[str, Any]()
    port = SqsReminders(queue)
    monkeypatch.setattr(port._sqs, "send_message", lambda **call: asked.update(call))
    port.remind(FILE, timedelta(seconds=after))
    assert asked["DelaySeconds"] == seconds


def test_ingest_tells_a_reminder_from_an_event_and_has_none_delivered_again(
    queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqsReminders(queue).remind(FILE, timedelta())
    received = dict[str, Any]()

    def receive(_: object, arrivals: Any, reminded: Any) -> list[Any]:
        received.update(arrivals=list(arrivals), reminded=list(reminded))
        return []

    monkeypatch.setattr(ingest, "service", lambda: None)
    monkeypatch.setattr(ingest, "receive", receive)
    records = [
        {"messageId": str(number), "body": json.dumps(it)} for number, it in enumerate([CREATED, *bodies(queue)])
    ]
    assert ingest.handler({"Records": records}, None) == {"batchItemFailures": []}
    assert received == {"arrivals": [Arrival(key="other.csv", version_id="v2", sequencer="00")], "reminded": [FILE.key]}


def test_a_reminder_among_the_dead_letters_is_handled_as_its_file(queue: str) -> None:
    SqsReminders(queue).remind(FILE, timedelta())
    [letter] = sqs.SqsDeadLetters([queue]).read()
    assert letter.arrival == (FILE.key, "v1", "")
