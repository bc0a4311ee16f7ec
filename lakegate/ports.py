"""What the workflow needs of the world, as small Protocols in our own words. No vendor's types or errors appear here.

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
    """What differs between two commits: tables and namespaces by dotted name, receipts by landing key, the rest by
    its key.

    `receipts` holds the receipt on the newer side (None: it was deleted there).
    """

    tables: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    receipts: Mapping[str, Receipt | None] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class DecidedFile:
    """One file version in a decision's commit. `rows` are those in the table, without the `quarantined` ones; 0 where
    none was read. `replaced` is how many rows of the versions that it `replaces` they took the place of.
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
    """What a decision's commit on main says of itself: it becomes the commit's properties, and comes back from the
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
    """A decision as main's log tells it."""

    note: Note
    commit: str
    at: datetime


class Catalog(Protocol):
    """References, receipts and decisions. A `ref` is a branch's name, `name@hash` or a hash; with a hash the branch may
    be gone. Raises Conflict where a named branch, or a commit, is gone.
    """

    def head(self, branch: str) -> str | None:
        """The branch's head, or None where there is no such branch."""

    def branches(self) -> list[Branch]:
        """All open branches whose name starts with `wap-`."""

    def create_branch(self, name: str, at: str) -> None:
        """Create it at any commit (a hash). Raises Conflict where it exists already."""

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        """Delete it, whatever its head, or only if its head still is `expected`; one that is gone already is fine."""

    def receipts(self, ref: str, keys: Iterable[str]) -> dict[str, Receipt]:
        """The receipts of these landing keys at a ref; keys without one are absent."""

    def all_receipts(self, ref: str) -> Iterator[Receipt]:
        """Every receipt at a ref, in no order."""

    def fold(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        """Delete the receipts of `keys` from main and replace those in `shorter`, in one commit that also raises the
        watermark, if one is given. Raises Conflict where one of them changed since `expected`.
        """

    def watermark(self) -> datetime | None:
        """Before when everything that landed is decided, as main says it; None where nothing was ever folded."""

    def commit_receipts(self, branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        """Put receipts in one commit and return the new head. Raises Conflict where one changed on the branch since
        `expected`.

        `note` is given for a decision on main, None for a claim on a branch.
        """

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        """Put these keys' receipts on a branch back to what they are at `base` (deleting those that base lacks), in
        one commit.
        """

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        """Repeat on a branch that stands at `base` what was done from there to `commit`, as one new commit, without the
        receipts of the keys `without`; return the new head. It does not descend from `commit`, which Nessie therefore
        does not take for merged once it is.
        """

    def changes(self, base: str, head: str) -> Changes:
        """What differs between a commit and a later one that was made from it (both hashes). Raises Refused where it
        was not. Its cost is that of the commits between them, whatever else there is.
        """

    def moved(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        """Those of these tables that are not at one commit what they are at the other (both hashes).

        Two look-ups, however much lies between: a table that was made or dropped has moved too.
        """

    def base(self, branch: str) -> str:
        """The commit of main that the branch was made from, before and after it is merged."""

    def merge(self, branch: str, head: str, note: Note) -> None:
        """Merge exactly `head` of the branch into main, with the note as commit properties.

        Raises Conflict where main changed a key that the branch changed too (never forced). Repeating it is harmless.
        """

    def decisions(self, limit: int, *, table: str | None = None, batch: str | None = None) -> Iterator[Decided]:
        """Decisions from main's log, of one table, one batch or all, newest first; at most `limit` of these. A batch's
        are looked for no further back than a day before the minute that it is named for.
        """


@dataclass(frozen=True, kw_only=True)
class TableIdentity:
    """What two sides must have in common before data files may move between them: equal, or a new attempt is needed."""

    uuid: str
    fields: tuple[tuple[int, str, str], ...]  # field id, dotted name, type
    last_id: int  # the highest field id that was ever given: those of dropped columns are not given again
    partitions: str
    contract_hash: str


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """How a table's files differ between an earlier commit and a later one, as paths: data files that only the later
    one has (`added`) or only the earlier one (`removed`), and delete files that only one of them has (`deletes`),
    but for those that went when they hid no row any more.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()


class Tables(Protocol):
    """Iceberg metadata on the catalog's branches: no data is read or written."""

    def identity(self, ref: str, table: str) -> TableIdentity | None:
        """The table at a ref (`name` or `name@hash`), or None where there is none."""

    def append(self, table: str, branch: str, source: str, paths: frozenset[str]) -> None:
        """Append exactly these data files of the table at `source` (`name@hash`) to the table on `branch`, by
        metadata alone.

        Raises Refused where a path is not among the source's data files, or is on the branch already.
        """

    def register(self, table: str, branch: str, source: str, paths: frozenset[str]) -> None:
        """Make the table on `branch`, which has none, the one at `source` (`name@hash`) with just these of its data
        files, by metadata alone.

        Raises Refused where there is another table already, or a path is not among the source's data files.
        """

    def grow(self, table: str, branch: str, base: str, source: str) -> None:
        """Give the table on `branch` the columns, types and properties (the contract's hash among them) that the one at
        `source` has beyond `base`, the commit which that was made from: under the same field ids, by metadata alone.

        Raises Refused where the table on the branch is not what it was at the base.
        """

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        """Remove exactly these data files from the table on `branch`, by metadata alone.

        Raises Refused where one is not there.
        """

    def paths(self, ref: str, table: str) -> frozenset[str]:
        """The table's data files at a ref; empty where there is no table. Raises Refused where one is there twice."""

    def compare(self, table: str, before: str, after: str) -> FileChanges:
        """How the table's data files, and its delete files, differ between two refs, each with a table or without.

        What both have in common costs nothing, however much it is. Raises Refused where an added one is there twice.
        """


class JobState(StrEnum):
    """Where a job run stands."""

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
    """Runs an attempt's Spark job somewhere else."""

    def start(self, attempt: Attempt, job_uri: str) -> str:
        """Start the attempt's job and return the run's id; starting it again returns the same run."""

    def run(self, run_id: str) -> JobRun:
        """The run as it stands. Raises Misconfigured for an unknown id."""

    def find(self, branch: str) -> JobRun | None:
        """The latest run of a branch's job, or None if none was ever started."""


class Landing(Protocol):
    """The landing bucket, and staging copies of exact versions."""

    def look(self, key: str, version_id: str) -> FileVersion | None:
        """The version with its checksum, or None where it is gone (or is a delete marker)."""

    def versions(self) -> Iterator[FileVersion]:
        """Every version in the bucket, without checksums. Of versions of one key that landed in the same second, the
        newest is the last by `order`.
        """

    def stage(self, file: FileVersion, name: str) -> str:
        """Copy exactly this version to `staging/<name>` and return the copy's URI; doing it again is harmless.

        Raises Refused where the version is gone, or can't be read before somebody has it restored.
        """

    def stage_all(self, files: Mapping[str, FileVersion]) -> dict[str, str | Refused]:
        """The same for many, several at once: by name, where its copy is, or why there can be none."""

    def upload(self, source: Path, key: str) -> FileVersion:
        """Put a local file under a key."""


class Store(Protocol):
    """Small named objects in the service's own bucket: contracts, jobs, reports, notes. Names are like
    `reports/<branch>.json`.
    """

    def read(self, name: str) -> bytes | None:
        """The object, or None."""

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        """These objects by name; those that are not there are absent."""

    def write(self, name: str, body: bytes) -> None:
        """Write or replace it."""

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        """Write or replace these by name, in no order: a failure may leave some of them written."""

    def create(self, name: str, body: bytes) -> bool:
        """Write it unless it is there already; whether this call wrote it."""

    def delete(self, name: str) -> None:
        """Delete it; one that is gone already is fine."""

    def names(self, prefix: str) -> list[str]:
        """The names that start with `prefix`, sorted."""

    def uri(self, name: str) -> str:
        """The `s3://` URI of an object, there or not."""


class Kind(StrEnum):
    """What a message tells."""

    REJECTED = "rejected"  # files failed their contract, or their job failed
    WARNED = "warned"  # files were published with warnings
    APPROVED = "approved"  # rejected files were published by a person's word
    HELD = "held"  # files wait for a contract
    EXPIRING = "expiring"  # the branch of a rejected batch is deleted soon
    WAITING = "waiting"  # no job gets through to files, for whatever reason but theirs


@dataclass(frozen=True, kw_only=True)
class ToldFile:
    """One file in a message, with its reasons, and how many rows failed of how many where that is known."""

    key: str
    reasons: tuple[str, ...]
    rows: int = 0
    failing_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class Message:
    """What a person is told. `commands` are what to run next; all text may hold anything a stranger wrote."""

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
    """Tells people."""

    def tell(self, message: Message) -> None:
        """Send one message."""


class Clock(Protocol):
    """Time and randomness, so that tests own both."""

    def now(self) -> datetime:
        """The time, in UTC."""

    def nonce(self) -> str:
        """Eight hex digits that nobody else has."""
