"""Ports of the catalog by what they promise: branches, a ledger of decisions, and a publisher.

One adapter may keep all three promises, as Nessie's does. A catalog whose branches are of single tables, as Iceberg's
own are, can keep them if a batch's receipts are in the snapshot that brings its rows.

A commit is named by its hash, an opaque text: its contents never change, and outlive its branch. Methods raise Conflict
if a named branch, or a commit, is gone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lakegate.audit.ref import Ref
from lakegate.landing.lifecycle import Decision, State, state_of
from lakegate.landing.receipts import Receipt

MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Branch:
    """An open `wap-*` branch and its head."""

    name: str
    head: str


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


class Branches(Protocol):
    """Isolated lines of commits that are made from main. Nothing on a branch shows on main, or on another branch."""

    def head(self, branch: str) -> str | None:
        """Return the branch's head, or None if there is no such branch."""

    def list_branches(self) -> list[Branch]:
        """Return all open branches whose names start with `wap-`."""

    def references(self) -> list[Reference]:
        """Return all branches and tags, whoever made them."""

    def metadata_files(self, head: str, since: str | datetime) -> Iterator[MetadataFile]:
        """Yield the metadata files of all tables and views at `since`, and those of every commit after it, up to
        `head`. `since` is a commit (a hash) that `head` was made from, or a moment: then the commits that were a head
        since that moment count. A file may come several times.
        """

    def create_branch(self, name: str, at: str) -> None:
        """Create a branch at any commit (a hash). Raise Conflict if it exists already."""

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        """Delete a branch, whatever its head, or only if its head is still `expected`; an absent one is fine."""

    def base(self, branch: str) -> str:
        """Return the commit of main that the branch was made from, before and after it is merged."""

    def changes(self, base: str, head: str) -> Changes:
        """Return the difference between a commit and a later one made from it (both hashes). Raise Refused if it was
        not made from it. The cost is that of the commits between them, independent of everything else.
        """

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        """Return those of these tables that differ between two commits (both hashes).

        It costs two look-ups, however much lies between. A table that was made or dropped has changed too.
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
class Note:
    """A decision's description in its commit on main: it becomes the commit's properties, and is read back from the
    log. `more` files were too many to name; their receipts tell of them. What was audited and published has the `lane`.
    """

    decision: Decision
    table: str
    batch: str
    attempt: int
    files: tuple[DecidedFile, ...]
    more: int = 0
    why: str = ""
    by: str = ""
    lane: str = ""

    @property
    def replaced(self) -> int:
        """The rows of other versions that its files are published in place of."""
        return sum(file.replaced for file in self.files)

    @property
    def overrules(self) -> bool:
        """True if a person had files published that their audit rejected."""
        return self.decision is Decision.PUBLISHED and bool(self.by)


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision read from main's log; if asked, `superseded` are the keys of rejected files that others now decide."""

    note: Note
    commit: str
    at: datetime
    superseded: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The state of its files, as far as the decision tells it: superseded if all of them are."""
        every = len(self.note.files) + self.note.more
        return state_of(self.note.decision, superseded=0 < every <= len(self.superseded))


class Ledger(Protocol):
    """Receipts and decisions. A receipt on a branch is a claim; main's receipts and log are what was decided."""

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        """Return the receipts of these landing keys at a ref; keys without one are absent."""

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        """Return every receipt at a ref, in no order."""

    def commit_receipts(self, branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        """Put receipts in one commit and return the new head. Raise Conflict if one changed on the branch since
        `expected`.

        `note` is given for a decision on main, None for a claim on a branch.
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
    ) -> Iterator[Decided]:
        """Return decisions from main's log, of one table, one batch or all, newest first; at most `limit` of them.
        Decisions of a batch are sought no further back than a day before the minute that it is named for. If a commit
        of main's is named, only those `before` it are returned: whoever reads page by page names the last one's.
        """


class Publisher(Protocol):
    """Publish a branch atomically, never forced: main gets all rows and receipts that the branch changed, or none, and
    only while main holds what the branch was made from in each of those tables and receipts.
    """

    def merge(self, branch: str, head: str, note: Note) -> None:
        """Publish exactly `head` of the branch on main, in one commit that carries the note.

        Raise Conflict if main changed a table or receipt that the branch changed too. Repeating it is harmless.
        """

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        """Repeat the changes from `base` to `commit` on a branch that stands at `base`, in one new commit, without the
        receipts of the keys `without`; return the new head.

        The new commit does not descend from `commit`. Otherwise a catalog that has merged `commit` would look for
        conflicts from there on, and a merge of the new commit would take what it leaves out off main.
        """


class Catalog(Branches, Ledger, Publisher, Protocol):
    """All three ports by one adapter."""
