import contextlib
import gzip
import json
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError
from lakegate_local.services import ACCOUNT, REGION

from lakegate.adapters.intake import APPLICATION, AwsIntake
from lakegate.adapters.stacks import Resource
from lakegate.errors import Conflict
from tests.local.kinds import ArnOf, Aws, Make, Received
from tests.support.aws_events import faults

pytestmark = pytest.mark.local

ROLE = f"arn:aws:iam::{ACCOUNT}:role/any"
FINAL = {"SUCCESS", "FAILED", "CANCELLED"}
ENDS_WELL = "print('hello from the driver')\n"
WAITS = "import time\nprint('waiting', flush=True)\ntime.sleep(600)\n"
FAILS = "def load():\n    raise ValueError('column arr_delay is missing')\nload()\n"
USES_SPARK = """
import sys
from importlib.util import find_spec
from pyspark.sql import SparkSession
import helper
spark = SparkSession.builder.getOrCreate()
frame = spark.read.parquet(sys.argv[1])
frame.groupBy("n").count().write.parquet(sys.argv[2])
assert find_spec("lakegate") is None and find_spec("boto3") is None
print(helper.WORD, spark.conf.get("spark.test.word"), frame.count())
"""


@pytest.fixture(scope="session")
def application(aws: Aws) -> Any:
    return aws("emr-serverless").create_application(releaseLabel="emr-7.13.0", type="SPARK", name="test")[
        "applicationId"
    ]


@pytest.fixture
def start(aws: Aws, application: str, bucket: str, job_run: Make) -> Iterator[Any]:
    """`start(source)` starts a job run of one script and returns its id."""
    started = []

    def run(
        source: str,
        *,
        token: str | None = None,
        parameters: str = "--name test",
        arguments: Sequence[str] = (),
        overrides: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        entry_point = f"jobs/{abs(hash(source))}/job.py"
        aws("s3").put_object(Bucket=bucket, Key=entry_point, Body=source.encode())
        driver = {
            "entryPoint": f"s3://{bucket}/{entry_point}",
            "entryPointArguments": list(arguments),
            "sparkSubmitParameters": parameters,
        }
        answer = aws("emr-serverless").start_job_run(
            applicationId=application,
            clientToken=token or uuid.uuid4().hex,
            executionRoleArn=ROLE,
            jobDriver={"sparkSubmit": driver},
            configurationOverrides={
                "monitoringConfiguration": {
                    "s3MonitoringConfiguration": {"logUri": f"s3://{bucket}/logs/"},
                    "managedPersistenceMonitoringConfiguration": {"enabled": False},
                },
                **(overrides or {}),
            },
            **options,
        )
        started.append(answer["jobRunId"])
        return started[-1]

    yield run
    for identity in started:
        if job_run(identity)["state"] not in FINAL:
            aws("emr-serverless").cancel_job_run(applicationId=application, jobRunId=identity)


@pytest.fixture
def job_run(aws: Aws, application: str) -> Any:
    return lambda run: aws("emr-serverless").get_job_run(applicationId=application, jobRunId=run)["jobRun"]


@pytest.fixture
def in_state(job_run: Make, until: Make) -> Any:
    """`in_state(run, "RUNNING")` waits until the job run is in that state and describes it."""

    def wait(run: str, *states: str) -> Any:
        return until(lambda: found if (found := job_run(run))["state"] in states else None)

    return wait


@pytest.fixture
def driver_log(aws: Aws, application: str, bucket: str) -> Any:
    def text(run: str, name: str) -> Any:
        key = f"logs/applications/{application}/jobs/{run}/SPARK_DRIVER/{name}.gz"
        return gzip.decompress(aws("s3").get_object(Bucket=bucket, Key=key)["Body"].read()).decode()

    return text


@pytest.fixture
def changes(aws: Aws, queue: str, arn_of: ArnOf, received: Received, until: Make) -> Iterator[Any]:
    """`changes(run)` waits for the events of a job run, one for every state from the first to a final one.

    In whatever order they come: neither EventBridge nor a standard queue promises one.
    """
    name = f"test-{uuid.uuid4().hex[:8]}"
    aws("events").put_rule(
        Name=name,
        EventPattern=json.dumps(
            {"source": ["aws.emr-serverless"], "detail-type": ["EMR Serverless Job Run State Change"]}
        ),
    )
    aws("events").put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn_of(queue)}])
    seen = []

    def ended(run: str) -> Any:
        seen.extend(received(queue))
        mine = [event for event in seen if event["detail"]["jobRunId"] == run]
        assert [fault for event in mine for fault in faults(event)] == []
        return mine if is_whole(steps(mine)) else None

    yield lambda run: until(lambda: ended(run))
    aws("events").delete_rule(Name=name, Force=True)


def steps(events: Sequence[Any]) -> dict[str, str]:
    """From which state to which."""
    return {event["detail"]["previousState"]: event["detail"]["state"] for event in events}


