"""Ports of the service's catalog by what they promise: branches, a ledger of decisions, and a publisher.

They have what publishing needs (`lakegate.publishing.port`), with the whole catalog as its scope, and more. One adapter
may keep all three promises, as Nessie's does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lakegate.audit.ref import Ref
from lakegate.landing.lifecycle import Decision, State, state_of
from lakegate.landing.receipts import Receipt
from lakegate.publishing import port


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A branch or a tag of anybody's, with its head. `base` is the commit of main that a branch was made from. It is
    None for main, for a tag, and for a branch that has no commit in common with main.
    """

    name: str
    head: str
    base: str | None = None


@dataclass(frozen=True, kw_only=True)
class MetadataFile:
    """A metadata file, by its URI, that a commit has for a table or a view."""

    table: str
    uri: str
    is_view: bool = False


class Branches(port.Branches, Protocol):
    """Branches of the whole catalog."""

    def references(self) -> list[Reference]:
        """Return all branches and tags, whoever made them."""

    def metadata_files(self, head: str, start: str | datetime) -> Iterator[MetadataFile]:
        """Yield the metadata files of all tables and views at `start`, and those of every commit after it, up to
        `head`. `start` is a commit (a hash) that `head` was made from, or a moment: then the commits that were a head
        since that moment count. A file may come several times.
        """

    def table_folders(self, commit: str, tables: Iterable[str]) -> dict[str, str]:
        """Return the URI of the folder that holds the files of each of these tables at a commit (a hash), by name.

        It costs one look-up. A table that is not there is absent.
        """


@dataclass(frozen=True, kw_only=True)
class DecidedFile:
    """One file version in a decision's commit. `rows` are its rows in the table, without the `quarantined` ones; 0 if
    none was read. `replaced` is the number of rows, of the versions that it `replaces`, that they took the place of.
    If its contract observes, enforcing `would_reject` it, or `would_quarantine` so many of its rows.
    """

    key: str
    version_id: str
    rows: int = 0
    quarantined: int = 0
    reasons: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    replaced: int = 0
    would_reject: bool = False
    would_quarantine: int = 0


@dataclass(frozen=True, kw_only=True)
class Record:
    """A decision's description in its commit on main: it becomes the commit's properties, and is read back from the
    log. `rest` files were too many to name; their receipts name them. What was audited and published has the `lane`.
    """

    decision: Decision
    table: str
    batch: str
    attempt: int
    files: tuple[DecidedFile, ...]
    rest: int = 0
    reason: str = ""
    by: str = ""
    lane: str = ""

    @property
    def replaced_rows(self) -> int:
        """The rows of other versions that its files are published in place of."""
        return sum(file.replaced for file in self.files)

    @property
    def overrules(self) -> bool:
        """True if a person had files published that their audit rejected."""
        return self.decision is Decision.PUBLISHED and bool(self.by)


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """A decision read from main's log; if asked, `superseded` are the keys of rejected files that others now decide."""

    record: Record
    commit: str
    at: datetime
    superseded: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The state of its files, as far as the decision tells it: superseded if all of them are."""
        total = len(self.record.files) + self.record.rest
        return state_of(self.record.decision, superseded=0 < total <= len(self.superseded))


class Ledger(Protocol):
    """Receipts and decisions. A receipt on a branch is a claim; main's receipts and log are what was decided."""

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        """Return the receipts of these landing keys at a ref; keys without one are absent."""

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        """Return every receipt at a ref, in no order."""

    def commit_receipts(
        self, branch: str, expected: str, receipts: Iterable[Receipt], record: Record | None = None
    ) -> str:
        """Put receipts in one commit and return the new head. Raise Conflict if one changed on the branch since
        `expected`.

        `record` is given for a decision on main, None for a claim on a branch.
        """

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        """Restore these keys' receipts on a branch to their state at `base` (deleting those that base lacks), in one
        commit.
        """

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        """Delete the receipts of `keys` from main and replace those in `shorter`, in one commit that also raises the
        watermark, if one is given. Raise Conflict if one of them changed since `expected`.
        """

    def watermark(self) -> datetime | None:
        """Return main's watermark: all that landed before it is decided, or unrouted. None before compaction."""

    def decisions(
        self, limit: int, *, table: str | None = None, batch: str | None = None, before: str = ""
    ) -> Iterator[LogEntry]:
        """Return decisions from main's log, of one table, one batch or all, newest first; at most `limit` of them.
        Decisions of a batch are sought no further back than a day before the minute that it is named for. If a commit
        of main's is named, only those `before` it are returned: whoever reads page by page names the last one's.
        """


class Publisher(port.Publisher[Record], Protocol):
    """Publisher of a decision: rows and receipts come to main in one commit, which carries the record."""

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        """Repeat the changes from `base` to `commit` on a branch that is at `base`, in one new commit, without the
        receipts of the keys `without`; return the new head.

        The new commit does not descend from `commit`. Otherwise a catalog that has merged `commit` would look for
        conflicts from there on, and a merge of the new commit would take what it leaves out off main.
        """


class Catalog(Branches, Ledger, Publisher, Protocol):
    """All three ports by one adapter."""
