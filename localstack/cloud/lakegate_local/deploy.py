"""Deploys a synthesised app to the local cloud: its assets, then one change set. It needs neither bootstrap nor cdk."""

import io
import json
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from botocore.exceptions import ClientError

from lakegate.errors import Misconfigured, Retryable
from lakegate_local.services import ACCOUNT, REGION, client
from lakegate_local.settings import LocalSettings

BOOTSTRAP_VERSION = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "30", "Type": "String", "Overwrite": True}
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
UNFINISHED = ("ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED", "DELETE_FAILED", "UPDATE_ROLLBACK_FAILED")
DEADLINE_SECONDS = 300
POLL_SECONDS = 0.2

Tell = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file or folder that the template refers to, and the bucket and key where it expects it."""

    source: Path
    is_folder: bool
    bucket: str
    key: str

    def open(self) -> IO[bytes]:
        return io.BytesIO(zipped(self.source)) if self.is_folder else self.source.open("rb")


def deploy(settings: LocalSettings, app: Path, tell: Tell) -> Mapping[str, str]:
    """The stack's outputs, once it is as the app describes it. Deploying what is deployed already changes nothing."""
    template = publish(settings, assets(app, settings.stack), tell)
    client(settings, "ssm").put_parameter(**BOOTSTRAP_VERSION)
    stack = Stack(settings, tell)
    stack.change(f"{settings.endpoint}/{template.bucket}/{template.key}")
    return stack.outputs()


def assets(app: Path, stack: str) -> list[Asset]:
    """All assets of the stack, its template last."""
    manifest = json.loads((app / f"{stack}.assets.json").read_text())
    found = [
        Asset(
            source=app / entry["source"]["path"],
            is_folder=entry["source"]["packaging"] == "zip",
            bucket=literal(place["bucketName"]),
            key=literal(place["objectKey"]),
        )
        for entry in manifest["files"].values()
        for place in entry["destinations"].values()
    ]
    return sorted(found, key=lambda asset: asset.source.name == f"{stack}.template.json")


def literal(text: str) -> str:
    for name, value in {"AccountId": ACCOUNT, "Region": REGION, "Partition": "aws"}.items():
        text = text.replace(f"${{AWS::{name}}}", value)
    return text


def publish(settings: LocalSettings, wanted: list[Asset], tell: Tell) -> Asset:
    """Upload what is not there yet (a key is its content's hash) and return the template."""
    s3 = client(settings, "s3")
    there = {key for bucket in {asset.bucket for asset in wanted} for key in keys(s3, bucket)}
    for number, asset in enumerate(wanted, start=1):
        if asset.key not in there:
            tell(f"uploading asset {number} of {len(wanted)}")
            with asset.open() as body:  # in parts: LocalStack holds each request's whole body in memory
                s3.upload_fileobj(body, asset.bucket, asset.key)
    return wanted[-1]


def keys(s3: Any, bucket: str) -> Iterator[str]:
    s3.create_bucket(Bucket=bucket)  # it is there already on the second deploy, which us-east-1 lets pass
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        yield from (entry["Key"] for entry in page.get("Contents", ()))


def zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


class Stack:
    """The stack in the local cloud's CloudFormation."""

    def __init__(self, settings: LocalSettings, tell: Tell) -> None:
        self._name = settings.stack
        self._cloudformation = client(settings, "cloudformation")
        self._tell = tell

    def change(self, template: str) -> None:
        """Bring the stack to the template: nothing happens if it is there already."""
        status = self._status()
        if status in UNFINISHED:
            self._delete()
            status = None
        change = self._cloudformation.create_change_set(
            StackName=self._name,
            ChangeSetName=f"change-{uuid.uuid4().hex}",
            ChangeSetType="UPDATE" if status else "CREATE",
            TemplateURL=template,
            Capabilities=CAPABILITIES,
        )["Id"]
        if self._has_changes(change):
            self._cloudformation.execute_change_set(ChangeSetName=change, StackName=self._name)
            self._wait()

    def outputs(self) -> Mapping[str, str]:
        described = self._cloudformation.describe_stacks(StackName=self._name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", ())}

    def _status(self) -> str | None:
        try:
            return str(self._cloudformation.describe_stacks(StackName=self._name)["Stacks"][0]["StackStatus"])
        except ClientError as exc:
            if exc.response["Error"]["Code"] == "ValidationError":
                return None
            raise

    def _has_changes(self, change: str) -> bool:
        for described in polled(
            lambda: self._cloudformation.describe_change_set(ChangeSetName=change, StackName=self._name)
        ):
            reason = described.get("StatusReason", "")
            if described["Status"] == "CREATE_COMPLETE":
                return True
            if described["Status"] == "FAILED" and ("didn't contain changes" in reason or "No updates" in reason):
                return False
            if described["Status"] == "FAILED":
                raise Misconfigured(f"the stack {self._name} cannot be deployed: {reason}")
        raise Retryable(f"the change set of stack {self._name} was not ready in {DEADLINE_SECONDS} s")

    def _wait(self) -> None:
        for status in polled(self._status):
            self._tell(self._progress())
            if status is None or not status.endswith("_IN_PROGRESS"):
                break
        else:
            raise Retryable(f"the stack {self._name} was still {status} after {DEADLINE_SECONDS} s")
        if status not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
            raise Misconfigured(f"the stack {self._name} is {status}:\n" + "\n".join(self._failures()))

    def _progress(self) -> str:
        resources = self._cloudformation.describe_stack_resources(StackName=self._name)["StackResources"]
        done = sum(resource["ResourceStatus"].endswith("_COMPLETE") for resource in resources)
        return f"{done} of {len(resources)} resources"

    def _failures(self) -> list[str]:
        events = self._cloudformation.describe_stack_events(StackName=self._name)["StackEvents"]
        return [
            f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', '')}"
            for event in reversed(events)
            if event["ResourceStatus"].endswith("_FAILED")
        ]

    def _delete(self) -> None:
        self._cloudformation.delete_stack(StackName=self._name)
        for status in polled(self._status):
            if status in {None, "DELETE_COMPLETE"}:
                return
        raise Retryable(f"the unfinished stack {self._name} was not deleted in {DEADLINE_SECONDS} s")


def polled(ask: Callable[[], T]) -> Iterator[T]:
    """The answers to one question, again and again until the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        yield ask()
        time.sleep(POLL_SECONDS)
