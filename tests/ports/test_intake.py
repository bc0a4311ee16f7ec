"""Tests of what every `Intake` promises, but for what it says of job runs: the emulator ends each as it begins."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lakegate.adapters.intake import APPLICATION, MAPPING, RULE, AwsIntake
from lakegate.adapters.stacks import Resource
from lakegate.errors import Misconfigured
from lakegate.ports import Intake
from lakegate.testing import MemoryIntake


@dataclass(kw_only=True)
class Place:
    """An intake, and what an intake has to leave alone."""

    intake: Intake
    sees: Callable[[], Any] = lambda: None


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture(params=["memory", "aws"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "memory":
        return Place(intake=MemoryIntake())
    request.getfixturevalue("aws")
    return on_aws()


def on_aws() -> Place:
    """A queue that a function reads, two rules that call it, one that fills the queue, and an application."""
    events, emr = boto3.client("events"), boto3.client("emr-serverless")
    function, mapping, queue = made()
    for name, target in {"Sweep": function, "JobEnded": function, "Landed": queue}.items():
        events.put_rule(Name=name, EventPattern=json.dumps({"source": [name]}))
        events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": target}])
    application = emr.create_application(type="SPARK", releaseLabel="emr-7.13.0", clientToken="t")["applicationId"]
    kinds = {mapping: MAPPING, "Sweep": RULE, "JobEnded": RULE, "Landed": RULE, application: APPLICATION, "b": "Bucket"}
    return Place(
        intake=AwsIntake(lambda: [Resource(name=id_, kind=kind, id=id_) for id_, kind in kinds.items()]),
        sees=lambda: events.describe_rule(Name="Landed")["State"],
    )


def made() -> tuple[str, str, str]:
    """A function, its event source mapping and its queue."""
    role = boto3.client("iam").create_role(RoleName="any", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    with zipfile.ZipFile(body := io.BytesIO(), "w") as archive:
        archive.writestr("app.py", "")
    functions, sqs = boto3.client("lambda"), boto3.client("sqs")
    function = functions.create_function(
        FunctionName="ingest", Runtime="python3.13", Role=role, Handler="app.x", Code={"ZipFile": body.getvalue()}
    )["FunctionArn"]
    url = sqs.create_queue(QueueName="ingest")["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    mapping = functions.create_event_source_mapping(EventSourceArn=queue, FunctionName="ingest")["UUID"]
    return function, mapping, queue


def test_an_intake_is_open_until_it_is_closed(place: Place) -> None:
    assert place.intake.is_open()
    for _ in range(2):
        place.intake.close()
        assert not place.intake.is_open()
    for _ in range(2):
        place.intake.open()
        assert place.intake.is_open()


def test_a_stopped_application_keeps_the_intake_closed_until_it_is_opened(place: Place) -> None:
    place.intake.stop()
    assert not place.intake.is_open()
    place.intake.open()
    assert place.intake.is_open()


def test_what_lands_goes_on_to_the_queue(aws: None) -> None:  # noqa: ARG001
    place = on_aws()
    place.intake.close()
    assert place.sees() == "ENABLED"


def test_a_stack_that_has_nothing_of_it_is_open(aws: None) -> None:  # noqa: ARG001
    intake = AwsIntake(list)
    intake.close()
    intake.stop()
    intake.open()
    assert (intake.is_open(), intake.count_runs()) == (True, 0)


def test_what_a_deployment_removes_is_not_opened_and_what_it_adds_is(aws: None) -> None:  # noqa: ARG001
    events, (function, mapping, _) = boto3.client("events"), made()
    for name in ("Removed", "Added"):
        events.put_rule(Name=name, EventPattern=json.dumps({"source": [name]}))
        events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": function}])
    kinds = {"Removed": RULE, mapping: MAPPING}
    intake = AwsIntake(lambda: [Resource(name=id_, kind=kind, id=id_) for id_, kind in kinds.items()])
    intake.close()
    events.remove_targets(Rule="Removed", Ids=["1"])
    events.delete_rule(Name="Removed")
    events.disable_rule(Name="Added")
    del kinds["Removed"]
    kinds["Added"] = RULE
    intake.open()
    assert intake.is_open()
    assert events.describe_rule(Name="Added")["State"] == "ENABLED"


def test_what_does_not_open_keeps_nothing_else_closed_and_is_named(aws: None) -> None:  # noqa: ARG001
    events, (function, mapping, _) = boto3.client("events"), made()
    events.put_rule(Name="Sweep", EventPattern=json.dumps({"source": ["x"]}))
    events.put_targets(Rule="Sweep", Targets=[{"Id": "1", "Arn": function}])
    kinds = {mapping: MAPPING, "Sweep": RULE}
    intake = AwsIntake(lambda: [Resource(name=id_, kind=kind, id=id_) for id_, kind in kinds.items()])
    intake.close()
    lost = {f"0000000{number}-0000-0000-0000-000000000000": MAPPING for number in range(2)}
    kinds = {**lost, **kinds}
    with pytest.raises(Misconfigured) as told:
        intake.open()
    first, second = lost
    assert f"enabling the event source mapping {first}" in str(told.value)
    assert [second in note for note in told.value.__notes__] == [True]
    kinds = {name: kind for name, kind in kinds.items() if name not in lost}
    assert intake.is_open()
