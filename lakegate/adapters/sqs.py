"""`DeadLetters` and `Reminders` on SQS. Dead letters are what EventBridge could not deliver, what Lambda failed on, and
what was received too often.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3

from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.adapters.events import NO_EVENT, ended_run, landed_version, reminder
from lakegate.adapters.express import is_end, run_of
from lakegate.landing.chunks import in_chunks
from lakegate.landing.files import FileVersion
from lakegate.ports import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

AT_ONCE, MOST_MESSAGES = 10, 1000  # messages of a call (the service's maximum), and of one reading of a queue
HIDDEN_SECONDS = 60  # seconds in which no other call returns a message that was read
LONGEST_DELAY = 900  # seconds, the service's maximum


class SqsDeadLetters:
    """The dead letters of several queues, by their URLs."""

    def __init__(self, queues: Sequence[str]) -> None:
        self._queues = queues
        self._read: dict[str, tuple[str, str]] = {}  # queue and receipt handle of each letter

    @cached_property
    def _sqs(self) -> "SQSClient":
        return boto3.client("sqs", config=CONFIG)

    def read(self) -> list[DeadLetter]:
        """See the port. SQS may return a message twice; the later handle deletes it."""
        letters = (letter for queue in self._queues for letter in self._letters(queue))
        return list({letter.id: letter for letter in letters}.values())

    def _letters(self, queue: str) -> Iterator[DeadLetter]:
        with aws_errors(f"reading the dead letters {queue}"):
            for _ in range(MOST_MESSAGES // AT_ONCE):
                answer = self._sqs.receive_message(
                    QueueUrl=queue, MaxNumberOfMessages=AT_ONCE, VisibilityTimeout=HIDDEN_SECONDS
                )
                for message in answer.get("Messages", ()):
                    self._read[message["MessageId"]] = queue, message["ReceiptHandle"]
                    yield _letter(message)
                if not answer.get("Messages"):
                    return

    def delete(self, letters: Iterable[DeadLetter]) -> None:
        by_queue: dict[str, list[tuple[str, str]]] = {}
        for letter in letters:
            queue, handle = self._read.pop(letter.id)
            by_queue.setdefault(queue, []).append((letter.id, handle))
        for queue, entries in by_queue.items():
            with aws_errors(f"deleting dead letters of {queue}"):
                for chunk in in_chunks(entries, AT_ONCE):
                    batch = [{"Id": id_, "ReceiptHandle": handle} for id_, handle in chunk]
                    self._sqs.delete_message_batch(QueueUrl=queue, Entries=batch)  # type: ignore[arg-type]


class SqsReminders:
    """Reminders that wait in the queue of files' events."""

    def __init__(self, queue: str) -> None:
        self._queue = queue

    @cached_property
    def _sqs(self) -> "SQSClient":
        return boto3.client("sqs", config=CONFIG)

    def remind(self, file: FileVersion, after: timedelta) -> None:
        delay = min(math.ceil(after.total_seconds()), LONGEST_DELAY)
        with aws_errors(f"putting a reminder of {file.key} into {self._queue}"):
            self._sqs.send_message(QueueUrl=self._queue, MessageBody=json.dumps(reminder(file)), DelaySeconds=delay)


def _letter(message: "MessageTypeDef") -> DeadLetter:
    event: Any = None
    with suppress(*NO_EVENT):
        event = json.loads(message["Body"])
        event = event.get("requestPayload", event)  # Lambda puts the event into a record of its failure
    with suppress(*NO_EVENT):
        return DeadLetter(id=message["MessageId"], arrival=landed_version(event))
    with suppress(*NO_EVENT):
        return DeadLetter(id=message["MessageId"], run=run_of(event) if is_end(event) else ended_run(event))
    return DeadLetter(id=message["MessageId"])
