"""Who does what on the local cloud: each part is its own role to Nessie, as on AWS, and leaves no token anywhere."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import psutil
import pytest
import requests
from botocore.exceptions import ClientError
from dotenv import dotenv_values
from lakegate_local.person import credentials
from lakegate_local.processes import Processes
from lakegate_local.services import ACCOUNT, REGION
from lakegate_local.settings import LocalSettings

from examples.bad_files import parquet
from tests.local.conftest import ROLE
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Aws
from tests.local.things import Things, rows

pytestmark = pytest.mark.local
RIGHT = {"SigningAlgorithm": "RS256", "DurationSeconds": 900}


def sts_of(settings: LocalSettings, key: str, secret: str, session: str) -> Any:
    """STS for whoever has these credentials."""
    own = boto3.Session(key, secret, session, REGION)
    return own.client("sts", endpoint_url=settings.endpoint)


def sts_as(aws: Aws, settings: LocalSettings, role_arn: str) -> Any:
    found = aws("sts").assume_role(RoleArn=role_arn, RoleSessionName="a-test")["Credentials"]
    return sts_of(settings, found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


def sts_of_person(settings: LocalSettings) -> Any:
    profile = {name: value or "" for name, value in dotenv_values(settings.profile).items()}
    return sts_of(
        settings, *(profile[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"))
    )


def token(settings: LocalSettings, sts: Any) -> str:
    return str(sts.get_web_identity_token(Audience=[settings.audience], **RIGHT)["WebIdentityToken"])


def asked(settings: LocalSettings, own: str, path: str, method: str = "GET", **more: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {own}"} if own else {}
    return requests.request(method, f"{settings.nessie}{path}", headers=headers, timeout=300, **more)


def history(settings: LocalSettings, own: str, ref: str) -> list[Any]:
    found: list[Any] = asked(settings, own, f"/api/v2/trees/{ref}/history").json()["logEntries"]
    return [entry["commitMeta"] for entry in found]


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
        ({"DurationSeconds": 3601}, "DurationSeconds is up to 3600"),
    ],
)
def test_a_token_is_asked_for_as_on_aws(installation: Installation, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=said):
        sts_of_person(installation.settings).get_web_identity_token(Audience=["lakegate"], **{**RIGHT, **wrong})


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
    functions = ("Ingest", "Settle", "Reconcile", "Act", "Read")
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
        "job": "spark",
    }


def claims(own: str) -> Any:
    part = own.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_file_s_way_is_committed_by_each_part_s_role_and_leaves_no_token(
    installation: Installation, things: Things, until: Callable[..., Any]
) -> None:
    settings, good, bad = installation.settings, f"{things.prefix}/good.parquet", f"{things.prefix}/bad.parquet"
    own = token(settings, sts_of_person(settings))
    canary, seen = own.partition(".")[0], set[str]()  # the issuer's own beginning of every token
    installation.put(good, parquet(rows(0, 10)))
    installation.put(bad, parquet(rows(20, 10).drop(["name"])))

    def is_decided() -> bool:
        seen.update(processes(settings))
        return installation.run("wait", good, bad, "--timeout", "1", code=None) != "" and {good, bad} <= {
            key for name in ("published", "rejected") for it in installation.json("status")[name] for key in it["files"]
        }

    until(is_decided)
    installation.wait(good, bad, code=REJECTED)
    [commit] = [it for it in history(settings, own, "main") if f"published {things.table}" in it["message"]]
    assert role(commit) in ("SettleRole", "ReconcileRole")
    [branch] = {it["branch"] for it in installation.json("status")["rejected"] if bad in it["files"]}
    before = {it["hash"] for it in history(settings, own, "main")}
    on_branch = [role(it) for it in history(settings, own, branch) if it["hash"] not in before]
    assert "SparkRole" in on_branch
    assert set(on_branch) <= {"SparkRole", "IngestRole", "SettleRole", "ReconcileRole"}  # any of three may claim files
    assert any("EMR_SERVERLESS_JOB_RUN_ID" in text for text in seen), "the job was not seen at work"
    assert [text[:300] for text in (*seen, *left(installation)) if canary in text] == []


def role(commit: Any) -> str:
    """Which of the stack's roles committed it."""
    names = ("IngestRole", "SettleRole", "ReconcileRole", "SparkRole")
    return next((name for name in names if name in commit["committer"]), commit["committer"])


def processes(settings: LocalSettings) -> Iterator[str]:
    """The arguments and the environment of each process of the local cloud."""
    for record in Processes(folder=settings.run).records():
        for process in (psutil.Process(record.pid), *psutil.Process(record.pid).children(recursive=True)):
            try:
                yield f"{process.cmdline()} {process.environ()}"
            except psutil.Error:  # it has ended
                continue


def left(installation: Installation) -> Iterator[str]:
    """Everything that a run leaves: files of the cloud, logs of functions, job runs, the stack."""
    aws, outputs = installation.aws, installation.outputs
    for path in installation.settings.run.rglob("*"):
        if path.is_file():
            body = path.read_bytes()
            yield f"{path}: " + (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode("latin-1")
    for group in aws("logs").describe_log_groups()["logGroups"]:
        for page in aws("logs").get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
            yield from (event["message"] for event in page["events"])
    emr, application = aws("emr-serverless"), outputs["ApplicationId"]
    for page in emr.get_paginator("list_job_runs").paginate(applicationId=application):
        for run in page["jobRuns"]:
            yield str(emr.get_job_run(applicationId=application, jobRunId=run["id"]))
    yield from map(str, aws("lambda").list_functions()["Functions"])
    yield str(aws("cloudformation").describe_stacks(StackName=installation.settings.stack))
    yield str(
        history(installation.settings, token(installation.settings, sts_of_person(installation.settings)), "main")
    )
