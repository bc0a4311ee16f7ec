"""The record of calls: who is told by the key, a call is written once, and only what names a resource is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from lakegate_localstack.calls import Calls

ROLE, LAMBDA = "arn:aws:iam::000000000000:role/ingest", {"service_principal": "lambda"}


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path / "calls.jsonl")


def note(calls: Calls, operation: tuple[str, str] = ("s3", "GetObject"), **given: Any) -> None:
    usual: dict[str, Any] = {"key": "test", "behalf": {}, "request": {}, "answer": {}, "status": 200}
    calls.note(operation=operation, **{**usual, **given})


def assume(calls: Calls, key: str, session: str = "lakegate-ingest", behalf: Any = LAMBDA) -> None:
    request = {"RoleArn": ROLE, "RoleSessionName": session}
    answer = {"Credentials": {"AccessKeyId": key, "SecretAccessKey": "s3cret"}}
    note(calls, ("sts", "AssumeRole"), behalf=behalf, request=request, answer=answer)


def written(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "calls.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_call_is_the_role_s_whose_session_s_key_it_has(calls: Calls, tmp_path: Path) -> None:
    assume(calls, "LSIA1")
    note(calls, key="LSIA1", request={"Bucket": "b", "Key": "k"})
    assumed, read = written(tmp_path)
    assert (assumed["who"], assumed["operation"]) == ("lambda.amazonaws.com", "AssumeRole")
    assert (read["who"], read["session"], read["operation"]) == (ROLE, "lakegate-ingest", "GetObject")
    assert (read["parameters"], read["status"]) == ({"Bucket": "b", "Key": "k"}, 200)


def test_a_call_of_a_service_is_its_own_with_what_it_calls_for(calls: Calls, tmp_path: Path) -> None:
    note(calls, ("sqs", "SendMessage"), behalf={"service_principal": "events", "source_arn": "arn:rule"})
    [sent] = written(tmp_path)
    assert (sent["who"], sent["source"]) == ("events.amazonaws.com", "arn:rule")


def test_a_person_s_call_is_not_written(calls: Calls, tmp_path: Path) -> None:
    note(calls)
    note(calls, key="LSIA-unknown", behalf={"source_arn": "arn:rule"})
    assert written(tmp_path) == []


def test_a_person_s_session_of_a_role_is_a_person_s(calls: Calls, tmp_path: Path) -> None:
    assume(calls, "LSIA1", behalf={})
    note(calls, key="LSIA1", request={"Bucket": "b", "Key": "k"})
    assert written(tmp_path) == []


def test_a_call_is_written_once_and_another_answer_is_another(calls: Calls, tmp_path: Path) -> None:
    assume(calls, "LSIA1")
    for status in (200, 200, 404):
        note(calls, key="LSIA1", status=status)
    assert [call["status"] for call in written(tmp_path)] == [200, 200, 404]


def test_a_session_without_a_name_of_its_own_makes_no_other_call(calls: Calls, tmp_path: Path) -> None:
    for number in range(2):
        assume(calls, f"LSIA{number}", session=f"session-{number}")
        note(calls, key=f"LSIA{number}", request={"Bucket": "b"})
    assert [call["operation"] for call in written(tmp_path)] == ["AssumeRole", "GetObject"]


def test_neither_bodies_nor_secrets_are_written(calls: Calls, tmp_path: Path) -> None:
    assume(calls, "LSIA1")
    note(
        calls, key="LSIA1", request={"Bucket": "b", "Body": "s3cret", "SecretString": "s3cret", "MessageBody": "s3cret"}
    )
    assert "s3cret" not in (tmp_path / "calls.jsonl").read_text()
