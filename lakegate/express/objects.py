"""Objects in S3 by their URI, with this process's own AWS credentials: staged files, data files, a job's notes."""

from functools import cache, cached_property, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlparse

import boto3
from botocore.exceptions import ClientError

from lakegate.adapters.aws import CONFIG, aws_errors, status
from lakegate.adapters.iceberg import check_storage
from lakegate.adapters.iceberg.files import WholeOutput
from lakegate.adapters.lake import LakeIO
from lakegate.adapters.s3 import S3Store
from lakegate.audit.errors import HandedOver
from lakegate.counts import count
from lakegate.errors import Misconfigured


class Objects:
    """`Storage` of a job."""

    def __init__(self) -> None:
        self._store = cache(S3Store)

    @cached_property
    def _s3(self) -> Any:
        return boto3.client("s3", config=CONFIG)

    def read(self, uri: str, limit: int | None = None) -> bytes:
        """Read an object. Raise FileNotFoundError if it is missing, and HandedOver if it has over `limit` bytes."""
        bucket, key = _place(uri)
        try:
            with aws_errors(f"reading {uri}"):
                answer = self._s3.get_object(Bucket=bucket, Key=key)
                if limit is not None and answer["ContentLength"] > limit:
                    size = count(answer["ContentLength"], "byte")
                    raise HandedOver(f"A file has {size}, and not the {limit:,} that it landed with.")
                return bytes(answer["Body"].read())
        except Misconfigured as error:
            if isinstance(cause := error.__cause__, ClientError) and status(cause) == HTTPStatus.NOT_FOUND:
                raise FileNotFoundError(f"{uri} is missing") from error
            raise

    def write(self, uri: str, body: bytes) -> None:
        bucket, key = _place(uri)
        with aws_errors(f"writing {uri}"):
            self._s3.put_object(Bucket=bucket, Key=key, Body=body)

    def create(self, uri: str, body: bytes) -> bool:
        """Write an object that is not there yet; return False if it is."""
        bucket, key = _place(uri)
        return self._store(bucket).create(key, body)


def _place(uri: str) -> tuple[str, str]:
    check_storage(uri)
    parts = urlparse(uri)
    return parts.netloc, parts.path.lstrip("/")


class DataIO(LakeIO):
    """Access to data files, which writes each in one request, and deletes none."""

    def __init__(self, objects: Objects) -> None:
        super().__init__({})
        self._objects = objects

    def new_output(self, location: str) -> WholeOutput:  # type: ignore[override]
        return WholeOutput(location, partial(self._objects.write, location))

    def delete(self, location: Any) -> None:
        """Delete nothing: what a failed write leaves is named by no table."""
