"""The evaluation by which test_rights.py proves rights by use, on a few calls and policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lakegate_local.services import ACCOUNT, REGION

from tests.local.grants import Excess, Grants, one_by_one
from tests.support.aws_calls import Call
from tests.support.iam import Statement

ROLE, JOB = "arn:aws:iam::000000000000:role/ingest", "arn:aws:iam::000000000000:role/job"
BUCKET, QUEUE = "arn:aws:s3:::service", f"arn:aws:sqs:{REGION}:{ACCOUNT}:inbox"
EVENTS = "events.amazonaws.com"


def allow(action: Any, *resources: str, **other: Any) -> Statement:
    resource = resources[0] if len(resources) == 1 else list(resources)
    return {"Effect": "Allow", "Action": action, "Resource": resource, **other}


GRANTED = Grants(
    own={
        ROLE: one_by_one(
            [
                allow("s3:ListBucket", BUCKET),
                allow(["s3:GetObject", "s3:PutObject"], f"{BUCKET}/notes/*", f"{BUCKET}/jobs/*"),
                allow("sts:GetWebIdentityToken", "*", Condition={"StringEquals": {"sts:IdentityTokenAudience": "us"}}),
            ]
        ),
        JOB: one_by_one([allow("s3:GetObject", f"{BUCKET}/*")]),
    },
    resources={
        BUCKET: [{"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": f"{BUCKET}/jobs/x"}],
        QUEUE: [
            allow(
                "sqs:SendMessage",
                QUEUE,
                Principal={"Service": EVENTS},
                Condition={"ArnEquals": {"aws:SourceArn": "arn:rule"}},
            )
        ],
    },
    sessions={"00a": [allow("s3:GetObject", f"{BUCKET}/jobs/a")], "00b": [allow("s3:GetObject", f"{BUCKET}/jobs/b")]},
)


def call(
    operation: str, *, who: str = ROLE, session: str = "", source: str = "", status: int = 200, **parameters: Any
) -> Call:
    service, _, name = operation.partition(":")
    place = {"Bucket": "service"} if service == "s3" else {}
    return Call(
        who=who,
        session=session,
        source=source,
        service=service,
        operation=name,
        status=status,
        parameters={**place, **parameters},
    )


@pytest.mark.parametrize(
    ("asking", "refused"),
    [
        (call("s3:GetObject", Key="notes/1"), []),
        (call("s3:HeadObject", Key="notes/1"), []),
        (call("s3:GetObject", Key="reports/1"), ["s3:GetObject"]),
        (call("s3:GetObject", Key="notes/1", VersionId="v"), ["s3:GetObjectVersion"]),
        (call("s3:PutObject", Key="jobs/1"), []),
        (call("s3:PutObject", Key="jobs/x"), ["s3:PutObject"]),
        (call("s3:PutObject", Key="jobs/1", Tagging="a=b"), ["s3:PutObjectTagging"]),
        (call("s3:DeleteObject", Key="notes/1"), ["s3:DeleteObject"]),
        (call("s3:CopyObject", Key="jobs/1", CopySource="service/notes/1"), []),
        (call("s3:CopyObject", Key="jobs/1", CopySource="landing/k"), ["s3:GetObject"]),
        (call("s3:CopyObject", Key="jobs/1", CopySource="service/notes/1?versionId=v"), ["s3:GetObjectVersion"]),
        (call("s3:DeleteObjects", Delete={"Objects": [{"Key": "a"}, {"Key": "b"}]}), ["s3:DeleteObject"] * 2),
        (call("sts:GetWebIdentityToken", Audience=["us"]), []),
        (call("sts:GetWebIdentityToken", Audience=["others"]), ["sts:GetWebIdentityToken"]),
        (call("s3:GetObject", who=JOB, session="00a", Key="jobs/a"), []),
        (call("s3:GetObject", who=JOB, session="00a", Key="jobs/b"), ["s3:GetObject"]),
        (call("s3:GetObject", who=JOB, Key="jobs/b"), []),
    ],
)
def test_a_call_is_refused_what_no_policy_gives_it(asking: Call, refused: list[str]) -> None:
    assert [request.action for _, request in GRANTED.refused([asking])] == refused


def test_a_missing_object_is_only_missing_to_whoever_may_list() -> None:
    missing = call("s3:GetObject", Key="notes/1", status=404)
    assert list(GRANTED.refused([missing])) == []
    alone = GRANTED.without([ROLE], ("s3:ListBucket", BUCKET))
    assert [request.action for _, request in alone.refused([missing])] == ["s3:ListBucket"]


SENT = call("sqs:SendMessage", who=EVENTS, source="arn:rule", QueueUrl="http://sqs/1/inbox")


def test_a_right_is_needed_if_a_call_is_refused_without_it() -> None:
    calls = [call("s3:GetObject", Key="notes/1"), call("s3:PutObject", Key="jobs/1"), call("s3:ListObjectsV2")]
    needed = GRANTED.needed([ROLE], calls)
    assert needed == {
        ("s3:GetObject", f"{BUCKET}/notes/*"): calls[0],
        ("s3:PutObject", f"{BUCKET}/jobs/*"): calls[1],
        ("s3:ListBucket", BUCKET): calls[2],
    }
    for right in GRANTED.rights([ROLE]):
        assert any(GRANTED.without([ROLE], right).refused(calls)) is (right in needed)


def test_a_service_has_the_rights_that_a_resource_gives_it() -> None:
    right = ("sqs:SendMessage", QUEUE)
    assert GRANTED.services == {EVENTS}
    assert GRANTED.rights([EVENTS]) == {right}
    assert GRANTED.needed([EVENTS], [SENT]) == {right: SENT}
    assert not any(GRANTED.refused([SENT]))
    assert any(GRANTED.refused([replace(SENT, source="arn:another-rule")]))
    assert any(GRANTED.without([EVENTS], right).refused([SENT]))


def test_what_is_taken_from_one_is_left_to_another() -> None:
    poorer = GRANTED.without([ROLE], ("s3:GetObject", f"{BUCKET}/*"))
    assert poorer.rights([JOB]) == GRANTED.rights([JOB]) != set()
    assert not any(GRANTED.without([JOB], ("sqs:SendMessage", QUEUE)).refused([SENT]))


def test_of_two_rights_to_one_thing_neither_is_needed() -> None:
    twice = replace(GRANTED, own={ROLE: [*GRANTED.own[ROLE], *one_by_one([allow("s3:Get*", f"{BUCKET}/*")])]})
    assert twice.needed([ROLE], [call("s3:GetObject", Key="notes/1")]) == {}


def test_a_row_covers_a_right_by_the_end_of_what_it_is_on() -> None:
    row = Excess(of="functions", action="s3:GetObject", on=("/notes/*", "/jobs/*"), why="a test")
    covered = {right for right in GRANTED.rights([ROLE]) if row.covers(right)}
    assert covered == {("s3:GetObject", f"{BUCKET}/{name}/*") for name in ("notes", "jobs")}


def test_an_operation_that_no_action_is_named_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="putbucketlifecycleconfiguration"):
        list(GRANTED.refused([call("s3:PutBucketLifecycleConfiguration")]))


def test_a_call_that_names_nothing_that_its_action_is_on_is_an_error() -> None:
    with pytest.raises(ValueError, match="secretsmanager:GetSecretValue is on"):
        list(GRANTED.refused([call("secretsmanager:GetSecretValue")]))


def test_what_is_allowed_is_split_by_action_and_resource_and_a_denial_stays_whole() -> None:
    assert len(GRANTED.rights([ROLE])) == len(GRANTED.own[ROLE]) == 6
    trust = {"Effect": "Allow", "Principal": {"Service": EVENTS}, "Action": "sts:AssumeRole"}
    denial = {"Effect": "Deny", "Principal": "*", "NotAction": "s3:*", "NotResource": [BUCKET, QUEUE]}
    assert one_by_one([trust, denial], ROLE) == [{**trust, "Resource": ROLE}, denial]
