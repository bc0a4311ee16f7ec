"""Keys of KMS that cannot be used: the local cloud refuses as AWS does, and the product says whose turn it is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from examples.bad_files import parquet
from lakegate.adapters.aws import aws_errors
from lakegate.errors import Misconfigured
from tests.local.installation import Installation
from tests.local.kinds import Aws
from tests.local.things import Things, rows

pytestmark = pytest.mark.local
UNREACHABLE = 3


@pytest.fixture
def key(aws: Aws) -> Any:
    return aws("kms").create_key()["KeyMetadata"]["KeyId"]


def test_a_queue_takes_and_gives_nothing_while_its_key_cannot_be_used(aws: Aws, queue: str, key: str) -> None:
    sqs, kms = aws("sqs"), aws("kms")
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"KmsMasterKeyId": key})
    sqs.send_message(QueueUrl=queue, MessageBody="before")
    kms.disable_key(KeyId=key)
    for call, more in ((sqs.send_message, {"MessageBody": "x"}), (sqs.receive_message, {})):
        refused(call, "KmsDisabled", QueueUrl=queue, **more)
    kms.enable_key(KeyId=key)
    assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "before"
    kms.schedule_key_deletion(KeyId=key)
    refused(sqs.send_message, "KmsInvalidState", QueueUrl=queue, MessageBody="x")
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"KmsMasterKeyId": str(uuid.uuid4())})
    refused(sqs.send_message, "KmsNotFound", QueueUrl=queue, MessageBody="x")


def test_a_secret_is_not_given_while_its_key_cannot_be_used(aws: Aws, key: str) -> None:
    secrets, name = aws("secretsmanager"), f"test-{key}"
    secrets.create_secret(Name=name, SecretString="hush", KmsKeyId=key)
    assert secrets.get_secret_value(SecretId=name)["SecretString"] == "hush"
    aws("kms").disable_key(KeyId=key)
    refused(secrets.get_secret_value, "DecryptionFailure", SecretId=name)


def test_an_object_is_not_given_while_its_key_cannot_be_used(aws: Aws, bucket: str, key: str) -> None:
    under = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": key}
    aws("s3").put_object(Bucket=bucket, Key="k", Body=b"hush", **under)
    aws("kms").disable_key(KeyId=key)
    refused(aws("s3").get_object, "KMS.DisabledException", Bucket=bucket, Key="k")
    refused(aws("s3").put_object, "KMS.DisabledException", Bucket=bucket, Key="k", Body=b"x", **under)


def refused(call: Any, code: str, **given: Any) -> None:
    """Assert that AWS refuses a call by this code, which the product takes for a mistake that somebody must mend."""
    with pytest.raises(ClientError) as caught:
        call(**given)
    assert caught.value.response["Error"]["Code"] == code
    with pytest.raises(Misconfigured), aws_errors("testing"):
        raise caught.value


@pytest.fixture
def closed_inbox(installation: Installation, aws: Aws, key: str) -> Iterator[None]:
    """The queue of files' events, and that of its dead letters, under a key that cannot be used."""
    urls = [installation.outputs[f"Ingest{name}QueueUrl"] for name in ("", "DeadLetter")]
    aws("kms").disable_key(KeyId=key)
    for url in urls:
        aws("sqs").set_queue_attributes(QueueUrl=url, Attributes={"KmsMasterKeyId": key})
    yield
    for url in urls:
        aws("sqs").set_queue_attributes(QueueUrl=url, Attributes={"KmsMasterKeyId": ""})


@pytest.mark.usefixtures("closed_inbox")
def test_a_file_whose_event_no_queue_takes_is_published_by_sweeps_which_name_the_queue(
    installation: Installation, things: Things
) -> None:
    """EventBridge drops the event then, which only its metric says."""
    landed = f"{things.prefix}/1.parquet"
    installation.put(landed, parquet(rows(0, 10)))

    installation.run("reconcile", code=UNREACHABLE)  # of the dead letters' queue, and all else goes on
    assert "KmsDisabled" in installation.said[-1]
    installation.wait(landed)
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]
