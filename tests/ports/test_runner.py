"""Tests of what every `JobRunner` promises, and what EMR Serverless is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.model import StringShape
from botocore.stub import ANY, Stubber
from moto import mock_aws

from lakegate.adapters import emr as adapter
from lakegate.adapters.emr import STATES, EmrJobRunner, spark_defaults, tag
from lakegate.adapters.express import ExpressJobRunner, record_end
from lakegate.adapters.job_policy import job_policy
from lakegate.adapters.lanes import LaneRunner
from lakegate.audit.model.lane import Lane
from lakegate.bundles import BUNDLES
from lakegate.contracts.reading import LONGEST_TABLE
from lakegate.errors import Conflict, Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobRun, JobRunner, JobState, Reach, Usage
from lakegate.settings import Settings
from lakegate.testing import MemoryClock, MemoryJobRunner, MemoryStore
from tests.ports.test_express import told

BATCH = "20130131T0405-1a2b3c4d"
ATTEMPT = Attempt(table="nyc.flights", batch=BATCH, number=1)
JOB = "s3://service/attempts/x/job.json"
REACH = Reach(reads=(JOB,), writes=("s3://service/reports/x.json",), tables={"nyc.flights": "s3://lake/flights"})
LISTING = {"applicationId": "00app", "maxResults": 50, "createdAtAfter": ANY}
SETTINGS = Settings(
    landing_bucket="landing",
    service_bucket="service",
    lake_bucket="lake",
    nessie_uri="http://nessie",
    warehouse="lake",
    application_id="00app",
    job_role_arn="arn:aws:iam::123456789012:role/job",
    job_entry_point="s3://assets/append_and_audit.py",
    job_py_files="s3://assets/lakegate.zip",
    job_jars="s3://assets/a.jar,s3://assets/b.jar",
    job_timeout_minutes=45,
    release="emr-7.12.0",
    executors=7,
    spark_conf='{"spark.network.timeout": "300s", "spark.driver.memory": "12g"}',
)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws(config={"lambda": {"use_docker": False}}):
        yield


def both_lanes() -> tuple[MemoryJobRunner, MemoryJobRunner, LaneRunner]:
    """Runners of the Spark lane, of the express lane, and of both."""
    spark, express = (MemoryJobRunner(MemoryStore(), name=name) for name in ("spark", "express"))
    return spark, express, LaneRunner(spark, express)


@pytest.fixture(params=["memory", "lanes", "emr", "express"])
def runner(request: pytest.FixtureRequest) -> JobRunner:
    if request.param == "memory":
        return MemoryJobRunner(MemoryStore())
    if request.param == "lanes":
        return both_lanes()[-1]
    request.getfixturevalue("aws")
    if request.param == "express":
        return ExpressJobRunner(emulated_function(), MemoryStore(), MemoryClock())
    made = boto3.client("emr-serverless").create_application(type="SPARK", releaseLabel="emr-7.13.0", clientToken="t")
    return EmrJobRunner(replace(SETTINGS, application_id=made["applicationId"]))


def emulated_function() -> str:
    """An emulated function, which answers every call at once and does nothing."""
    trust = {"Version": "2012-10-17", "Statement": []}
    role = boto3.client("iam").create_role(RoleName="express", AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    made = boto3.client("lambda").create_function(
        FunctionName="express", Role=role["Arn"], Runtime="python3.13", Handler="app.handler", Code={"ZipFile": b"zip"}
    )
    return made["FunctionName"]


def lane_of(runner: JobRunner) -> Lane:
    return Lane.EXPRESS if isinstance(runner, ExpressJobRunner) else Lane.SPARK


def test_a_started_run_is_found_by_its_branch(runner: JobRunner) -> None:
    run = runner.start(ATTEMPT, JOB, REACH, lane_of(runner))
    found = runner.find(ATTEMPT.branch)
    assert found == replace(runner.get(run), usage=None)
    assert (found.id, found.branch) == (run, ATTEMPT.branch)


def test_every_attempt_has_a_run_of_its_own(runner: JobRunner) -> None:
    first, second = (
        runner.start(ATTEMPT, JOB, REACH, lane_of(runner)),
        runner.start(ATTEMPT.next(), JOB, REACH, lane_of(runner)),
    )
    assert first != second
    found = runner.find(ATTEMPT.next().branch)
    assert found is not None
    assert found.id == second


def test_a_branch_whose_job_never_started_has_no_run(runner: JobRunner) -> None:
    runner.start(ATTEMPT.next(), JOB, REACH, lane_of(runner))
    assert runner.find(ATTEMPT.branch) is None


def test_runs_of_attempts_whose_names_begin_alike_are_told_apart(runner: JobRunner) -> None:
    attempt = Attempt(table=f"{'n' * 99}.{'t' * (LONGEST_TABLE - 100)}", batch=BATCH, number=1)
    runner.start(attempt, JOB, REACH, lane_of(runner))
    assert runner.find(attempt.next().branch) is None


def test_the_longest_name_that_a_contract_may_give_a_table_leaves_room_for_its_runs() -> None:
    """EMR Serverless takes names of 256 characters."""
    assert len(Attempt(table="t" * LONGEST_TABLE, batch=BATCH, number=10**6).branch) <= 256


def test_a_run_that_nobody_started_is_a_mistake(runner: JobRunner) -> None:
    with pytest.raises(Misconfigured, match="00nope"):
        runner.get("00nope")


def test_a_run_that_has_ended_says_when(runner: JobRunner) -> None:
    run = runner.start(ATTEMPT, JOB, REACH, lane_of(runner))
    end(runner, run)
    ended = runner.get(run).ended_at
    assert ended is not None
    assert ended.tzinfo is not None


def end(runner: JobRunner, run_id: str) -> None:
    """As a person does in the vendor's console, where the vendor has a way to: lakegate never does."""
    if isinstance(runner, ExpressJobRunner):
        record_end(runner._store, told(run_id.removeprefix("express-")), datetime.now(UTC))
    if isinstance(runner, EmrJobRunner):
        runner._emr.cancel_job_run(applicationId=runner._settings.application_id, jobRunId=run_id)
    if isinstance(runner, MemoryJobRunner):
        runner.cancel(run_id)
    if isinstance(runner, LaneRunner):
        end(runner._runners[Lane.SPARK], run_id)


