"""Ports: the workflow's needs of the world, as small Protocols in our own words. No vendor's types or errors appear
here.

Every method may raise `Retryable` (nothing happened) or `OutcomeUnknown` (it may have happened). `lakegate.testing` has
an in-memory implementation of each port; the same contract tests run on it and on the real adapter.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt

MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Branch:
    """An open `wap-*` branch and its head."""

    name: str
    head: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """A difference between two commits: tables and namespaces by dotted name, receipts by landing key, the rest by its
    key.

    `receipts` holds the receipt on the newer side (None: it was deleted there).
    """

    tables: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    receipts: Mapping[str, Receipt | None] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class DecidedFile:
    """One file version in a decision's commit. `rows` are its rows in the table, without the `quarantined` ones; 0 if
    none was read. `replaced` is the number of rows, of the versions that it `replaces`, that they took the place of.
    """

    key: str
    version_id: str
    rows: int = 0
    quarantined: int = 0
    reasons: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    replaced: int = 0


@dataclass(frozen=True, kw_only=True)
class Note:
    """A decision's description in its commit on main: it becomes the commit's properties, and is read back from the
    log. `more` files were too many to name; their receipts tell of them.
    """

    decision: Decision
    table: str
    batch: str
    attempt: int
    files: tuple[DecidedFile, ...]
    more: int = 0
    why: str = ""
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision read from main's log."""

    note: Note
    commit: str
    at: datetime


