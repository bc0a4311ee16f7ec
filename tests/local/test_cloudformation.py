import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.kinds import Aws, Make

pytestmark = pytest.mark.local


@pytest.fixture
def deploy(aws: Aws, until: Make) -> Iterator[Any]:
    """`deploy(resources)` makes or updates a stack and describes it when it has come to rest."""
    name = f"test-{uuid.uuid4().hex[:8]}"

    def change(resources: dict[str, Any], outputs: dict[str, Any] | None = None) -> Any:
        cloudformation = aws("cloudformation")
        arguments = {
            "StackName": name,
            "TemplateBody": json.dumps({"Resources": resources, "Outputs": outputs or {}}),
        }
        exists = name in [stack["StackName"] for stack in cloudformation.list_stacks()["StackSummaries"]]
        (cloudformation.update_stack if exists else cloudformation.create_stack)(**arguments)
        return until(rested)

    def rested() -> Any:
        stack = aws("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("IN_PROGRESS") else stack

    yield change
    aws("cloudformation").delete_stack(StackName=name)


def application(**more: Any) -> Any:
    return {
        "App": {
            "Type": "AWS::EMRServerless::Application",
            "Properties": {
                "Name": "of-a-stack",
                "Type": "SPARK",
                "ReleaseLabel": "emr-7.13.0",
                "AutoStopConfiguration": {"Enabled": True, "IdleTimeoutMinutes": 15},
                "MaximumCapacity": {"Cpu": "16 vCPU", "Memory": "64 GB"},
                "Tags": [{"Key": "Some", "Value": "tag"}],
                **more,
            },
        }
    }


OUTPUTS = {"Id": {"Value": {"Ref": "App"}}, "Arn": {"Value": {"Fn::GetAtt": ["App", "Arn"]}}}


def test_stack_makes_an_application_and_knows_its_id_and_arn(aws: Aws, deploy: Make) -> None:
    stack = deploy(application(), OUTPUTS)

    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    found = aws("emr-serverless").get_application(applicationId=outputs["Id"])["application"]
    assert found["arn"] == outputs["Arn"]
    assert found["maximumCapacity"] == {"cpu": "16 vCPU", "memory": "64 GB"}
    assert found["autoStopConfiguration"] == {"enabled": True, "idleTimeoutMinutes": 15}
    assert found["tags"] == {"Some": "tag"}


def test_update_changes_the_same_application(aws: Aws, deploy: Make) -> None:
    first = deploy(application(), OUTPUTS)["Outputs"]
    second = deploy(application(MaximumCapacity={"Cpu": "8 vCPU", "Memory": "32 GB"}), OUTPUTS)["Outputs"]

    [identity] = {output["OutputValue"] for output in (*first, *second) if output["OutputKey"] == "Id"}
    found = aws("emr-serverless").get_application(applicationId=identity)["application"]
    assert found["maximumCapacity"]["cpu"] == "8 vCPU"


def test_what_orders_the_runs_of_an_application_is_changed_with_it(aws: Aws, deploy: Make) -> None:
    first = {"MaxConcurrentRuns": "2", "QueueTimeoutMinutes": "360"}
    deploy(application(SchedulerConfiguration=first), OUTPUTS)
    stack = deploy(application(SchedulerConfiguration=first | {"MaxConcurrentRuns": "3"}), OUTPUTS)

    [identity] = [output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "Id"]
    found = aws("emr-serverless").get_application(applicationId=identity)["application"]
    assert found["schedulerConfiguration"] == {"maxConcurrentRuns": 3, "queueTimeoutMinutes": 360}


def test_application_that_is_started_is_not_updated(aws: Aws, deploy: Make) -> None:
    [identity] = [
        output["OutputValue"] for output in deploy(application(), OUTPUTS)["Outputs"] if output["OutputKey"] == "Id"
    ]
    aws("emr-serverless").start_application(applicationId=identity)

    stack = deploy(application(MaximumCapacity={"Cpu": "8 vCPU", "Memory": "32 GB"}), OUTPUTS)

    found = aws("emr-serverless").get_application(applicationId=identity)["application"]
    assert "must be in state CREATED or STOPPED" in reasons(aws, stack)
    assert (found["state"], found["maximumCapacity"]["cpu"]) == ("STARTED", "16 vCPU")


def test_change_of_an_applications_tags_fails_and_is_not_passed_over(aws: Aws, deploy: Make) -> None:
    deploy(application())

    stack = deploy(application(Tags=[{"Key": "Some", "Value": "other"}]))

    assert "changes no Tags of an application" in reasons(aws, stack)


def reasons(aws: Aws, stack: dict[str, Any]) -> str:
    events = aws("cloudformation").describe_stack_events(StackName=stack["StackName"])["StackEvents"]
    return " ".join(event.get("ResourceStatusReason", "") for event in events)


@pytest.mark.parametrize("kind", ["Custom::AutoDelete", "AWS::CloudFormation::CustomResource"])
def test_custom_resource_fails_its_stack_loudly(deploy: Make, aws: Aws, kind: str) -> None:
    stack = deploy({"Magic": {"Type": kind, "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:0:function:f"}}})

    assert stack["StackStatus"].startswith(("CREATE_FAILED", "ROLLBACK"))
    assert "runs no custom resources: Magic" in reasons(aws, stack)
