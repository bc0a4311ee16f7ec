"""infra/deployer.json: a role below an administrator's with which CloudFormation makes the stacks. Its rights are what
the schema of each resource type in the templates asks for. `python -m tests.support.deployer` writes it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import cfnlint

from tests.infra.conftest import CATALOG, CONTEXT, REVIEWED, made_up
from tests.support.authorization import DATA, Action, actions_of

FILE = Path(__file__).parents[2] / "infra/deployer.json"
SCHEMAS = resources.files(cfnlint) / "data/schemas"
INSTALLATIONS = (CONTEXT, REVIEWED, {**CATALOG, "catalog_certificate": "Z0123456789ABCDEFGHIJ"})
HANDLERS = ("create", "read", "update", "delete")
UNUSED = {  # patterns of what the schemas ask for and the role has not
    "a service for a property that no template has": "(acm-pca|autoscaling|cognito-idp|docdb-elastic|elasticfilesystem|firehose|redshift|redshift-serverless|s3files|s3tables|sso|vpc-lattice):.*",  # noqa: E501
    "a policy of a user or group, which no template has": r"iam:\w+(User|Group)Policy",
    "it would end the boundary": "iam:DeleteRolePermissionsBoundary",
    "it would change an object": "s3:(DeleteObject|PutObjectAcl)",
}
OWN_ROLES = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/${Name}-*"}
OWN_POLICIES = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:policy/${Name}-*"}
OF_SERVICES = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/aws-service-role/*"}
BOOTSTRAP = {"Fn::Sub": "arn:${AWS::Partition}:ssm:*:${AWS::AccountId}:parameter/cdk-bootstrap/*"}
BUCKETS = {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Name}-*"}
ASSETS = {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Assets}/*"}
# Whoever may change the code, the calls or the policy of others' functions has their roles' rights.
OWN = {
    name: {"Fn::Sub": f"arn:${{AWS::Partition}}:{name}:*:${{AWS::AccountId}}:{rest}${{Name}}-*"}
    for name, rest in (("lambda", "function:"), ("sqs", ""), ("events", "rule/"))
}
NAMED = re.compile(r".+:(function:\$\{FunctionName\}|\$\{QueueName\}|rule/\$\{RuleName\})")
MAPPINGS = {"Fn::Sub": "arn:${AWS::Partition}:lambda:*:${AWS::AccountId}:event-source-mapping:*"}
BOUNDED = {"StringEquals": {"iam:PermissionsBoundary": {"Ref": "Boundary"}}}
OF_OWN_STACKS = {"StringLike": {"aws:ResourceTag/aws:cloudformation:stack-name": {"Fn::Sub": "${Name}*"}}}
BY_A_SERVICE = {"StringLike": {"kms:ViaService": {"Fn::Sub": "*.${AWS::Region}.${AWS::URLSuffix}"}}}
PLACES: dict[str, tuple[Any, Any]] = {
    "iam:CreateServiceLinkedRole": (OF_SERVICES, None),
    "ssm:GetParameters": (BOOTSTRAP, None),
    "secretsmanager:GetSecretValue": ("*", OF_OWN_STACKS),
    "secretsmanager:PutSecretValue": ("*", OF_OWN_STACKS),
}
USES_OF_KEYS = re.compile("kms:(Decrypt|Encrypt|GenerateDataKey|CreateGrant|RevokeGrant)")
KEYS = re.compile("kms:(?!Describe|Get|List)")
MOST = 4_000  # characters of actions in a policy, which may have 6,144 in all
PATH = "/deployer/"  # outside what the role may change
PARAMETERS = {
    "Name": {
        "Type": "String",
        "Default": "lakegate",
        "AllowedPattern": "[a-z][a-z0-9-]{0,23}",
        "Description": "The installation's name, with which those of its roles and buckets begin",
    },
    "Boundary": {
        "Type": "String",
        "AllowedPattern": "arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/.+",
        "Description": "The ARN of role.boundary, without which no role is made. It does not begin with the name",
    },
    "Assets": {
        "Type": "String",
        "Default": "cdk-hnb659fds-assets-*",
        "Description": "The bucket of the assets: CDK's, or a package's",
    },
    "CreatesKey": {
        "Type": "String",
        "Default": "no",
        "AllowedValues": ["yes", "no"],
        "Description": "Does kms.key say create? Then the role may change keys",
    },
}


def needs(installations: Iterable[Mapping[str, Any]] = INSTALLATIONS) -> set[str]:
    """Return the actions that the schemas of all resource types in the templates ask for, as IAM spells them, and those
    for their parameters. What IAM does not know is left out.
    """
    names = {name for kind in kinds(installations) for name in asked(kind)}
    return {action.name for name in names if (action := action_of(name))}


def kinds(installations: Iterable[Mapping[str, Any]]) -> set[str]:
    found: set[str] = set()
    for context in installations:
        with tempfile.TemporaryDirectory() as folder:
            for stack in made_up(context, Path(folder)).synth().stacks:
                parts = (stack.template["Resources"], stack.template.get("Parameters", {}))
                found |= {body["Type"] for part in parts for body in part.values()}
    return found


def asked(kind: str) -> Iterator[str]:
    """Yield what a resource type's handlers call, or who fills a parameter. A type without a schema is an error."""
    if "::" not in kind:  # a parameter that is given
        return
    if kind.startswith("AWS::SSM::Parameter::Value"):
        yield "ssm:GetParameters"
        return
    file = json.loads((SCHEMAS / "providers/us-east-1.json").read_text(encoding="utf-8"))[kind]
    handlers = json.loads((SCHEMAS / f"resources/{file}.json").read_text(encoding="utf-8"))["handlers"]
    yield from (name for handler in HANDLERS for name in handlers.get(handler, {}).get("permissions", ()))