def is_whole(steps: dict[str, str]) -> bool:
    """Return True if they lead from the first state to a final one."""
    state: str | None = "SUBMITTED"
    while state is not None and state not in FINAL:
        state = steps.get(state)
    return state is not None


def driver(run: str) -> Any:
    """The driver's JVM (the launcher, which only makes up its command, is another)."""
    return process_of(
        run, lambda words: Path(words[0]).name == "java" and "org.apache.spark.launcher.Main" not in words
    )


def script(run: str) -> Any:
    """The Python that the driver runs."""
    return process_of(run, lambda words: Path(words[0]).name.startswith("python") and words[-1].endswith("job.py"))


def process_of(run: str, is_wanted: Callable[[list[str]], bool]) -> Any:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if words and is_wanted(words) and process.environ().get("EMR_SERVERLESS_JOB_RUN_ID") == run:
                return process
    return None


def test_job_run_goes_through_its_states_every_change_is_an_event_and_it_cannot_be_cancelled_when_finished(
    aws: Aws, start: Make, changes: Make, in_state: Make, driver_log: Make, application: str
) -> None:
    run = start(ENDS_WELL)

    events = changes(run)

    assert steps(events) == {
        "SUBMITTED": "PENDING",
        "PENDING": "SCHEDULED",
        "SCHEDULED": "RUNNING",
        "RUNNING": "SUCCESS",
    }
    assert set(events[-1]["detail"]) == {
        *("jobRunId", "applicationId", "arn", "releaseLabel", "state"),
        *("previousState", "createdBy", "updatedAt", "createdAt"),
    }
    assert events[-1]["detail"]["arn"] == (
        f"arn:aws:emr-serverless:{REGION}:{ACCOUNT}:/applications/{application}/jobruns/{run}"
    )
    assert in_state(run, "SUCCESS")["stateDetails"] == ""
    assert "hello from the driver" in driver_log(run, "stdout")
    with pytest.raises(ClientError, match="ValidationException"):
        aws("emr-serverless").cancel_job_run(applicationId=application, jobRunId=run)


def test_real_spark_reads_and_writes_s3_under_awkward_keys_with_nothing_but_the_images_packages(
    aws: Aws, bucket: str, start: Make, in_state: Make, driver_log: Make, tmp_path: Path
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"n": [1, 1, 2]}), tmp_path / "in.parquet")
    aws("s3").upload_file(str(tmp_path / "in.parquet"), bucket, "in/a b+c%20d#é.parquet")
    aws("s3").put_object(Bucket=bucket, Key="lib/helper.py", Body=b"WORD = 'helped'\n")

    run = start(
        USES_SPARK,
        parameters=f"--py-files s3://{bucket}/lib/helper.py --conf spark.test.word=parameters",
        arguments=[f"s3://{bucket}/in/a b+c%20d#é.parquet", f"s3://{bucket}/out"],
        overrides={
            "applicationConfiguration": [
                {"classification": "spark-defaults", "properties": {"spark.test.word": "overrides"}}
            ]
        },
    )

    assert in_state(run, *FINAL)["state"] == "SUCCESS", driver_log(run, "stdout") + driver_log(run, "stderr")
    assert "helped parameters 3" in driver_log(run, "stdout")
    assert [e["Key"] for e in aws("s3").list_objects_v2(Bucket=bucket, Prefix="out/part-")["Contents"]]


def test_killed_driver_fails_the_job_run_naming_the_signal_and_its_python_is_gone_too(
    start: Make, in_state: Make, until: Make, changes: Make
) -> None:
    run = start(WAITS)
    in_state(run, "RUNNING")
    until(lambda: script(run))

    os.kill(driver(run).pid, signal.SIGKILL)

    assert steps(changes(run))["RUNNING"] == "FAILED"
    assert "SIGKILL" in in_state(run, "FAILED")["stateDetails"]
    until(lambda: not script(run))


def test_job_run_that_takes_too_long_is_cancelled_and_says_why(start: Make, in_state: Make) -> None:
    run = start(WAITS, executionTimeoutMinutes=1)

    found = in_state(run, *FINAL)

    assert found["state"] == "CANCELLED"
    assert "execution timeout of 1 minutes" in found["stateDetails"]


def test_third_job_run_waits_for_a_place_and_can_be_cancelled_there_as_one_that_runs_can(
    aws: Aws, application: str, start: Make, in_state: Make, until: Make, changes: Make
) -> None:
    running = [start(WAITS), start(WAITS)]
    for run in running:
        in_state(run, "RUNNING")
    third = start(WAITS)
    process = until(lambda: driver(running[0]))

    assert in_state(third, "PENDING", "SCHEDULED", "RUNNING")["state"] == "PENDING"
    for run in (third, *running):
        aws("emr-serverless").cancel_job_run(applicationId=application, jobRunId=run)

    assert "startedAt" not in in_state(third, "CANCELLED")
    assert steps(changes(running[0])).items() >= {"RUNNING": "CANCELLING", "CANCELLING": "CANCELLED"}.items()
    assert not process.is_running()
    in_state(running[1], "CANCELLED")