@pytest.mark.parametrize("runner", ["memory", "lanes", "emr"], indirect=True)
def test_a_run_that_a_person_cancelled_is_told_as_that(runner: JobRunner) -> None:
    run = runner.start(ATTEMPT, JOB, REACH, lane_of(runner))
    end(runner, run)
    assert runner.get(run).state is JobState.CANCELLED


@pytest.mark.parametrize(("release", "python"), [(bundle.release, bundle.python) for bundle in BUNDLES])
def test_a_job_runs_with_the_python_of_its_release(release: str, python: str) -> None:
    properties = spark_defaults(replace(SETTINGS, release=release))
    assert {value for name, value in properties.items() if "pyspark" in name.lower()} == {f"python{python}"}


def test_no_job_runs_on_a_release_whose_spark_was_not_tested() -> None:
    with pytest.raises(Misconfigured, match=r"emr-spark-9\.0\.0: release is one of emr-7"):
        spark_defaults(replace(SETTINGS, release="emr-spark-9.0.0"))


def test_a_run_that_has_ended_is_not_under_way(runner: JobRunner) -> None:
    run = runner.start(ATTEMPT, JOB, REACH, lane_of(runner))
    end(runner, run)
    assert runner.open_runs() == []


def test_a_run_that_waits_for_its_turn_is_under_way_in_memory() -> None:
    runner = MemoryJobRunner(MemoryStore())
    runner.start(ATTEMPT, JOB, REACH, Lane.SPARK)
    assert [run.branch for run in runner.open_runs()] == [ATTEMPT.branch]


def test_a_run_says_its_lane(runner: JobRunner) -> None:
    run = runner.start(ATTEMPT, JOB, REACH, lane_of(runner))
    assert runner.get(run).lane is lane_of(runner)
    end(runner, run)
    assert runner.get(run).lane is lane_of(runner)


def test_starting_again_is_the_same_run_in_memory() -> None:
    runner = MemoryJobRunner(MemoryStore())
    assert runner.start(ATTEMPT, JOB, REACH, Lane.SPARK) == runner.start(ATTEMPT, JOB, REACH, Lane.SPARK)


