"""infra/deployer.json: what CloudFormation needs for the stacks, by the schemas of their resource types."""

from __future__ import annotations

import json
import re
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.support.authorization import DATA
from tests.support.deployer import FILE, UNUSED, needs, template
from tests.support.iam import Request, is_allowed, listed

pytestmark = pytest.mark.synth
ACCOUNT = "123456789012"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/platform/boundary"
VALUES = {
    "Name": "lakegate",
    "Boundary": BOUNDARY,
    "Assets": "cdk-hnb659fds-assets-*",
    "AWS::Partition": "aws",
    "AWS::AccountId": ACCOUNT,
    "AWS::Region": "eu-central-1",
    "AWS::URLSuffix": "amazonaws.com",
}


@pytest.fixture(scope="module")
def needed() -> set[str]:
    return needs()


@pytest.fixture(scope="module")
def rights() -> list[dict[str, Any]]:
    """The statements of all policies, as CloudFormation fills them."""
    policies = [body for body in json.loads(FILE.read_text())["Resources"].values() if "ManagedPolicy" in body["Type"]]
    return [filled(each) for policy in policies for each in policy["Properties"]["PolicyDocument"]["Statement"]]


def filled(value: Any) -> Any:
    match value:
        case {"Fn::Sub": text}:
            return re.sub(r"\$\{(.+?)\}", lambda match: VALUES[match[1]], text)
        case {"Ref": name}:
            return VALUES[name]
        case dict():
            return {key: filled(inner) for key, inner in value.items()}
        case list():
            return [filled(inner) for inner in value]
        case _:
            return value


def test_the_role_has_what_the_templates_need(needed: set[str]) -> None:
    assert json.loads(FILE.read_text()) == template(needed), "run: make reference"


def test_whatever_a_handler_calls_is_allowed_or_left_out_for_a_reason(
    needed: set[str], rights: list[dict[str, Any]]
) -> None:
    allowed = {action for statement in rights for action in listed(statement["Action"])}
    left_out = needed - allowed
    matched = {pattern: {name for name in left_out if re.fullmatch(pattern, name)} for pattern in UNUSED.values()}
    assert left_out == {name for names in matched.values() for name in names}
    assert all(matched.values())
    assert allowed <= needed
    assert not [name for name in allowed if "*" in name]


def test_each_policy_fits_into_a_managed_policy() -> None:
    for body in json.loads(FILE.read_text())["Resources"].values():
        if document := body["Properties"].get("PolicyDocument"):
            assert len(re.sub(r"\s", "", json.dumps(filled(document)))) <= 6_144


def asked(action: str, resource: str, **context: str) -> Request:
    keys = {"boundary": "iam:PermissionsBoundary", "via": "kms:ViaService"}
    keys["stack"] = "aws:ResourceTag/aws:cloudformation:stack-name"
    values = {keys[name]: [value] for name, value in context.items()}
    return Request(principal=f"arn:aws:iam::{ACCOUNT}:role/deployer", action=action, resource=resource, context=values)


ROLE = f"arn:aws:iam::{ACCOUNT}:role/"
POLICY = f"arn:aws:iam::{ACCOUNT}:policy/"
SECRET = f"arn:aws:secretsmanager:eu-central-1:{ACCOUNT}:secret:password-a1b2c3"
KEY = f"arn:aws:kms:eu-central-1:{ACCOUNT}:key/1"
OTHER = f"{POLICY}other"


