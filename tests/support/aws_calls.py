"""The rights that a recorded call asks for: IAM's actions, resources and condition keys, as AWS's Service Authorization
Reference has them. A call that is not in the tables here is an error, because nobody would have looked at its right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lakegate_local.services import ACCOUNT, REGION

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
    found = list(RIGHTS[call.name](call))
    if call.service == "s3" and call.status == NOT_FOUND and "Key" in call.parameters:
        found.append(Right("s3:ListBucket", bucket(call["Bucket"])))
    of_service = {"aws:SourceArn": [call.source], "aws:SourceAccount": [ACCOUNT]} if call.source else {}
    return [
        Request(
            principal=call.who,
            action=right.action,
            resource=right.resource,
            context={**OVER_TLS, **of_service, **right.context},
        )
        for right in found
    ]


@dataclass(frozen=True)
class Right:
    action: str
    resource: str
    context: Mapping[str, Sequence[str]] = field(default_factory=dict)


def arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


def bucket(name: str, key: str = "") -> str:
    return f"arn:aws:s3:::{name}" + (f"/{key}" if key else "")


def _read(call: Call) -> Iterator[Right]:
    version = "Version" if call.parameters.get("VersionId") else ""
    yield Right(f"s3:GetObject{version}", bucket(call["Bucket"], call["Key"]))


def _write(call: Call) -> Iterator[Right]:
    kept = call.parameters.get("ServerSideEncryption")
    context = {"s3:x-amz-server-side-encryption": [kept]} if kept else {}
    yield Right("s3:PutObject", bucket(call["Bucket"], call["Key"]), context)
    for more in ("Tagging", "Acl"):
        if call.parameters.get(more if more == "Tagging" else "ACL"):
            yield Right(f"s3:PutObject{more}", bucket(call["Bucket"], call["Key"]))


def _copy(call: Call) -> Iterator[Right]:
    source, _, version = call["CopySource"].partition("?versionId=")
    name, _, key = unquote(source).lstrip("/").partition("/")
    yield Right("s3:GetObjectVersion" if version else "s3:GetObject", bucket(name, key))
    yield from _write(call)


def _delete(call: Call) -> Iterator[Right]:
    version = "Version" if call.parameters.get("VersionId") else ""
    yield Right(f"s3:DeleteObject{version}", bucket(call["Bucket"], call["Key"]))


def _delete_many(call: Call) -> Iterator[Right]:
    for each in call["Delete"]["Objects"]:
        version = "Version" if each.get("VersionId") else ""
        yield Right(f"s3:DeleteObject{version}", bucket(call["Bucket"], each["Key"]))


def _of_object(action: str) -> Callable[[Call], Iterator[Right]]:
    return lambda call: iter([Right(action, bucket(call["Bucket"], call["Key"]))])


def _of_bucket(action: str) -> Callable[[Call], Iterator[Right]]:
    def rights(call: Call) -> Iterator[Right]:
        yield Right(action, bucket(call["Bucket"]), {"s3:prefix": [call.parameters.get("Prefix") or ""]})

    return rights


def _of_queue(action: str) -> Callable[[Call], Iterator[Right]]:
    def rights(call: Call) -> Iterator[Right]:
        name = call.parameters.get("QueueName") or call["QueueUrl"].rpartition("/")[2]
        yield Right(f"sqs:{action}", arn("sqs", name))

    return rights


def _of_stream(action: str) -> Callable[[Call], Iterator[Right]]:
    def rights(call: Call) -> Iterator[Right]:
        stream = f"log-group:{call['logGroupName']}:log-stream:{call['logStreamName']}"
        yield Right(f"logs:{action}", arn("logs", stream))

    return rights


def _of_secret(action: str) -> Callable[[Call], Iterator[Right]]:
    """AWS gives a secret's ARN six characters more than it has a name."""
    return lambda call: iter(
        [Right(f"secretsmanager:{action}", arn("secretsmanager", f"secret:{call['SecretId']}-a1B2c3"))]
    )


