"""Rules of our own for cfn-lint: what AWS answers in an account alone, and what no emulator shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cfnlint.rules import CloudFormationLintRule, RuleMatch
from cfnlint.template.template import Template

from tests.infra.rules.graph import FUNCTION, edges, in_cycles, of_kind
from tests.infra.template import flat

PROTECTION = ("DeletionProtection", "DeletionProtectionEnabled")
UNDELIVERED = "FailedInvocations"


class ProtectedFromRollback(CloudFormationLintRule):  # type: ignore[misc]
    """A resource that a failed creation deletes, and that refuses to be deleted: the rollback fails."""

    id = "E9001"
    shortdesc = "Deletion protection beside a rollback that deletes"
    description = "Where DeletionPolicy is not Retain, the rollback of a creation deletes the resource, which refuses"
    tags: ClassVar = ["lakegate"]

    def match(self, cfn: Template) -> list[RuleMatch]:
        return [
            RuleMatch(["Resources", name, "Properties", key], f"{name}: the rollback of a creation cannot delete it")
            for name, body in cfn.get_resources().items()
            for key in PROTECTION
            if body.get("DeletionPolicy") != "Retain" and body.get("Properties", {}).get(key) in (True, "true")
        ]


class CycleWithoutSetting(CloudFormationLintRule):  # type: ignore[misc]
    """A function that calls itself by others or by a queue: Lambda drops the call after sixteen rounds."""

    id = "E9002"
    shortdesc = "A function in a cycle without its RecursiveLoop setting"
    description = "Lambda ends a cycle of functions and queues after 16 rounds, unless RecursiveLoop says Allow"
    tags: ClassVar = ["lakegate"]

    def match(self, cfn: Template) -> list[RuleMatch]:
        resources = cfn.get_resources()
        cycle = in_cycles(edges(resources))
        return [
            RuleMatch(["Resources", name], f"{name} is in a cycle, and its RecursiveLoop is not said")
            for name, properties in of_kind(resources, FUNCTION)
            if name in cycle and "RecursiveLoop" not in properties
        ]


class TargetWithoutAlarm(CloudFormationLintRule):  # type: ignore[misc]
    """A rule whose events may be lost without a word: no alarm looks at those that reach no target."""

    id = "E9003"
    shortdesc = "An EventBridge target without an alarm on failed invocations"
    description = "An event that reaches neither its target nor its dead letters is counted in FailedInvocations alone"
    tags: ClassVar = ["lakegate"]

    def match(self, cfn: Template) -> list[RuleMatch]:
        resources = cfn.get_resources()
        watched = {
            flat(dimension["Value"])
            for _, alarm in of_kind(resources, "AWS::CloudWatch::Alarm")
            for metric in _metrics(alarm)
            for dimension in metric.get("Dimensions", ())
        }
        return [
            RuleMatch(["Resources", name], f"{name}: no alarm on its {UNDELIVERED}")
            for name, rule in of_kind(resources, "AWS::Events::Rule")
            if rule.get("Targets") and f"<{name}>" not in watched
        ]


def _metrics(value: Any) -> Iterator[Any]:
    """Yield each metric of undelivered events in an alarm, alone or in an expression."""
    if isinstance(value, dict):
        if value.get("MetricName") == UNDELIVERED:
            yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _metrics(inner)
