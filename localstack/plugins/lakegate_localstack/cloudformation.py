"""CloudFormation resources: EMR Serverless applications, and a refusal of custom resources.

Without the refusal LocalStack reports a custom resource as created and does nothing.
"""

import contextlib
import json
import uuid
from collections.abc import Callable
from importlib import resources
from typing import Any

from localstack.services.cloudformation.resource_provider import (
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
    ResourceRequest,
)

SCHEMAS = json.loads(resources.files(__package__).joinpath("schemas.json").read_text())
UNCHANGEABLE = ("Name", "Type", "Tags")


class ApplicationProvider(ResourceProvider[dict[str, Any]]):
    """AWS::EMRServerless::Application, by the calls of the EMR Serverless API."""

    TYPE = "AWS::EMRServerless::Application"
    SCHEMA = SCHEMAS[TYPE]

    def create(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        model = request.desired_state
        emr = request.aws_client_factory.emr_serverless
        made = emr.create_application(clientToken=str(uuid.uuid4()), **parameters(model))
        return done(model | {"ApplicationId": made["applicationId"], "Arn": made["arn"]})

    def read(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        emr = request.aws_client_factory.emr_serverless
        found = emr.get_application(applicationId=request.desired_state["ApplicationId"])["application"]
        names = ("applicationId", "arn", "name", "type", "releaseLabel")
        return done({name[0].upper() + name[1:]: found[name] for name in names if name in found})

    def update(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        """Update the application. EMR Serverless refuses it while the application is started, as on AWS."""
        model, before = request.desired_state, request.previous_state
        if changed := [name for name in UNCHANGEABLE if model.get(name) != before.get(name)]:
            return refused(f"the local cloud changes no {' or '.join(changed)} of an application")
        changes = parameters({name: value for name, value in model.items() if name not in UNCHANGEABLE})
        emr = request.aws_client_factory.emr_serverless
        try:
            emr.update_application(applicationId=before["ApplicationId"], clientToken=str(uuid.uuid4()), **changes)
        except emr.exceptions.ValidationException as exc:  # LocalStack would say "Failed to delete"
            return refused(str(exc))
        return done({**before, **model})

    def delete(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        application = request.desired_state["ApplicationId"]
        emr = request.aws_client_factory.emr_serverless
        with contextlib.suppress(emr.exceptions.ResourceNotFoundException):
            emr.stop_application(applicationId=application)
            emr.delete_application(applicationId=application)
        return done({})


class RefusedCustomResource(ResourceProvider[dict[str, Any]]):
    """A refusal of every Custom::* and AWS::CloudFormation::CustomResource."""

    TYPE = "AWS::CloudFormation::CustomResource"
    SCHEMA = SCHEMAS[TYPE]

    def create(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        return refused(f"the local cloud runs no custom resources: {request.logical_resource_id}")

    update = create

    def delete(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:  # noqa: ARG002
        """Report success, because the resource was never made and a failed stack must be deletable."""
        return done({})


def done(model: dict[str, Any]) -> ProgressEvent[dict[str, Any]]:
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)


def refused(message: str) -> ProgressEvent[dict[str, Any]]:
    return ProgressEvent(OperationStatus.FAILED, resource_model={}, message=message, error_code="NotSupported")


def parameters(model: dict[str, Any]) -> dict[str, Any]:
    """Return CreateApplication's arguments for the template's properties."""
    special = {"ApplicationId", "Arn", "Tags", "InitialCapacity", "RuntimeConfiguration"}
    arguments = {lower(name): camel(value) for name, value in model.items() if name not in special}
    if model.get("InitialCapacity"):
        arguments["initialCapacity"] = {pair["Key"]: camel(pair["Value"]) for pair in model["InitialCapacity"]}
    if model.get("Tags"):
        arguments["tags"] = {tag["Key"]: tag["Value"] for tag in model["Tags"]}
    if model.get("RuntimeConfiguration"):
        arguments["runtimeConfiguration"] = [runtime(part) for part in model["RuntimeConfiguration"]]
    return arguments


def runtime(part: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration. Names of Spark properties are data and keep their case."""
    return {"classification": part["Classification"], "properties": part.get("Properties") or {}}


def camel(value: Any) -> Any:
    """Return the template's PascalCase as the API's camelCase, and its numbers and booleans parsed from text."""
    if isinstance(value, list):
        return [camel(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {lower(name): camel(TYPED.get(name, unchanged)(inner)) for name, inner in value.items()}


def unchanged(value: Any) -> Any:
    return value


def boolean(value: Any) -> bool:
    return str(value).lower() == "true"


def lower(name: str) -> str:
    return name[:1].lower() + name[1:]


TYPED: dict[str, Callable[[Any], Any]] = {
    "Enabled": boolean,
    "IdleTimeoutMinutes": int,
    "MaxConcurrentRuns": int,
    "QueueTimeoutMinutes": int,
    "WorkerCount": int,
}
