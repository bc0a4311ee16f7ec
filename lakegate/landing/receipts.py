"""Receipts: the decisions on the versions of a landing key. On main a receipt is a decision, on an open branch a claim.

This module holds their shape and their JSON; the catalog decides where they are kept.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Self

from lakegate.audit.model.codec import PARSE_ERRORS, NewerFormat, from_json, to_plain
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import Content, FileVersion
from lakegate.landing.lifecycle import MAY_BECOME, Decision

NAMESPACE = "_lakegate"
"""Namespace of the catalog that holds the ledger."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file version's decision, as its receipt holds it. A published one `replaces` the versions whose rows it took
    off main.
    """

    version_id: str
    size: int
    checksum: str | None
    sequencer: str
    landed_at: datetime
    decision: Decision
    table: str
    batch: str
    attempt: int
    reasons: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def content(self) -> Content | None:
        return Content(checksum=self.checksum, size=self.size) if self.checksum else None

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Sort key, the same as the file version's own."""
        return (self.landed_at, self.sequencer, self.version_id)

    @classmethod
    def of(
        cls,
        file: FileVersion,
        decision: Decision,
        attempt: Attempt,
        reasons: Iterable[str] = (),
        replaces: Iterable[str] = (),
    ) -> Self:
        return cls(
            version_id=file.version_id,
            size=file.size,
            checksum=file.checksum,
            sequencer=file.sequencer,
            landed_at=file.landed_at,
            decision=decision,
            table=attempt.table,
            batch=attempt.batch,
            attempt=attempt.number,
            reasons=tuple(reasons),
            replaces=tuple(sorted(replaces)),
        )

    def is_of(self, attempt: Attempt) -> bool:
        """Return True if this attempt made the decision; on a branch, if it claims the file."""
        return (self.batch, self.attempt) == (attempt.batch, attempt.number)

    def file(self, bucket: str, key: str) -> FileVersion:
        return FileVersion(
            bucket=bucket,
            key=key,
            version_id=self.version_id,
            size=self.size,
            landed_at=self.landed_at,
            checksum=self.checksum,
            sequencer=self.sequencer,
        )


def receipt_name(key: str) -> str:
    """Return the name a receipt is kept under: the SHA-256 of its landing key, in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A landing key's decided versions. Those on main are the published ones that no other published one replaced.

    No version is ever forgotten: one that is still in the landing bucket would be ingested again. Of those that landed
    before `truncated`, some are kept elsewhere; they are in `archive` once a reader has looked for them.

    A receipt that cannot be read is not an empty one: the decisions on its key are unknown, so none may be made.
    `unreadable` says why, and such a receipt is never written.
    """

    bucket: str
    key: str
    entries: tuple[Entry, ...] = ()
    truncated: datetime | None = None
    archive: tuple[Entry, ...] = field(default=(), compare=False)
    unreadable: str = ""
    format: int = 1

    @property
    def name(self) -> str:
        return receipt_name(self.key)

    def entry(self, version_id: str) -> Entry | None:
        return self._by_version.get(version_id)

    @cached_property
    def _by_version(self) -> dict[str, Entry]:
        return {entry.version_id: entry for entry in (*self.archive, *self.entries)}

    def may_lack(self, file: FileVersion) -> bool:
        """Return True if a version of this key may have been decided though it is not in this receipt."""
        return self.truncated is not None and file.landed_at < self.truncated and not self.entry(file.version_id)

    @property
    def on_main(self) -> tuple[Entry, ...]:
        """Versions whose rows are on main, oldest first: one, or several if the contract appends them."""
        published = [entry for entry in self.entries if entry.decision is Decision.PUBLISHED]
        superseded_ids = {version for entry in published for version in entry.replaces}
        return tuple(
            sorted((e for e in published if e.version_id not in superseded_ids), key=lambda entry: entry.order)
        )

    def with_decision(self, entry: Entry) -> Self:
        """Return this receipt with `entry` in it, in place of an earlier decision on the same version. Raise Refused if
        the earlier one is final.
        """
        self.refuse_unreadable()
        old = self.entry(entry.version_id)
        if old and entry.decision not in MAY_BECOME[old.decision]:
            raise Refused(
                f"{self.key}, version {old.version_id}, is {old.decision}, and may not become {entry.decision}"
            )
        rest = tuple(other for other in self.entries if other.version_id != entry.version_id)
        return replace(self, entries=(*rest, entry))

    def refuse_unreadable(self) -> None:
        """Raise Misconfigured if the receipt cannot be read."""
        if self.unreadable:
            raise Misconfigured(
                f"the receipt of {self.key} ({self.name}) can't be read: {self.unreadable}. No file under this key "
                "is ingested or decided until the receipt is repaired"
            )

    def to_json(self) -> str:
        self.refuse_unreadable()
        members = {name: value for name, value in to_plain(self).items() if name not in ("archive", "unreadable")}
        return json.dumps(members, sort_keys=True, ensure_ascii=False)

    @classmethod
    def read(cls, key: str, text: str | bytes) -> Self:
        """Return this key's receipt from its JSON, marked unreadable if it is broken in any way, so that other keys'
        are still read. Raise Misconfigured as `from_json` does.
        """
        try:
            receipt = cls.from_json(text)
        except PARSE_ERRORS as error:
            return cls(bucket="", key=key, unreadable=f"{type(error).__name__}: {error}")
        return receipt if receipt.key == key else cls(bucket="", key=key, unreadable=f"it is {receipt.key}'s")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the receipt from its JSON. Raise Misconfigured for a newer release's receipt: read as an old one, it
        would be written back without its new parts.
        """
        try:
            return from_json(cls, text)
        except NewerFormat as error:
            raise Misconfigured(f"the receipt of {json.loads(text).get('key')}: {error}") from error


def entry_of(receipts: Mapping[str, Receipt], file: FileVersion) -> Entry | None:
    """Return a file version's entry in these receipts by landing key, or None if they have none."""
    receipt = receipts.get(file.key)
    return receipt.entry(file.version_id) if receipt else None
