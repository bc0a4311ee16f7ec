"""A settings file of three lines, from an empty account to an installation that the doctor has looked at."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ClientError
from lakegate_local.services import ACCOUNT, REGION, client
from lakegate_local.settings import LocalSettings
from typer.testing import CliRunner, Result

from lakegate.adapters.account import ECS_ROLE
from lakegate.bundles import EMR_7
from lakegate.cli.app import app
from tests.local.conftest import apart, started
from tests.local.kinds import Aws
from tests.support.image_registry import Registry, registry_and_client

pytestmark = [pytest.mark.local, pytest.mark.extended]
# The release whose Spark the local cloud has, and functions for this machine.
LINES = f'name = "few"\nephemeral = true\nspark.release = "{EMR_7.release}"\n'


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[LocalSettings]:
    """A cloud apart: in the other tests' there is one installation."""
    settings = apart(tmp_path / "cloud")
    with started(settings):
        yield settings


@pytest.fixture
def aws(cloud: LocalSettings) -> Aws:
    """An account that nobody has used: it gives no tokens, and CDK has nothing in it."""
    clients = partial(client, cloud)
    clients("iam").disable_outbound_web_identity_federation()
    return clients


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    with registry_and_client(tmp_path) as (registry, images):
        monkeypatch.setattr("infra.completion.IMAGE", registry.image)
        for module in ("infra.gaps", "lakegate.adapters.site"):
            monkeypatch.setattr(f"{module}.Images", lambda: images)
        yield registry


def deploy(cloud: LocalSettings, folder: Path, *accepted: str) -> Result:
    keys = {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": "any", "AWS_ENDPOINT_URL": cloud.endpoint}
    place = {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, "AWS_ENDPOINT_URL_S3": cloud.endpoint}
    (folder / "few.toml").write_text(LINES)
    words = [word for name in accepted for word in ("--accept", name)]
    with patch.dict(os.environ, {**keys, **place, "HOME": str(folder)}):
        boto3.DEFAULT_SESSION = None
        return CliRunner().invoke(app, ["deploy", str(folder / "few.toml"), "--no-probe", *words])


def test_three_lines_deploy_every_stack_with_consents_alone(
    cloud: LocalSettings, aws: Aws, registry: Registry, tmp_path: Path
) -> None:
    assert len(LINES.splitlines()) <= 3
    with pytest.raises(ClientError, match="OutboundWebIdentityFederationDisabled"):
        aws("sts").get_web_identity_token(Audience=["lakegate"], SigningAlgorithm="RS256")
    result = deploy(cloud, tmp_path)
    assert (result.exit_code, "--accept federation" in result.stderr) == (1, True), result.output
    result = deploy(cloud, tmp_path, "federation", "bootstrap")
    assert "few is deployed" in result.stdout, result.output
    assert "✗" not in result.stdout.partition("few is deployed")[0]
    assert aws("iam").get_role(RoleName=ECS_ROLE)
    stacks = {it["StackName"]: it for it in aws("cloudformation").describe_stacks()["Stacks"]}
    assert {stacks[name]["StackStatus"] for name in ("few-data", "few-catalog", "few")} == {"CREATE_COMPLETE"}

    outputs = {it["OutputKey"]: it["OutputValue"] for it in stacks["few"]["Outputs"]}
    assert outputs["NessieUri"] == "https://few-nessie.internal"
    authority = json.loads(aws("secretsmanager").get_secret_value(SecretId="few/authority")["SecretString"])
    assert outputs["NessieCa"].strip() == authority["certificate"].strip()
    assert "PRIVATE KEY" not in json.dumps(outputs)
    catalog = aws("cloudformation").get_template(StackName="few-catalog")["TemplateBody"]["Resources"].values()
    (task,) = [it for it in catalog if it["Type"] == "AWS::ECS::TaskDefinition"]
    assert task["Properties"]["ContainerDefinitions"][0]["Image"] == registry.image + registry.digest
    (listener,) = [it for it in catalog if it["Type"] == "AWS::ElasticLoadBalancingV2::Listener"]
    assert listener["Properties"]["Certificates"] == [{"CertificateArn": authority["arn"]}]

    registry.asked.clear()
    again = deploy(cloud, tmp_path)
    assert "few is deployed" in again.stdout, again.output
    assert registry.asked == []
    assert not re.search("changed|dropped|added|new certificate", again.stdout)
