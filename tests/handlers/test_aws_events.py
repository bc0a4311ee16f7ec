"""Events that tests and the local cloud make, against what AWS publishes of them (tests/support/aws_events.py)."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.adapters.events import ended_run, landed_version
from tests.support.aws_events import Event, faults, object_created, run_ended

CREATED, ENDED = object_created("landing", "a b/é.csv", "v1", sequencer="0F"), run_ended("00run")


def test_what_tests_take_for_events_of_aws_is_as_aws_publishes_it() -> None:
    assert faults(CREATED) == faults(ENDED) == []
    assert landed_version(CREATED) == ("a b/é.csv", "v1", "0F")
    assert ended_run(ENDED) == "00run"


@pytest.mark.parametrize(
    ("event", "path", "value", "fault"),
    [
        (CREATED, "detail.object.key", None, "detail.object.key: Field required"),
        (CREATED, "detail.request-id", None, "detail.request-id: Field required"),
        (CREATED, "detail.object.name", "x", "detail.object.name: unknown"),
        (CREATED, "region", None, "region: Field required"),
        (ENDED, "detail.previousState", None, "detail.previousState: missing or unknown"),
        (ENDED, "detail.stateDetails", "x", "detail.stateDetails: missing or unknown"),
        (ENDED, "detail.state", "DONE", "detail.state: 'DONE' is none of"),
        (ENDED, "detail.updatedAt", "2013-01-31T04:09:00", "detail.updatedAt: no zone"),
        (ENDED, "time", None, "time: Field required"),
    ],
)
def test_an_event_that_aws_would_not_send_is_known(event: Event, path: str, value: Any, fault: str) -> None:
    [found] = faults(changed(event, path.split("."), value))
    assert found.startswith(fault)


def changed(event: Event, path: list[str], value: Any) -> Event:
    """Return the event with another value of a member, or without it."""
    name, *inner = path
    if inner:
        return {**event, name: changed(event[name], inner, value)}
    return {**event, name: value} if value is not None else {key: it for key, it in event.items() if key != name}
