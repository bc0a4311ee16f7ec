"""`Landing` in memory."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lakegate.errors import Refused
from lakegate.landing.files import FileVersion, as_listed
from lakegate.ports.landing import Descriptions, Version
from lakegate.testing.clock import MemoryClock


def _version_id(number: int) -> str:
    """Return a version id whose sort order tells nothing of age, as with S3's."""
    return f"{hashlib.sha256(str(number).encode()).hexdigest()[:4]}-v{number}"


def describe_each(describe: Callable[[str, str], FileVersion | None], versions: Iterable[Version]) -> Descriptions:
    """Describe versions one after the other: return, by key and version id, what `describe` returns or raises."""

    def describe_or_error(key: str, version_id: str) -> FileVersion | Exception | None:
        try:
            return describe(key, version_id)
        except Exception as error:  # noqa: BLE001 (one version)
            return error

    return {version: describe_or_error(*version) for version in versions}


class MemoryLanding:
    """`Landing` with bodies in memory; `staged` holds the copies by URI."""

    def __init__(self, clock: MemoryClock, bucket: str = "landing", staging: str = "service") -> None:
        self.clock, self.bucket, self.staging = clock, bucket, staging
        self.files: dict[tuple[str, str], FileVersion] = {}
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.copies: dict[str, bytes] = {}
        self.uploads = 0

    def add(self, key: str, body: bytes, *, checksum: bool = True) -> FileVersion:
        """Upload a body, as any client would."""
        self.uploads += 1
        file = FileVersion(
            bucket=self.bucket,
            key=key,
            version_id=_version_id(self.uploads),
            size=len(body),
            landed_at=self.clock.now(),
            checksum=f"SHA256:{hashlib.sha256(body).hexdigest()}" if checksum else None,
        )
        self.files[key, file.version_id], self.bodies[key, file.version_id] = file, body
        return file

    def drop(self, key: str, version_id: str) -> None:
        """Delete one version for good."""
        del self.files[key, version_id], self.bodies[key, version_id]

    def describe(self, key: str, version_id: str) -> FileVersion | None:
        return self.files.get((key, version_id))

    def describe_all(self, versions: Iterable[Version]) -> Descriptions:
        return describe_each(self.describe, versions)

    def versions(self) -> Iterator[FileVersion]:
        files = [replace(file, checksum=None) for file in self.files.values()]
        files.reverse()  # newest first
        return as_listed(sorted(files, key=lambda file: file.key))

    def stage(self, file: FileVersion, name: str) -> str:
        body = self.bodies.get((file.key, file.version_id))
        if body is None:
            raise Refused(f"{file.key}: version {file.version_id} is gone from {self.bucket}")
        uri = f"s3://{self.staging}/staging/{name}"
        self.copies[uri] = body
        return uri

    def stage_all(self, files: Mapping[str, FileVersion]) -> dict[str, str | Refused]:
        return {name: self._stage_or_error(file, name) for name, file in files.items()}

    def _stage_or_error(self, file: FileVersion, name: str) -> str | Refused:
        try:
            return self.stage(file, name)
        except Refused as error:
            return error

    def upload(self, source: Path, key: str) -> FileVersion:
        return self.add(key, source.read_bytes())
