"""The evaluation of policies that other tests rely on, against AWS's documented logic."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.iam import Request, effects, is_allowed, matches, statements_of

ROLE, OTHER = "arn:aws:iam::123456789012:role/ingest", "arn:aws:iam::210987654321:role/uploads"
READ = Request(principal=ROLE, action="s3:GetObject", resource="arn:aws:s3:::lake/a/1.parquet")


def statement(effect: str = "Allow", **other: Any) -> dict[str, Any]:
    whole = {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::lake/*"}
    return {"Effect": effect, **{name: it for name, it in whole.items() if f"Not{name}" not in other}, **other}


def asked(**context: str) -> Request:
    return Request(
        principal=ROLE,
        action=READ.action,
        resource=READ.resource,
        context={name.replace("_", ":"): [value] for name, value in context.items()},
    )


def test_what_no_statement_allows_is_not_allowed() -> None:
    assert not is_allowed(READ, [])
    assert is_allowed(READ, [statement()])


def test_a_denial_wins_wherever_it_stands() -> None:
    deny = statement("Deny", Principal="*")
    assert not is_allowed(READ, [statement(), deny])
    assert not is_allowed(READ, [statement()], resource=[deny])
    assert not is_allowed(READ, [statement()], session=[statement(), deny])


@pytest.mark.parametrize(
    ("other", "allowed"),
    [
        ({"Action": "s3:*"}, True),
        ({"Action": "S3:getobject"}, True),
        ({"Action": ["s3:PutObject", "s3:GetObj?ct"]}, True),
        ({"Action": "s3:GetObjectVersion"}, False),
        ({"Action": "s3:Get"}, False),
        ({"NotAction": "s3:*"}, False),
        ({"NotAction": ["s3:PutObject", "sts:*"]}, True),
        ({"Resource": "*"}, True),
        ({"Resource": "arn:aws:s3:::lake/a/?.parquet"}, True),
        ({"Resource": "arn:aws:s3:::lake"}, False),
        ({"Resource": "arn:aws:s3:::LAKE/*"}, False),
        ({"Resource": ["arn:aws:s3:::lake/b/*", "arn:aws:s3:::lake/a/*"]}, True),
        ({"NotResource": "arn:aws:s3:::lake/a/*"}, False),
        ({"NotResource": ["arn:aws:s3:::lake/b/*", "arn:aws:s3:::lake/c/*"]}, True),
    ],
)
def test_actions_match_in_any_case_resources_in_their_own_and_stars_anything(
    other: dict[str, Any],
    allowed: bool,  # noqa: FBT001
) -> None:
    assert is_allowed(READ, [statement(**other)]) is allowed


def test_a_pattern_s_other_letters_mean_themselves() -> None:
    assert matches("a.b[c]*", "a.b[c]\nd")
    assert not matches("a.b", "axb")


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "holds"),
    [
        ("StringEquals", ["a", "b"], "b", True),
        ("StringEquals", "a", "A", False),
        ("StringEquals", "a", None, False),
        ("StringEqualsIfExists", "a", None, True),
        ("StringEqualsIfExists", "a", "b", False),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringNotEquals", "a", "b", True),
        ("StringNotEquals", "a", None, True),
        ("StringLike", "a*", "abc", True),
        ("StringNotLike", "a*", "abc", False),
        ("ArnLike", "arn:x:*", "arn:x:y", True),
        ("ArnEquals", "arn:x:y", "arn:x:z", False),
        ("Bool", "false", "false", True),
        ("Bool", "false", None, False),
        ("NumericLessThan", 1.2, "1.1", True),
        ("NumericLessThan", 1.2, "1.2", False),
        ("NumericLessThan", 1.2, None, False),
        ("Null", "false", "anything", True),
        ("Null", "true", None, True),
        ("Null", "true", "anything", False),
        ("ForAllValues:StringEquals", ["a"], "a", True),
        ("ForAllValues:StringEquals", ["a"], "b", False),
        ("ForAllValues:StringEquals", ["a"], None, True),
        ("ForAnyValue:StringEquals", ["a"], None, False),
    ],
)
def test_a_condition_holds_of_the_request_s_values(
    operator: str,
    wanted: Any,
    value: str | None,
    holds: bool,  # noqa: FBT001
) -> None:
    request = asked() if value is None else asked(aws_Key=value)
    assert is_allowed(request, [statement(Condition={operator: {"AWS:key": wanted}})]) is holds


def test_all_conditions_have_to_hold() -> None:
    condition = {"StringEquals": {"aws:a": "1", "aws:b": "2"}}
    assert is_allowed(asked(aws_a="1", aws_b="2"), [statement(Condition=condition)])
    assert not is_allowed(asked(aws_a="1", aws_b="3"), [statement(Condition=condition)])


def test_several_values_hold_together_or_one_alone() -> None:
    request = Request(principal=ROLE, action=READ.action, resource=READ.resource, context={"aws:k": ["a", "b"]})
    assert not is_allowed(request, [statement(Condition={"ForAllValues:StringEquals": {"aws:k": ["a"]}})])
    assert is_allowed(request, [statement(Condition={"ForAnyValue:StringEquals": {"aws:k": ["a"]}})])


def test_a_session_s_policy_takes_rights_and_gives_none() -> None:
    assert is_allowed(READ, [statement()], session=[statement()])
    assert not is_allowed(READ, [statement()], session=[])
    assert not is_allowed(READ, [], session=[statement()])


@pytest.mark.parametrize(
    ("principal", "named", "allowed"),
    [
        (ROLE, "*", True),
        (ROLE, {"AWS": ROLE}, True),
        (ROLE, {"AWS": [OTHER, "arn:aws:iam::123456789012:root"]}, True),
        (ROLE, {"AWS": OTHER}, False),
        (ROLE, {"Service": "events.amazonaws.com"}, False),
        ("events.amazonaws.com", {"Service": "events.amazonaws.com"}, True),
        ("events.amazonaws.com", {"Service": ["s3.amazonaws.com"]}, False),
        ("events.amazonaws.com", {"AWS": "*"}, True),  # as "*"
    ],
)
def test_the_policy_of_a_resource_allows_whom_it_names(
    principal: str,
    named: Any,
    allowed: bool,  # noqa: FBT001
) -> None:
    request = Request(principal=principal, action=READ.action, resource=READ.resource)
    assert is_allowed(request, [], resource=[statement(Principal=named)]) is allowed


def test_a_trust_has_no_resource() -> None:
    [trust] = statements_of('{"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}}')
    assert effects(Request(principal=ROLE, action="sts:AssumeRole", resource=ROLE), [trust]) == {"Allow"}


@pytest.mark.parametrize(
    "other",
    [
        {"Condition": {"DateLessThan": {"aws:CurrentTime": "2026-01-01"}}},
        {"NotPrincipal": "*"},
        {"Resource": "arn:aws:s3:::${aws:username}/*"},
    ],
)
def test_what_the_evaluation_does_not_know_it_does_not_judge(other: dict[str, Any]) -> None:
    with pytest.raises((NotImplementedError, KeyError)):
        is_allowed(asked(aws_CurrentTime="2025-01-01"), [statement(**other)])
