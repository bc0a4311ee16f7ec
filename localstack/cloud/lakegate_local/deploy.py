"""Deployment of a synthesised app to the local cloud, without bootstrap or cdk: of each stack, in the order in which
they need each other, the assets and then a change set.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lakegate.adapters.intake import APPLICATION, AwsIntake
from lakegate.adapters.stacks import Stacks
from lakegate.cli.recovery import recover
from lakegate.deployment import still
from lakegate.deployment.assembly import Assembly, Asset
from lakegate.errors import Misconfigured, Retryable, error_note
from lakegate_local.services import ACCOUNT, REGION, client
from lakegate_local.settings import LocalSettings

BOOTSTRAP_VERSION = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "30", "Type": "String", "Overwrite": True}
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
WELL = {"CREATE_COMPLETE", "UPDATE_COMPLETE"}
AFRESH = "A new start loses the local cloud's data. Run: lakegate local down, then: lakegate local up"
AGAIN = "Run again: lakegate local up"
DEADLINE_SECONDS = 300
POLL_SECONDS = 0.2

Tell = Callable[[str], None]
T = TypeVar("T")


def deploy(settings: LocalSettings, app: Path, tell: Tell) -> Mapping[str, str]:
    """Deploy the app, in an account that is bootstrapped and whose roles get tokens, and return the outputs of its last
    stack, which is the installation's. A second deployment of the same app changes nothing.
    """
    client(settings, "ssm").put_parameter(**BOOTSTRAP_VERSION)
    give_tokens(settings)
    assembly = Assembly(folder=app)
    for name in assembly.stacks():
        assets = [replace(asset, bucket=literal(asset.bucket)) for asset in assembly.assets(name)]
        template = publish(settings, assets, tell)
        Stack(settings, name, tell).change(f"{settings.endpoint}/{template.bucket}/{template.key}")
    return Stack(settings, settings.stack, tell).outputs()


def give_tokens(settings: LocalSettings) -> None:
    """Have the account give tokens to its roles."""
    iam = client(settings, "iam")
    with suppress(iam.exceptions.FeatureEnabledException):
        iam.enable_outbound_web_identity_federation()


def literal(text: str) -> str:
    for name, value in {"AccountId": ACCOUNT, "Region": REGION, "Partition": "aws"}.items():
        text = text.replace(f"${{AWS::{name}}}", value)
    return text


def publish(settings: LocalSettings, wanted: list[Asset], tell: Tell) -> Asset:
    """Upload the missing assets and return the template. A key is its content's hash, so that no key changes."""
    s3 = client(settings, "s3")
    there = {key for bucket in {asset.bucket for asset in wanted} for key in keys(s3, bucket)}
    for number, asset in enumerate(wanted, start=1):
        if asset.key not in there:
            tell(f"uploading asset {number} of {len(wanted)}")
            with asset.source.open("rb") as body:  # in parts, because LocalStack holds each request's body in memory
                s3.upload_fileobj(body, asset.bucket, asset.key)
    return wanted[-1]


def keys(s3: Any, bucket: str) -> Iterator[str]:
    s3.create_bucket(Bucket=bucket)  # us-east-1 accepts it for a bucket that exists, on the second deployment
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        yield from (entry["Key"] for entry in page.get("Contents", ()))


class Stack:
    """A stack in the local cloud's CloudFormation."""

    def __init__(self, settings: LocalSettings, name: str, tell: Tell) -> None:
        self._name, self._tell, self._clients = name, tell, partial(client, settings)
        self._cloudformation, self._stacks = client(settings, "cloudformation"), Stacks(self._clients)

    def change(self, template: str, **parameters: str) -> None:
        """Bring the stack to the template, from whatever an earlier deployment has left. Do nothing if it is there."""
        with error_note(AFRESH):
            state = recover(self._stacks, self._name, self._tell, pause)
        change = self._cloudformation.create_change_set(
            StackName=self._name,
            ChangeSetName=f"change-{uuid.uuid4().hex}",
            ChangeSetType="UPDATE" if state.was_made else "CREATE",
            TemplateURL=template,
            Capabilities=CAPABILITIES,
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
        )["Id"]
        changes = self._changes(change)
        still.change(
            AwsIntake(lambda: self._stacks.resources(self._name), self._clients),
            lambda: None if changes is None else self._execute(change),
            self._tell,
            pause,
            must_stand_still=any(_modifies_application(each) for each in changes or ()),
        )

    def _execute(self, change: str) -> None:
        self._cloudformation.execute_change_set(ChangeSetName=change, StackName=self._name)
        self._require_well(self._await_end())

    def outputs(self) -> Mapping[str, str]:
        described = self._cloudformation.describe_stacks(StackName=self._name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", ())}

    def _changes(self, change: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the resources that the change set changes, or None if it changes nothing."""
        for described in polled(
            lambda: self._cloudformation.describe_change_set(ChangeSetName=change, StackName=self._name)
        ):
            reason = described.get("StatusReason", "")
            if described["Status"] == "CREATE_COMPLETE":
                return [entry["ResourceChange"] for entry in described["Changes"]]
            if described["Status"] == "FAILED" and ("didn't contain changes" in reason or "No updates" in reason):
                return None
            if described["Status"] == "FAILED":
                raise Misconfigured(f"the stack {self._name} cannot be deployed: {reason}")
        raise Retryable(f"the change set of stack {self._name} was not ready in {DEADLINE_SECONDS} s. {AGAIN}")

    def _await_end(self) -> str:
        """Wait for the end of the change, and return the stack's status."""
        for status in polled(lambda: self._stacks.state(self._name).status):
            if not status.endswith("_IN_PROGRESS"):
                return status
            self._tell(self._progress())
        raise Retryable(f"the stack {self._name} is still {status} after {DEADLINE_SECONDS} s. {AGAIN}")

    def _require_well(self, status: str) -> None:
        if status not in WELL:
            failures = "\n".join(self._failures())
            raise Misconfigured(f"the stack {self._name} is {status}:\n{failures}\nCorrect the cause. {AGAIN}")

    def _progress(self) -> str:
        resources = self._cloudformation.describe_stack_resources(StackName=self._name)["StackResources"]
        done = sum(resource["ResourceStatus"].endswith("_COMPLETE") for resource in resources)
        return f"{done} of {len(resources)} resources of {self._name}"

    def _failures(self) -> list[str]:
        events = self._cloudformation.describe_stack_events(StackName=self._name)["StackEvents"]
        return [
            f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event['ResourceStatusReason']}"
            for event in reversed(events)
            if event["ResourceStatus"].endswith("_FAILED") and event.get("ResourceStatusReason")
        ]


def _modifies_application(change: Mapping[str, Any]) -> bool:
    return bool(change["ResourceType"] == APPLICATION and change["Action"] == "Modify")


def pause(_: float) -> None:
    """Wait for as long as anything takes here."""
    time.sleep(POLL_SECONDS)


def polled(ask: Callable[[], T]) -> Iterator[T]:
    """Yield the answers of a repeated question until the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        yield ask()
        time.sleep(POLL_SECONDS)
