"""Recovery of a stack in states in which CloudFormation alone can bring it, on an emulator whose states a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.cloudformation.models import cloudformation_backends
from moto.core.models import DEFAULT_ACCOUNT_ID

from lakegate.adapters.stacks import Stacks
from lakegate.cli import recovery
from lakegate.cli.recovery import recover
from lakegate.errors import Misconfigured, Retryable

NAME = "lake"


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The emulator's own stack, whose status is the test's to set."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        template = json.dumps({"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}})
        boto3.client("cloudformation").create_stack(StackName=NAME, TemplateBody=template)
        (made,) = cloudformation_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].stacks.values()
        yield made


def recovered(said: list[str], pause: Callable[[float], None]) -> str:
    return recover(Stacks(), NAME, said.append, pause).status


@pytest.mark.parametrize(
    ("running", "ended"),
    [("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"), ("UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE")],
)
def test_an_operation_of_somebody_else_s_is_waited_for(stack: Any, running: str, ended: str) -> None:
    said: list[str] = []
    states = iter([running, running, ended])

    def pause(_: float) -> None:
        stack.status = next(states)

    stack.status = running
    assert recovered(said, pause) == ended
    assert said == [f"lake is {running}: waiting for its end"]


def test_an_operation_without_an_end_is_left_after_two_hours(stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "PAUSE", 1200.0)
    stack.status = "UPDATE_IN_PROGRESS"
    seconds: list[float] = []
    with pytest.raises(Retryable, match="UPDATE_IN_PROGRESS after two hours: run the same command again"):
        recovered([], seconds.append)
    assert sum(seconds) == 7200


def test_an_import_that_was_not_taken_back_is_a_person_s(stack: Any) -> None:
    stack.status = "IMPORT_ROLLBACK_FAILED"
    with pytest.raises(Misconfigured, match=r"aws cloudformation describe-stack-events --stack-name lake$"):
        recovered([], lambda _: None)
