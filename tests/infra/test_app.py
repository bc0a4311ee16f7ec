"""The app as people run it: by the cdk command, without an account, with their own choices; a finding stops it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.choices import choices
from infra.config import Config
from lakegate.deployment.choices import Choices
from lakegate.errors import Misconfigured
from tests.infra.conftest import CONTEXT, synthesised
from tests.infra.template import Stack

pytestmark = pytest.mark.synth
ROOT = Path(__file__).resolve().parents[2]


def cdk(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The pinned cdk command with nothing of this machine's but its folders: no account, no credentials, no Docker."""
    environment = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    environment |= {"PATH": f"{Path(sys.executable).parent}:/bin", "CDK_DISABLE_VERSION_CHECK": "1", "CI": "1"}
    command = [ROOT / "infra/node_modules/.bin/cdk", "--no-notices", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_cdk_synth_needs_no_account_and_no_choice_but_a_network(tmp_path: Path) -> None:
    done = cdk("synth", "--quiet", "--output", tmp_path, "-c", "subnets=subnet-0a", "-c", "security_groups=sg-0a")
    assert done.returncode == 0, done.stderr
    stack = Stack.of(json.loads(path.read_text()) for path in tmp_path.glob("*.template.json"))
    address = stack.template["Parameters"]["NessieAddress"]
    assert "Default" not in address
    assert re.fullmatch(address["AllowedPattern"], "https://nessie.example.com:19120/lake")
    assert not re.fullmatch(address["AllowedPattern"], "https://me:secret@nessie.example.com")
    assert not [action for action, _ in stack.rights("IngestRole") if action.startswith(("secretsmanager:", "sts:"))]
    assert not [role for role in stack.resources("AWS::IAM::Role").values() if "Tags" in role]


def test_wrong_choices_are_all_named_before_anything_is_made(tmp_path: Path) -> None:
    done = cdk("synth", "--quiet", "--output", tmp_path, "-c", "batch_window=0", "-c", "reconcile_minutes=often")
    assert done.returncode != 0
    assert "batch_window" in done.stderr
    assert "reconcile_minutes=often" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_environment_s_file_is_the_choices_and_the_template_records_them(tmp_path: Path) -> None:
    from infra.app import build

    (tmp_path / "dev.toml").write_text('name = "dev"\nephemeral = true\nvcpus = 32\n')
    app = build({"settings": str(tmp_path / "dev.toml"), "jobs_at_once": "4"}, outdir=tmp_path / "out")
    recorded = Choices.of_template(app.synth().get_stack_by_name("dev").template)
    config = Config(name="dev", ephemeral=True, vcpus=32, jobs_at_once=4)
    assert recorded == choices(config)


def test_the_region_that_the_cdk_command_deploys_to_is_the_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from infra.app import build

    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    build(CONTEXT, outdir=tmp_path)  # without an account the command guesses the region
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    with pytest.raises(Misconfigured, match="alarm_topic is a topic in us-east-1"):
        build(CONTEXT, outdir=tmp_path)


def test_a_finding_without_a_waiver_stops_synth(tmp_path: Path) -> None:
    from aws_cdk import Stack
    from aws_cdk.aws_s3 import Bucket

    from infra.app import build

    app = build({"ephemeral": "true"}, outdir=tmp_path)
    stack = app.node.find_child("lakegate")
    assert isinstance(stack, Stack)
    Bucket(stack, "Careless")
    with pytest.raises(RuntimeError, match="lakegate/Careless"):
        app.synth()


def test_subnets_are_for_the_functions_and_the_jobs(tmp_path: Path) -> None:
    context = {"name": "other", "subnets": "subnet-0a,subnet-0b", "security_groups": "sg-0123abcd", "ephemeral": "true"}
    stack = synthesised(context, tmp_path)
    network = {"SecurityGroupIds": ["sg-0123abcd"], "SubnetIds": ["subnet-0a", "subnet-0b"]}
    assert [each["VpcConfig"] for each in stack.resources("AWS::Lambda::Function").values()] == [network] * 3
    assert stack.one("AWS::EMRServerless::Application", "Spark")["NetworkConfiguration"] == network
    policies = {stack.template["Resources"][name]["DeletionPolicy"] for name in stack.resources("AWS::S3::Bucket")}
    assert policies == {"Delete"}


def test_other_workers_and_properties_of_spark_leave_the_application_as_it_is(stack: Stack, tmp_path: Path) -> None:
    """AWS changes no application that is started."""
    changed = synthesised(CONTEXT | {"vcpus": "32", "spark_conf": ""}, tmp_path)
    kind = "AWS::EMRServerless::Application"
    assert changed.one(kind, "Spark") == stack.one(kind, "Spark")
    assert [each.template["Outputs"]["Executors"]["Value"] for each in (stack, changed)] == ["3", "7"]


def test_the_release_and_the_image_are_the_applications(tmp_path: Path) -> None:
    image = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate:7.12"
    context = {"release": "emr-7.12.0", "image": image, "ephemeral": "true"}
    stack = synthesised(context, tmp_path)
    application = stack.one("AWS::EMRServerless::Application", "Spark")
    assert (application["ReleaseLabel"], application["ImageConfiguration"]) == ("emr-7.12.0", {"ImageUri": image})
