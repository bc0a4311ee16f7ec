"""Throttles of the local cloud, on a clock of the tests', and before the product's own runner."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ClientError
from lakegate_local.services import REGION
from lakegate_local.settings import LocalSettings
from lakegate_localstack.throttles import LIMITS, Buckets

from lakegate.adapters.aws import CONFIG, SINGLE_TRY, aws_errors
from lakegate.errors import Retryable
from tests.local.conftest import ROLE
from tests.local.kinds import Aws

TRIES = (SINGLE_TRY, CONFIG)
PLACE, ELSEWHERE = ("000000000000", "us-east-1"), ("000000000000", "eu-west-1")
LIST, START = ("emr-serverless", "ListJobRuns"), ("emr-serverless", "StartJobRun")


def test_a_full_bucket_serves_a_burst_and_then_a_request_a_second() -> None:
    now = [0.0]
    buckets = Buckets(LIMITS, clock=lambda: now[0])
    assert [buckets.take(PLACE, LIST) for _ in range(11)] == [True] * 10 + [False]
    now[0] = 0.9
    assert not buckets.take(PLACE, LIST)
    now[0] = 1.9
    assert [buckets.take(PLACE, LIST) for _ in range(2)] == [True, False]
    now[0] = 1000
    assert [buckets.take(PLACE, LIST) for _ in range(11)] == [True] * 10 + [False]


def test_each_operation_and_each_region_has_a_bucket_of_its_own() -> None:
    buckets = Buckets(LIMITS, clock=lambda: 0.0)
    for _ in range(10):
        assert buckets.take(PLACE, LIST)
    assert not buckets.take(PLACE, LIST)
    assert buckets.take(PLACE, START)
    assert buckets.take(ELSEWHERE, LIST)


def test_an_operation_without_a_limit_is_never_refused() -> None:
    buckets = Buckets(LIMITS, clock=lambda: 0.0)
    assert all(buckets.take(PLACE, ("s3", "GetObject")) for _ in range(1000))


def test_where_a_minute_is_short_a_second_is() -> None:
    now = [0.0]
    buckets = Buckets(LIMITS, hurry=6.0, clock=lambda: now[0])
    for _ in range(10):
        assert buckets.take(PLACE, LIST)
    now[0] = 1.0
    assert [buckets.take(PLACE, LIST) for _ in range(7)] == [True] * 6 + [False]


@pytest.mark.local
def test_a_role_that_asks_too_often_is_refused_and_with_its_tries_the_product_s_client_is_not(
    aws: Aws, cloud: LocalSettings
) -> None:
    role = aws("sts").assume_role(RoleArn=ROLE, RoleSessionName="a-test")["Credentials"]
    session = boto3.Session(role["AccessKeyId"], role["SecretAccessKey"], role["SessionToken"], REGION)
    once, patient = (session.client("emr-serverless", endpoint_url=cloud.endpoint, config=it) for it in TRIES)
    made = aws("emr-serverless").create_application(type="SPARK", releaseLabel="emr-7.13.0", clientToken="throttles")
    of = {"applicationId": made["applicationId"]}
    with pytest.raises(ClientError) as caught:
        [*(once.list_job_runs(**of) for _ in range(1000))]
    answer = caught.value.response
    assert (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]) == ("ThrottlingException", 429)
    with pytest.raises(Retryable), aws_errors("listing"):
        raise caught.value
    for _ in range(20):
        assert patient.list_job_runs(**of)["jobRuns"] == []
