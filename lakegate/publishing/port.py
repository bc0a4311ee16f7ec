"""Port of a catalog, as far as publishing needs it: branches, the tables on them, and the merge. Its scope is the whole
catalog, as a branch of Nessie's has all tables, or one table, as Iceberg's own branches have.

A commit is named by an opaque text: its contents never change, and outlive its branch. Methods raise Conflict if a
named branch, or a commit, is gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from lakegate.audit.ref import Ref
from lakegate.landing.receipts import Receipt

MAIN = "main"
Record_contra = TypeVar("Record_contra", contravariant=True)


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
    other_keys: frozenset[str] = frozenset()


class Branches(Protocol):
    """Isolated lines of commits that are made from main. Nothing on a branch shows on main, or on another branch."""

    def head(self, branch: str) -> str | None:
        """Return the branch's head, or None if there is no such branch."""

    def list_branches(self) -> list[Branch]:
        """Return all open branches whose names start with `wap-`."""

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


@dataclass(frozen=True, kw_only=True)
class TableIdentity:
    """Facts that must be equal on two sides before data files move between them; otherwise a new attempt is made."""

    uuid: str
    fields: tuple[tuple[int, str, str], ...]  # field id, dotted name, type
    last_id: int  # the highest field id ever assigned: ids of dropped columns are not reused
    partitions: str
    contract_hash: str
    names: str = ""  # how readers find the columns of data files without field ids


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """A difference between a table's files at an earlier and a later commit, as paths: data files that only the later
    one has (`adds`) or only the earlier one (`removes`), and delete files present on one side only (`deletes`),
    ignoring removed ones that no longer hid any row.
    """

    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()


class Tables(Protocol):
    """Iceberg metadata on the catalog's branches: no data is read or written."""

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        """Return the table's identity at a ref, or None if there is no table."""

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Append exactly these data files of the table at `source` to the table on `branch`, by metadata alone.

        Raise Refused if a path is not among the source's data files, or is on the branch already.
        """

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Create the table on `branch`, which has none, as the one at `source` with only these of its data files, by
        metadata alone.

        Raise Refused if there is another table already, or a path is not among the source's data files.
        """

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        """Give the table on `branch` the columns, types and properties (the contract's hash among them) that the one at
        `source` has beyond `base`, the commit that `source` was made from: under the same field ids, by metadata alone.

        Raise Refused if the table on the branch differs from the one at the base.
        """

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        """Compare the table's data files, and its delete files, between two refs, each with a table or without.

        Files that both have cost nothing, however many they are. Raise Refused if an added one is listed twice.
        """


class Publisher(Protocol[Record_contra]):
    """Publish a branch atomically, never forced: main gets all that the branch changed, or nothing, and only while main
    holds what the branch was made from in all of that.
    """

    def merge(self, branch: str, head: str, record: Record_contra) -> None:
        """Publish exactly `head` of the branch on main, in one commit that carries the record.

        Raise Conflict if main changed a table or receipt that the branch changed too. Repeating it is harmless.
        """
