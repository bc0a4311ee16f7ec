"""Reads CloudFormation templates the way the tests ask: resources by kind, rights by role. It knows nothing of CDK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.iam import listed


def flat(value: Any) -> str:
    """A value with its intrinsic functions written out: an object's ARN is `<Logical.Arn>/key`."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(flat(part) for part in parts)
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": text}:
            return str(text)
        case _:
            return str(value)


def replaced(value: Any, exports: dict[str, Any]) -> Any:
    """A value with what another stack exports in the place of each import."""
    match value:
        case {"Fn::ImportValue": name}:
            return exports[name]
        case dict():
            return {key: replaced(inner, exports) for key, inner in value.items()}
        case list():
            return [replaced(inner, exports) for inner in value]
        case _:
            return value


@dataclass(frozen=True)
class Stack:
    """A template and questions to it. A part is named by how its logical id starts: `StorageLanding`, `IngestRole`."""

    template: dict[str, Any]

    @classmethod
    def of(cls, templates: Iterable[dict[str, Any]]) -> Stack:
        """The templates of one app as one, as if a single stack had all resources. Outputs are those for people."""
        every = list(templates)
        outputs = [pair for template in every for pair in template.get("Outputs", {}).items()]
        exports = {output["Export"]["Name"]: output["Value"] for _, output in outputs if "Export" in output}
        resources = [pair for template in every for pair in template["Resources"].items()]
        assert len({name for name, _ in resources}) == len(resources)
        whole = {
            "Parameters": {name: body for template in every for name, body in template["Parameters"].items()},
            "Resources": dict(resources),
            "Outputs": {name: output for name, output in outputs if "Export" not in output},
        }
        return cls(replaced(whole, exports))

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """All resources of a kind with their properties."""
        every = self.template["Resources"].items()
        return {name: body.get("Properties", {}) for name, body in every if body["Type"] == kind}

    def one(self, kind: str, part: str) -> dict[str, Any]:
        """The properties of the only resource of this kind and part."""
        (found,) = [body for name, body in self.resources(kind).items() if name.startswith(part)]
        return found

    def name(self, kind: str, part: str) -> str:
        """The logical id of the only resource of this kind and part."""
        (found,) = [name for name in self.resources(kind) if name.startswith(part)]
        return found

    def statements(self, part: str) -> Iterator[dict[str, Any]]:
        """Every policy statement of a role, wherever it is written."""
        role = self.name("AWS::IAM::Role", part)
        yield from (
            statement
            for inline in self.resources("AWS::IAM::Role")[role].get("Policies", [])
            for statement in inline["PolicyDocument"]["Statement"]
        )
        for policy in self.resources("AWS::IAM::Policy").values():
            if {"Ref": role} in policy["Roles"]:
                yield from policy["PolicyDocument"]["Statement"]

    def rights(self, role: str) -> set[tuple[str, str]]:
        """Every (action, resource) that a role is allowed."""
        return {
            (action, flat(resource))
            for statement in self.statements(role)
            for action in listed(statement["Action"])
            for resource in listed(statement["Resource"])
            if statement["Effect"] == "Allow"
        }

    def rights_in(self, role: str, kind: str, part: str) -> set[tuple[str, str]]:
        """A role's rights in one resource, `(action, what follows its ARN)`."""
        arn = f"<{self.name(kind, part)}.Arn>"
        return {(action, resource.removeprefix(arn)) for action, resource in self.rights(role) if arn in resource}
