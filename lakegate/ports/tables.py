"""Port of the service's tables: what publishing needs of them (`lakegate.publishing.port`), and more."""

from collections.abc import Container, Iterable, Iterator
from typing import Protocol

from lakegate.audit.ref import Ref
from lakegate.publishing import port


class Tables(port.Tables, Protocol):
    """Tables of the whole catalog, and the files of storage that they need."""

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        """Remove exactly these data files from the table on `branch`, by metadata alone.

        Raise Refused if one is not there.
        """

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        """Return the table's data files at a ref; empty if there is no table. Raise Refused if one is listed twice."""

    def location(self) -> str:
        """Return the URI of the folder that new tables are made in, without a slash at its end."""

    def readable_files(self, metadata: Iterable[str], skip: Container[str]) -> Iterator[str]:
        """Yield the URIs of all files that a reader of these tables' metadata files may read: these themselves, and the
        manifests, data files, delete files and statistics of all their snapshots. A file may come several times.

        A metadata file or manifest that is in `skip` is not opened again. The caller may put the files that are
        yielded in there: a manifest comes after the files that it lists.

        Raise Refused if a file is missing that a table's current snapshot needs. Another snapshot whose own files are
        missing cannot be read by anybody, so it reaches nothing.
        """
