"""Port of the tables: Iceberg metadata on the catalog's branches."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from lakegate.audit.ref import Ref


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
    one has (`added`) or only the earlier one (`removed`), and delete files present on one side only (`deletes`),
    ignoring removed ones that no longer hid any row.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
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

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        """Remove exactly these data files from the table on `branch`, by metadata alone.

        Raise Refused if one is not there.
        """

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        """Return the table's data files at a ref; empty if there is no table. Raise Refused if one is listed twice."""

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        """Compare the table's data files, and its delete files, between two refs, each with a table or without.

        Files that both have cost nothing, however many they are. Raise Refused if an added one is listed twice.
        """

    def location(self) -> str:
        """Return the URI of the folder that new tables are made in, without a slash at its end."""

    def reached(self, metadata: Iterable[str], known: Container[str]) -> Iterator[str]:
        """Yield the URIs of all files that a reader of these tables' metadata files may read: these themselves, and the
        manifests, data files, delete files and statistics of all their snapshots. A file may come several times.

        A metadata file or manifest that is in `known` is not opened again. The caller may put the files that are
        yielded in there: a manifest comes after the files that it lists.

        Raise Refused if a file is missing that a table's current snapshot needs. Another snapshot whose own files are
        missing cannot be read by anybody, so it reaches nothing.
        """
