"""The templates hold what docs/explanation/security-review.md answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.infra.conftest import CONTEXT, REVIEWED, Reviewed, synthesised
from tests.infra.template import Stack

pytestmark = pytest.mark.synth
BOUNDARY = "arn:aws:iam::123456789012:policy/platform/boundary"


def test_every_role_of_every_stack_has_the_boundary(tmp_path: Path) -> None:
    roles = synthesised({**REVIEWED, "role_boundary": BOUNDARY}, tmp_path).resources("AWS::IAM::Role")
    assert len(roles) > 10
    assert {name: role.get("PermissionsBoundary") for name, role in roles.items()} == dict.fromkeys(roles, BOUNDARY)


def test_no_role_has_a_boundary_unless_one_is_given(reviewed: Reviewed) -> None:
    assert not [role for role in reviewed.stack.resources("AWS::IAM::Role").values() if "PermissionsBoundary" in role]


@pytest.fixture(scope="module", params=["own catalog", "reviewed"])
def each(request: pytest.FixtureRequest, reviewed: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return reviewed.stack if request.param == "reviewed" else synthesised(CONTEXT, tmp_path_factory.mktemp("own"))


def test_every_log_ends(each: Stack) -> None:
    groups = each.resources("AWS::Logs::LogGroup")
    assert {name: group.get("RetentionInDays") for name, group in groups.items()} == dict.fromkeys(groups, 90)


def test_whatever_writes_a_log_writes_to_a_group_of_the_stacks(each: Stack) -> None:
    """AWS would make another group by itself, which keeps its events for ever."""
    groups = each.resources("AWS::Logs::LogGroup")
    names = {group.get("LogGroupName") for group in groups.values()}
    functions = [function["FunctionName"] for function in each.resources("AWS::Lambda::Function").values()]
    assert not [name for name in functions if f"/aws/lambda/{name}" not in names]
    targets: list[Any] = [
        container["LogConfiguration"]["Options"]["awslogs-group"]
        for task in each.resources("AWS::ECS::TaskDefinition").values()
        for container in task["ContainerDefinitions"]
    ]
    targets += [flow["LogGroupName"] for flow in each.resources("AWS::EC2::FlowLog").values()]
    assert not [target for target in targets if target["Ref"] not in groups]
    assert not [db for db in each.resources("AWS::RDS::DBInstance").values() if "EnableCloudwatchLogsExports" in db]
    (application,) = each.resources("AWS::EMRServerless::Application").values()
    assert "MonitoringConfiguration" not in application  # a run brings it: tests/ports/test_runner.py


def test_the_logs_in_buckets_end(each: Stack) -> None:
    """Spark's jobs write theirs below `logs/` of the service's bucket, and S3 its own into a bucket apart."""
    service = each.one("AWS::S3::Bucket", "StorageService")
    others = [
        bucket["LoggingConfiguration"]["DestinationBucketName"]
        for bucket in each.resources("AWS::S3::Bucket").values()
        if "LoggingConfiguration" in bucket
    ]
    targets = {target["Ref"] for target in others}
    for bucket in (service, *(each.resources("AWS::S3::Bucket")[name] for name in targets)):
        rules = {rule.get("Prefix"): rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
        assert rules["logs/"]["ExpirationInDays"] == 90
        assert rules["logs/"]["Status"] == "Enabled"
