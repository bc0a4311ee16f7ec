"""Tests of who does what on the local cloud: each part is its own role to Nessie, as on AWS, and no process has its
token.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from lakegate_local.cloud import Cloud
from lakegate_local.person import credentials
from lakegate_local.services import ACCOUNT
from lakegate_local.settings import LocalSettings

from examples.bad_files import parquet
from tests.chaos.faults import Faults
from tests.local.conftest import ROLE
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Aws
from tests.local.leftovers import processes
from tests.local.things import Things, rows
from tests.local.tokens import RIGHT, asked, beginning, history, sts_as, sts_of, sts_of_person, token
from tests.support import aws_models

pytestmark = pytest.mark.local


@pytest.mark.parametrize("path", ["/api/v2/trees/main", "/api/v1/trees/tree/main", "/iceberg/main/v1/config"])
def test_nobody_reads_without_a_token(cloud: LocalSettings, path: str) -> None:
    assert asked(cloud, "", path).status_code == 401
    assert asked(cloud, "x.y.z", path).status_code == 401


@pytest.mark.parametrize(
    ("audience", "life", "status"), [("lakegate", 60, 200), ("another", 900, 401), ("lakegate-too", 900, 401)]
)
def test_a_token_is_for_one_audience(installation: Installation, audience: str, life: int, status: int) -> None:
    settings = installation.settings
    answer = sts_of_person(settings).get_web_identity_token(
        Audience=[audience], SigningAlgorithm="RS256", DurationSeconds=life
    )
    assert asked(settings, answer["WebIdentityToken"], "/api/v2/trees/main").status_code == status


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"SigningAlgorithm": "ES384"}, "RS256 alone"),
        ({"DurationSeconds": 3601}, "DurationSeconds: 3601 is not from 60 to 3600"),
    ],
)
def test_a_token_is_asked_for_as_on_aws(installation: Installation, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=said):
        sts_of_person(installation.settings).get_web_identity_token(Audience=["lakegate"], **{**RIGHT, **wrong})
    aws_models.BROKEN.clear()  # as it was meant to


def test_no_token_outlives_its_session(installation: Installation) -> None:
    settings = installation.settings
    arn = f"arn:aws:iam::{ACCOUNT}:role/{settings.stack}-person"
    sts = sts_of_person(settings)
    own = sts.assume_role(RoleArn=arn, RoleSessionName="short", DurationSeconds=900)["Credentials"]
    short = sts_of(settings, own["AccessKeyId"], own["SecretAccessKey"], own["SessionToken"])
    with pytest.raises(ClientError, match="SessionDurationEscalationException"):
        short.get_web_identity_token(Audience=["lakegate"], **RIGHT)
    answer = short.get_web_identity_token(Audience=["lakegate"], **{**RIGHT, "DurationSeconds": 450})
    assert answer["Expiration"] <= own["Expiration"]


def test_only_a_role_that_exists_has_tokens(cloud: LocalSettings, aws: Aws) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied.* no session of a role"):
        token(cloud, aws("sts"))
    with pytest.raises(ClientError, match=r"AccessDenied.* a role that does not exist"):
        token(cloud, sts_as(aws, cloud, ROLE))


def test_whoever_brings_the_cloud_up_again_is_the_same_person(cloud: LocalSettings) -> None:
    callers = {sts_of(cloud, *credentials(cloud).values()).get_caller_identity()["Arn"] for _ in range(2)}
    assert callers == {f"arn:aws:sts::{ACCOUNT}:assumed-role/lakegate-person/command-line"}


def test_each_role_of_the_stack_has_its_part(installation: Installation, aws: Aws) -> None:
    settings, outputs = installation.settings, installation.outputs
    functions = ("Ingest", "Settle", "Reconcile", "Act", "Read", "Express")
    roles = {
        name: aws("lambda").get_function_configuration(FunctionName=f"{settings.stack}-{name.lower()}")["Role"]
        for name in functions
    }
    parts = {
        name: claims(token(settings, sts_as(aws, settings, arn)))["https://sts.amazonaws.com/"]["principal_tags"]
        for name, arn in {**roles, "job": outputs["JobRoleArn"]}.items()
    }
    assert {name: tags["lakegate"] for name, tags in parts.items()} == {
        "Ingest": "ingest",
        "Settle": "publish",
        "Reconcile": "publish",
        "Act": "publish",
        "Read": "observer",
        "Express": "spark",
        "job": "spark",
    }


def claims(own: str) -> Any:
    part = own.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_file_s_way_is_committed_by_each_part_s_role_and_no_process_is_told_a_token(
    installation: Installation, spark_things: Things, things: Things, until: Callable[..., Any]
) -> None:
    settings = installation.settings
    bad = {"SparkRole": f"{spark_things.prefix}/bad.parquet", "ExpressRole": f"{things.prefix}/bad.parquet"}
    good = {job: key.replace("bad", "good") for job, key in bad.items()}
    light = rows(20, 10).set_column(2, "weight", pa.array([-1.0] * 10))  # so its rows are on the branch
    own = token(settings, sts_of_person(settings))
    seen, keys = installation.seen, {*good.values(), *bad.values()}
    for job, key in bad.items():
        installation.put(good[job], parquet(rows(0, 10)))
        installation.put(key, parquet(light))

    def is_decided() -> bool:
        seen.update(processes(settings))
        return installation.run("wait", *keys, "--timeout", "1", code=None) != "" and keys <= {
            key for name in ("published", "rejected") for it in installation.json("status")[name] for key in it["files"]
        }

    with Faults(cloud=Cloud(settings=settings)).job_stands_still(spark_things.table):
        seen.update(processes(settings))
    until(is_decided)
    installation.wait(*keys, code=REJECTED)
    before = {it["hash"] for it in history(settings, own, "main")}
    for job, table in (("SparkRole", spark_things.table), ("ExpressRole", things.table)):
        [commit] = [it for it in history(settings, own, "main") if f"published {table}" in it["message"]]
        assert role(commit) in ("SettleRole", "ReconcileRole")
        [branch] = {it["branch"] for it in installation.json("status")["rejected"] if bad[job] in it["files"]}
        on_branch = [role(it) for it in history(settings, own, branch) if it["hash"] not in before]
        assert set(on_branch) <= {job, "IngestRole", "SettleRole", "ReconcileRole"}  # any of three may claim files
        assert job in on_branch
    assert any("EMR_SERVERLESS_JOB_RUN_ID" in text for _, text in seen), "the job was not seen at work"
    assert [said[:300] for _, said in seen if beginning(own) in said] == []


def role(commit: Any) -> str:
    """Return which of the stack's roles committed it."""
    names = ("IngestRole", "SettleRole", "ReconcileRole", "SparkRole", "ExpressRole")
    return next((name for name in names if name in commit["committer"]), commit["committer"])