def test_each_run_keeps_to_its_lane_in_memory() -> None:
    runner = MemoryJobRunner(MemoryStore())
    runs = [runner.start(ATTEMPT, JOB, REACH, Lane.EXPRESS), runner.start(ATTEMPT.next(), JOB, REACH, Lane.SPARK)]
    assert [runner.runs[run].lane for run in runs] == [Lane.EXPRESS, Lane.SPARK]


def test_each_lane_s_job_goes_to_its_own_runner_and_both_are_asked_about_runs() -> None:
    spark, express, runner = both_lanes()
    other = ATTEMPT.next()
    fast, slow = (
        runner.start(attempt, JOB, REACH, lane) for attempt, lane in ((ATTEMPT, Lane.EXPRESS), (other, Lane.SPARK))
    )
    assert (list(express.runs), list(spark.runs)) == ([fast], [slow])
    assert [runner.get(run).branch for run in (fast, slow)] == [ATTEMPT.branch, other.branch]
    assert {run.id for run in runner.open_runs()} == {fast, slow}
    assert [run and run.id for run in map(runner.find, (ATTEMPT.branch, other.branch))] == [fast, slow]


# What is particular to EMR Serverless. Its emulator ignores the token and ends every run well at once.


@pytest.fixture
def emr(aws: None) -> Iterator[tuple[EmrJobRunner, Stubber]]:  # noqa: ARG001
    runner = EmrJobRunner(SETTINGS)
    with Stubber(runner._emr) as stub:
        yield runner, stub
        stub.assert_no_pending_responses()


ARN = "arn:aws:emr-serverless:us-east-1:123456789012:/applications/00app0/jobruns/00run0"
STARTED = {"applicationId": "00app", "jobRunId": "00run", "arn": ARN}
ASKED = {
    "applicationId": "00app",
    "clientToken": ATTEMPT.token,
    "executionRoleArn": "arn:aws:iam::123456789012:role/job",
    "executionIamPolicy": {"policy": job_policy(SETTINGS, ATTEMPT, REACH)},
    "name": ATTEMPT.branch,
    "jobDriver": {
        "sparkSubmit": {
            "entryPoint": "s3://assets/append_and_audit.py",
            "entryPointArguments": [JOB],
            "sparkSubmitParameters": "--py-files s3://assets/lakegate.zip --jars s3://assets/a.jar,s3://assets/b.jar",
        }
    },
    "executionTimeoutMinutes": 45,
    "retryPolicy": {"maxAttempts": 1},
    "tags": {"table": "nyc.flights", "batch": BATCH},
    "configurationOverrides": {
        "applicationConfiguration": [
            {
                "classification": "spark-defaults",
                "properties": {
                    "spark.pyspark.python": "python3.11",
                    "spark.pyspark.driver.python": "python3.11",
                    "spark.emr-serverless.driverEnv.PYSPARK_PYTHON": "python3.11",
                    "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON": "python3.11",
                    "spark.executorEnv.PYSPARK_PYTHON": "python3.11",
                    "spark.driver.cores": "2",
                    "spark.driver.memory": "12g",
                    "spark.emr-serverless.driver.disk": "50G",
                    "spark.executor.cores": "2",
                    "spark.executor.memory": "7g",
                    "spark.emr-serverless.executor.disk": "100G",
                    "spark.dynamicAllocation.initialExecutors": "1",
                    "spark.executor.instances": "1",
                    "spark.dynamicAllocation.maxExecutors": "7",
                    "spark.network.timeout": "300s",
                },
            }
        ],
        "monitoringConfiguration": {
            "s3MonitoringConfiguration": {"logUri": "s3://service/logs/"},
            "managedPersistenceMonitoringConfiguration": {"enabled": False},
        },
    },
}


def listed(number: int, **other: Any) -> dict[str, Any]:
    return {
        "applicationId": "00app",
        "id": f"00run{number}",
        "name": ATTEMPT.branch,
        "arn": ARN,
        "createdBy": "arn:aws:iam::123456789012:root",
        "createdAt": datetime(2013, 1, 31, 5, number, tzinfo=UTC),
        "updatedAt": datetime(2013, 1, 31, 5, number, tzinfo=UTC),
        "executionRole": SETTINGS.job_role_arn,
        "state": "RUNNING",
        "stateDetails": "as it is",
        "releaseLabel": "emr-7.13.0",
    } | other