def test_job_that_raises_fails_with_its_own_last_error_once_for_each_client_token(
    start: Make, in_state: Make, driver_log: Make
) -> None:
    token = uuid.uuid4().hex

    run, again = start(FAILS, token=token), start(FAILS, token=token)
    with pytest.raises(ClientError) as refusal:
        start(FAILS, token=token, arguments=["other"])

    assert run == again
    assert refusal.value.response["Error"]["Code"] == "ConflictException"
    found = in_state(run, *FINAL)
    assert found["state"] == "FAILED"
    assert "ExitCode: 1." in found["stateDetails"]
    assert found["stateDetails"].endswith("ValueError: column arr_delay is missing")
    assert "Traceback" in driver_log(run, "stdout")


def test_missing_entry_point_fails_a_job_run_and_runs_are_listed_by_state_newest_first(
    aws: Aws, application: str, start: Make, in_state: Make, bucket: str
) -> None:
    emr = aws("emr-serverless")
    good = start(ENDS_WELL)
    bad = emr.start_job_run(
        applicationId=application,
        clientToken=uuid.uuid4().hex,
        executionRoleArn=ROLE,
        jobDriver={"sparkSubmit": {"entryPoint": f"s3://{bucket}/none.py"}},
    )["jobRunId"]

    assert in_state(good, *FINAL)["state"] == "SUCCESS"
    found = in_state(bad, *FINAL)
    everything = emr.list_job_runs(applicationId=application)["jobRuns"]
    failed = emr.list_job_runs(applicationId=application, states=["FAILED"])["jobRuns"]

    assert found["state"] == "FAILED"
    assert "404" in found["stateDetails"]
    assert [run["id"] for run in everything][:2] == [bad, good]
    assert bad in [run["id"] for run in failed]
    assert {run["state"] for run in failed} == {"FAILED"}


def test_unknown_application_and_job_run_are_not_found(aws: Aws, application: str) -> None:
    emr = aws("emr-serverless")

    with pytest.raises(emr.exceptions.ResourceNotFoundException):
        emr.get_application(applicationId="00none")
    with pytest.raises(emr.exceptions.ResourceNotFoundException):
        emr.get_job_run(applicationId=application, jobRunId="00none")


def test_what_the_stand_in_cannot_do_is_refused(aws: Aws, start: Make) -> None:
    with pytest.raises(ClientError, match="runs Spark applications only"):
        aws("emr-serverless").create_application(releaseLabel="emr-7.13.0", type="HIVE")
    with pytest.raises(ClientError, match=r"the Spark of emr-7\.… only, not that of emr-spark-8\.1\.0"):
        aws("emr-serverless").create_application(releaseLabel="emr-spark-8.1.0", type="SPARK")
    with pytest.raises(ClientError, match="knows no classification"):
        start(ENDS_WELL, overrides={"applicationConfiguration": [{"classification": "spark-env"}]})


def test_intake_stops_no_application_whose_job_runs_and_keeps_a_stopped_one_from_starting(
    aws: Aws, application: str, start: Make, in_state: Make
) -> None:
    intake = AwsIntake(lambda: [Resource(name="Application", kind=APPLICATION, id=application)], aws)
    run = start(WAITS)
    in_state(run, "RUNNING")
    assert intake.count_runs() == 1
    with pytest.raises(Conflict):
        intake.stop()
    aws("emr-serverless").cancel_job_run(applicationId=application, jobRunId=run)
    in_state(run, *FINAL)

    assert intake.count_runs() == 0
    intake.stop()
    with pytest.raises(ClientError, match="is not started"):
        start(ENDS_WELL)
    assert not intake.is_open()
    intake.open()
    in_state(start(ENDS_WELL), "SUCCESS")


def test_an_application_is_refused_in_a_zone_without_the_service(aws: Aws) -> None:
    ec2 = aws("ec2")
    zones = {it["ZoneId"]: it["ZoneName"] for it in ec2.describe_availability_zones()["AvailabilityZones"]}
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]

    def make(zone: str, block: str) -> str:
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=zones[zone])["Subnet"]["SubnetId"]
        network = {"subnetIds": [subnet], "securityGroupIds": ["sg-0123abcd"]}
        made = aws("emr-serverless").create_application(
            type="SPARK", releaseLabel="emr-7.13.0", clientToken=zone, networkConfiguration=network
        )
        return str(made["applicationId"])

    assert make("use1-az2", "10.9.1.0/24")
    with pytest.raises(ClientError, match="unsupported availability zones: use1-az3"):
        make("use1-az3", "10.9.2.0/24")