@pytest.mark.parametrize(
    "request_",
    [
        asked("iam:CreateRole", f"{ROLE}lakegate-IngestRole-X", boundary=BOUNDARY),
        asked("iam:PutRolePolicy", f"{ROLE}lakegate-catalog-ServerRole-X", boundary=BOUNDARY),
        asked("iam:PassRole", f"{ROLE}lakegate-IngestRole-X"),
        asked("lambda:UpdateFunctionCode", f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:lakegate-ingest"),
        asked("lambda:CreateEventSourceMapping", "*"),
        asked("events:PutTargets", f"arn:aws:events:eu-central-1:{ACCOUNT}:rule/lakegate-Sweep-X"),
        asked("ssm:GetParameters", f"arn:aws:ssm:eu-central-1:{ACCOUNT}:parameter/cdk-bootstrap/hnb659fds/version"),
        asked("iam:CreatePolicy", f"{POLICY}lakegate-data-ReadersLake-X"),
        asked("s3:CreateBucket", f"arn:aws:s3:::lakegate-lake-{ACCOUNT}-eu-central-1"),
        asked("s3:GetObject", f"arn:aws:s3:::cdk-hnb659fds-assets-{ACCOUNT}-eu-central-1/lakegate/a.zip"),
        asked("secretsmanager:GetSecretValue", SECRET, stack="lakegate-catalog"),
        asked("kms:Decrypt", KEY, via="rds.eu-central-1.amazonaws.com"),
        asked("rds:CreateDBInstance", f"arn:aws:rds:eu-central-1:{ACCOUNT}:db:lakegate"),
    ],
    ids=lambda request: f"{request.action} {request.resource.rpartition(':')[2]}",
)
def test_the_role_may_what_a_deployment_does(rights: list[dict[str, Any]], request_: Request) -> None:
    assert is_allowed(request_, rights)


@pytest.mark.parametrize(
    "request_",
    [
        asked("iam:CreateRole", f"{ROLE}lakegate-IngestRole-X"),
        asked("iam:CreateRole", f"{ROLE}lakegate-IngestRole-X", boundary=OTHER),
        asked("iam:CreateRole", f"{ROLE}admin", boundary=BOUNDARY),
        asked("iam:PutRolePolicy", f"{ROLE}deployer/lakegate-deployer-Role-X", boundary=BOUNDARY),
        asked("iam:PutRolePolicy", f"{ROLE}lakegate-deployer-X"),
        asked("iam:UpdateAssumeRolePolicy", f"{ROLE}lakegate-admin-X"),
        asked("iam:PutRolePermissionsBoundary", f"{ROLE}lakegate-IngestRole-X", boundary=OTHER),
        asked("iam:DeleteRolePermissionsBoundary", f"{ROLE}lakegate-IngestRole-X", boundary=BOUNDARY),
        asked("iam:CreatePolicyVersion", BOUNDARY),
        asked("iam:CreatePolicyVersion", f"{POLICY}deployer/lakegate-deployer-Policy1-X"),
        asked("iam:AttachUserPolicy", f"arn:aws:iam::{ACCOUNT}:user/me"),
        asked("iam:PassRole", f"{ROLE}admin"),
        asked("ssm:GetParameters", f"arn:aws:ssm:eu-central-1:{ACCOUNT}:parameter/another-team"),
        asked("iam:CreateUser", f"arn:aws:iam::{ACCOUNT}:user/lakegate-me"),
        asked("sts:AssumeRole", f"{ROLE}lakegate-IngestRole-X"),
        asked("s3:GetObject", f"arn:aws:s3:::lakegate-lake-{ACCOUNT}-eu-central-1/warehouse/a.parquet"),
        asked("s3:PutBucketPolicy", "arn:aws:s3:::another-team"),
        asked("lambda:UpdateFunctionCode", f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:another-team"),
        asked("lambda:AddPermission", f"arn:aws:lambda:eu-central-1:{ACCOUNT}:function:another-team"),
        asked("sqs:SetQueueAttributes", f"arn:aws:sqs:eu-central-1:{ACCOUNT}:another-team"),
        asked("secretsmanager:GetSecretValue", SECRET),
        asked("secretsmanager:GetSecretValue", SECRET, stack="another-team"),
        asked("kms:Decrypt", KEY),
    ],
    ids=lambda request: f"{request.action} {request.resource.rpartition(':')[2]} {[*request.context.values()]}",
)
def test_the_role_is_below_an_administrator_s(rights: list[dict[str, Any]], request_: Request) -> None:
    assert DATA.services.service_exists(request_.action.partition(":")[0])
    assert not is_allowed(request_, rights)


def test_the_template_makes_the_role_and_all_policies() -> None:
    with mock_aws():
        cloudformation, iam = boto3.client("cloudformation", region_name="eu-central-1"), boto3.client("iam")
        parameters: list[Any] = [
            {"ParameterKey": name, "ParameterValue": value}
            for name, value in {"Boundary": BOUNDARY, "CreatesKey": "yes"}.items()
        ]
        cloudformation.create_stack(
            StackName="deployer", TemplateBody=FILE.read_text(), Capabilities=["CAPABILITY_IAM"], Parameters=parameters
        )
        (stack,) = cloudformation.describe_stacks(StackName="deployer")["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
        policies = iam.list_policies(Scope="Local", PathPrefix="/deployer/")["Policies"]
    arns = {policy["Arn"] for policy in policies}
    assert outputs["RoleArn"].startswith(f"{ROLE}deployer/deployer-Role-")
    assert arns == set(outputs["PolicyArns"].split(","))
    assert len(arns) == 4


def test_only_cloudformation_takes_the_role() -> None:
    role = json.loads(FILE.read_text())["Resources"]["Role"]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "cloudformation.amazonaws.com"}
    assert role["Path"] == "/deployer/"
