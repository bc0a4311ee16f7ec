"""Tests of what the product relies on in S3 and gets from LocalStack's: where it fails, a test elsewhere proves nothing
here.
"""

import base64
import hashlib
import json
import zlib
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from lakegate_local.services import client
from lakegate_local.settings import LocalSettings

from tests.local.kinds import ArnOf, Aws, Make, Received
from tests.support.aws_events import faults

pytestmark = pytest.mark.local

CRC64NVME_CHECK_VALUE = "ae8b14860a799888"  # of "123456789", as the algorithm's catalogue says
AWKWARD = (
    "plain.parquet",
    "with space.parquet",
    "plus+plus.parquet",
    "per%20cent%.parquet",
    "hash#hash.parquet",
    "*?[]{}.parquet",
    "üñí©ode-名.parquet",
    "quote'\"`.parquet",
    "back\\slash.parquet",
    "a&b=c;d,e:f@g!$().parquet",
    "k" * 1000,
)


@pytest.fixture
def versioned(aws: Aws, bucket: str) -> Any:
    aws("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


def test_object_is_created_only_if_there_is_none(aws: Aws, bucket: str) -> None:
    aws("s3").put_object(Bucket=bucket, Key="lock", Body=b"first", IfNoneMatch="*")

    with pytest.raises(ClientError) as refusal:
        aws("s3").put_object(Bucket=bucket, Key="lock", Body=b"second", IfNoneMatch="*")

    assert refusal.value.response["Error"]["Code"] == "PreconditionFailed"
    assert aws("s3").get_object(Bucket=bucket, Key="lock")["Body"].read() == b"first"


def test_default_upload_has_a_checksum_of_the_full_object(aws: Aws, versioned: str) -> None:
    aws("s3").put_object(Bucket=versioned, Key="k", Body=b"bytes")

    head = aws("s3").head_object(Bucket=versioned, Key="k", ChecksumMode="ENABLED")

    assert [name for name in head if name.startswith("Checksum") and name != "ChecksumType"]
    assert head["ChecksumType"] == "FULL_OBJECT"


def test_sha256_is_kept_as_the_checksum(aws: Aws, bucket: str) -> None:
    aws("s3").put_object(Bucket=bucket, Key="k", Body=b"bytes", ChecksumAlgorithm="SHA256")

    head = aws("s3").head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")

    assert head["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(b"bytes").digest()).decode()


def test_upload_without_a_checksum_gets_crc64nvme(cloud: LocalSettings, aws: Aws, bucket: str) -> None:
    plain = client(cloud, "s3", config=Config(request_checksum_calculation="when_required"))
    plain.put_object(Bucket=bucket, Key="k", Body=b"123456789")

    head = aws("s3").head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")

    assert base64.b64decode(head["ChecksumCRC64NVME"]).hex() == CRC64NVME_CHECK_VALUE
    assert head["ChecksumType"] == "FULL_OBJECT"


def test_multipart_upload_with_a_full_object_checksum_has_one(aws: Aws, bucket: str) -> None:
    body = bytes(range(256)) * 4 * 6144  # more than the smallest part
    s3 = aws("s3")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k", ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")[
        "UploadId"
    ]
    cut = 5 * 1024 * 1024
    parts = [
        {
            "PartNumber": number,
            **{
                name: value
                for name, value in s3.upload_part(
                    Bucket=bucket, Key="k", UploadId=upload, PartNumber=number, Body=part, ChecksumAlgorithm="CRC32"
                ).items()
                if name in {"ETag", "ChecksumCRC32"}
            },
        }
        for number, part in enumerate((body[:cut], body[cut:]), start=1)
    ]
    s3.complete_multipart_upload(
        Bucket=bucket, Key="k", UploadId=upload, MultipartUpload={"Parts": parts}, ChecksumType="FULL_OBJECT"
    )

    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")

    assert head["ChecksumType"] == "FULL_OBJECT"
    assert base64.b64decode(head["ChecksumCRC32"]) == zlib.crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize("key", AWKWARD)
def test_awkward_key_is_listed_by_version_and_copied_by_version(
    aws: Aws, versioned: str, bucket: str, key: str
) -> None:
    s3 = aws("s3")
    first = s3.put_object(Bucket=versioned, Key=key, Body=b"first")["VersionId"]
    second = s3.put_object(Bucket=versioned, Key=key, Body=b"second")["VersionId"]
    s3.copy_object(Bucket=bucket, Key="staged", CopySource={"Bucket": versioned, "Key": key, "VersionId": first})

    listed = s3.list_object_versions(Bucket=versioned, Prefix=key)["Versions"]

    assert [(entry["Key"], entry["VersionId"]) for entry in listed if entry["Key"] == key] == [
        (key, second),
        (key, first),
    ]
    assert s3.get_object(Bucket=bucket, Key="staged")["Body"].read() == b"first"


@pytest.mark.parametrize("key", AWKWARD)
def test_awkward_key_arrives_in_its_event_as_it_is(
    aws: Aws, versioned: str, queue: str, arn_of: ArnOf, received: Received, until: Make, key: str
) -> None:
    notify_eventbridge(aws, versioned, arn_of(queue))

    version = aws("s3").put_object(Bucket=versioned, Key=key, Body=b"bytes")["VersionId"]

    [event] = until(lambda: received(queue))
    assert faults(event) == []
    assert event["detail"]["object"]["key"] == key
    assert event["detail"]["object"]["version-id"] == version


def test_later_event_of_a_key_has_the_greater_sequencer(
    aws: Aws, versioned: str, queue: str, arn_of: ArnOf, received: Received, until: Make
) -> None:
    notify_eventbridge(aws, versioned, arn_of(queue))
    events: list[Any] = []

    def both_came() -> bool:
        events.extend(received(queue))
        return len(events) == 2

    versions = [aws("s3").put_object(Bucket=versioned, Key="k", Body=body)["VersionId"] for body in (b"1", b"2")]
    until(both_came)

    events.sort(key=lambda event: event["detail"]["object"]["sequencer"])
    assert [event["detail"]["object"]["version-id"] for event in events] == versions


def notify_eventbridge(aws: Aws, bucket: str, target: str) -> None:
    aws("s3").put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )
    pattern = {"source": ["aws.s3"], "detail-type": ["Object Created"], "detail": {"bucket": {"name": [bucket]}}}
    aws("events").put_rule(Name=bucket, EventPattern=json.dumps(pattern))
    aws("events").put_targets(Rule=bucket, Targets=[{"Id": "queue", "Arn": target}])
