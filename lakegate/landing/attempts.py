"""Batches, attempts and the names of their branches. It gives the names and does nothing with what they name."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from lakegate.landing.chunks import in_chunks
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Ingestion

PREFIX = "wap-"
"""Prefix of every branch of lakegate's."""
MOST_RECEIPT_BYTES = 4_000_000
"""Bytes of receipts in one commit; Nessie takes ten million bytes in a request."""
_BRANCH = re.compile(
    PREFIX + r"(?P<table>.+)-(?P<batch>[0-9]{8}T[0-9]{4}-[0-9a-f]{8})"
    r"-a(?P<number>[0-9]{1,9})(?:-r(?P<nonce>[0-9a-f]+))?"  # Python refuses to read a number of thousands of digits
)


def batch_id(table: str, files: Iterable[FileVersion], *, has_attempt: bool = True) -> str:
    """Return a batch id derived from the files, so that a redelivery of the same files is the same batch:
    `20130131T0405-1a2b3c4d`. Files that are decided without an attempt (`has_attempt=False`) get another id, because a
    worker that looked earlier may be about to try them.
    """
    members = sorted(files, key=lambda file: file.order)
    digest = hashlib.sha256(
        "\0".join([table, *([] if has_attempt else ["untried"]), *sorted(file.id for file in members)]).encode()
    ).hexdigest()
    return f"{members[0].landed_at:%Y%m%dT%H%M}-{digest[:8]}"


def earliest_time(batch: str) -> datetime:
    """Return the earliest time at which anything of a batch may have been made. That is the minute that it is named
    for, in which its first file lands, less the day by which a clock may be wrong. Raise ValueError or OverflowError
    if `batch` is no batch id.
    """
    return named_minute(batch) - timedelta(days=1)


def named_minute(batch: str) -> datetime:
    """Return the minute that a batch is named for, in which its first file lands. Raise ValueError if `batch` is no
    batch id.
    """
    return datetime.strptime(batch[:13], "%Y%m%dT%H%M").replace(tzinfo=UTC)


def batches(
    files: Iterable[FileVersion], limits: Ingestion, receipts: Mapping[str, int]
) -> Iterator[list[FileVersion]]:
    """Split the files, in their order, into as few batches as the limits allow. The receipts of a batch must also fit
    in one commit. `receipts` are the sizes of the landing keys' receipts, in bytes, of the keys that have one.
    """
    size = (lambda file: file.size), limits.batch_bytes
    receipt_size = (lambda file: receipts.get(file.key, 0)), MOST_RECEIPT_BYTES
    return in_chunks(files, limits.batch_files, size, receipt_size)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One try at a batch. `nonce` is set for the branch of a rebase, which no other worker shares and which is never
    used again.
    """

    table: str
    batch: str
    number: int
    nonce: str = ""

    @property
    def branch(self) -> str:
        return f"{PREFIX}{self.table}-{self.batch}-a{self.number}" + (f"-r{self.nonce}" if self.nonce else "")

    @property
    def token(self) -> str:
        """Idempotency token for the job runner: at most 64 characters of `[A-Za-z0-9._-]`."""
        return hashlib.sha256(self.branch.encode()).hexdigest()

    @classmethod
    def parse(cls, branch: str) -> Self | None:
        """Return the attempt that a branch belongs to, or None for a branch that is not lakegate's."""
        match = _BRANCH.fullmatch(branch)
        if match is None:
            return None
        return cls(table=match["table"], batch=match["batch"], number=int(match["number"]), nonce=match["nonce"] or "")

    def next(self) -> Self:
        return replace(self, number=self.number + 1, nonce="")

    def rebase(self, now: datetime, nonce: str) -> Self:
        """Return the attempt's rebase. Its nonce starts with the time, so that a branch left behind by a crash can be
        told.
        """
        return replace(self, nonce=f"{int(now.timestamp()):08x}{nonce}")

    @property
    def rebased_at(self) -> datetime:
        return datetime.fromtimestamp(int(self.nonce[:8] or "0", 16), UTC)
