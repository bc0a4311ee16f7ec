"""LocalStack's poller with our way of gathering, without LocalStack."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from lakegate_localstack.batch_windows import equip, poll_events


class Poller:
    """A mapping's poller, its queue and its function in one: `meet` is how many must be in the function at once."""

    is_fifo_queue = False
    queue_url = "queue"
    batch_size = 2
    maximum_batching_window = 300

    def __init__(self, received: list[list[str] | Exception], *, meet: int = 1, scaling: int = 2) -> None:
        self.source_client = self
        self._received = received
        self._meeting = threading.Barrier(meet)
        self.batches: list[list[str]] = []
        self.asked = 0
        self.stopped = threading.Event()
        equip(self, {"ScalingConfig": {"MaximumConcurrency": scaling}}, self.stopped)

    def receive_message(self, **_: Any) -> dict[str, Any]:
        self.asked += 1
        found = self._received.pop(0) if self._received else []
        if isinstance(found, Exception):
            raise found
        return {"Messages": found}

    def handle_messages(self, messages: list[str]) -> None:
        self._meeting.wait(timeout=300)
        self.batches.append(messages)
        if "wrong" in messages:
            raise ValueError("the function failed")

    def poll(self) -> None:
        poll_events(None, self)


def test_two_batches_are_in_the_function_at_once(until: Callable[..., Any]) -> None:
    poller = Poller([["1", "2"], ["3", "4"]], meet=2)

    poller.poll()
    poller.poll()

    assert sorted(until(lambda: len(poller.batches) == 2 and poller.batches)) == [["1", "2"], ["3", "4"]]


def test_no_more_batches_are_in_the_function_than_the_mapping_says() -> None:
    poller = Poller([["1", "2"], ["3", "4"]], meet=2, scaling=1)

    poller.poll()
    poller.poll()  # finds no place

    assert poller._received == [["3", "4"]]
    poller._meeting.abort()


def test_what_was_received_is_handed_over_when_the_queue_fails(until: Callable[..., Any]) -> None:
    poller = Poller([["1"], ConnectionError("gone")])

    with pytest.raises(ConnectionError):
        poller.poll()

    until(lambda: poller.batches == [["1"]])


def test_function_that_fails_slows_nobody_down_and_gives_its_place_back(until: Callable[..., Any]) -> None:
    poller = Poller([["1", "wrong"], ["2", "3"]], scaling=1)

    def both_came() -> bool:
        poller.poll()
        return poller.batches == [["1", "wrong"], ["2", "3"]]

    until(both_came)


def test_window_ends_with_its_mapping(until: Callable[..., Any]) -> None:
    poller = Poller([["1"]])
    poller.stopped.set()

    poller.poll()

    until(lambda: poller.batches == [["1"]])
    assert poller.asked == 1
