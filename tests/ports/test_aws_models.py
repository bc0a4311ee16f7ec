"""Requests against AWS's own models of them. Every other test holds its requests so, too (tests/conftest.py)."""

from __future__ import annotations

from typing import Any

import boto3
import botocore.session
import pytest
from botocore.stub import Stubber

from tests.support import aws_models

START = {"applicationId": "00app", "clientToken": "token", "executionRoleArn": "arn:aws:iam::000000000000:role/job"}


@pytest.mark.parametrize(
    ("service", "operation", "members", "why"),
    [
        ("emr-serverless", "StartJobRun", {**START, "name": "n" * 257}, ".name: 257 is not from 1 to 256"),
        ("emr-serverless", "StartJobRun", {**START, "tags": {"table": "a€"}}, ".tags.table: 'a€' does not match"),
        ("emr-serverless", "ListJobRuns", {"applicationId": "00app", "states": ["GONE"]}, ".states[0]: 'GONE' is none"),
        ("emr-serverless", "ListJobRuns", {"applicationId": "00app", "maxResults": 51}, ".maxResults: 51 is not from"),
        ("events", "PutEvents", {"Entries": [{}] * 11}, ".Entries: 11 is not from 1 to 10"),
        ("sts", "GetWebIdentityToken", {"Audience": ["a"], "DurationSeconds": 59}, ".DurationSeconds: 59 is not from"),
    ],
)
def test_a_member_that_breaks_its_model_is_known(
    service: str, operation: str, members: dict[str, Any], why: str
) -> None:
    model = botocore.session.get_session().get_service_model(service).operation_model(operation)
    [broken] = aws_models.broken(members, model.input_shape)
    assert broken.startswith(why)


def test_the_case_of_a_header_s_word_does_not_count() -> None:
    model = botocore.session.get_session().get_service_model("s3").operation_model("GetObject")
    [broken] = aws_models.broken({"ChecksumMode": "on"}, model.input_shape)
    assert broken.startswith(".ChecksumMode: 'on' is none of")
    assert not [*aws_models.broken({"ChecksumMode": "enabled"}, model.input_shape)]


def test_requests_of_this_process_are_held_to_their_models() -> None:
    client = boto3.client("emr-serverless", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stub:
        stub.add_response("list_job_runs", {"jobRuns": []})
        client.list_job_runs(applicationId="No!", states=["RUNNING"])
    [broken] = aws_models.BROKEN
    aws_models.BROKEN.clear()
    assert broken.startswith("emr-serverless:ListJobRuns .applicationId: 'No!' does not match")
