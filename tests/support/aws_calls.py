"""The rights that a recorded call asks for: IAM's actions, what they are on and their condition keys, as AWS's Service
Authorization Reference has them (authorization.py). Only where an operation needs another action than the one of its
own name, or more than one, a table here says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lakegate_local.services import ACCOUNT, REGION

from tests.support.authorization import action, actions_of
from tests.support.iam import Request

NOT_FOUND = 404
# Every client speaks TLS on AWS. The local cloud does not.
OVER_TLS = {"aws:SecureTransport": ["true"], "s3:TlsVersion": ["1.3"]}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the local cloud's record. `who` is a role's ARN or a service, `source` what a service calls for."""

    who: str
    session: str
    source: str
    service: str
    operation: str
    status: int
    parameters: Mapping[str, Any] = field(hash=False)

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    @property
    def name(self) -> str:
        return f"{self.service}:{self.operation}"


def recorded(path: Path) -> list[Call]:
    return [Call(**json.loads(line)) for line in path.read_text().splitlines()]


def asked(call: Call) -> list[Request]:
    """Return what the call asks IAM for. A caller that may list a bucket learns that an object is missing; others do
    not.
    """
    found = list(rights(call))
    if call.service == "s3" and call.status == NOT_FOUND and "Key" in call.parameters:
        found.append(Right("s3:ListBucket"))
    return [_request(call, right) for right in found]


@dataclass(frozen=True)
class Right:
    """An action on what the call names, but for the names that `other` has."""

    action: str
    context: Mapping[str, Sequence[str]] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)


def _request(call: Call, right: Right) -> Request:
    """Raise KeyError if AWS has no such action, and ValueError if the call names nothing that the action is on."""
    known = action(right.action)
    of_service = {"aws:SourceArn": [call.source], "aws:SourceAccount": [ACCOUNT]} if call.source else {}
    unknown = [key for key in right.context if not known.knows(key)]
    assert not unknown, f"a request of {right.action} has no {unknown}"
    return Request(
        principal=call.who,
        action=known.name,
        resource=known.resource({**names(call), **right.other}),
        context={key: value for key, value in {**OVER_TLS, **of_service, **right.context}.items() if known.knows(key)},
    )


def names(call: Call) -> dict[str, str]:
    """Return what the call names, by the variables of AWS's formats of ARNs."""
    said = call.parameters
    role = said.get("executionRoleArn") or said.get("RoleArn") or ""
    found = {
        "BucketName": said.get("Bucket"),
        "ObjectName": said.get("Key"),
        "QueueName": said.get("QueueName") or said.get("QueueUrl", "").rpartition("/")[2],
        "FunctionName": said.get("FunctionName", "").rpartition("function:")[2],
        "SecretId": said.get("SecretId", "") and f"{said['SecretId']}-a1B2c3",  # AWS adds six characters
        "LogGroupName": said.get("logGroupName"),
        "LogStreamName": said.get("logStreamName"),
        "ApplicationId": said.get("applicationId"),
        "JobRunId": said.get("jobRunId"),
        "RoleNameWithPath": role.partition(":role/")[2],
    }
    return {"Partition": "aws", "Region": REGION, "Account": ACCOUNT} | {name: it for name, it in found.items() if it}


def arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


def bucket(name: str) -> str:
    return f"arn:aws:s3:::{name}"


def is_known(call: Call) -> bool:
    """Return True if AWS has an action of the call's operation, or a table here says what the call asks for."""
    return call.name in RIGHTS or call.operation.lower() in actions_of(call.service)


def rights(call: Call) -> Iterator[Right]:
    """Yield what the call asks for. An operation asks for the action of its own name, unless a table says otherwise."""
    return RIGHTS.get(call.name, _named(call.name))(call)


def _named(name: str) -> Callable[[Call], Iterator[Right]]:
    return lambda _: iter([Right(name)])


def _versioned(name: str) -> Callable[[Call], Iterator[Right]]:
    return lambda call: iter([Right(f"{name}Version" if call.parameters.get("VersionId") else name)])


def _write(call: Call) -> Iterator[Right]:
    kept = call.parameters.get("ServerSideEncryption")
    yield Right("s3:PutObject", {"s3:x-amz-server-side-encryption": [kept]} if kept else {})
    for more, parameter in (("Tagging", "Tagging"), ("Acl", "ACL")):
        if call.parameters.get(parameter):
            yield Right(f"s3:PutObject{more}")


def _copy(call: Call) -> Iterator[Right]:
    source, _, version = call["CopySource"].partition("?versionId=")
    name, _, key = unquote(source).lstrip("/").partition("/")
    yield Right("s3:GetObjectVersion" if version else "s3:GetObject", other={"BucketName": name, "ObjectName": key})
    yield from _write(call)


def _delete_many(call: Call) -> Iterator[Right]:
    for each in call["Delete"]["Objects"]:
        version = "Version" if each.get("VersionId") else ""
        yield Right(f"s3:DeleteObject{version}", other={"ObjectName": each["Key"]})


def _list(name: str) -> Callable[[Call], Iterator[Right]]:
    return lambda call: iter([Right(name, {"s3:prefix": [call.parameters.get("Prefix") or ""]})])


def _start_run(call: Call) -> Iterator[Right]:
    yield Right("emr-serverless:StartJobRun")
    yield Right("iam:PassRole", {"iam:PassedToService": ["emr-serverless.amazonaws.com"]})
    if call.parameters.get("tags"):
        yield Right("emr-serverless:TagResource", other={"JobRunId": "00new"})


def _web_identity(call: Call) -> Iterator[Right]:
    yield Right("sts:GetWebIdentityToken", {"sts:IdentityTokenAudience": call["Audience"]})


def _put_events(call: Call) -> Iterator[Right]:
    for bus in call["buses"]:
        yield Right("events:PutEvents", other={"EventBusName": bus})


# Amazon S3 API Reference, "Required permissions"; the other services' references say it at the operation.
RIGHTS: Mapping[str, Callable[[Call], Iterator[Right]]] = {
    "s3:GetObject": _versioned("s3:GetObject"),
    "s3:HeadObject": _versioned("s3:GetObject"),
    "s3:PutObject": _write,
    "s3:CreateMultipartUpload": _write,
    "s3:UploadPart": _named("s3:PutObject"),
    "s3:CompleteMultipartUpload": _named("s3:PutObject"),
    "s3:CopyObject": _copy,
    "s3:UploadPartCopy": _copy,
    "s3:DeleteObject": _versioned("s3:DeleteObject"),
    "s3:DeleteObjects": _delete_many,
    "s3:HeadBucket": _list("s3:ListBucket"),
    "s3:ListObjects": _list("s3:ListBucket"),
    "s3:ListObjectsV2": _list("s3:ListBucket"),
    "s3:ListObjectVersions": _list("s3:ListBucketVersions"),
    **{
        f"sqs:{name}Batch": _named(f"sqs:{name}")
        for name in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")
    },
    "emr-serverless:StartJobRun": _start_run,
    "logs:CreateLogGroup": lambda _: iter(()),  # LocalStack's own: the stack makes each function's log group
    "sts:GetCallerIdentity": lambda _: iter(()),  # everybody may
    "sts:GetWebIdentityToken": _web_identity,
    "lambda:Invoke": _named("lambda:InvokeFunction"),
    "events:PutEvents": _put_events,
}