class Catalog(Protocol):
    """References, receipts and decisions. A `ref` is a branch's name, `name@hash` or a hash; with a hash the branch may
    be gone. Methods raise Conflict if a named branch, or a commit, is gone.
    """

    def head(self, branch: str) -> str | None:
        """Return the branch's head, or None if there is no such branch."""

    def branches(self) -> list[Branch]:
        """Return all open branches whose names start with `wap-`."""

    def create_branch(self, name: str, at: str) -> None:
        """Create a branch at any commit (a hash). Raise Conflict if it exists already."""

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        """Delete a branch, whatever its head, or only if its head is still `expected`; an absent one is fine."""

    def receipts(self, ref: str, keys: Iterable[str]) -> dict[str, Receipt]:
        """Return the receipts of these landing keys at a ref; keys without one are absent."""

    def all_receipts(self, ref: str) -> Iterator[Receipt]:
        """Return every receipt at a ref, in no order."""

    def fold(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        """Delete the receipts of `keys` from main and replace those in `shorter`, in one commit that also raises the
        watermark, if one is given. Raise Conflict if one of them changed since `expected`.
        """

    def watermark(self) -> datetime | None:
        """Return main's watermark: all that landed before it is decided, or held. None if nothing was ever folded."""

    def commit_receipts(self, branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        """Put receipts in one commit and return the new head. Raise Conflict if one changed on the branch since
        `expected`.

        `note` is given for a decision on main, None for a claim on a branch.
        """

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        """Restore these keys' receipts on a branch to their state at `base` (deleting those that base lacks), in one
        commit.
        """

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        """Repeat the changes from `base` to `commit` on a branch that stands at `base`, in one new commit, without the
        receipts of the keys `without`; return the new head. The new commit does not descend from `commit`, so Nessie
        does not take `commit` for merged once it is.
        """

    def changes(self, base: str, head: str) -> Changes:
        """Return the difference between a commit and a later one made from it (both hashes). Raise Refused if it was
        not made from it. The cost is that of the commits between them, independent of everything else.
        """

    def moved(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        """Return those of these tables that differ between two commits (both hashes).

        It costs two look-ups, however much lies between. A table that was made or dropped has moved too.
        """

    def base(self, branch: str) -> str:
        """Return the commit of main that the branch was made from, before and after it is merged."""

    def merge(self, branch: str, head: str, note: Note) -> None:
        """Merge exactly `head` of the branch into main, with the note as commit properties.

        Raise Conflict if main changed a key that the branch changed too (never forced). Repeating it is harmless.
        """

    def decisions(self, limit: int, *, table: str | None = None, batch: str | None = None) -> Iterator[Decided]:
        """Return decisions from main's log, of one table, one batch or all, newest first; at most `limit` of them.
        Decisions of a batch are sought no further back than a day before the minute that it is named for.
        """


@dataclass(frozen=True, kw_only=True)
class TableIdentity:
    """Facts that must be equal on two sides before data files move between them; otherwise a new attempt is made."""

    uuid: str
    fields: tuple[tuple[int, str, str], ...]  # field id, dotted name, type
    last_id: int  # the highest field id ever assigned: ids of dropped columns are not reused
    partitions: str
    contract_hash: str


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """A difference between a table's files at an earlier and a later commit, as paths: data files that only the later
    one has (`added`) or only the earlier one (`removed`), and delete files present on one side only (`deletes`),
    ignoring removed ones that no longer hid any row.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()


class Tables(Protocol):
    """Iceberg metadata on the catalog's branches: no data is read or written."""

    def identity(self, ref: str, table: str) -> TableIdentity | None:
        """Return the table's identity at a ref (`name` or `name@hash`), or None if there is no table."""

    def append(self, table: str, branch: str, source: str, paths: frozenset[str]) -> None:
        """Append exactly these data files of the table at `source` (`name@hash`) to the table on `branch`, by metadata
        alone.

        Raise Refused if a path is not among the source's data files, or is on the branch already.
        """

    def register(self, table: str, branch: str, source: str, paths: frozenset[str]) -> None:
        """Create the table on `branch`, which has none, as the one at `source` (`name@hash`) with only these of its
        data files, by metadata alone.

        Raise Refused if there is another table already, or a path is not among the source's data files.
        """

    def grow(self, table: str, branch: str, base: str, source: str) -> None:
        """Give the table on `branch` the columns, types and properties (the contract's hash among them) that the one at
        `source` has beyond `base`, the commit that `source` was made from: under the same field ids, by metadata alone.

        Raise Refused if the table on the branch differs from the one at the base.
        """

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        """Remove exactly these data files from the table on `branch`, by metadata alone.

        Raise Refused if one is not there.
        """

    def paths(self, ref: str, table: str) -> frozenset[str]:
        """Return the table's data files at a ref; empty if there is no table. Raise Refused if one is listed twice."""

    def compare(self, table: str, before: str, after: str) -> FileChanges:
        """Compare the table's data files, and its delete files, between two refs, each with a table or without.

        Files that both have cost nothing, however many they are. Raise Refused if an added one is listed twice.
        """


class JobState(StrEnum):
    """A job run's state."""

    RUNNING = "running"  # submitted, pending or running
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # it crashed, ran for longer than it may, or its turn never came
    CANCELLED = "cancelled"  # by a person


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """A run of an attempt's job; `reason` is the runner's word on a failure, `ended_at` is None while it runs."""

    id: str
    branch: str
    state: JobState
    reason: str = ""
    ended_at: datetime | None = None


class JobRunner(Protocol):
    """A runner of an attempt's Spark job in another process."""

    def start(self, attempt: Attempt, job_uri: str) -> str:
        """Start the attempt's job and return the run's id; starting it again returns the same run."""

    def run(self, run_id: str) -> JobRun:
        """Return the run's present state. Raise Misconfigured for an unknown id."""

    def find(self, branch: str) -> JobRun | None:
        """Return the latest run of a branch's job, or None if none was ever started."""


class Landing(Protocol):
    """A landing bucket, and staging copies of exact versions."""

    def look(self, key: str, version_id: str) -> FileVersion | None:
        """Return the version with its checksum, or None if it is gone (or is a delete marker)."""

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


class Store(Protocol):
    """Small named objects in the service's own bucket: contracts, jobs, reports, notes. Names are like
    `reports/<branch>.json`.
    """

    def read(self, name: str) -> bytes | None:
        """Return the object, or None."""

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return these objects by name; those that do not exist are absent."""

    def write(self, name: str, body: bytes) -> None:
        """Write or replace the object."""

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        """Write or replace these by name, in no order: a failure may leave some of them written."""

    def create(self, name: str, body: bytes) -> bool:
        """Write the object unless it exists already; return True if this call wrote it."""

    def delete(self, name: str) -> None:
        """Delete the object; an absent one is fine."""

    def names(self, prefix: str) -> list[str]:
        """Return the names that start with `prefix`, sorted."""

    def uri(self, name: str) -> str:
        """Return the `s3://` URI of an object, existing or not."""


class Kind(StrEnum):
    """A message's subject."""

    REJECTED = "rejected"  # files failed their contract, or their job failed
    WARNED = "warned"  # files were published with warnings
    APPROVED = "approved"  # rejected files were published by a person's word
    HELD = "held"  # files wait for a contract
    EXPIRING = "expiring"  # the branch of a rejected batch is deleted soon
    WAITING = "waiting"  # no job reaches the files, for a reason outside them


@dataclass(frozen=True, kw_only=True)
class ToldFile:
    """One file in a message, with its reasons, and its failing rows out of all rows if that is known."""

    key: str
    reasons: tuple[str, ...]
    rows: int = 0
    failing_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to people. `commands` are the ones to run next; all text may contain anything a stranger wrote."""

    kind: Kind
    batch: str
    table: str
    branch: str
    files: tuple[ToldFile, ...]
    published_files: int = 0
    published_rows: int = 0
    quarantined_rows: int = 0
    replaced_rows: int = 0
    why: str = ""
    commands: tuple[str, ...] = ()


class Notifier(Protocol):
    """A channel to people."""

    def tell(self, message: Message) -> None:
        """Send one message."""


class Clock(Protocol):
    """Time and randomness, so that tests own both."""

    def now(self) -> datetime:
        """Return the time, in UTC."""

    def nonce(self) -> str:
        """Return eight hex digits that no other caller has."""
