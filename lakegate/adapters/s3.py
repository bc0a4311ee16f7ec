"""`Landing` and `Store` on S3. It reads no file's content, and deletes nothing but the service's own notes.

A file version's content identity is S3's checksum of the whole object. A checksum made of parts' checksums tells
nothing about another upload, and counts as none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from boto3.s3.transfer import TransferConfig, create_transfer_manager
from botocore.config import Config
from botocore.exceptions import ClientError

from lakegate.adapters.aws import CONFIG, SINGLE_TRY, aws_errors, code, status
from lakegate.errors import Misconfigured, Refused, Retryable
from lakegate.landing.files import FileVersion, as_listed
from lakegate.ports.landing import Descriptions, Version

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef, ObjectVersionTypeDef

MIB = 1024**2
AT_ONCE = 10  # concurrent calls: as many connections as a client keeps
WHOLE = 256 * MIB  # up to here an upload is one request, and S3 keeps a SHA-256 of it
UPLOAD = TransferConfig(multipart_threshold=WHOLE, multipart_chunksize=64 * MIB)
IN_ONE = {"ChecksumAlgorithm": "SHA256"}
IN_PARTS = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}
COPY = TransferConfig(multipart_threshold=512 * MIB, multipart_chunksize=128 * MIB)  # S3 copies at most 5 GB at once
ALGORITHMS = ("SHA256", "CRC64NVME", "SHA1", "CRC32C", "CRC32")  # strongest first
MISSING_STATUSES = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)  # S3 answers the latter for a delete marker
ARCHIVE_CODES = ("InvalidObjectState", "ObjectNotInActiveTierError")


def _client(config: Config) -> "S3Client":
    client = boto3.client("s3", config=config)
    client.meta.events.register("before-send.s3", _without_expect)
    return client


def _without_expect(request: Any, **_: Any) -> None:
    """Remove the header by which the vendor's client asks S3 for permission before each body. If S3 answers early, as
    it does if the object already exists, the client also takes that answer for the next upload's on the connection.
    """
    request.headers.pop("Expect", None)


class S3Landing:
    """A landing bucket, or what is below some prefixes of one, with the staging copies in the service's bucket."""

    def __init__(self, bucket: str, service_bucket: str, prefixes: Sequence[str] = ("",)) -> None:
        self.bucket, self.service_bucket, self.prefixes = bucket, service_bucket, prefixes

    @cached_property
    def _s3(self) -> "S3Client":
        return _client(CONFIG)

    def describe(self, key: str, version_id: str) -> FileVersion | None:
        with aws_errors(f"looking at {key} in {self.bucket}"):
            try:
                head = self._s3.head_object(Bucket=self.bucket, Key=key, VersionId=version_id, ChecksumMode="ENABLED")
            except ClientError as exc:
                if self._is_gone(exc, key, version_id):
                    return None
                raise
        return self._file(key, version_id, head["ContentLength"], head["LastModified"], _checksum(head))

    def describe_all(self, versions: Iterable[Version]) -> Descriptions:
        all_versions = list(versions)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(all_versions, pool.map(self._describe_or_error, all_versions), strict=True))

    def _describe_or_error(self, version: Version) -> FileVersion | Exception | None:
        try:
            return self.describe(*version)
        except Exception as error:  # noqa: BLE001 (one version)
            return error

    def versions(self) -> Iterator[FileVersion]:
        return as_listed(self._list_files())

    def _list_files(self) -> Iterator[FileVersion]:
        with aws_errors(f"listing {self.bucket}"):
            for prefix in self.prefixes:
                for version in self._versions_below(prefix):
                    yield self._file(version["Key"], version["VersionId"], version["Size"], version["LastModified"])

    def _versions_below(self, prefix: str) -> Iterator["ObjectVersionTypeDef"]:
        pages = self._s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=prefix)
        return (version for page in pages for version in page.get("Versions", ()))

    def _is_gone(self, error: ClientError, key: str, version_id: str) -> bool:
        """Return True if there is no such version. Whoever may not list all of a bucket is answered "forbidden" for
        what is not there, too, so then the key's own listing tells.
        """
        if status(error) in MISSING_STATUSES:
            return True
        if status(error) != HTTPStatus.FORBIDDEN or "" in self.prefixes:
            return False
        return (key, version_id) not in {
            (version["Key"], version["VersionId"]) for version in self._versions_below(key)
        }

    def _file(
        self, key: str, version_id: str, size: int, landed_at: datetime, checksum: str | None = None
    ) -> FileVersion:
        """Return the file version, its time cut to the second, which is the precision of every answer of S3's."""
        return FileVersion(
            bucket=self.bucket,
            key=key,
            version_id=version_id,
            size=size,
            landed_at=landed_at.astimezone(UTC).replace(microsecond=0),
            checksum=checksum,
        )

    def stage(self, file: FileVersion, name: str) -> str:
        """Copy the version unless its copy exists: a worker has minutes, and many large files take longer."""
        target = f"staging/{name}"
        source: Any = {"Bucket": file.bucket, "Key": file.key, "VersionId": file.version_id}
        with aws_errors(f"staging {file.key}"):
            try:
                if not self._is_staged(target, file.size):
                    self._copy(source, target, file.size)
            except ClientError as exc:
                if self._is_gone(exc, file.key, file.version_id):
                    raise Refused(f"{file.key}: version {file.version_id} is gone from {file.bucket}") from exc
                if code(exc) in ARCHIVE_CODES:
                    raise Refused(
                        f"{file.key} is archived by its storage class: restore it, or upload it anew"
                    ) from exc
                raise
        return f"s3://{self.service_bucket}/{target}"

    def _copy(self, source: Any, target: str, size: int) -> None:
        """Copy a version: in one request, if S3 takes it so. A managed copy first asks for its size. Tags are not
        copied: the copy needs none, and reading them would need another permission.
        """
        if size < COPY.multipart_threshold:
            self._s3.copy_object(CopySource=source, Bucket=self.service_bucket, Key=target, TaggingDirective="REPLACE")
        else:
            fresh = {"TaggingDirective": "REPLACE"}
            self._s3.copy(source, self.service_bucket, target, ExtraArgs=fresh, Config=COPY)

    def stage_all(self, files: Mapping[str, FileVersion]) -> dict[str, str | Refused]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(files, pool.map(self._stage_or_error, files.values(), files), strict=True))

    def _stage_or_error(self, file: FileVersion, name: str) -> str | Refused:
        try:
            return self.stage(file, name)
        except Refused as error:
            return error

    def _is_staged(self, target: str, size: int) -> bool:
        try:
            return self._s3.head_object(Bucket=self.service_bucket, Key=target)["ContentLength"] == size
        except ClientError as exc:
            if status(exc) in MISSING_STATUSES:
                return False
            raise

    def upload(self, source: Path, key: str) -> FileVersion:
        if not key.startswith(tuple(self.prefixes)):
            raise Refused(f"{key} is not below {', '.join(self.prefixes)}: this installation would never see it")
        extra = IN_ONE if source.stat().st_size < WHOLE else IN_PARTS
        with aws_errors(f"uploading {source}"):
            client = _client(CONFIG)
            version_ids = _versions_made(client)
            with create_transfer_manager(client, UPLOAD) as transfers:  # upload_file hides what S3 answered
                transfers.upload(str(source), self.bucket, key, extra).result()
        if not version_ids:
            raise Misconfigured(
                f"bucket {self.bucket} is not versioned; deploy lakegate's stack, which makes the bucket"
            )
        file = self.describe(key, version_ids[-1])
        if file is None:
            raise Refused(f"{key}: it was deleted from {self.bucket} just after it was uploaded")
        return file