def action_of(name: str) -> Action | None:
    service, _, rest = name.partition(":")
    return actions_of(service).get(rest.lower()) if DATA.services.service_exists(service) else None


def is_unused(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in UNUSED.values())


def statements(actions: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield statements of actions that have the same resources and condition."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(actions):
        groups[json.dumps(place(name))].append(name)
    for key, names in groups.items():
        resource, condition = json.loads(key)
        for part in parts(names):
            statement = {"Effect": "Allow", "Action": part, "Resource": resource}
            yield statement | ({"Condition": condition} if condition else {})


def place(name: str) -> tuple[Any, Any]:
    """Return on what the role may do something, and under which condition."""
    action = action_of(name)
    assert action, name
    ends = {arn.rsplit(":", 1)[1].partition("/")[0] for arn in action.arns}
    if name in PLACES:
        return PLACES[name]
    if name.startswith("iam:") and ends & {"role", "policy"}:
        return (
            [resource for end, resource in (("role", OWN_ROLES), ("policy", OWN_POLICIES)) if end in ends],
            BOUNDED if action.knows("iam:PermissionsBoundary") and not name.startswith("iam:Get") else None,
        )
    if name.startswith("s3:") and action.arns:
        return (BUCKETS if any(arn.endswith("${BucketName}") for arn in action.arns) else ASSETS), None
    if any(map(NAMED.fullmatch, action.arns)):
        mappings = [MAPPINGS] if any(":event-source-mapping:" in arn for arn in action.arns) else []
        return [OWN[name.partition(":")[0]], *mappings], None
    return "*", BY_A_SERVICE if USES_OF_KEYS.fullmatch(name) else None


def parts(names: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for name in names:
        if sum(map(len, part)) + len(name) + 3 * len(part) > MOST:
            yield part
            part = []
        part.append(name)
    yield part


def template(actions: Iterable[str]) -> dict[str, Any]:
    """Return a template of the role and its policies."""
    used = {name for name in actions if not is_unused(name)}
    of_keys = {name for name in used if KEYS.match(name) and not USES_OF_KEYS.fullmatch(name)}
    groups: list[list[dict[str, Any]]] = [[]]
    for statement in statements(used - of_keys):
        if len(json.dumps([*groups[-1], statement])) > MOST + 1_500:
            groups.append([])
        groups[-1].append(statement)
    policies = {f"Policy{number}": policy(group) for number, group in enumerate(groups, 1)}
    policies["KeyPolicy"] = {"Condition": "CreatesKey", **policy(list(statements(of_keys)))}
    arns = [{"Ref": name} for name in policies if name != "KeyPolicy"]
    key = {"Fn::If": ["CreatesKey", {"Ref": "KeyPolicy"}, {"Ref": "AWS::NoValue"}]}
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "cloudformation.amazonaws.com"}}
    role = {
        "Path": PATH,
        "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
        "ManagedPolicyArns": [*arns, key],
    }
    return {
        "Description": "A role with which CloudFormation makes lakegate's stacks, and its policies",
        "Parameters": PARAMETERS,
        "Conditions": {"CreatesKey": {"Fn::Equals": [{"Ref": "CreatesKey"}, "yes"]}},
        "Resources": {**policies, "Role": {"Type": "AWS::IAM::Role", "Properties": role}},
        "Outputs": {
            "RoleArn": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}},
            "PolicyArns": {"Value": {"Fn::Join": [",", [*arns, key]]}},
        },
    }


def policy(statements: list[dict[str, Any]]) -> dict[str, Any]:
    document = {"Version": "2012-10-17", "Statement": statements}
    return {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"Path": PATH, "PolicyDocument": document}}


def text() -> str:
    return json.dumps(template(needs()), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
