"""IAM's answer to a request: policies evaluated as AWS documents it. Whatever it does not know, it refuses to judge.

A request is allowed if no statement denies it and one allows it: a statement of the caller's own policies, and of its
session's policy if it has one, or of the policy of the resource, within one account.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Statement = Mapping[str, Any]
KNOWN = {
    *("Sid", "Effect", "Principal", "Condition"),
    *("Action", "NotAction", "Resource", "NotResource"),
}
ACCOUNT = re.compile(r":(role|user|assumed-role)/.*|:root$")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request of a principal (an ARN, or a service's name), with the values of condition keys that it has."""

    principal: str
    action: str
    resource: str
    context: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)

    def values(self, key: str) -> Sequence[str]:
        """The values of a condition's key, whose case does not count."""
        return next((values for name, values in self.context.items() if name.lower() == key.lower()), ())


def is_allowed(
    request: Request,
    own: Iterable[Statement],
    *,
    session: Iterable[Statement] | None = None,
    resource: Iterable[Statement] = (),
) -> bool:
    """Return True if a principal of the resource's own account may. `resource` is the policy of the resource."""
    of_own, of_resource = effects(request, own), effects(request, resource)
    of_session = {"Allow"} if session is None else effects(request, session)
    if "Deny" in of_own | of_session | of_resource:
        return False
    return "Allow" in of_resource or "Allow" in of_own & of_session


def effects(request: Request, statements: Iterable[Statement]) -> set[str]:
    """The effects of the statements that the request matches."""
    return {str(statement["Effect"]) for statement in statements if concerns(statement, request)}


def concerns(statement: Statement, request: Request) -> bool:
    """Return True if the request matches a statement."""
    if unknown := statement.keys() - KNOWN:
        raise NotImplementedError(f"{unknown} of {statement}")
    return (
        _names(statement.get("Principal"), request.principal)
        and _covers(statement, "Action", request.action.lower(), str.lower)
        and _covers(statement, "Resource", request.resource, str)
        and all(
            _holds(operator, request.values(key), [str(value) for value in listed(wanted)])
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def statements_of(document: str | Mapping[str, Any]) -> list[Statement]:
    """The statements of a policy's document."""
    parsed = json.loads(document) if isinstance(document, str) else document
    return listed(parsed["Statement"])


def listed(value: Any) -> list[Any]:
    """IAM writes one thing as the thing itself and several as a list."""
    return value if isinstance(value, list) else [value]


def matches(pattern: str, text: str) -> bool:
    """IAM's wildcards."""
    if "${" in pattern:
        raise NotImplementedError(f"a variable in {pattern}")
    spelled = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(spelled, text, re.DOTALL) is not None


def _names(named: Any, principal: str) -> bool:
    """Return True if a statement is about the principal; one of its own policies names none."""
    if named is None or named == "*" or named.get("AWS") == "*":
        return True
    if principal.endswith(".amazonaws.com"):
        return principal in listed(named.get("Service", []))
    account = ACCOUNT.sub(":root", principal)
    return any(each in ("*", principal, account) for each in listed(named.get("AWS", [])))


def _covers(statement: Statement, element: str, text: str, spelled: Callable[[str], str]) -> bool:
    """Return True if the statement's action or resource is this one; a statement of a trust has no resource."""
    patterns = [spelled(str(each)) for each in listed(statement.get(element, statement.get(f"Not{element}", "*")))]
    return any(matches(pattern, text) for pattern in patterns) is (f"Not{element}" not in statement)


Test = Callable[[str, list[str]], bool]
_BY_VALUE: Mapping[str, Test] = {
    "StringEquals": lambda value, wanted: value in wanted,
    "StringLike": lambda value, wanted: any(matches(each, value) for each in wanted),
    "ArnEquals": lambda value, wanted: any(matches(each, value) for each in wanted),
    "ArnLike": lambda value, wanted: any(matches(each, value) for each in wanted),
    "Bool": lambda value, wanted: value.lower() in [each.lower() for each in wanted],
    "NumericLessThan": lambda value, wanted: float(value) < float(wanted[0]),
}
_NEGATED = {"StringNotEquals": "StringEquals", "StringNotLike": "StringLike", "ArnNotLike": "ArnLike"}


def _holds(spelled: str, values: Sequence[str], wanted: list[str]) -> bool:
    """Return True if a condition holds of the request's values of its key; of a key that it lacks there are none."""
    quantifier, _, operator = spelled.rpartition(":")
    if operator == "Null":
        return str(not values).lower() in wanted
    name = operator.removesuffix("IfExists")
    if name != operator and not values:
        return True
    if name in _NEGATED:
        found = [not _BY_VALUE[_NEGATED[name]](value, wanted) for value in values]
        return all(found)
    test = _BY_VALUE[name]  # a KeyError is a condition that has no meaning here yet
    found = [test(value, wanted) for value in values]
    return all(found) if quantifier == "ForAllValues" else any(found)
