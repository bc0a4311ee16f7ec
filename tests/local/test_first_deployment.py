"""A first deployment that is broken at one resource after the other, and given again each time, ends well."""

from __future__ import annotations

import io
import json
import os
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
import requests
from lakegate_local.deploy import BOOTSTRAP_VERSION
from lakegate_local.services import ACCOUNT, REGION, client
from lakegate_local.settings import LocalSettings

from infra.config import MACHINE, Config
from lakegate.adapters.stacks import Stacks
from lakegate.cli import recovery
from lakegate.cli.deploy import Deployment
from lakegate.deployment.assembly import DATABASE_PROTECTION, Assembly, bucket_names
from lakegate.errors import Misconfigured, Refused
from tests.infra.conftest import CATALOG, composed
from tests.local.conftest import apart, started
from tests.local.kinds import Aws

pytestmark = pytest.mark.local
ASSETS = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
CONFIG = CATALOG | {"spark_release": "emr-7.13.0"}
KINDS = {  # a resource and what AWS says of it where this is missing, in the order in which stacks are made
    "rights": (
        "AWS::IAM::ManagedPolicy",
        "cfn-exec-role is not authorized to perform: iam:CreatePolicy",
    ),
    "quota": ("AWS::EC2::EIP", "The maximum number of addresses has been reached. (AddressLimitExceeded)"),
    "image": ("AWS::ECS::Service", "ECS Deployment Circuit Breaker was triggered: CannotPullContainerError"),
    "issuer": ("AWS::ECS::Service", "Tasks failed ELB health checks: the issuer of tokens does not answer"),
    "zone": ("AWS::EMRServerless::Application", "Subnet is in an availability zone that is not supported: use1-az3"),
}


@dataclass(frozen=True, kw_only=True)
class World:
    """An account on the local cloud, the assembly of an installation, and the deployment of it."""

    cloud: LocalSettings
    aws: Aws
    config: Config
    assembly: Assembly

    def resources(self) -> Iterator[tuple[str, str]]:
        """Yield every resource's logical name and kind, stack by stack."""
        for stack in self.assembly.stacks():
            for name, body in self.assembly.template(stack)["Resources"].items():
                yield name, body["Type"]

    def break_(self, faults: Mapping[str, str]) -> None:
        url = f"{self.cloud.endpoint}/_lakegate/faults"
        requests.put(url, data=json.dumps(faults), timeout=60).raise_for_status()

    def deploy(self, *acceptances: str) -> None:
        deployment = Deployment(
            file=Path("first.toml"), acceptances=acceptances, config=self.config, stacks=Stacks(self.aws)
        )
        deployment.bring(self.assembly)
        deployment.protect(self.assembly)

    def name_of(self, kind: str) -> str:
        return next(name for name, its_kind in self.resources() if its_kind == kind)

    def change(self, name: str, **properties: str) -> None:
        """Change a resource's properties in its template, which is uploaded anew."""
        for path in self.assembly.folder.glob("*.template.json"):
            template = json.loads(path.read_text())
            if resource := template["Resources"].get(name):
                resource["Properties"].update(properties)
                path.write_text(json.dumps(template))
        for entry in self.aws("s3").list_objects_v2(Bucket=ASSETS)["Contents"]:
            self.aws("s3").delete_object(Bucket=ASSETS, Key=entry["Key"])

    def fail(self, name: str, reason: str, verb: str = "Add") -> None:
        self.break_({f"{verb} {name}": reason})
        with pytest.raises(Misconfigured, match="run the same command again"):
            self.deploy()
        assert reason in self.reasons()

    def reasons(self) -> set[str]:
        """Return why resources of any stack failed, in this deployment or an earlier one."""
        client = self.aws("cloudformation")
        names = [
            it["StackId"] for it in client.describe_stacks()["Stacks"] if it["StackName"] in self.assembly.stacks()
        ]
        events = [event for name in names for event in client.describe_stack_events(StackName=name)["StackEvents"]]
        return {event.get("ResourceStatusReason", "") for event in events}

    def protection(self) -> dict[str, tuple[bool, str | None]]:
        states = {stack: Stacks(self.aws).state(stack) for stack in self.assembly.stacks()}
        return {name: (it.is_protected, it.parameters.get(DATABASE_PROTECTION)) for name, it in states.items()}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSettings]:
    """A cloud apart: in the other tests' there is one installation."""
    settings = apart(tmp_path_factory.mktemp("apart"))
    with started(settings):
        yield settings


@pytest.fixture(scope="module")
def aws(cloud: LocalSettings) -> Aws:
    return cache(partial(client, cloud))


