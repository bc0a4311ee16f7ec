"""One synthesised template for all tests of the stack, and one build of the zips. Nothing here needs an account."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.infra.template import Stack

ROOT = Path(__file__).resolve().parents[2]
CONTEXT = {
    "nessie_uri": "https://nessie.example.com",
    "token_audience": "lakegate-test",
    "slack_secret": "lakegate/slack",
    "slack_channel": "#lake",
    "slack_api": "https://slack.example.com/api/",
    "alarm_topic": "arn:aws:sns:eu-central-1:123456789012:lake-alarms",
    "uploaders": "arn:aws:iam::210987654321:root,arn:aws:iam::123456789012:role/etl",
    "landing_days": "90",
    "spark_conf": "spark.network.timeout=300s,spark.driver.extraJavaOptions=-Da=b -Dc=d",
    "subnets": "subnet-0a,subnet-0b",
    "security_groups": "sg-0123abcd",
}


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The stack with everything chosen that a test may look for."""
    from infra.app import build

    app = build(CONTEXT, outdir=tmp_path_factory.mktemp("cdk.out"))
    return Stack(app.synth().get_stack_by_name("lakegate").template)


@pytest.fixture(scope="session")
def function_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions' zip of this checkout, made from nothing."""
    from infra.packaging import package

    return package(ROOT, tmp_path_factory.mktemp("build")).functions


@pytest.fixture(scope="session")
def unpacked(function_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions' zip as Lambda unpacks it."""
    folder = tmp_path_factory.mktemp("task")
    with zipfile.ZipFile(function_zip) as archive:
        archive.extractall(folder)
    return folder
