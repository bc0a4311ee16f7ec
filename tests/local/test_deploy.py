"""What a deployment does with a stack that it finds, on a CloudFormation of this test's own, and in which order."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from lakegate_local import deploy
from lakegate_local.deploy import Stack
from lakegate_local.settings import LocalSettings

from lakegate.errors import Misconfigured, Retryable

APPLICATION = {"ResourceType": "AWS::EMRServerless::Application", "Action": "Modify", "PhysicalResourceId": "00app"}
ROLE = {"ResourceType": "AWS::IAM::Role", "Action": "Modify", "PhysicalResourceId": "role"}


class JobsRun(ClientError):
    def __init__(self) -> None:
        said = "Application 00app has active job runs"
        super().__init__({"Error": {"Code": "ValidationException", "Message": said}}, "StopApplication")


class Aws:
    """CloudFormation and EMR Serverless in one; `statuses` are what the stack is, one after the other."""

    class exceptions:  # noqa: N801 - as boto3 spells it
        ValidationException = JobsRun

    def __init__(self, statuses: list[str | None], *changes: dict[str, str], jobs_run: bool = False) -> None:
        self._statuses, self._changes, self._jobs_run = statuses, changes, jobs_run
        self._told: str | None = None
        self.asked: list[str] = []

    def describe_stacks(self, **_: Any) -> Any:
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        self._told = status
        if status is None:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        return {"Stacks": [{"StackStatus": status}]}

    def create_change_set(self, **given: Any) -> Any:
        self.asked.append(f"{given['ChangeSetType']} of {self._told}")
        return {"Id": "change"}

    def describe_change_set(self, **_: Any) -> Any:
        return {"Status": "CREATE_COMPLETE", "Changes": [{"ResourceChange": change} for change in self._changes]}

    def stop_application(self, **given: Any) -> None:
        self.asked.append(f"stop {given['applicationId']}")
        if self._jobs_run:
            raise JobsRun

    def execute_change_set(self, **_: Any) -> None:
        self.asked.append("execute")

    def describe_stack_resources(self, **_: Any) -> Any:
        return {"StackResources": []}

    def describe_stack_events(self, **_: Any) -> Any:
        failed = {"LogicalResourceId": "App", "ResourceType": "T", "ResourceStatus": "UPDATE_FAILED"}
        return {"StackEvents": [failed | {"ResourceStatusReason": "it is started"}]}


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Aws], list[str]]:
    """Deploy to it; what it was asked for."""
    monkeypatch.setattr(deploy, "POLL_SECONDS", 0)

    def run(aws: Aws) -> list[str]:
        monkeypatch.setattr(deploy, "client", lambda *_: aws)
        Stack(LocalSettings(), "lakegate", lambda _: None).change("template")
        return aws.asked

    return run


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_stack_that_is_not_made_yet_is_created(change: Callable[[Aws], list[str]], status: str | None) -> None:
    assert change(Aws([status, "CREATE_IN_PROGRESS", "CREATE_COMPLETE"])) == [f"CREATE of {status}", "execute"]


def test_deployment_that_still_runs_is_waited_for(change: Callable[[Aws], list[str]]) -> None:
    aws = Aws(["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE"])

    assert change(aws) == ["UPDATE of CREATE_COMPLETE", "execute"]


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "DELETE_FAILED"])
def test_stack_of_a_failed_deployment_is_not_touched(change: Callable[[Aws], list[str]], status: str) -> None:
    aws = Aws([status])

    with pytest.raises(Misconfigured, match=f"is {status}.*lakegate local down"):
        change(aws)

    assert aws.asked == []


def test_failed_deployment_says_of_what_and_what_to_do(change: Callable[[Aws], list[str]]) -> None:
    with pytest.raises(Misconfigured, match=r"App \(T\): it is started[\s\S]*lakegate local down"):
        change(Aws(["UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "ROLLBACK_COMPLETE"]))


def test_application_is_stopped_before_it_is_changed(change: Callable[[Aws], list[str]]) -> None:
    update = "UPDATE of CREATE_COMPLETE"
    statuses = ("CREATE_COMPLETE", "UPDATE_COMPLETE")

    assert change(Aws([*statuses], ROLE, APPLICATION)) == [update, "stop 00app", "execute"]
    assert change(Aws([*statuses], ROLE)) == [update, "execute"]


def test_nothing_is_changed_while_jobs_of_the_application_run(change: Callable[[Aws], list[str]]) -> None:
    aws = Aws(["CREATE_COMPLETE"], APPLICATION, jobs_run=True)

    with pytest.raises(Retryable, match=r"has active job runs.*lakegate local up"):
        change(aws)

    assert "execute" not in aws.asked


def test_a_stack_is_deployed_after_those_that_it_needs(tmp_path: Path) -> None:
    kind = "aws:cloudformation:stack"
    artifacts = {
        "lakegate": {"type": kind, "dependencies": ["lakegate.assets", "lakegate-data"]},
        "lakegate-data": {"type": kind, "dependencies": ["lakegate-data.assets"]},
        "lakegate.assets": {"type": "cdk:asset-manifest"},
        "lakegate-data.assets": {"type": "cdk:asset-manifest"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))

    assert deploy.stacks(tmp_path) == ["lakegate-data", "lakegate"]
