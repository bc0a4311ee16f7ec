"""One synthesised app for all tests of the stacks, and one build of the zips. Nothing here needs an account."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lakegate_local.synth import ARCHITECTURE

from infra.config import Config
from tests.infra.template import Stack

ROOT = Path(__file__).resolve().parents[2]
CONTEXT = {
    "nessie_uri": "https://nessie.example.com",
    "token_audience": "lakegate-test",
    "slack_secret": "lakegate/slack",
    "slack_channel": "#lake",
    "slack_api": "https://slack.example.com/api/",
    "event_bus": "lake-events",
    "webhook_url": "https://hook.example.com/lake",
    "webhook_secret": "lakegate/webhook",
    "lineage_url": "https://lineage.example.com",
    "lineage_secret": "lakegate/lineage",
    "alarm_topic": "arn:aws:sns:eu-central-1:123456789012:lake-alarms",
    "runbook": "https://wiki.example.com/lakegate",
    "rejected_percent": "20",
    "canary_hours": "6",
    "uploaders": "arn:aws:iam::210987654321:root,arn:aws:iam::123456789012:role/etl",
    "landing_days": "90",
    "spark_conf": "spark.network.timeout=300s,spark.driver.extraJavaOptions=-Da=b -Dc=d",
    "subnets": "subnet-0a,subnet-0b",
    "security_groups": "sg-0123abcd",
}

CATALOG = {  # a catalog stack with a new network, and the size `dev`
    "token_audience": "lakegate-test",
    "token_issuer": "https://0123-4567.tokens.sts.global.api.aws",
    "nessie_image": f"quay.io/projectnessie/nessie@sha256:{'0123456789abcdef' * 4}",
    "catalog_host": "nessie.example.com",
    "catalog_certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef",
    "vpc": "create",
    **{name: CONTEXT[name] for name in ("alarm_topic", "runbook")},
}
REVIEWED = CATALOG | {
    **{name: CONTEXT[name] for name in ("slack_secret", "slack_channel", "canary_hours", "uploaders")},
    "catalog_size": "prod",
    "kms_key": "create",
    "upload_keys": "arn:aws:kms:eu-central-1:210987654321:key/01234567-89ab-cdef-0123-456789abcdef",
}
EPHEMERAL = {"ephemeral": "true", "nessie_uri": "https://nessie.example.com"}  # the least that an app can be made of


def composed(context: Mapping[str, object], outdir: Path) -> Any:
    """The cloud assembly of an app whose files are made up, which takes no packaging. cdk-nag looks at it as well."""
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    app = made_up(context, outdir)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    return app.synth()


def made_up(context: Mapping[str, object], outdir: Path) -> Any:
    from aws_cdk import App

    from infra.app import FLAGS, compose
    from infra.ingest.spark import Artifacts

    files = [outdir / name for name in ("functions.zip", "express.zip", "job.py", "job.zip", "job.jar")]
    for file in files:
        file.write_bytes(file.name.encode())
    functions, express, entry_point, py_files, jar = files
    app = App(context=FLAGS, outdir=str(outdir / "cdk.out"), analytics_reporting=False)
    artifacts = Artifacts(entry_point=entry_point, py_files=py_files, jars=(jar,))
    config = Config.read(context.get)
    compose(app, config, functions, artifacts, express if config.express else None)
    return app


def synthesised(context: Mapping[str, object], outdir: Path) -> Stack:
    """All stacks of such an app as one."""
    return Stack.of(stack.template for stack in composed(context, outdir).stacks)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cloud assembly of an app with everything chosen that a test may look for."""
    from infra.app import build

    return build(CONTEXT, outdir=tmp_path_factory.mktemp("cdk.out")).synth()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cloud assembly of an app with a catalog stack."""
    return composed(CATALOG, tmp_path_factory.mktemp("made"))


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """An installation with all that a review may ask for: its stacks as one, and what each pack of cdk-nag found in it,
    (pack, rule, path of the resource).
    """

    stack: Stack
    findings: frozenset[tuple[str, str, str]]


@pytest.fixture(scope="session")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """Findings end a synth, once templates and report are written."""
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks

    outdir = tmp_path_factory.mktemp("reviewed")
    app = made_up(REVIEWED, outdir)
    Validations.of(app).add_plugins(
        *(pack(app) for pack in (AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks))
    )
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    templates = [json.loads(path.read_text()) for path in (outdir / "cdk.out").glob("*.template.json")]
    report = json.loads((outdir / "cdk.out/validation-report.json").read_text())
    found = {
        (pack["pluginName"], violation["ruleName"].removeprefix(f"{pack['pluginName']}-"), it["constructPath"])
        for pack in report["pluginReports"]
        for violation in pack["violations"]
        for it in violation["violatingConstructs"]
    }
    return Reviewed(stack=Stack.of(templates), findings=frozenset(found))


@pytest.fixture(scope="session")
def stack(app: Any) -> Stack:
    """All stacks of that app as one, because most questions do not depend on where the walls are."""
    return Stack.of(stack.template for stack in app.stacks)


@pytest.fixture(scope="session")
def function_zip() -> Path:
    """The functions' zip of this checkout for the architecture that is the default."""
    from infra.packaging import package

    return package(ROOT, ROOT / ".local/build" / Config().architecture, Config().architecture).functions


@pytest.fixture(scope="session")
def own_zip() -> Path:
    """The functions' zip for this machine's architecture, which the local cloud deploys."""
    from infra.packaging import package

    return package(ROOT, ROOT / ".local/build" / ARCHITECTURE, ARCHITECTURE).functions


@pytest.fixture(scope="session")
def unpacked(own_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This machine's zip as Lambda unpacks it."""
    folder = tmp_path_factory.mktemp("task")
    with zipfile.ZipFile(own_zip) as archive:
        archive.extractall(folder)
    return folder
