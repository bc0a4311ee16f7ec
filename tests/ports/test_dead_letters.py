"""Tests of what every `DeadLetters` promises, and what AWS puts into such queues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lakegate.adapters import sqs
from lakegate.adapters.sqs import SqsDeadLetters
from lakegate.ports import DeadLetter, DeadLetters
from lakegate.testing import MemoryDeadLetters
from tests.ports.test_express import told
from tests.support.aws_events import object_created, run_ended

CREATED = object_created("landing", "a b/é.csv", "v1", sequencer="0F")
ENDED = run_ended("00run")
LANDED = ("a b/é.csv", "v1", "0F")
Put = Callable[[str], None]


def failed(event: object) -> dict[str, Any]:
    """Return what Lambda puts into the queue of a function that failed on an event."""
    return {
        "version": "1.0",
        "requestContext": {"condition": "RetriesExhausted", "approximateInvokeCount": 3},
        "requestPayload": event,
        "responseContext": {"statusCode": 200, "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": "Nessie does not answer"},
    }


def left_in(queue: str) -> int:
    """Return how many messages a queue holds, those that a reader has hidden among them."""
    told = boto3.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    return int(told["ApproximateNumberOfMessages"]) + int(told["ApproximateNumberOfMessagesNotVisible"])


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield [boto3.client("sqs").create_queue(QueueName=name)["QueueUrl"] for name in ("ingest", "settle")]


@pytest.fixture(params=["memory", "sqs"])
def letters(request: pytest.FixtureRequest) -> tuple[DeadLetters, Put]:
    """Dead letters, and a way to put one there: the end of a run."""
    if request.param == "memory":
        memory = MemoryDeadLetters()
        return memory, lambda run: memory.letters.append(DeadLetter(id=run, run=run))
    queue = request.getfixturevalue("queues")[1]
    body = ENDED | {"detail": {"jobRunId": "RUN"}}

    def put(run: str) -> None:
        boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(body).replace("RUN", run))

    return SqsDeadLetters([queue]), put


def test_of_many_letters_those_that_are_deleted_are_gone_and_the_others_stay(letters: tuple[DeadLetters, Put]) -> None:
    dead, put = letters
    assert dead.read() == []
    for number in range(25):
        put(f"run-{number}")
    read = dead.read()
    assert {letter.run for letter in read} == {f"run-{number}" for number in range(25)}
    dead.delete(read[:-1])
    if isinstance(dead, SqsDeadLetters):
        assert left_in(dead._queues[0]) == 1
    else:
        assert dead.read() == read[-1:]


def test_a_letter_that_sqs_returns_twice_is_read_once_and_deleted(
    queues: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3.client("sqs").send_message(QueueUrl=queues[0], MessageBody=json.dumps(ENDED))
    monkeypatch.setattr(sqs, "HIDDEN_SECONDS", 0)
    monkeypatch.setattr(sqs, "MOST_MESSAGES", 2 * sqs.AT_ONCE)
    dead = SqsDeadLetters(queues[:1])
    [letter] = dead.read()
    dead.delete([letter])
    assert left_in(queues[0]) == 0


def test_deleting_none_is_fine(letters: tuple[DeadLetters, Put]) -> None:
    letters[0].delete([])


@pytest.mark.parametrize(
    ("body", "landed", "run"),
    [
        (json.dumps(CREATED), LANDED, ""),
        (json.dumps(failed(CREATED)), LANDED, ""),
        (json.dumps(ENDED), None, "00run"),
        (json.dumps(failed(ENDED)), None, "00run"),
        (json.dumps(failed(told("wap-a.b-a1"))), None, "express-wap-a.b-a1"),
        (json.dumps(failed(None)), None, ""),
        ("hello", None, ""),
        ("[]", None, ""),
        (json.dumps({"detail": {}}), None, ""),
    ],
)
def test_a_letter_says_what_the_event_was_whoever_gave_it_up(
    queues: list[str], body: str, landed: tuple[str, str, str] | None, run: str
) -> None:
    boto3.client("sqs").send_message(QueueUrl=queues[0], MessageBody=body)
    (letter,) = SqsDeadLetters(queues).read()
    assert (letter.arrival, letter.run) == (landed, run)


def test_both_queues_are_read_and_each_letter_is_deleted_where_it_is(queues: list[str]) -> None:
    client = boto3.client("sqs")
    for queue, event in zip(queues, (CREATED, ENDED), strict=True):
        client.send_message(QueueUrl=queue, MessageBody=json.dumps(event))
    dead = SqsDeadLetters(queues)
    dead.delete(dead.read())
    assert [left_in(queue) for queue in queues] == [0, 0]
