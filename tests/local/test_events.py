"""Tests of what the product relies on in EventBridge and SQS and gets from LocalStack's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.kinds import ArnOf, Aws, Make

pytestmark = pytest.mark.local

REPORTS_ITS_BATCH = """
import json
def handler(event, context):
    keys = [json.loads(record["body"])["detail"]["object"]["key"] for record in event["Records"]]
    print(json.dumps({"batch": keys}))
"""


@pytest.fixture
def landing(aws: Aws, bucket: str, queue: str, arn_of: ArnOf) -> Any:
    """A bucket whose uploads arrive in a queue, by EventBridge."""
    aws("s3").put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    aws("events").put_rule(
        Name=bucket, EventPattern=json.dumps({"source": ["aws.s3"], "detail": {"bucket": {"name": [bucket]}}})
    )
    aws("events").put_targets(Rule=bucket, Targets=[{"Id": "queue", "Arn": arn_of(queue)}])
    return bucket


@pytest.fixture
def consumer(aws: Aws, function: Make, queue: str, arn_of: ArnOf) -> Iterator[Any]:
    """A function that is given the queue's messages as the product's ingest function is."""

    def make(window: int, size: int) -> Any:
        name = function(REPORTS_ITS_BATCH)
        mapping = aws("lambda").create_event_source_mapping(
            FunctionName=name,
            EventSourceArn=arn_of(queue),
            BatchSize=size,
            MaximumBatchingWindowInSeconds=window,
            FunctionResponseTypes=["ReportBatchItemFailures"],
        )["UUID"]
        mappings.append(mapping)
        return name

    mappings: list[str] = []
    yield make
    for mapping in mappings:
        aws("lambda").delete_event_source_mapping(UUID=mapping)


@pytest.fixture
def batches(aws: Aws) -> Any:
    """Return what a consumer was given, one entry for each invocation."""

    def seen(name: str) -> Any:
        groups = aws("logs").describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{name}")["logGroups"]
        if not groups:
            return []
        events = aws("logs").filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
        return [json.loads(event["message"]) for event in events if event["message"].startswith('{"batch"')]

    return seen


def test_files_that_arrive_close_together_are_one_invocation(
    aws: Aws, landing: str, consumer: Make, batches: Make, until: Make
) -> None:
    keys = [f"nyc/flights/{month:02}.parquet" for month in range(1, 13)]
    name = consumer(window=300, size=len(keys))  # a full batch ends the window, so a busy machine does not split it

    for key in keys:
        aws("s3").put_object(Bucket=landing, Key=key, Body=b"x")

    until(lambda: sum(len(batch["batch"]) for batch in batches(name)) >= len(keys))
    assert [sorted(batch["batch"]) for batch in batches(name)] == [keys]


def test_each_upload_reaches_a_function_by_itself_without_a_window(
    aws: Aws, landing: str, consumer: Make, batches: Make, until: Make
) -> None:
    name = consumer(window=0, size=1)

    for number in range(5):
        aws("s3").put_object(Bucket=landing, Key=f"{number}", Body=b"x")

    until(lambda: sorted(batch["batch"] for batch in batches(name)) == [[f"{number}"] for number in range(5)])
