"""A job run comes to its end whatever its runner meets, without LocalStack: what it asks of it is made up here."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from lakegate_localstack.job_runs import JobRun
from lakegate_localstack.settings import PackSettings

SPARK_SUBMIT = "#!/bin/sh\necho classes > classes.txt\nexit 0\n"
APPLICATION = {"applicationId": "00app", "arn": "arn:app", "releaseLabel": "emr-7.13.0"}


@pytest.fixture
def job_runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made = {name: ModuleType(name) for name in ("localstack", "localstack.aws", "localstack.aws.connect")}
    made["localstack.aws.connect"].connect_to = connect_to = MagicMock()  # type: ignore[attr-defined]
    connect_to.return_value.sts.request_metadata.return_value.assume_role.return_value = {
        "Credentials": {"AccessKeyId": "its", "SecretAccessKey": "role", "SessionToken": "s"}
    }
    made["localstack.config"] = ModuleType("localstack.config")
    made["localstack.config"].GATEWAY_LISTEN = [SimpleNamespace(port=1)]  # type: ignore[attr-defined]
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield importlib.import_module("lakegate_localstack.job_runner")
    del sys.modules["lakegate_localstack.job_runner"]


@pytest.fixture
def settings(tmp_path: Path) -> PackSettings:
    submit = tmp_path / "spark/bin/spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text(SPARK_SUBMIT)
    submit.chmod(0o755)
    (tmp_path / "java").mkdir()
    (tmp_path / "java/release").write_text("21")
    return PackSettings(
        work=tmp_path / "work",
        jobs=tmp_path / "jobs",
        cache=tmp_path / "cache",
        calls=tmp_path / "calls.jsonl",
        function_python=tmp_path / "python",
        spark_python=tmp_path / "python",
        spark_home=tmp_path / "spark",
        java_home=tmp_path / "java",
        image_jars=(),
        issuer="http://127.0.0.1:4566/issuer",
    )


@pytest.fixture
def run() -> JobRun:
    request = {"executionRoleArn": "arn:role", "jobDriver": {"sparkSubmit": {"entryPoint": "job.py"}}}
    return JobRun(account="1", region="r", application=APPLICATION, job_run_id="00run", request=request)


def test_good_driver_ends_well_and_leaves_no_temporary_files(
    job_runner: Any, settings: PackSettings, run: JobRun, until: Callable[..., Any]
) -> None:
    job_runner.JobRunner(settings).submit(run)

    until(lambda: run.state.is_final)
    assert run.state.name == "SUCCESS"
    until(lambda: not (settings.jobs / "00run/tmp").exists())


def test_job_run_whose_folder_cannot_be_made_fails(
    job_runner: Any, settings: PackSettings, run: JobRun, until: Callable[..., Any]
) -> None:
    settings.jobs.touch()  # no folder

    job_runner.JobRunner(settings).submit(run)

    until(lambda: run.state.is_final)
    assert run.state.name == "FAILED"
    assert "NotADirectoryError" in run.details


def test_good_driver_of_which_nothing_can_be_learned_ends_well(
    job_runner: Any, settings: PackSettings, run: JobRun, until: Callable[..., Any]
) -> None:
    runner = job_runner.JobRunner(settings)
    runner._archive.learn = MagicMock(side_effect=UnicodeDecodeError("utf-8", b"", 0, 1, "no"))

    runner.submit(run)

    until(lambda: run.state.is_final)
    assert run.state.name == "SUCCESS"


def test_job_run_that_is_cancelled_before_it_has_a_place_is_cancelled(
    job_runner: Any, settings: PackSettings, run: JobRun, until: Callable[..., Any]
) -> None:
    runner = job_runner.JobRunner(settings)
    submit = runner._pool.submit

    def first_cancelled(*arguments: Any) -> Any:
        runner.cancel(run)  # by somebody who found it in a list
        return submit(*arguments)

    runner._pool.submit = first_cancelled
    runner.submit(run)

    until(lambda: run.state.is_final)
    assert run.state.name == "CANCELLED"
