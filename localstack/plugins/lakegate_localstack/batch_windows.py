"""Batches of SQS messages, collected as Lambda collects them. A window opens with its first message, and the mapping's
ScalingConfig says how many batches run at once. FIFO queues keep LocalStack's way.

LocalStack itself hands over whatever it finds with the first message, so that files dropped together fall apart. After
a time without messages it pauses for up to ten seconds, and it waits for the function before it polls again.
"""
# ruff: noqa: PLC0415, SLF001 (tests import this without LocalStack; a poller's stop event has no public name)

import logging
import threading
import time
from typing import Any

LOG = logging.getLogger(__name__)
PATIENCE_SECONDS = 5  # the wait for a first message; a deleted mapping polls on for at most this long
STEP_SECONDS = 1  # the shortest wait that SQS knows
LARGEST_RECEIVE = 10  # LocalStack gives more only to its own pollers, by the override below
PLACES = 5  # concurrent batches if the mapping sets no maximum: Lambda's initial number


def apply() -> None:
    from localstack.services.lambda_.event_source_mapping.esm_worker_factory import EsmWorkerFactory
    from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller
    from localstack.utils.patch import patch

    patch(EsmWorkerFactory.get_esm_worker)(_get_esm_worker)
    patch(SqsPoller.poll_events)(poll_events)


def _get_esm_worker(original: Any, factory: Any) -> Any:
    worker = original(factory)
    equip(worker.poller, factory.esm_config, worker._shutdown_event)
    return worker


def equip(poller: Any, mapping: dict[str, Any], stopped: threading.Event) -> None:
    """Give a mapping's poller its limit of concurrent batches, and the event of the mapping's deletion."""
    scaling = mapping.get("ScalingConfig") or {}
    poller.places = threading.Semaphore(scaling.get("MaximumConcurrency") or PLACES)
    poller.stopped = stopped


def poll_events(original: Any, poller: Any) -> None:
    """Gather one batch and hand it over in a thread, so that the next one can gather meanwhile."""
    if poller.is_fifo_queue:
        original(poller)
        return
    if not poller.places.acquire(timeout=STEP_SECONDS):
        return
    messages: list[dict[str, Any]] = []
    try:
        _gather(poller, messages)
    finally:  # after an error, too, because the queue hides received messages for half an hour
        if messages:
            threading.Thread(target=_hand_over, args=(poller, messages), name="sqs-batch", daemon=True).start()
        else:
            poller.places.release()


def _gather(poller: Any, messages: list[dict[str, Any]]) -> None:
    """Add messages to `messages`, until the window or the mapping ends or the batch is full."""
    messages += _receive(poller, count=poller.batch_size, seconds=PATIENCE_SECONDS)
    window_ends = time.monotonic() + poller.maximum_batching_window
    while messages and len(messages) < poller.batch_size and time.monotonic() < window_ends:
        if poller.stopped.is_set():
            return
        messages += _receive(poller, count=poller.batch_size - len(messages), seconds=STEP_SECONDS)


def _hand_over(poller: Any, messages: list[dict[str, Any]]) -> None:
    try:
        poller.handle_messages(messages)
    except Exception as exc:  # noqa: BLE001 - the queue delivers them again; the poller goes on
        LOG.warning("a batch of %d messages failed: %s", len(messages), exc)
    finally:
        poller.places.release()


def _receive(poller: Any, *, count: int, seconds: int) -> list[dict[str, Any]]:
    """Return up to `count` messages. Wait up to `seconds` for the first if the queue is empty."""
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