def _versions_made(client: "S3Client") -> list[str]:
    """Return a list that fills with the version ids of this client's uploads: a managed upload does not return them."""
    version_ids: list[str] = []

    def record(parsed: dict[str, Any], **_: Any) -> None:  # the client gives arguments by name
        if "VersionId" in parsed:
            version_ids.append(parsed["VersionId"])

    remember: Callable[..., None] = record
    for operation in ("PutObject", "CompleteMultipartUpload"):
        client.meta.events.register(f"after-call.s3.{operation}", remember)
    return version_ids


def _checksum(head: "HeadObjectOutputTypeDef") -> str | None:
    """Return the checksum of the whole object as `ALGORITHM:value`, or None if S3 keeps none."""
    made_of_parts = "-" in head.get("ETag", "")
    if head.get("ChecksumType", "COMPOSITE" if made_of_parts else "FULL_OBJECT") != "FULL_OBJECT":
        return None
    values: Any = head
    return next((f"{name}:{values[f'Checksum{name}']}" for name in ALGORITHMS if f"Checksum{name}" in values), None)


class S3Store:
    """A store in the service's own bucket."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket

    @cached_property
    def _s3(self) -> "S3Client":
        return _client(CONFIG)

    @cached_property
    def _single_try_client(self) -> "S3Client":
        """A client that repeats no request: a repeated creation would be told that the object exists."""
        return _client(SINGLE_TRY)

    def read(self, name: str) -> bytes | None:
        with aws_errors(f"reading {name} in {self.bucket}"):
            try:
                return self._s3.get_object(Bucket=self.bucket, Key=name)["Body"].read()
            except self._s3.exceptions.NoSuchKey:
                return None

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        all_names = list(names)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            pairs = zip(all_names, pool.map(self.read, all_names), strict=True)
            return {name: body for name, body in pairs if body is not None}

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.write, bodies.keys(), bodies.values()))

    def write(self, name: str, body: bytes) -> None:
        with aws_errors(f"writing {name} in {self.bucket}"):
            self._s3.put_object(Bucket=self.bucket, Key=name, Body=body)

    def create(self, name: str, body: bytes) -> bool:
        """Create the object over a new connection. One that was idle while the function slept may be dead, and a
        request sent over it may still have arrived.
        """
        action = f"creating {name} in {self.bucket}"
        self._single_try_client.close()
        with aws_errors(action, changes=True):
            try:
                self._single_try_client.put_object(Bucket=self.bucket, Key=name, Body=body, IfNoneMatch="*")
            except ClientError as exc:
                if status(exc) == HTTPStatus.PRECONDITION_FAILED:
                    return False
                if status(exc) == HTTPStatus.CONFLICT:
                    raise Retryable(f"{action}: another process is creating it") from exc
                raise
        return True

    def delete(self, name: str) -> None:
        with aws_errors(f"deleting {name} in {self.bucket}"):
            self._s3.delete_object(Bucket=self.bucket, Key=name)

    def names(self, prefix: str) -> list[str]:
        with aws_errors(f"listing {prefix} in {self.bucket}"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            return sorted(entry["Key"] for page in pages for entry in page.get("Contents", ()))

    def uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{name}"
