"""Port of the landing bucket."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from lakegate.errors import Refused
from lakegate.landing.files import FileVersion

Version = tuple[str, str]  # key and version id
Descriptions = dict[Version, FileVersion | Exception | None]


class Landing(Protocol):
    """A landing bucket, and staging copies of exact versions."""

    def describe(self, key: str, version_id: str) -> FileVersion | None:
        """Return the version with its checksum, or None if it is gone (or is a delete marker)."""

    def describe_all(self, versions: Iterable[Version]) -> Descriptions:
        """Describe many versions, several at once: return, by key and version id, what `describe` returns or raises."""

    def versions(self) -> Iterator[FileVersion]:
        """Return every version in the bucket, without checksums. Of versions of one key that landed in the same second,
        the newest is the last by `order`.
        """

    def stage(self, file: FileVersion, name: str) -> str:
        """Copy exactly this version to `staging/<name>` and return the copy's URI; doing it again is harmless.

        Raise Refused if the version is gone, or must be restored by a person before it can be read.
        """

    def stage_all(self, files: Mapping[str, FileVersion]) -> dict[str, str | Refused]:
        """Stage many files, several at once: return, by name, each copy's URI or the reason why there is none."""

    def upload(self, source: Path, key: str) -> FileVersion:
        """Put a local file under a key; return its version."""
