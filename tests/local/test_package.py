"""A package on a CloudFormation of its own, where nothing is bootstrapped, with its assets in a bucket of any name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from lakegate_local.cloud import tell_nobody
from lakegate_local.deploy import Stack
from lakegate_local.services import REGION, client
from lakegate_local.settings import LocalSettings
from lakegate_local.synth import settings_file
from typer.testing import CliRunner

from lakegate.cli.app import app
from tests.local.conftest import apart, started

pytestmark = [pytest.mark.local, pytest.mark.extended]
NAME = "packaged"


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[LocalSettings]:
    """A cloud apart: in the other tests' there is one installation, and its rights are proved by use."""
    settings = apart(tmp_path / "cloud")
    with started(settings):
        yield settings


@pytest.fixture
def package(cloud: LocalSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "dev.toml"
    file.write_text(settings_file(replace(cloud, stack=NAME)))
    monkeypatch.setenv("AWS_REGION", REGION)
    result = CliRunner().invoke(app, ["package", str(file), str(tmp_path / NAME)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return tmp_path / NAME


def test_a_package_is_deployed_from_a_bucket_of_another_name(cloud: LocalSettings, package: Path) -> None:
    aws, bucket = partial(client, cloud), "assets-of-theirs"
    aws("s3").create_bucket(Bucket=bucket)
    for path in (package / "assets").rglob("*.*"):
        aws("s3").upload_file(str(path), bucket, str(path.relative_to(package / "assets")))
    stacks = json.loads((package / "stacks.json").read_text())["stacks"]
    assert list(stacks) == [f"{NAME}-data", NAME]
    for name, stack in stacks.items():
        parameters = {"AssetsBucket": bucket} if stack["parameters"] else {}
        Stack(cloud, name, tell_nobody).change(f"{cloud.endpoint}/{bucket}/{stack['template']}", **parameters)
    outputs = Stack(cloud, NAME, tell_nobody).outputs()
    script = outputs["JobEntryPoint"].removeprefix(f"s3://{bucket}/")
    assert aws("s3").get_object(Bucket=bucket, Key=script)["Body"].read().startswith(b'"""')
    read = aws("lambda").get_function(FunctionName=f"{NAME}-read")
    assert read["Configuration"]["State"] == "Active"
    assert aws("ssm").describe_parameters()["Parameters"] == []
