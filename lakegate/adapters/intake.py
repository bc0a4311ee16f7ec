"""`Intake` on AWS: the event source mappings and the rules that call the stack's functions, and its EMR application."""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lakegate.adapters.aws import Clients, ambient, aws_errors, code
from lakegate.adapters.emr import UNDER_WAY
from lakegate.adapters.stacks import Resource
from lakegate.errors import Conflict, LakegateError, Retryable

if TYPE_CHECKING:
    from mypy_boto3_emr_serverless import EMRServerlessClient
    from mypy_boto3_emr_serverless.type_defs import ApplicationTypeDef
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient

MAPPING, RULE, APPLICATION = "AWS::Lambda::EventSourceMapping", "AWS::Events::Rule", "AWS::EMRServerless::Application"
AT_REST = {"CREATED", "STOPPED", "TERMINATED"}
LONGEST, POLL = 300.0, 0.5  # seconds that a change of state may take, and between two looks at it


class AwsIntake:
    """The intake of one stack, by its resources, which each act asks for anew: a deployment adds and removes some. A
    stack that lacks some is closed by those that it has.
    """

    def __init__(self, resources: Callable[[], Iterable[Resource]], clients: Clients = ambient) -> None:
        self._resources = resources
        self._lambda: LambdaClient = clients("lambda")
        self._events: EventBridgeClient = clients("events")
        self._emr: EMRServerlessClient = clients("emr-serverless")

    def is_open(self) -> bool:
        with aws_errors("looking at the intake"):
            ids = self._ids()
            return (
                all(self._mapping_state(mapping) == "Enabled" for mapping in ids[MAPPING])
                and all(self._events.describe_rule(Name=rule)["State"] == "ENABLED" for rule in self._callers(ids))
                and all(_may_start(self._application(application)) for application in ids[APPLICATION])
            )

    def close(self) -> None:
        with aws_errors("closing the intake"):
            ids = self._ids()
            for rule in self._callers(ids):
                self._events.disable_rule(Name=rule)
            for mapping in ids[MAPPING]:
                self._switch(mapping, "Disabled")

    def open(self) -> None:
        """See the port. A mapping or rule that fails stops no other, and is named."""
        with aws_errors("opening the intake"):
            ids = self._ids()
            rules = self._callers(ids)
            for application in ids[APPLICATION]:
                if not _may_start(self._application(application)):
                    self._let_start(application, may=True)
        steps = [partial(self._enable_mapping, mapping) for mapping in ids[MAPPING]]
        _raise_first([*steps, *(partial(self._enable_rule, rule) for rule in rules)])

    def count_runs(self) -> int:
        with aws_errors("looking for job runs"):
            return sum(self._running_jobs(application) for application in self._ids()[APPLICATION])

    def stop(self) -> None:
        with aws_errors("stopping the application"):
            for application in self._ids()[APPLICATION]:
                try:
                    self._stop(application)
                except ClientError as error:
                    if code(error) not in {"ValidationException", "ConflictException"}:
                        raise
                    raise Conflict(f"the application {application} is in use: {error}") from error

    def _ids(self) -> dict[str, list[str]]:
        """Return the ids of the stack's resources by kind."""
        ids: dict[str, list[str]] = {MAPPING: [], RULE: [], APPLICATION: []}
        for resource in self._resources():
            if resource.kind in ids and resource.id:
                ids[resource.kind].append(resource.id)
        return ids

    def _callers(self, ids: Mapping[str, Iterable[str]]) -> list[str]:
        """Return the rules that call functions. The others bring files to the queue, where they wait."""
        return [rule for rule in ids[RULE] if self._calls_functions(rule)]

    def _calls_functions(self, rule: str) -> bool:
        targets = self._events.list_targets_by_rule(Rule=rule)["Targets"]
        return any(":lambda:" in target["Arn"] for target in targets)

    def _running_jobs(self, application: str) -> int:
        pages = self._emr.get_paginator("list_job_runs").paginate(applicationId=application, states=UNDER_WAY)
        return sum(len(page["jobRuns"]) for page in pages)

    def _stop(self, application: str) -> None:
        """Stop it, then keep it from starting. The second fails if a job has started it in between."""
        self._emr.stop_application(applicationId=application)
        _await_state(f"the application {application}", lambda: self._application(application)["state"], AT_REST)
        self._let_start(application, may=False)

    def _let_start(self, application: str, *, may: bool) -> None:
        self._emr.update_application(
            applicationId=application, autoStartConfiguration={"enabled": may}, clientToken=str(uuid.uuid4())
        )

    def _application(self, application: str) -> "ApplicationTypeDef":
        return self._emr.get_application(applicationId=application)["application"]

    def _enable_mapping(self, mapping: str) -> None:
        with aws_errors(f"enabling the event source mapping {mapping}"):
            self._switch(mapping, "Enabled")

    def _enable_rule(self, rule: str) -> None:
        with aws_errors(f"enabling the rule {rule}"):
            self._events.enable_rule(Name=rule)

    def _switch(self, mapping: str, state: str) -> None:
        """Bring a mapping to this state. One that is on its way to another state cannot be known yet."""
        subject, ask = f"the event source mapping {mapping}", partial(self._mapping_state, mapping)
        if _await_state(subject, ask, {"Enabled", "Disabled"}) != state:
            self._lambda.update_event_source_mapping(UUID=mapping, Enabled=state == "Enabled")
            _await_state(subject, ask, {state})

    def _mapping_state(self, mapping: str) -> str:
        return self._lambda.get_event_source_mapping(UUID=mapping)["State"]


def _raise_first(steps: Iterable[Callable[[], None]]) -> None:
    """Take every step, and raise the first error, with a note of each other one."""
    errors = [error for step in steps if (error := _error_of(step))]
    for other in errors[1:]:
        errors[0].add_note(f"Besides: {other}")
    if errors:
        raise errors[0]


def _error_of(step: Callable[[], None]) -> LakegateError | None:
    try:
        step()
    except LakegateError as error:
        return error
    return None


def _await_state(subject: str, ask: Callable[[], str], states: Collection[str]) -> str:
    """Wait until the answer is one of the states, and return it."""
    deadline = time.monotonic() + LONGEST
    while (state := ask()) not in states:
        if time.monotonic() > deadline:
            raise Retryable(f"{subject} has been {state} for {LONGEST:.0f} s")
        time.sleep(POLL)
    return state


def _may_start(application: "ApplicationTypeDef") -> bool:
    return application.get("autoStartConfiguration", {}).get("enabled", True)