@pytest.fixture
def world(cloud: LocalSettings, aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An account of CDK's, and the assembly of an installation that stays."""
    monkeypatch.setattr(recovery, "REUSE", 0.0)  # the local cloud gives a queue's name again at once
    aws("ssm").put_parameter(**BOOTSTRAP_VERSION)
    aws("s3").create_bucket(Bucket=ASSETS)
    own = CONFIG | {"name": f"w{uuid.uuid4().hex[:6]}"}
    made = World(cloud=cloud, aws=aws, config=Config(**own), assembly=synthesised(own, tmp_path))
    keys = {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": "any"}
    place = {"AWS_ENDPOINT_URL": cloud.endpoint, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
    with patch.dict(os.environ, {**keys, **place, "HOME": str(tmp_path)}):
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        yield made
    made.break_({})


def synthesised(config: dict[str, Any], folder: Path) -> Assembly:
    """The assembly, with empty functions for this machine's processor."""
    composed(config, folder)
    out = folder / "cdk.out"
    for template in out.glob("*.template.json"):
        template.write_text(template.read_text().replace('"arm64"', json.dumps(MACHINE)))
    for file in out.glob("asset.*.zip"):
        file.write_bytes(archive())
    return Assembly(folder=out)


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("handlers/__init__.py", "")
    return buffer.getvalue()


def test_a_deployment_that_lacks_one_thing_after_the_other_ends_well_and_protected(world: World) -> None:
    name = world.config.name
    for kind, reason in KINDS.values():
        world.fail(world.name_of(kind), reason)
        assert {*world.protection().values()} <= {(False, None), (False, "false")}
    world.break_({})
    world.deploy()
    protection = {f"{name}-data": (True, None), f"{name}-catalog": (True, "true"), name: (False, None)}
    assert world.protection() == protection

    database = world.name_of("AWS::RDS::DBInstance")
    world.change(database, AllocatedStorage="40")
    world.fail(database, "the storage is not to be had", verb="Modify")
    assert world.protection() == protection
    world.break_({})
    world.deploy()
    assert world.protection() == protection
    template = Stacks(world.aws).template(f"{name}-catalog") or {}
    assert template["Resources"][database]["Properties"]["AllocatedStorage"] == "40"


@pytest.mark.extended
@pytest.mark.parametrize("suffix", ["-data", "-catalog", ""])
def test_a_deployment_that_breaks_at_each_resource_in_turn_ends_well_and_leaves_nothing_twice(
    world: World, suffix: str
) -> None:
    stack = f"{world.config.name}{suffix}"
    for name in world.assembly.template(stack)["Resources"]:
        world.fail(name, f"{name} cannot be made")
    world.break_({})
    world.deploy()
    assert all(is_protected for is_protected, _ in list(world.protection().values())[:2])
    networks = world.aws("ec2").describe_vpcs(Filters=[{"Name": "tag:Name", "Values": [f"{world.config.name}-*"]}])
    assert len(networks["Vpcs"]) == 1


@pytest.mark.extended
def test_buckets_that_no_rollback_could_delete_are_taken_over_with_what_is_in_them(world: World) -> None:
    bucket, policy = world.name_of("AWS::S3::Bucket"), world.name_of("AWS::IAM::ManagedPolicy")
    world.break_({f"Add {policy}": "there are too many", f"Remove {bucket}": "it is not empty"})
    with pytest.raises(Misconfigured):
        world.deploy()
    name = bucket_names(world.assembly.template(f"{world.config.name}-data"), ACCOUNT, REGION)[bucket]
    world.aws("s3").put_object(Bucket=name, Key="rows", Body=b"rows")
    world.break_({})
    with pytest.raises(Refused, match=rf"has left: {name}\..*--accept existing"):
        world.deploy()
    world.deploy("existing")
    assert world.aws("s3").get_object(Bucket=name, Key="rows")["Body"].read() == b"rows"
    assert world.protection()[f"{world.config.name}-data"] == (True, None)


@pytest.mark.extended
def test_an_application_that_could_not_be_taken_back_is_recovered_while_nothing_begins_a_job(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.deploy()
    application, now = world.name_of("AWS::EMRServerless::Application"), CONFIG["spark_release"]
    world.change(application, ReleaseLabel="emr-7.12.0")
    world.fail(application, "it is started", verb="Modify")
    assert Stacks(world.aws).state(world.config.name).status == "UPDATE_ROLLBACK_FAILED"
    world.change(application, ReleaseLabel=now)
    world.break_({})
    capsys.readouterr()
    world.deploy()
    said = capsys.readouterr().out
    assert (
        said.index("closing the intake") < said.index("continue its rollback") < said.index("the intake is open again")
    )
