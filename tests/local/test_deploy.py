"""Tests of what a deployment does with a stack that it finds, on a CloudFormation of this test's own, and in which
order.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from lakegate_local import deploy
from lakegate_local.deploy import Stack
from lakegate_local.settings import LocalSettings

from lakegate.errors import Misconfigured
from lakegate.testing import MemoryIntake

APPLICATION = {"ResourceType": "AWS::EMRServerless::Application", "Action": "Modify", "PhysicalResourceId": "00app"}
ROLE = {"ResourceType": "AWS::IAM::Role", "Action": "Modify", "PhysicalResourceId": "role"}


class Aws:
    """CloudFormation, where `statuses` are what the stack is, one after the other, and the stack's intake."""

    def __init__(self, statuses: list[str | None], *changes: dict[str, str]) -> None:
        self._statuses, self._changes = statuses, changes
        self.intake = MemoryIntake(runs={"a job"})
        self._told: str | None = None
        self.asked: list[str] = []

    def describe_stacks(self, **_: Any) -> Any:
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        self._told = status
        if status is None:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        return {"Stacks": [{"StackId": "id", "StackStatus": status}]}

    def create_change_set(self, **given: Any) -> Any:
        self.asked.append(f"{given['ChangeSetType']} of {self._told}")
        return {"Id": "change"}

    def describe_change_set(self, **_: Any) -> Any:
        return {"Status": "CREATE_COMPLETE", "Changes": [{"ResourceChange": change} for change in self._changes]}

    def execute_change_set(self, **_: Any) -> None:
        self.asked.append("execute" if self.intake.is_open() else f"execute beside {len(self.intake.runs)} jobs")

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> Any:
        return [{"StackResourceSummaries": []}]

    def describe_stack_resources(self, **_: Any) -> Any:
        return {"StackResources": []}

    def describe_stack_events(self, **_: Any) -> Any:
        failed = {"LogicalResourceId": "App", "ResourceType": "T", "ResourceStatus": "UPDATE_FAILED"}
        return {"StackEvents": [failed | {"ResourceStatusReason": "it is started"}]}


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Aws], list[str]]:
    """Deploy to it; what it was asked for."""

    def run(aws: Aws) -> list[str]:
        monkeypatch.setattr(deploy, "client", lambda *_: aws)
        monkeypatch.setattr(deploy, "AwsIntake", lambda *_: aws.intake)
        monkeypatch.setattr(time, "sleep", lambda _: aws.intake.runs.clear())
        Stack(LocalSettings(), "lakegate", lambda _: None).change("template")
        return aws.asked

    return run


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_stack_that_is_not_made_yet_is_created(change: Callable[[Aws], list[str]], status: str | None) -> None:
    assert change(Aws([status, "CREATE_IN_PROGRESS", "CREATE_COMPLETE"])) == [f"CREATE of {status}", "execute"]


def test_deployment_that_still_runs_is_waited_for(change: Callable[[Aws], list[str]]) -> None:
    aws = Aws(["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE"])

    assert change(aws) == ["UPDATE of CREATE_COMPLETE", "execute"]


def test_failed_deployment_says_of_what_and_what_to_do(change: Callable[[Aws], list[str]]) -> None:
    with pytest.raises(Misconfigured, match=r"App \(T\): it is started[\s\S]*Run again: lakegate local up"):
        change(Aws(["UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "ROLLBACK_COMPLETE"]))


def test_application_that_changes_stands_still(change: Callable[[Aws], list[str]]) -> None:
    update = "UPDATE of CREATE_COMPLETE"
    aws = Aws(["CREATE_COMPLETE", "UPDATE_COMPLETE"], ROLE, APPLICATION)

    assert change(aws) == [update, "execute beside 0 jobs"]
    assert aws.intake.is_open()
    assert change(Aws(["CREATE_COMPLETE", "UPDATE_COMPLETE"], ROLE)) == [update, "execute"]