def application(call: Call) -> str:
    return arn("emr-serverless", f"/applications/{call['applicationId']}")


def _start_run(call: Call) -> Iterator[Right]:
    yield Right("emr-serverless:StartJobRun", application(call))
    yield Right("iam:PassRole", call["executionRoleArn"], {"iam:PassedToService": ["emr-serverless.amazonaws.com"]})
    if call.parameters.get("tags"):
        yield Right("emr-serverless:TagResource", f"{application(call)}/jobruns/00new")


def _assume_role(call: Call) -> Iterator[Right]:
    yield Right("sts:AssumeRole", call["RoleArn"])


def _web_identity(call: Call) -> Iterator[Right]:
    yield Right("sts:GetWebIdentityToken", "*", {"sts:IdentityTokenAudience": call["Audience"]})


def _invoke(call: Call) -> Iterator[Right]:
    name = call["FunctionName"].rpartition("function:")[2]
    yield Right("lambda:InvokeFunction", arn("lambda", f"function:{name}"))


def _put_events(call: Call) -> Iterator[Right]:
    for bus in call["buses"]:
        yield Right("events:PutEvents", arn("events", f"event-bus/{bus}"))


RIGHTS: Mapping[str, Callable[[Call], Iterator[Right]]] = {
    "s3:GetObject": _read,
    "s3:HeadObject": _read,
    "s3:PutObject": _write,
    "s3:CreateMultipartUpload": _write,
    "s3:UploadPart": _of_object("s3:PutObject"),
    "s3:CompleteMultipartUpload": _of_object("s3:PutObject"),
    "s3:AbortMultipartUpload": _of_object("s3:AbortMultipartUpload"),
    "s3:CopyObject": _copy,
    "s3:UploadPartCopy": _copy,
    "s3:DeleteObject": _delete,
    "s3:DeleteObjects": _delete_many,
    "s3:HeadBucket": _of_bucket("s3:ListBucket"),
    "s3:ListObjects": _of_bucket("s3:ListBucket"),
    "s3:ListObjectsV2": _of_bucket("s3:ListBucket"),
    "s3:ListObjectVersions": _of_bucket("s3:ListBucketVersions"),
    "sqs:SendMessage": _of_queue("SendMessage"),
    "sqs:SendMessageBatch": _of_queue("SendMessage"),
    "sqs:ReceiveMessage": _of_queue("ReceiveMessage"),
    "sqs:DeleteMessage": _of_queue("DeleteMessage"),
    "sqs:DeleteMessageBatch": _of_queue("DeleteMessage"),
    "sqs:ChangeMessageVisibility": _of_queue("ChangeMessageVisibility"),
    "sqs:ChangeMessageVisibilityBatch": _of_queue("ChangeMessageVisibility"),
    "sqs:GetQueueAttributes": _of_queue("GetQueueAttributes"),
    "sqs:GetQueueUrl": _of_queue("GetQueueUrl"),
    "logs:CreateLogStream": _of_stream("CreateLogStream"),
    "logs:PutLogEvents": _of_stream("PutLogEvents"),
    "secretsmanager:GetSecretValue": _of_secret("GetSecretValue"),
    "emr-serverless:StartJobRun": _start_run,
    "emr-serverless:ListJobRuns": lambda call: iter([Right("emr-serverless:ListJobRuns", application(call))]),
    "emr-serverless:GetJobRun": lambda call: iter(
        [Right("emr-serverless:GetJobRun", f"{application(call)}/jobruns/{call['jobRunId']}")]
    ),
    "logs:CreateLogGroup": lambda _: iter(()),  # LocalStack's own: the stack makes each function's log group
    "sts:GetCallerIdentity": lambda _: iter(()),  # everybody may
    "sts:AssumeRole": _assume_role,
    "sts:GetWebIdentityToken": _web_identity,
    "lambda:Invoke": _invoke,
    "events:PutEvents": _put_events,
}
