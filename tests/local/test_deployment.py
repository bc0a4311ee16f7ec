"""`lakegate deploy` on the local cloud: one command changes an installation at work, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lakegate_local.cloud import Cloud, tell_nobody
from lakegate_local.synth import choices

from examples.bad_files import parquet
from infra.config import setting_name
from infra.former import new_form
from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.stacks import Stacks
from tests.chaos.faults import Faults
from tests.local.installation import PATIENCE, REJECTED, Installation
from tests.local.kinds import Aws
from tests.local.things import Things, rows

pytestmark = pytest.mark.local

ROWS = 10  # of each file
POLL_SECONDS, LONGEST = 0.1, 3 * PATIENCE  # the longest that a deployment takes on a machine with much to do
Seen = tuple[bool, str]  # is the intake open, and the application's state


def settings_file(path: Path, installation: Installation, *without: str, **other: object) -> Path:
    """The settings of the local cloud as a person would write them."""
    own = choices(installation.settings) | {setting_name(name): value for name, value in other.items()}
    path.write_text(new_form({name: value for name, value in own.items() if name not in without}))
    return path


def test_a_forgotten_choice_stops_the_deployment(installation: Installation, aws: Aws, tmp_path: Path) -> None:
    file = settings_file(tmp_path / "dev.toml", installation, "slack.secret", "slack.channel")
    before = template(installation, aws)
    output = installation.run("deploy", file, code=REJECTED)
    assert "dropped: slack.secret, lakegate-slack → none\n" in output
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


@contextmanager
def files_landing(installation: Installation, things: Things) -> Iterator[list[Seen]]:
    """A first file lands, and then one in each state in which the installation is seen; the states so far. The first
    one's job goes on only once the intake is closed, so that there is something to wait for.
    """
    seen: list[Seen] = []
    over = threading.Event()
    intake = AwsIntake(lambda: Stacks(installation.aws).resources(installation.settings.stack), installation.aws)

    def watch(go_on: Callable[[], None]) -> None:
        deadline = time.monotonic() + LONGEST
        while not over.wait(POLL_SECONDS):
            assert time.monotonic() < deadline, f"the installation was no more than {seen}"
            now = intake.is_open(), state(installation)
            if now not in seen:
                seen.append(now)
                land(installation, things, len(seen))
            if not now[0]:
                go_on()

    land(installation, things, 0)
    faults = Faults(cloud=Cloud(settings=installation.settings))
    with ThreadPoolExecutor() as pool, faults.job_stands_still(things.table) as go_on:
        watching = pool.submit(watch, go_on)
        watching.add_done_callback(lambda _: go_on())  # even if it has failed: the deployment waits for the job
        try:
            yield seen
        finally:
            over.set()
        watching.result()


def land(installation: Installation, things: Things, number: int) -> None:
    installation.put(key(things, number), parquet(rows(number * ROWS, ROWS)))


def key(things: Things, number: int) -> str:
    return f"{things.prefix}/{number}.parquet"


def state(installation: Installation) -> str:
    found: Any = installation.aws("emr-serverless").get_application(applicationId=installation.outputs["ApplicationId"])
    return str(found["application"]["state"])


@pytest.mark.extended
def test_an_application_changes_under_load_by_one_command_and_nothing_is_lost(
    changed: Installation, spark_things: Things, aws: Aws, application: dict[str, str], tmp_path: Path
) -> None:
    other: dict[str, Any] = {"spark_jobs_at_once": 4, "spark_vcpus": 32, "spark_release": "emr-7.12.0"}
    file = settings_file(tmp_path / "dev.toml", changed, **other)
    acceptances = [word for name in other for word in ("--accept", setting_name(name))]
    with files_landing(changed, spark_things) as seen:
        told = changed.run("deploy", file, "--no-probe", *acceptances)
    assert {(True, "STARTED"), (False, "STARTED"), (False, "STOPPED")} <= {*seen}
    assert "changed: spark.vcpus, 16 → 32" in told
    assert "waiting for" in told
    found = aws("emr-serverless").get_application(**application)["application"]
    assert (found["releaseLabel"], found["schedulerConfiguration"]["maxConcurrentRuns"]) == ("emr-7.12.0", 4)

    count = len(seen) + 1
    changed.wait(*(key(spark_things, number) for number in range(count)))
    files = "count(DISTINCT _lakegate_file) AS files"
    (rows_on_main,) = changed.query(
        f"SELECT count(*) AS n, count(DISTINCT id) AS ids, {files} FROM {spark_things.table}"
    )
    assert rows_on_main == {"n": count * ROWS, "ids": count * ROWS, "files": count}
