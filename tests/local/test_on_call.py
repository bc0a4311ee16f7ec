"""Tests of what people on call rely on, on the local cloud: signals in logs, what jobs cost, dead letters that go, a
canary.
"""

import json
import os
from typing import Any
from unittest.mock import patch

import pytest

from lakegate.cli.canary import prove
from lakegate.cli.exits import Exit
from lakegate.cli.profile import connect
from lakegate.landing import canary
from lakegate.landing.attempts import Attempt
from tests.local.conftest import Landed
from tests.local.installation import Installation
from tests.local.kinds import Make
from tests.ports.test_telemetry import metrics_in
from tests.support.aws_events import object_created, run_ended

pytestmark = pytest.mark.local


def test_what_a_job_is_billed_for_is_shown_and_its_tags_name_table_and_batch(
    installation: Installation, by_spark: Landed, until: Make
) -> None:
    (entry,) = [it for it in installation.json("status")["published"] if by_spark.key in it["files"]]
    usage = until(lambda: installation.json("show", entry["batch"])["attempts"][0]["usage"])  # once its run has ended
    assert usage["vcpu_hours"] > 0
    emr, application = installation.aws("emr-serverless"), installation.outputs["ApplicationId"]
    branch = Attempt(table=by_spark.things.table, batch=entry["batch"], number=1).branch
    (run,) = [it for it in emr.list_job_runs(applicationId=application)["jobRuns"] if it["name"] == branch]
    tags = emr.get_job_run(applicationId=application, jobRunId=run["id"])["jobRun"]["tags"]
    assert tags == {"table": by_spark.things.table, "batch": entry["batch"]}


def test_the_sweeps_log_has_metrics_that_cloudwatch_takes(installation: Installation, until: Make) -> None:
    group = f"/aws/lambda/{installation.outputs['ReconcileFunction']}"

    def told() -> bool:
        events = installation.aws("logs").filter_log_events(logGroupName=group)["events"]
        lines = [json.loads(event["message"]) for event in events if '"_aws"' in event["message"]]
        names = {name for line in lines for name, _ in metrics_in(line)}
        return {"OpenBranches", "OldestUndecidedSeconds", "VersionsListed", "CatalogUnreachable"} <= names

    installation.run("reconcile")
    assert until(told)  # LocalStack writes a call's log after its answer


def test_dead_letters_of_what_is_done_go_with_the_next_sweep_and_others_stay(
    installation: Installation, by_spark: Landed, until: Make
) -> None:
    settle = installation.outputs["SettleFunction"]
    installation.aws("lambda").invoke(FunctionName=settle, InvocationType="Event", Payload=b'{"detail": {}}')
    emr, application = installation.aws("emr-serverless"), installation.outputs["ApplicationId"]
    run = emr.list_job_runs(applicationId=application)["jobRuns"][0]["id"]
    landed = object_created(installation.outputs["LandingBucket"], by_spark.key, by_spark.version)
    ended = {"requestPayload": run_ended(run), "responsePayload": {"errorMessage": "no answer"}}
    queues = [installation.outputs[f"{what}DeadLetterQueueUrl"] for what in ("Ingest", "Settle")]
    until(lambda: left_in(installation, queues[1]) == 1)  # Lambda calls a function that fails twice more
    for queue, event in zip(queues, (landed, ended), strict=True):
        installation.aws("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(event))
    installation.run("reconcile")
    # A scheduled sweep may have taken the letters up just before this one.
    until(lambda: [left_in(installation, queue) for queue in queues] == [0, 1])


def left_in(installation: Installation, queue: str) -> int:
    told: dict[str, Any] = installation.aws("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])
    return sum(int(told["Attributes"][f"ApproximateNumberOfMessages{what}"]) for what in ("", "NotVisible"))


def test_a_canary_reaches_main_by_the_express_lane_and_the_next_one_takes_its_place(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_of_the_deployment in (False, True):
        if is_of_the_deployment:
            with patch.dict(os.environ, installation.environment):
                assert prove(connect()) is Exit.SUCCESS
            assert "The canary came to main by the lane express" in capsys.readouterr().out
        else:
            answer = installation.aws("lambda").invoke(FunctionName=f"{installation.settings.stack}-canary")
            assert "FunctionError" not in answer
        installation.wait(canary.KEY)
        found = installation.query(f"SELECT count(*) AS n, count(DISTINCT sent_at) AS times FROM {canary.TABLE}")
        assert found == [{"n": canary.ROWS, "times": 1}]
