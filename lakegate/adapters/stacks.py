"""Stacks of CloudFormation: their templates, states and resources, and the ways out of a state. It deploys none."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lakegate.adapters.aws import Clients, ambient, aws_errors, code
from lakegate.settings import DESCRIPTION

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

DELETED_STATUS, KEPT_STATUS = "DELETE_COMPLETE", "DELETE_SKIPPED"  # of a resource
NOT_MADE = ("CREATE_FAILED", "CREATE_IN_PROGRESS", "DELETE_", "REVIEW_", "ROLLBACK_")  # how such a status begins


@dataclass(frozen=True, kw_only=True)
class StackState:
    """A stack as CloudFormation has it; `status` is its word, and "" where there is no such stack."""

    id: str = ""
    status: str = ""
    is_protected: bool = False  # from being deleted
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def was_made(self) -> bool:
        """Return True if the stack was complete once, and nobody has deleted it since."""
        return bool(self.status) and not self.status.startswith(NOT_MADE)


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of a stack; `id` is the name by which AWS knows it."""

    name: str
    kind: str
    id: str
    status: str = ""
    reason: str = ""

    @property
    def has_failed(self) -> bool:
        return self.status.endswith("_FAILED")


class Stacks:
    """The stacks of the account and region that AWS's configuration leads to."""

    def __init__(self, clients: Clients = ambient) -> None:
        self._cloudformation: CloudFormationClient = clients("cloudformation")

    def template(self, stack: str) -> Mapping[str, Any] | None:
        """Return the deployed template, or None if there is no such stack."""
        with aws_errors(f"reading the template of the stack {stack!r}"):
            try:
                body: Any = self._cloudformation.get_template(StackName=stack)["TemplateBody"]
            except ClientError as error:
                if code(error) != "ValidationError":
                    raise
                return None
        return dict(body) if isinstance(body, Mapping) else None

    def installations(self) -> list[str]:
        """Return the names of all installations."""
        with aws_errors("listing stacks"):
            pages = self._cloudformation.get_paginator("describe_stacks").paginate()
            return [
                stack["StackName"]
                for page in pages
                for stack in page["Stacks"]
                if stack.get("Description") == DESCRIPTION and not stack["StackStatus"].startswith(NOT_MADE)
            ]

    def state(self, stack: str) -> StackState:
        with aws_errors(f"looking at the stack {stack!r}"):
            try:
                (entry,) = self._cloudformation.describe_stacks(StackName=stack)["Stacks"]
            except ClientError as error:
                if code(error) != "ValidationError":
                    raise
                return StackState()
        return StackState(
            id=entry["StackId"],
            status=entry["StackStatus"],
            is_protected=entry.get("EnableTerminationProtection", False),
            parameters={pair["ParameterKey"]: pair.get("ParameterValue", "") for pair in entry.get("Parameters", ())},
        )

    def delete(self, stack: str) -> None:
        """Begin to delete a stack, which ends its protection. What its template says is to be kept stays."""
        with aws_errors(f"deleting the stack {stack!r}"):
            self._cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
            self._cloudformation.delete_stack(StackName=stack)

    def roll_back(self, stack: str) -> None:
        with aws_errors(f"rolling back the stack {stack!r}"):
            self._cloudformation.rollback_stack(StackName=stack)

    def continue_rollback(self, stack: str) -> None:
        with aws_errors(f"continuing the rollback of the stack {stack!r}"):
            self._cloudformation.continue_update_rollback(StackName=stack)

    def take_over(self, stack: str, template: Mapping[str, Any], buckets: Mapping[str, str]) -> None:
        """Begin to make a stack of those buckets of its template that exist, by their logical names. All else of it is
        to be deployed.
        """
        kind, resources = "AWS::S3::Bucket", {}
        for name in buckets:
            properties = {"BucketName": template["Resources"][name]["Properties"]["BucketName"]}
            resources[name] = {"Type": kind, "DeletionPolicy": "Retain", "Properties": properties}
        change: dict[str, Any] = {"StackName": stack, "ChangeSetName": f"import-{uuid.uuid4().hex}"}
        with aws_errors(f"importing buckets into the stack {stack!r}"):
            self._cloudformation.create_change_set(
                **change,
                ChangeSetType="IMPORT",
                TemplateBody=json.dumps({"Resources": resources}),
                ResourcesToImport=[
                    {"ResourceType": kind, "LogicalResourceId": name, "ResourceIdentifier": {"BucketName": bucket}}
                    for name, bucket in buckets.items()
                ],
            )
            self._cloudformation.get_waiter("change_set_create_complete").wait(**change)
            self._cloudformation.execute_change_set(**change)

    def resources(self, stack: str) -> Iterator[Resource]:
        """Yield the resources that the stack has now. That of a deleted one, by its id, has what was kept."""
        with aws_errors(f"listing the resources of the stack {stack!r}"):
            for page in self._cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
                for summary in page["StackResourceSummaries"]:
                    if summary["ResourceStatus"] == DELETED_STATUS:
                        continue
                    yield Resource(
                        name=summary["LogicalResourceId"],
                        kind=summary["ResourceType"],
                        id=summary.get("PhysicalResourceId", ""),
                        status=summary["ResourceStatus"],
                        reason=summary.get("ResourceStatusReason", ""),
                    )
