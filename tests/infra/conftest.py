"""One synthesised app for all tests of the stacks, and one build of the zips. Nothing here needs an account."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.config import MACHINE, Config
from tests.infra.template import Stack
from tests.support.settings import settings_file

ROOT = Path(__file__).resolve().parents[2]
CONTEXT: dict[str, Any] = {
    "nessie_uri": "https://nessie.example.com",
    "token_audience": "lakegate-test",
    "slack_secret": "lakegate/slack",
    "slack_channel": "#lake",
    "event_bus": "lake-events",
    "event_webhook_url": "https://hook.example.com/lake",
    "event_webhook_secret": "lakegate/webhook",
    "event_lineage_url": "https://lineage.example.com",
    "event_lineage_secret": "lakegate/lineage",
    "alarm_topic": "arn:aws:sns:eu-central-1:123456789012:lake-alarms",
    "alarm_canary_hours": 6,
    "landing_uploaders": ("arn:aws:iam::210987654321:root", "arn:aws:iam::123456789012:role/etl"),
    "landing_keep_days": 90,
    "spark_conf": ("spark.network.timeout=300s", "spark.driver.extraJavaOptions=-Da=b -Dc=d"),
    "network_subnets": ("subnet-0a", "subnet-0b"),
    "network_security_groups": ("sg-0123abcd",),
}

CATALOG: dict[str, Any] = {  # a catalog stack with a new network, and the size `dev`
    "nessie_uri": "https://nessie.example.com",
    "token_audience": "lakegate-test",
    "token_issuer": "https://0123-4567.tokens.sts.global.api.aws",
    "catalog_image": f"quay.io/projectnessie/nessie@sha256:{'0123456789abcdef' * 4}",
    "catalog_certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef",
    "network_vpc": "create",
    "alarm_topic": CONTEXT["alarm_topic"],
}
REVIEWED = CATALOG | {
    **{name: CONTEXT[name] for name in ("slack_secret", "slack_channel", "alarm_canary_hours", "landing_uploaders")},
    "catalog_size": "prod",
    "kms_key": "create",
    "kms_upload_keys": ("arn:aws:kms:eu-central-1:210987654321:key/01234567-89ab-cdef-0123-456789abcdef",),
}
EPHEMERAL: dict[str, Any] = {"ephemeral": True, "nessie_uri": "https://nessie.example.com"}  # the least of an app


def built(folder: Path, **fields: object) -> Any:
    """The app of a settings file, with packages as they are deployed."""
    from infra.app import build

    return build({"settings": str(settings_file(folder / "settings.toml", **fields))}, outdir=folder / "cdk.out")


def composed(context: Mapping[str, Any], outdir: Path) -> Any:
    """The cloud assembly of an app whose files are made up, which takes no packaging. cdk-nag looks at it as well."""
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    app = made_up(context, outdir)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    return app.synth()


def made_up(context: Mapping[str, Any], outdir: Path) -> Any:
    from aws_cdk import App

    from infra.app import FLAGS, compose
    from infra.ingest.spark import Artifacts

    files = [outdir / name for name in ("functions.zip", "express.zip", "job.py", "job.zip", "job.jar")]
    for file in files:
        file.write_bytes(file.name.encode())
    functions, express, entry_point, py_files, jar = files
    app = App(context=FLAGS, outdir=str(outdir / "cdk.out"), analytics_reporting=False)
    artifacts = Artifacts(entry_point=entry_point, py_files=py_files, jars=(jar,))
    config = Config(**context)
    assert config.faults() == []
    compose(app, config, functions, artifacts, express)
    return app


def synthesised(context: Mapping[str, Any], outdir: Path) -> Stack:
    """All stacks of such an app as one."""
    return Stack.of(stack.template for stack in composed(context, outdir).stacks)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cloud assembly of an app with everything chosen that a test may look for."""
    return built(tmp_path_factory.mktemp("app"), **CONTEXT).synth()


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

    return package(ROOT, ROOT / ".local/build" / MACHINE, MACHINE).functions


@pytest.fixture(scope="session")
def unpacked(own_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This machine's zip as Lambda unpacks it."""
    folder = tmp_path_factory.mktemp("task")
    with zipfile.ZipFile(own_zip) as archive:
        archive.extractall(folder)
    return folder
