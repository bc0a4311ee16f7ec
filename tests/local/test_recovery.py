"""Each state in which CloudFormation leaves a stack, and how a deployment recovers it, on the local cloud's own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError
from lakegate_local.deploy import Stack
from lakegate_local.settings import LocalSettings

from lakegate.adapters.stacks import Stacks
from lakegate.cli.recovery import recover
from lakegate.errors import Misconfigured
from tests.local.kinds import Aws, Make

pytestmark = pytest.mark.local
POLICY = "RetainExceptOnCreate"
BROKEN = "it cannot be made"


def queue(seconds: int = 30) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": seconds}}


@dataclass(kw_only=True)
class World:
    """A stack of a bucket that is kept and of a queue after it, and what breaks in it."""

    cloud: LocalSettings
    aws: Aws
    until: Make
    name: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex[:8]}")
    said: list[str] = field(default_factory=list)

    @property
    def bucket(self) -> str:
        return f"{self.name}-kept"

    @property
    def stacks(self) -> Stacks:
        return Stacks(self.aws)

    def break_(self, **faults: str) -> None:
        """Break these changes, Add_Q for the making of Q, and mend all others."""
        body = json.dumps({name.replace("_", " "): reason for name, reason in faults.items()})
        requests.put(f"{self.cloud.endpoint}/_lakegate/faults", data=body, timeout=60).raise_for_status()

    def change(self, kind: str, seconds: int = 30, *, rolls_back: bool = True) -> str:
        """Make or update the stack by a change set, and return its state at rest."""
        bucket = {"Type": "AWS::S3::Bucket", "DeletionPolicy": POLICY, "Properties": {"BucketName": self.bucket}}
        after = {**queue(seconds), "DependsOn": "Kept"}
        cloudformation = self.aws("cloudformation")
        change = cloudformation.create_change_set(
            StackName=self.name,
            ChangeSetName=f"c-{uuid.uuid4().hex}",
            ChangeSetType=kind,
            TemplateBody=json.dumps({"Resources": {"Kept": bucket, "Queue": after, "Other": queue(seconds)}}),
        )["Id"]
        cloudformation.execute_change_set(ChangeSetName=change, DisableRollback=not rolls_back)
        return self.rest()

    def make(self, resources: dict[str, Any], protection: dict[str, str], value: str = "true") -> str:
        """Make the stack of these resources, with a parameter for their protection."""
        template = {"Parameters": {"Protection": protection}, "Resources": resources}
        self.aws("cloudformation").create_stack(
            StackName=self.name,
            TemplateBody=json.dumps(template),
            Parameters=[{"ParameterKey": "Protection", "ParameterValue": value}],
        )
        return self.rest()

    def delete(self) -> str:
        self.aws("cloudformation").delete_stack(StackName=self.name)
        return self.rest()

    def rest(self) -> str:
        self.until(lambda: not self.stacks.state(self.name).status.endswith("_IN_PROGRESS"))
        return self.stacks.state(self.name).status

    def recover(self) -> str:
        def pause(_: float) -> None:
            self.rest()

        return recover(self.stacks, self.name, self.said.append, pause).status

    def has_bucket(self) -> bool:
        return self.bucket in [it["Name"] for it in self.aws("s3").list_buckets()["Buckets"]]

    def reasons(self) -> list[str]:
        events = self.aws("cloudformation").describe_stack_events(StackName=self.name)["StackEvents"]
        return [event.get("ResourceStatusReason", "") for event in events]

    def put(self) -> None:
        self.aws("s3").put_object(Bucket=self.bucket, Key="rows", Body=b"rows")


@pytest.fixture
def world(cloud: LocalSettings, aws: Aws, until: Make) -> Iterator[World]:
    made = World(cloud=cloud, aws=aws, until=until)
    yield made
    made.break_()


def test_a_creation_that_fails_is_taken_back_and_made_anew(world: World) -> None:
    world.break_(Add_Queue=BROKEN)
    assert world.change("CREATE") == "ROLLBACK_COMPLETE"
    assert not world.has_bucket()
    assert world.recover() == ""
    world.break_()
    assert world.change("CREATE") == "CREATE_COMPLETE"
    assert world.recover() == "CREATE_COMPLETE"
    assert len(world.said) == 1


def test_a_creation_that_fails_is_made_anew_by_no_change_set_without_recovery(world: World) -> None:
    world.break_(Add_Queue=BROKEN)
    world.change("CREATE")
    for kind in ("CREATE", "UPDATE"):
        with pytest.raises(ClientError, match=r"already exists|ROLLBACK_COMPLETE state"):
            world.change(kind)


def test_protection_keeps_a_failed_creation_until_recovery_ends_it(world: World) -> None:
    world.break_(Add_Queue=BROKEN)
    world.change("CREATE")
    world.aws("cloudformation").update_termination_protection(StackName=world.name, EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="cannot be deleted while TerminationProtection is enabled"):
        world.delete()
    assert world.recover() == ""


def test_a_rollback_that_fails_keeps_the_rows_and_the_next_creation_may_take_them_over(world: World) -> None:
    world.break_(Add_Queue=BROKEN, Remove_Kept="it is not empty")
    assert world.change("CREATE") == "ROLLBACK_FAILED"
    world.put()
    world.break_()
    assert world.recover() == ""
    assert world.said[-1] == f"kept, and of no stack any more: {world.bucket} (AWS::S3::Bucket)"
    assert world.change("CREATE") == "ROLLBACK_COMPLETE"
    assert f"{world.bucket} already exists" in world.reasons()
    world.recover()
    template = {"Resources": {"Kept": {"Properties": {"BucketName": world.bucket}}}}
    world.stacks.take_over(world.name, template, {"Kept": world.bucket})
    world.rest()
    assert world.change("UPDATE") == "UPDATE_COMPLETE"
    assert [it["Key"] for it in world.aws("s3").list_objects_v2(Bucket=world.bucket)["Contents"]] == ["rows"]


def test_an_update_that_fails_is_taken_back_and_given_again(world: World) -> None:
    world.change("CREATE")
    world.break_(Modify_Queue=BROKEN)
    assert world.change("UPDATE", 60) == "UPDATE_ROLLBACK_FAILED"
    with pytest.raises(ClientError, match="UPDATE_ROLLBACK_FAILED state and can not be updated"):
        world.change("UPDATE", 60)
    with pytest.raises(Misconfigured, match=rf"{BROKEN}\n.*{world.name} --resources-to-skip Queue$"):
        world.recover()
    world.break_()
    assert world.recover() == "UPDATE_ROLLBACK_COMPLETE"
    assert world.change("UPDATE", 60) == "UPDATE_COMPLETE"


@pytest.mark.parametrize(
    ("kind", "state", "ready"),
    [("CREATE", "CREATE_FAILED", ""), ("UPDATE", "UPDATE_FAILED", "UPDATE_ROLLBACK_COMPLETE")],
)
def test_what_was_left_half_done_on_purpose_is_rolled_back(world: World, kind: str, state: str, ready: str) -> None:
    if kind == "UPDATE":
        world.change("CREATE")
    world.break_(Add_Queue=BROKEN, Modify_Queue=BROKEN)
    assert world.change(kind, 60, rolls_back=False) == state
    world.break_()
    assert world.recover() == ready
    assert world.has_bucket() == (kind == "UPDATE")


def test_a_deletion_that_failed_is_ended_and_keeps_what_holds_rows(world: World) -> None:
    world.change("CREATE")
    world.put()
    world.break_(Remove_Queue=BROKEN)
    assert world.delete() == "DELETE_FAILED"
    with pytest.raises(Misconfigured, match=r"delete-stack --stack-name .* --retain-resources Queue$"):
        world.recover()
    world.break_()
    assert world.recover() == ""
    assert world.has_bucket()


def test_a_stack_that_only_has_a_change_set_is_made(world: World) -> None:
    template = json.dumps({"Resources": {"Queue": queue()}})
    world.aws("cloudformation").create_change_set(
        StackName=world.name, ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=template
    )
    assert world.recover() == "REVIEW_IN_PROGRESS"
    assert world.change("CREATE") == "CREATE_COMPLETE"


def test_a_protected_database_cannot_be_taken_back_and_is_kept(world: World) -> None:
    database = {
        "Type": "AWS::RDS::DBInstance",
        "DeletionPolicy": POLICY,
        "Properties": {"DeletionProtection": {"Ref": "Protection"}},
    }
    parameter = {"Type": "String", "Default": "true"}
    world.break_(Add_Queue=BROKEN)
    assert world.make({"Database": database, "Queue": {**queue(), "DependsOn": "Database"}}, parameter) == (
        "ROLLBACK_FAILED"
    )
    assert "Cannot delete protected DB Instance" in " ".join(world.reasons())
    assert world.recover() == ""
    assert "(AWS::RDS::DBInstance)" in world.said[-1]
    assert world.make({"Database": database, "Queue": {**queue(), "DependsOn": "Database"}}, parameter, "false") == (
        "ROLLBACK_COMPLETE"
    )


def test_the_local_cloud_is_brought_up_again_after_a_deployment_that_failed(world: World, bucket: str) -> None:
    template = json.dumps({"Resources": {"Queue": queue()}})
    world.aws("s3").put_object(Bucket=bucket, Key="template.json", Body=template.encode())
    address = f"{world.cloud.endpoint}/{bucket}/template.json"
    stack = Stack(world.cloud, world.name, world.said.append)
    world.break_(Add_Queue=BROKEN)
    with pytest.raises(Misconfigured, match=rf"Queue \(AWS::SQS::Queue\): {BROKEN}\n.*Run again: lakegate local up"):
        stack.change(address)
    world.break_()
    stack.change(address)
    assert world.stacks.state(world.name).status == "CREATE_COMPLETE"
