"""Resources of a template, and which of them a resource names or a function reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.infra.template import flat
from tests.support.iam import listed

Resources = Mapping[str, Mapping[str, Any]]
FUNCTION, QUEUE = "AWS::Lambda::Function", "AWS::SQS::Queue"
CALLS = {"lambda:InvokeFunction", "sqs:SendMessage", "lambda:*", "sqs:*", "*"}


def of_kind(resources: Resources, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the logical id and the properties of each resource of a kind."""
    return ((name, body.get("Properties", {})) for name, body in resources.items() if body.get("Type") == kind)


def edges(resources: Resources) -> dict[str, set[str]]:
    """Return what each function and queue reaches: functions that it calls, and queues that it sends to."""
    reached: dict[str, set[str]] = {name: set() for kind in (FUNCTION, QUEUE) for name, _ in of_kind(resources, kind)}
    for _, mapping in of_kind(resources, "AWS::Lambda::EventSourceMapping"):
        for queue in named(resources, mapping["EventSourceArn"]):
            reached[queue] |= named(resources, mapping["FunctionName"])
    for _, config in of_kind(resources, "AWS::Lambda::EventInvokeConfig"):
        for function in named(resources, config["FunctionName"]):
            for destination in config.get("DestinationConfig", {}).values():
                reached[function] |= named(resources, destination["Destination"])
    for name, properties in of_kind(resources, FUNCTION):
        for statement in _statements(resources, flat(properties["Role"])):
            if CALLS & set(listed(statement["Action"])) and statement["Effect"] == "Allow":
                for resource in listed(statement["Resource"]):
                    reached[name] |= named(resources, resource)
    return reached


def _statements(resources: Resources, role: str) -> Iterator[Mapping[str, Any]]:
    for _, policy in of_kind(resources, "AWS::IAM::Policy"):
        if role in {flat(name).replace(">", ".Arn>") for name in policy.get("Roles", ())}:
            yield from policy["PolicyDocument"]["Statement"]


def named(resources: Resources, value: Any) -> set[str]:
    """Return the functions and queues that a value names, by reference or by a function's own name."""
    text = flat(value)
    return {
        name
        for name, body in resources.items()
        if body.get("Type") in {FUNCTION, QUEUE}
        and (
            text in {f"<{name}>", f"<{name}.Arn>"}
            or text.endswith(f":function:{body.get('Properties', {}).get('FunctionName')}")
        )
    }


def in_cycles(reached: Mapping[str, set[str]]) -> set[str]:
    """Return what reaches itself."""
    return {name for name in reached if name in _reachable(reached, name)}


def _reachable(reached: Mapping[str, set[str]], start: str) -> set[str]:
    known: set[str] = set()
    ahead = {*reached[start]}
    while ahead:
        known |= ahead
        ahead = {target for name in ahead for target in reached.get(name, ())} - known
    return known
