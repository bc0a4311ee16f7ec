"""`Warehouse` on S3, with the rights of whoever runs it. No function or job may delete from the lake."""

from collections.abc import Iterable, Iterator
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from lakegate.adapters.aws import CONFIG, ITEM_RETRY_CODES, aws_errors
from lakegate.errors import Misconfigured, Retryable
from lakegate.landing.chunks import in_chunks
from lakegate.ports import StoredFile
from lakegate.ports.warehouse import table_folder

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MOST_KEYS = 1000  # objects that one request deletes


class S3Warehouse:
    """Table folders in S3; each URI names its bucket."""

    @cached_property
    def _s3(self) -> "S3Client":
        return boto3.client("s3", config=CONFIG)

    def folders(self, location: str) -> Iterator[str]:
        """Walk from folder to folder. Folders of tables are not entered, however many files are in them, and neither
        are those of tables that somebody put at a place of another form, which have a folder `metadata`.
        """
        unseen = [location]
        while unseen:
            folder = unseen.pop(0)
            folders = self._folders_below(folder)
            if folder == location or f"{folder}/metadata" not in folders:
                yield from (subfolder for subfolder in folders if table_folder(subfolder, location))
                unseen += [subfolder for subfolder in folders if not table_folder(subfolder, location)]

    def _folders_below(self, folder: str) -> list[str]:
        bucket, key = _split(folder)
        with aws_errors(f"listing {key} in {bucket}"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{key}/", Delimiter="/")
            prefixes = [prefix["Prefix"] for page in pages for prefix in page.get("CommonPrefixes", ())]
        return [f"s3://{bucket}/{prefix.removesuffix('/')}" for prefix in prefixes]

    def files(self, folder: str) -> Iterator[StoredFile]:
        bucket, key = _split(folder)
        with aws_errors(f"listing {key} in {bucket}"):
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{key}/"):
                for entry in page.get("Contents", ()):
                    yield StoredFile(
                        uri=f"s3://{bucket}/{entry['Key']}",
                        size=entry["Size"],
                        etag=entry["ETag"],
                        written_at=entry["LastModified"].astimezone(UTC),
                    )

    def delete(self, uris: Iterable[str]) -> None:
        for chunk in in_chunks(uris, MOST_KEYS):
            [bucket] = {_split(uri)[0] for uri in chunk}
            keys = [{"Key": _split(uri)[1]} for uri in chunk]
            with aws_errors(f"deleting from {bucket}"):
                answer = self._s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})  # type: ignore[typeddict-item]
            for problem in answer.get("Errors", ()):
                kind = Retryable if ITEM_RETRY_CODES.search(problem.get("Code", "")) else Misconfigured
                raise kind(f"deleting {problem.get('Key')} from {bucket}: {problem.get('Message')}")


def _split(uri: str) -> tuple[str, str]:
    """Return a URI's bucket and key. A key may hold any character, so it is no URL."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key
