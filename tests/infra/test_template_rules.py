"""Our own rules of cfn-lint, each on a template that breaks it and on one that does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from cfnlint.rules import CloudFormationLintRule
from cfnlint.template.template import Template

from tests.infra.rules.mistakes import CycleWithoutSetting, ProtectedFromRollback, TargetWithoutAlarm

Resources = dict[str, Any]
ROLE = {"Fn::GetAtt": ["Role", "Arn"]}


def findings(rule: type[CloudFormationLintRule], resources: Resources) -> list[str]:
    """Return the resources that break a rule."""
    return [match.path[1] for match in rule().match(Template("template.json", {"Resources": resources}, ["us-east-1"]))]


def function(name: str, **properties: Any) -> Resources:
    return {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": name, "Role": ROLE, **properties}}


def policy(action: str, resource: Any) -> Resources:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    document = {"Statement": [statement]}
    return {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "Role"}], "PolicyDocument": document}}


def mapping(queue: str, name: str) -> Resources:
    properties = {"EventSourceArn": {"Fn::GetAtt": [queue, "Arn"]}, "FunctionName": {"Ref": name}}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}


def on_success(name: str, target: str) -> Resources:
    destination = {"OnSuccess": {"Destination": {"Fn::GetAtt": [target, "Arn"]}}}
    properties = {"FunctionName": {"Ref": name}, "DestinationConfig": destination}
    return {"Type": "AWS::Lambda::EventInvokeConfig", "Properties": properties}


@pytest.mark.parametrize(
    ("protection", "policy", "broken"),
    [
        (True, "RetainExceptOnCreate", ["Database"]),
        ("true", "Snapshot", ["Database"]),
        (True, None, ["Database"]),
        (True, "Retain", []),
        (False, "RetainExceptOnCreate", []),
        ({"Ref": "Protection"}, "RetainExceptOnCreate", []),  # which is false in the first deployment
    ],
)
def test_nothing_is_protected_from_the_rollback_that_deletes_it(
    protection: Any, policy: str | None, broken: list[str]
) -> None:
    database = {"Type": "AWS::RDS::DBInstance", "Properties": {"DeletionProtection": protection}}
    assert findings(ProtectedFromRollback, {"Database": database | ({"DeletionPolicy": policy} if policy else {})}) == (
        broken
    )


QUEUE: Resources = {"Type": "AWS::SQS::Queue"}
BY_NAME = {"Fn::Join": ["", ["arn:aws:lambda:eu-west-1:1:function:", "b"]]}
BY_CALL: Resources = {"A": function("a"), "B": function("b"), "Policy": policy("lambda:InvokeFunction", BY_NAME)}
CYCLES: Mapping[str, tuple[Resources, list[str]]] = {
    "a call and a destination": ({**BY_CALL, "Then": on_success("B", "A")}, ["A", "B"]),
    "a queue": (
        {"A": function("a"), "Q": QUEUE, "M": mapping("Q", "A"), "P": policy("sqs:SendMessage", "<Q.Arn>")},
        ["A"],
    ),
    "a setting": (
        {
            "A": function("a", RecursiveLoop="Allow"),
            "Q": QUEUE,
            "M": mapping("Q", "A"),
            "P": policy("sqs:*", "<Q.Arn>"),
        },
        [],
    ),
    "a way without a return": ({"A": function("a"), "B": function("b"), "Then": on_success("A", "B")}, []),
}


@pytest.mark.parametrize("resources_and_functions", CYCLES.values(), ids=CYCLES)
def test_a_function_in_a_cycle_says_that_it_is_meant(resources_and_functions: tuple[Resources, list[str]]) -> None:
    resources, functions = resources_and_functions
    assert findings(CycleWithoutSetting, resources) == functions


def alarm(metric: str, rule: str) -> Resources:
    stat = {"Metric": {"MetricName": metric, "Dimensions": [{"Name": "RuleName", "Value": {"Ref": rule}}]}}
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"Id": "m0", "MetricStat": stat}]}}


RULE: Resources = {"Type": "AWS::Events::Rule", "Properties": {"Targets": [{"Arn": "arn", "Id": "0"}]}}


@pytest.mark.parametrize(
    ("watch", "broken"),
    [
        ({}, ["Rule"]),
        ({"Alarm": alarm("FailedInvocations", "Other")}, ["Rule"]),
        ({"Alarm": alarm("Invocations", "Rule")}, ["Rule"]),
        ({"Alarm": alarm("FailedInvocations", "Rule")}, []),
    ],
)
def test_a_target_has_an_alarm_on_events_that_do_not_reach_it(watch: Resources, broken: list[str]) -> None:
    assert findings(TargetWithoutAlarm, {"Rule": RULE, **watch}) == broken
