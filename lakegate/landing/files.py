"""File versions: one uploaded object each, with an id that a redelivered event derives again. It does not fetch
anything.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

DELETION = "it was deleted from the landing bucket before it could be staged: upload it again if it is to be published"
NEWEST = "~"  # a sequencer that sorts after those of events, which are hex digits


@dataclass(frozen=True, kw_only=True)
class Content:
    """Content identity: S3's full-object checksum (`algorithm:value`) plus the size in bytes."""

    checksum: str
    size: int


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """One uploaded object. `checksum` is None if S3 keeps none; then no other file counts as the same content."""

    bucket: str
    key: str
    version_id: str
    size: int
    landed_at: datetime
    checksum: str | None = None
    sequencer: str = ""

    @cached_property
    def id(self) -> str:
        """20 hex digits derived from bucket, key and version id."""
        text = f"{self.bucket}\0{self.key}\0{self.version_id}"
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def is_marker(self) -> bool:
        """True if the object has no bytes and a name that is not taken for data: a folder's, or one that begins with
        `_` or `.`, as Spark's `_SUCCESS` does.
        """
        name = self.key.rpartition("/")[2]
        return not self.size and (not name or name.startswith(("_", ".")))

    @property
    def content(self) -> Content | None:
        return Content(checksum=self.checksum, size=self.size) if self.checksum else None

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Sort key, oldest first; the sequencer orders versions of one key within a second."""
        return (self.landed_at, self.sequencer, self.version_id)


def as_listed(files: Iterable[FileVersion]) -> Iterator[FileVersion]:
    """Mark the newest version of each key and second in a listing, so that it sorts after all others of that second. S3
    lists each key's newest version first and tells times to the second, and version ids are random. The others may
    have been listed, or told of by events.
    """
    last = None
    for file in files:
        second = (file.key, file.landed_at)
        yield file if second == last else replace(file, sequencer=NEWEST)
        last = second
