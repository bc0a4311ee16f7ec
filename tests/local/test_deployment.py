"""`lakegate deploy` on the local cloud: one command changes an installation at work, and nothing is lost."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lakegate_local.cloud import Cloud, tell_nobody
from lakegate_local.services import ACCOUNT
from lakegate_local.synth import context

from examples.bad_files import parquet
from infra.config import Config
from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.stacks import Stacks
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Aws, Make
from tests.local.things import Things, rows

pytestmark = pytest.mark.local

ROWS = 10  # of each file
ENDS_ONCE_A_FILE_IS_THERE = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.1)\n"
Seen = tuple[bool, str]  # is the intake open, and the application's state


def settings_file(path: Path, installation: Installation, *without: str, **other: object) -> Path:
    """The settings of the local cloud as a person would write them."""
    given = {name: value for name, value in context(installation.settings).items() if name not in without}
    config = Config.read((given | other).get)
    lines = [f"{name} = {json.dumps(getattr(config, name))}\n" for name in [*given, *other]]
    path.write_text("".join(lines))
    return path


def test_a_forgotten_choice_stops_the_deployment(installation: Installation, aws: Aws, tmp_path: Path) -> None:
    file = settings_file(tmp_path / "dev.toml", installation, "slack_secret", "slack_channel", "slack_api")
    before = template(installation, aws)
    told = installation.run("deploy", file, code=REJECTED)
    assert "dropped: slack_secret, lakegate-slack → none: messages go to the functions' logs alone" in told
    assert template(installation, aws) == before


def template(installation: Installation, aws: Aws) -> object:
    return aws("cloudformation").get_template(StackName=installation.settings.stack)["TemplateBody"]


@pytest.fixture
def changed(installation: Installation) -> Iterator[Installation]:
    """The installation, for a test that changes it. It is as before at the end."""
    yield installation
    Cloud(settings=installation.settings).up(tell_nobody)


@pytest.fixture
def application(installation: Installation) -> dict[str, str]:
    return {"applicationId": installation.outputs["ApplicationId"]}


@pytest.fixture
def long_job(aws: Aws, bucket: str, application: dict[str, str], until: Make, tmp_path: Path) -> Path:
    """A job of the installation's application runs until there is this file."""
    aws("s3").put_object(Bucket=bucket, Key="job.py", Body=ENDS_ONCE_A_FILE_IS_THERE.encode())
    path = tmp_path / "may-end"
    driver = {"entryPoint": f"s3://{bucket}/job.py", "entryPointArguments": [str(path)]}
    run = aws("emr-serverless").start_job_run(
        **application,
        clientToken=uuid.uuid4().hex,
        executionRoleArn=f"arn:aws:iam::{ACCOUNT}:role/any",
        jobDriver={"sparkSubmit": driver},
    )["jobRunId"]
    until(lambda: aws("emr-serverless").get_job_run(**application, jobRunId=run)["jobRun"]["state"] == "RUNNING")
    return path


@contextmanager
def files_landing(installation: Installation, things: Things, long_job: Path) -> Iterator[list[Seen]]:
    """A file lands in each state in which the installation is seen; the states so far. The long job ends once the
    intake is closed.
    """
    seen: list[Seen] = []
    over = threading.Event()
    intake = AwsIntake(lambda: Stacks(installation.aws).resources(installation.settings.stack), installation.aws)

    def land() -> None:
        while not over.wait(0.1):
            now = intake.is_open(), state(installation)
            if now not in seen:
                installation.put(f"{things.prefix}/{len(seen)}.parquet", parquet(rows(len(seen) * ROWS, ROWS)))
                seen.append(now)
            if not now[0]:
                long_job.touch()

    thread = threading.Thread(target=land)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def state(installation: Installation) -> str:
    found: Any = installation.aws("emr-serverless").get_application(applicationId=installation.outputs["ApplicationId"])
    return str(found["application"]["state"])


def test_an_application_changes_under_load_by_one_command_and_nothing_is_lost(
    changed: Installation, things: Things, aws: Aws, application: dict[str, str], long_job: Path, tmp_path: Path
) -> None:
    file = settings_file(tmp_path / "dev.toml", changed, jobs_at_once=4, vcpus=32, release="emr-7.12.0")
    with files_landing(changed, things, long_job) as seen:
        told = changed.run("deploy", file, "--no-probe")
    assert {(True, "STARTED"), (False, "STARTED"), (False, "STOPPED")} <= {*seen}
    assert "added: vcpus, 16 → 32" in told
    assert "waiting for" in told
    found = aws("emr-serverless").get_application(**application)["application"]
    assert (found["releaseLabel"], found["schedulerConfiguration"]["maxConcurrentRuns"]) == ("emr-7.12.0", 4)

    changed.wait(*(f"{things.prefix}/{number}.parquet" for number in range(len(seen))))
    files = "count(DISTINCT _lakegate_file) AS files"
    (rows_on_main,) = changed.query(f"SELECT count(*) AS n, count(DISTINCT id) AS ids, {files} FROM {things.table}")
    assert rows_on_main == {"n": len(seen) * ROWS, "ids": len(seen) * ROWS, "files": len(seen)}
