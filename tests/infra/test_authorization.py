"""Policies against AWS's Service Authorization Reference: an action that AWS lacks, a resource that an action is never
on, and a condition key that a request never has are no errors in a template, and grant or deny nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.infra.conftest import Reviewed
from tests.infra.template import Stack, flat
from tests.support.authorization import Action, actions
from tests.support.iam import Statement, listed

pytestmark = pytest.mark.synth
# The ARN of a resource of each kind, as `Ref` and `Fn::GetAtt` give it.
ARNS = {
    "AWS::S3::Bucket": "arn:aws:s3:::x",
    "AWS::SQS::Queue": "arn:aws:sqs:x:1:x",
    "AWS::Lambda::Function": "arn:aws:lambda:x:1:function:x",
    "AWS::IAM::Role": "arn:aws:iam::1:role/x",
    "AWS::KMS::Key": "arn:aws:kms:x:1:key/x",
    "AWS::Logs::LogGroup": "arn:aws:logs:x:1:log-group:x:*",
    "AWS::EMRServerless::Application": "arn:aws:emr-serverless:x:1:/applications/x",
    "AWS::SecretsManager::Secret": "arn:aws:secretsmanager:x:1:secret:x",
    "AWS::SecretsManager::SecretTargetAttachment": "arn:aws:secretsmanager:x:1:secret:x",
}
NAMED = re.compile(r"<(\w+)(\.\w+)?>")
PSEUDO = {
    "AWS::StackId": "arn:aws:cloudformation:x:1:stack/x/x",
    "AWS::Partition": "aws",
    "AWS::AccountId": "1",
    "AWS::Region": "x",
}


@pytest.fixture(params=["reviewed", "own network"])
def policies(request: pytest.FixtureRequest, reviewed: Reviewed, stack: Stack) -> list[tuple[str, Statement]]:
    """Every statement with the resource of the template that it is in."""
    template = {"reviewed": reviewed.stack, "own network": stack}[request.param].template
    return [(name, it) for name, body in template["Resources"].items() for it in statements(body, template)]


def statements(value: Any, template: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield the statements in a resource, with the resources of the template by their ARNs."""
    if isinstance(value, dict) and "Effect" in value:
        yield {**value, "Resource": [_arn(it, template) for it in listed(value.get("Resource", []))]}
        return
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from statements(inner, template)


def _arn(value: Any, template: Mapping[str, Any]) -> str:
    def known(match: re.Match[str]) -> str:
        body = template["Resources"].get(match[1])
        return ARNS[body["Type"]] if body else "x"

    text = flat(value)
    for name, meaning in PSEUDO.items():
        text = text.replace(f"<{name}>", meaning).replace(f"${{{name}}}", meaning)
    return NAMED.sub(known, text)


def test_every_action_of_a_policy_is_one_of_aws(policies: list[tuple[str, Statement]]) -> None:
    assert [(name, it) for name, statement in policies for it in verbs(statement) if not of_pattern(it)] == []


def test_every_resource_of_a_policy_is_one_that_an_action_is_on_and_the_reverse(
    policies: list[tuple[str, Statement]],
) -> None:
    assert [(name, it) for name, statement in policies for it in idle(statement)] == []


def test_every_condition_of_a_policy_is_on_a_key_that_a_request_may_have(
    policies: list[tuple[str, Statement]],
) -> None:
    assert [(name, key) for name, statement in policies for key in unknown_keys(statement)] == []


@pytest.mark.parametrize(
    ("action", "resource", "idle_ones"),
    [
        ("s3:GetObject", "arn:aws:s3:::lake/*", []),
        ("s3:GetObject", "arn:aws:s3:::lake", ["arn:aws:s3:::lake", "s3:GetObject"]),
        (["s3:GetObject", "s3:ListBucket"], "arn:aws:s3:::lake", ["s3:GetObject"]),
        ("emr-serverless:GetJobRun", "arn:aws:emr-serverless:x:1:/applications/a/jobruns/*", []),
        ("emr-serverless:GetJobRun", "arn:aws:emr-serverless:x:1:/applications/a", None),
        ("logs:PutLogEvents", "arn:aws:logs:x:1:log-group:x:*", []),
        ("logs:PutLogEvents", "arn:aws:logs:x:1:log-group:x", None),
        ("sts:GetWebIdentityToken", "*", []),
        ("sts:GetWebIdentityToken", "arn:aws:iam::1:role/x", None),
    ],
)
def test_an_action_on_what_it_is_never_on_is_known(action: Any, resource: str, idle_ones: list[str] | None) -> None:
    found = list(idle({"Effect": "Allow", "Action": action, "Resource": [resource]}))
    assert found == (idle_ones if idle_ones is not None else [resource, action])


def test_a_key_that_no_request_of_the_action_has_is_known() -> None:
    condition = {"StringEquals": {"s3:prefix": "a", "aws:PrincipalTag/x": "b"}}
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": ["*"], "Condition": condition}
    assert list(unknown_keys(statement)) == ["s3:prefix"]
    assert list(unknown_keys({**statement, "Action": "s3:ListBucket"})) == []


def verbs(statement: Statement) -> list[str]:
    return [it for it in listed(statement.get("Action", statement.get("NotAction"))) if it != "*"]


def of_pattern(pattern: str) -> list[Action]:
    return actions(pattern) if ":" in pattern else []


def idle(statement: Statement) -> Iterator[str]:
    """Yield each resource that none of the actions is on, and each action that is on none of the resources."""
    resources = statement["Resource"] or ["*"]  # a trust's statement is of the role itself
    by_verb = {verb: of_pattern(verb) for verb in verbs(statement)}
    every = [action for found in by_verb.values() for action in found]
    yield from (it for it in resources if it != "*" and by_verb and not any(action.takes(it) for action in every))
    for verb, found in by_verb.items():
        if "*" not in resources and not any(action.takes(it) for action in found for it in resources):
            yield verb


def unknown_keys(statement: Statement) -> Iterator[str]:
    """Yield each condition key that a request of none of the actions has."""
    every = [action for verb in verbs(statement) for action in of_pattern(verb)]
    keys = [key for operator in statement.get("Condition", {}).values() for key in operator]
    yield from (key for key in keys if every and not any(action.knows(key) for action in every))
