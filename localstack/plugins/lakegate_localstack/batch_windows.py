"""Makes LocalStack collect SQS batches as Lambda does: a window opens with its first message. FIFO queues stay as is.

LocalStack hands over what it finds with the first message, so files dropped together fall apart, and after a while
without messages it looks away for up to ten seconds.
"""

import time
from typing import Any

from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller
from localstack.utils.patch import patch

PATIENCE_SECONDS = 5  # as long as nothing comes; a mapping that is deleted goes on for at most this long
STEP_SECONDS = 1  # the shortest wait that SQS knows
LARGEST_RECEIVE = 10  # more than that LocalStack gives to its own pollers only


def apply() -> None:
    patch(SqsPoller.poll_events)(_poll_events)


def _poll_events(original: Any, poller: Any) -> None:
    if poller.is_fifo_queue:
        original(poller)
        return
    messages = _receive(poller, count=poller.batch_size, seconds=PATIENCE_SECONDS)
    window_ends = time.monotonic() + poller.maximum_batching_window
    while messages and len(messages) < poller.batch_size and time.monotonic() < window_ends:
        messages += _receive(poller, count=poller.batch_size - len(messages), seconds=STEP_SECONDS)
    if messages:
        poller.handle_messages(messages)


def _receive(poller: Any, *, count: int, seconds: int) -> list[dict[str, Any]]:
    """What is in the queue, waiting for a first message if it is empty."""
    answer = poller.source_client.receive_message(
        QueueUrl=poller.queue_url,
        MaxNumberOfMessages=min(count, LARGEST_RECEIVE),
        WaitTimeSeconds=seconds,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
        sqs_override_max_message_count=count,
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages
