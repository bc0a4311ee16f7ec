"""File versions: one uploaded object each, with an id that a redelivered event derives again. It does not fetch
anything.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class Content:
    """Content identity: S3's full-object checksum (`algorithm:value`) plus the size in bytes."""

    checksum: str
    size: int


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """One uploaded object. `checksum` is None where S3 keeps none: then no other file counts as the same content."""

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
    def content(self) -> Content | None:
        return Content(checksum=self.checksum, size=self.size) if self.checksum else None

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Oldest first; a sequencer orders versions of one key within a second."""
        return (self.landed_at, self.sequencer, self.version_id)
