"""Stacks of CloudFormation: their templates, outputs and resources. It changes none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lakegate.adapters.aws import Clients, ambient, aws_errors, code
from lakegate.settings import DESCRIPTION

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

DELETED_STATUS = "DELETE_COMPLETE"  # of a first deployment that was rolled back
NOT_MADE = "REVIEW_IN_PROGRESS"  # a change set is there, and no stack


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of a stack; `id` is the name by which AWS knows it."""

    name: str
    kind: str
    id: str


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
                if stack.get("Description") == DESCRIPTION and stack["StackStatus"] != NOT_MADE
            ]

    def resources(self, stack: str) -> Iterator[Resource]:
        """Yield the resources that the stack has now."""
        with aws_errors(f"listing the resources of the stack {stack!r}"):
            for page in self._cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
                for summary in page["StackResourceSummaries"]:
                    if summary["ResourceStatus"] == DELETED_STATUS:
                        continue
                    yield Resource(
                        name=summary["LogicalResourceId"],
                        kind=summary["ResourceType"],
                        id=summary.get("PhysicalResourceId", ""),
                    )