def described(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what the service says of one run that it has listed: it waited for a minute, and for its workers for
    another.
    """
    entry = {
        **entry,
        "jobRunId": entry["id"],
        "jobDriver": {"sparkSubmit": {"entryPoint": "s3://x"}},
        "startedAt": entry["createdAt"] + timedelta(minutes=2),
        "queuedDurationMilliseconds": 60_000,
        "executionTimeoutMinutes": 45,
    }
    del entry["id"]
    return entry


def test_a_job_is_started_once_with_the_attempts_token_and_frozen_arguments(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    stub.add_response("start_job_run", STARTED, ASKED)
    assert runner.start(ATTEMPT, JOB, REACH, Lane.SPARK) == "00run"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nyc.flights", "nyc.flights"),
        ("shop.amount (EUR) ä漢", "shop.amount _EUR_ __"),
        ("x" * 300, "x" * 256),
        ("AWS:batch:1", "AWS_batch:1"),
        ("", ""),
    ],
)
def test_a_tag_is_what_the_service_takes_whatever_a_table_is_called(text: str, value: str) -> None:
    shape = boto3.client("emr-serverless", region_name="us-east-1").meta.service_model.shape_for("TagValue")
    assert tag(text) == value
    assert re.fullmatch(shape.metadata["pattern"], value)
    assert len(value) <= shape.metadata["max"]


def test_a_run_that_has_ended_says_what_it_took_and_is_billed_for(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    billed = {"vCPUHour": 0.2, "memoryGBHour": 0.8, "storageGBHour": 5.5}
    ended = described(listed(1, state="SUCCESS")) | {"totalExecutionDurationSeconds": 180}
    stub.add_response("get_job_run", {"jobRun": ended})
    stub.add_response("get_job_run", {"jobRun": ended | {"billedResourceUtilization": billed}})
    assert runner.get("00run1").usage is None  # not reckoned yet
    assert runner.get("00run1").usage == Usage(seconds=180, vcpu_hours=0.2, memory_gb_hours=0.8, storage_gb_hours=5.5)


def test_a_job_of_the_express_lane_is_no_job_of_emr_serverless(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, _ = emr
    with pytest.raises(Misconfigured, match="no express lane"):
        runner.start(ATTEMPT, JOB, REACH, Lane.EXPRESS)


def test_a_token_used_before_a_new_deployment_is_the_run_that_it_started(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    stub.add_client_error("start_job_run", "ConflictException", http_status_code=409)
    stub.add_response("list_job_runs", {"jobRuns": [listed(1)]}, LISTING)
    assert runner.start(ATTEMPT, JOB, REACH, Lane.SPARK) == "00run1"


def test_a_job_that_is_being_started_elsewhere_is_a_conflict(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    stub.add_client_error("start_job_run", "ConflictException", http_status_code=409)
    stub.add_response("list_job_runs", {"jobRuns": []}, LISTING)
    with pytest.raises(Conflict):
        runner.start(ATTEMPT, JOB, REACH, Lane.SPARK)


def test_the_latest_run_of_a_branch_is_found_on_any_page(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    since = {"applicationId": "00app", "maxResults": 50, "createdAtAfter": datetime(2013, 1, 30, 4, 5, tzinfo=UTC)}
    stub.add_response("list_job_runs", {"jobRuns": [listed(1), listed(9, name="wap-other")], "nextToken": "n"}, since)
    last = {"jobRuns": [listed(3, state="FAILED", stateDetails="out of memory"), listed(2)]}
    stub.add_response("list_job_runs", last, since | {"nextToken": "n"})
    failed = JobRun(
        id="00run3",
        branch=ATTEMPT.branch,
        state=JobState.FAILED,
        reason="out of memory",
        ended_at=datetime(2013, 1, 31, 5, 3, tzinfo=UTC),
    )
    assert runner.find(ATTEMPT.branch) == failed


BEFORE = "Job execution failed, please check complete logs in configured logging destination. ExitCode: 1."
LAST = "JobError: ValueError: its text is in the job's log alone; batch b of nyc.flights"


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ("Job run was cancelled as it was over its execution timeout", None),
        (BEFORE, None),
        (f"{BEFORE} Last few exceptions: ValueError: '123-45-6789' is no number\n{LAST}\n", LAST),
        (f"{BEFORE} Last few exceptions: JobError: Refused: no\nCaused by: x.IOException: 123-45-6789\n{LAST}", LAST),
        (
            f"{BEFORE} Last few exceptions: Caused by: java.io.IOException: 123-45-6789\nx.LinkageError: x",
            f"{BEFORE} Last few exceptions: java.io.IOException, x.LinkageError (their texts are in the run's log)",
        ),
        (f"{BEFORE} Last few exceptions: 123-45-6789", BEFORE),
    ],
)
def test_of_the_drivers_log_a_reason_has_the_jobs_last_word_or_no_text_at_all(
    emr: tuple[EmrJobRunner, Stubber], details: str, reason: str | None
) -> None:
    runner, stub = emr
    stub.add_response("list_job_runs", {"jobRuns": [listed(1, state="FAILED", stateDetails=details)]}, LISTING)
    found = runner.find(ATTEMPT.branch)
    assert found
    assert found.reason == (details if reason is None else reason)


def test_a_run_that_reads_nobodys_values_is_told_with_the_texts(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    said = f'{BEFORE} Last few exceptions: java.io.IOException: Cannot run program "python3.11"'
    failed = listed(1, state="FAILED", stateDetails=said)
    stub.add_response("get_job_run", {"jobRun": described(failed)}, {"applicationId": "00app", "jobRunId": "00run1"})
    assert runner.get("00run1", with_texts=True).reason == said


def test_runs_that_are_looked_for_one_after_the_other_are_listed_once(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    other = Attempt(table="nyc.flights", batch="20130131T0406-1a2b3c4d", number=1)
    stub.add_response("list_job_runs", {"jobRuns": [listed(1), listed(2, name=other.branch)]})
    assert [run and run.id for run in map(runner.find, (ATTEMPT.branch, other.branch))] == ["00run1", "00run2"]


def test_the_runs_under_way_are_asked_for_by_their_states_and_anew_each_time(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    states = ["SUBMITTED", "PENDING", "SCHEDULED", "QUEUED", "RUNNING", "CANCELLING"]
    asked = {"applicationId": "00app", "maxResults": 50, "states": states}
    stub.add_response("list_job_runs", {"jobRuns": [listed(1, state="QUEUED")], "nextToken": "n"}, asked)
    stub.add_response("list_job_runs", {"jobRuns": [listed(2, name="probe")]}, asked | {"nextToken": "n"})
    stub.add_response("list_job_runs", {"jobRuns": []}, asked)
    assert [(run.id, run.branch) for run in runner.open_runs()] == [("00run1", ATTEMPT.branch), ("00run2", "probe")]
    assert runner.open_runs() == []


@pytest.fixture
def seconds(emr: tuple[EmrJobRunner, Stubber], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what the process's clock says; it goes on by the second number with each page that is listed."""
    runner, _ = emr
    seconds = [0.0, 0.0]

    def wait(**_: object) -> None:
        seconds[0] += seconds[1]

    runner._emr.meta.events.register("before-parameter-build.emr-serverless.ListJobRuns", wait)
    monkeypatch.setattr(adapter, "monotonic", lambda: seconds[0])
    return seconds


def test_a_listing_of_many_slow_pages_serves_whoever_looks_next(
    emr: tuple[EmrJobRunner, Stubber], seconds: list[float]
) -> None:
    runner, stub = emr
    seconds[1] = 15
    stub.add_response("list_job_runs", {"jobRuns": [listed(1)], "nextToken": "n"})
    stub.add_response("list_job_runs", {"jobRuns": []})
    first = runner.find(ATTEMPT.branch)
    seconds[0] += 29
    assert runner.find(ATTEMPT.branch) == first is not None


def test_a_listing_serves_for_ten_seconds_or_as_long_as_it_took(
    emr: tuple[EmrJobRunner, Stubber], seconds: list[float]
) -> None:
    runner, stub = emr
    for _ in range(2):
        stub.add_response("list_job_runs", {"jobRuns": []})
    stub.add_response("list_job_runs", {"jobRuns": [listed(1)]})
    assert runner.find(ATTEMPT.branch) is None
    seconds[:] = [10, 15]
    assert runner.find(ATTEMPT.branch) is None
    seconds[0] += 15
    assert runner.find(ATTEMPT.branch) is not None


def test_runs_of_an_older_batch_are_listed_anew(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    older = Attempt(table="nyc.flights", batch="20130130T0405-1a2b3c4d", number=1)
    stub.add_response("list_job_runs", {"jobRuns": []})
    stub.add_response("list_job_runs", {"jobRuns": [listed(1, name=older.branch)]})
    assert runner.find(ATTEMPT.branch) is None
    assert runner.find(older.branch) is not None


def test_a_listing_serves_nobody_once_something_is_known_to_have_changed(emr: tuple[EmrJobRunner, Stubber]) -> None:
    runner, stub = emr
    stub.add_response("list_job_runs", {"jobRuns": [listed(1)]})
    stub.add_response("get_job_run", {"jobRun": described(listed(1, state="FAILED"))})
    stub.add_response("list_job_runs", {"jobRuns": [listed(1, state="FAILED")]})
    running = runner.find(ATTEMPT.branch)
    runner.get("00run1")
    failed = runner.find(ATTEMPT.branch)
    assert running is not None
    assert failed is not None
    assert (running.state, failed.state) == (JobState.RUNNING, JobState.FAILED)


@pytest.mark.parametrize(("minutes", "ours"), [(44, JobState.CANCELLED), (45, JobState.FAILED)])
def test_a_run_that_took_too_long_has_failed_and_was_not_cancelled(
    emr: tuple[EmrJobRunner, Stubber], minutes: int, ours: JobState
) -> None:
    runner, stub = emr
    ended = listed(1, state="CANCELLED", updatedAt=datetime(2013, 1, 31, 5, 2 + minutes, tzinfo=UTC))
    stub.add_response("list_job_runs", {"jobRuns": [ended]})
    stub.add_response("get_job_run", {"jobRun": described(ended)})
    found = runner.find(ATTEMPT.branch)
    assert found is not None
    assert found.state is ours
    assert ("0:45:00" in found.reason) is (ours is JobState.FAILED)


@pytest.mark.parametrize(("hours", "ours"), [(11, JobState.CANCELLED), (12, JobState.FAILED)])
def test_a_run_whose_turn_never_came_has_failed_and_was_not_cancelled(
    emr: tuple[EmrJobRunner, Stubber], hours: int, ours: JobState
) -> None:
    runner, stub = emr
    ended = listed(1, state="CANCELLED", updatedAt=datetime(2013, 1, 31, 5 + hours, 1, tzinfo=UTC))
    waited = described(ended) | {"queuedDurationMilliseconds": hours * 3_600_000}
    del waited["startedAt"]
    stub.add_response("get_job_run", {"jobRun": waited})
    found = runner.get("00run1")
    assert found.state is ours
    assert ("12:00:00" in found.reason) is (ours is JobState.FAILED)


@pytest.mark.parametrize(
    ("state", "ours"),
    [
        ("SUBMITTED", JobState.RUNNING),
        ("PENDING", JobState.RUNNING),
        ("SCHEDULED", JobState.RUNNING),
        ("QUEUED", JobState.RUNNING),
        ("RUNNING", JobState.RUNNING),
        ("CANCELLING", JobState.RUNNING),
        ("SUCCESS", JobState.SUCCEEDED),
        ("FAILED", JobState.FAILED),
    ],
)
def test_every_state_of_a_run_is_one_of_ours(emr: tuple[EmrJobRunner, Stubber], state: str, ours: JobState) -> None:
    runner, stub = emr
    stub.add_response("list_job_runs", {"jobRuns": [listed(1, state=state)]})
    found = runner.find(ATTEMPT.branch)
    assert found is not None
    assert found.state is ours


def test_all_the_vendors_states_are_known() -> None:
    shape = boto3.client("emr-serverless", region_name="us-east-1").meta.service_model.shape_for("JobRunState")
    assert isinstance(shape, StringShape)
    assert set(STATES) == set(shape.enum)
