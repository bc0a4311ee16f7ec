"""The app as people run it: by the cdk command, without an account, with their own choices; a finding stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.choices import choices
from infra.config import Config
from lakegate.bundles import BUNDLES, DEFAULT
from lakegate.deployment.assembly import bootstrap_version
from lakegate.deployment.choices import Choices
from lakegate.errors import Misconfigured
from tests.infra.conftest import CONTEXT, EPHEMERAL, built, synthesised
from tests.infra.template import Stack
from tests.support.settings import settings_file

pytestmark = pytest.mark.synth
ROOT = Path(__file__).resolve().parents[2]


def cdk(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The pinned cdk command with nothing of this machine's but its folders: no account, no credentials, no Docker."""
    environment = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    environment |= {"PATH": f"{Path(sys.executable).parent}:/bin", "CDK_DISABLE_VERSION_CHECK": "1", "CI": "1"}
    command = [ROOT / "infra/node_modules/.bin/cdk", "--no-notices", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_cdk_synth_needs_no_account_and_no_choice_but_a_nessie_and_a_network(tmp_path: Path) -> None:
    network = {"network_subnets": ["subnet-0a"], "network_security_groups": ["sg-0a"]}
    file = settings_file(tmp_path / "dev.toml", nessie_uri="https://nessie.example.com", **network)
    done = cdk("synth", "--quiet", "--output", tmp_path, "-c", f"settings={file}")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("*.template.json")} == {
        "lakegate-data.template.json",
        "lakegate.template.json",
    }
    stack = Stack.of(json.loads(path.read_text()) for path in tmp_path.glob("*.template.json"))
    assert not [action for action, _ in stack.rights("IngestRole") if action.startswith(("secretsmanager:", "sts:"))]
    assert not [role for role in stack.resources("AWS::IAM::Role").values() if "Tags" in role]


def test_wrong_choices_are_all_named_before_anything_is_made(tmp_path: Path) -> None:
    file = settings_file(tmp_path / "dev.toml", batch_window_seconds=-1, spark_vcpus="many")
    done = cdk("synth", "--quiet", "--output", tmp_path, "-c", f"settings={file}")
    assert done.returncode != 0
    assert "dev.toml:1: batch.window_seconds is 0" in done.stderr
    assert "dev.toml:2: spark.vcpus is a whole number" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["spark.vcpus", "vcpus", "attempts"])
def test_a_setting_that_is_given_beside_the_file_is_refused(tmp_path: Path, name: str) -> None:
    from infra.app import build

    file = settings_file(tmp_path / "dev.toml", **EPHEMERAL)
    with pytest.raises(Misconfigured, match=f"settings are in a file alone: put {name} there"):
        build({"settings": str(file), name: "64"}, outdir=tmp_path / "out")
    with pytest.raises(Misconfigured, match="give the settings file"):
        build({}, outdir=tmp_path / "out")


def test_what_a_deployment_would_fill_in_is_missed_by_name(tmp_path: Path) -> None:
    from infra.app import build

    file = settings_file(tmp_path / "dev.toml", name="lake")
    gaps = r"the digest of catalog\.image, catalog\.certificate, token\.issuer"
    with pytest.raises(Misconfigured, match=rf"lacks what only lakegate deploy fills in: {gaps}\. Give them"):
        build({"settings": str(file)}, outdir=tmp_path / "out")


def test_an_environment_s_file_is_the_choices_and_the_template_records_them(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"name": "dev", "nessie_uri": "http://nessie", "ephemeral": True, "spark_vcpus": 32}
    template = built(tmp_path, **fields).synth().get_stack_by_name("dev").template
    assert bootstrap_version(template) == "/cdk-bootstrap/hnb659fds/version"
    recorded = Choices.of_template(template)
    assert recorded == choices(Config(**fields))


def test_set_up_for_deploying_fetches_the_jars_of_the_job() -> None:
    from infra.app import OF_CLIENTS

    pins = json.loads((ROOT / "tools/jars.json").read_text())
    fetched = {f"{pin['artifact']}-{pin['version']}.jar" for pin in pins if pin.get("use") == "job"}
    assert fetched == {OF_CLIENTS, *(jar for bundle in BUNDLES for jar in bundle.jars)}


def test_a_job_that_is_a_client_has_the_jar_by_which_it_reads_its_secret() -> None:
    from infra.app import OF_CLIENTS, jars

    assert jars(Config(token_audience="lake")) == DEFAULT.jars
    assert set(jars(Config(token_endpoint="https://issuer.example.com/token"))) == {*DEFAULT.jars, OF_CLIENTS}


def test_the_region_that_the_cdk_command_deploys_to_is_the_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    built(tmp_path, **CONTEXT)  # without an account the command guesses the region
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    with pytest.raises(Misconfigured, match=r"alarm\.topic is a topic in us-east-1"):
        built(tmp_path, **CONTEXT)


def test_a_finding_without_a_waiver_stops_synth(tmp_path: Path) -> None:
    from aws_cdk import Stack
    from aws_cdk.aws_s3 import Bucket

    app = built(tmp_path, **EPHEMERAL)
    stack = app.node.find_child("lakegate")
    assert isinstance(stack, Stack)
    Bucket(stack, "Careless")
    with pytest.raises(RuntimeError, match="lakegate/Careless"):
        app.synth()


def test_subnets_are_for_the_functions_and_the_jobs(tmp_path: Path) -> None:
    chosen = {
        "name": "other",
        "network_subnets": ("subnet-0a", "subnet-0b"),
        "network_security_groups": ("sg-0123abcd",),
    }
    stack = synthesised(EPHEMERAL | chosen, tmp_path)
    network = {"SecurityGroupIds": ["sg-0123abcd"], "SubnetIds": ["subnet-0a", "subnet-0b"]}
    assert [each["VpcConfig"] for each in stack.resources("AWS::Lambda::Function").values()] == [network] * 6
    assert stack.one("AWS::EMRServerless::Application", "Spark")["NetworkConfiguration"] == network
    policies = {stack.template["Resources"][name]["DeletionPolicy"] for name in stack.resources("AWS::S3::Bucket")}
    assert policies == {"Delete"}


def test_other_workers_and_properties_of_spark_leave_the_application_as_it_is(stack: Stack, tmp_path: Path) -> None:
    """AWS changes no application that is started."""
    changed = synthesised(CONTEXT | {"spark_vcpus": 32, "spark_conf": ()}, tmp_path)
    kind = "AWS::EMRServerless::Application"
    assert changed.one(kind, "Spark") == stack.one(kind, "Spark")
    assert [each.template["Outputs"]["Executors"]["Value"] for each in (stack, changed)] == ["3", "7"]


def test_the_release_and_the_image_are_the_applications(tmp_path: Path) -> None:
    image = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate:7.12"
    stack = synthesised(EPHEMERAL | {"spark_release": "emr-7.12.0", "spark_image": image}, tmp_path)
    application = stack.one("AWS::EMRServerless::Application", "Spark")
    assert (application["ReleaseLabel"], application["ImageConfiguration"]) == ("emr-7.12.0", {"ImageUri": image})
    assert stack.template["Outputs"]["Release"]["Value"] == "emr-7.12.0"
