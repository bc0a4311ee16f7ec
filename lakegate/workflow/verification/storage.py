"""Files that the tables of each reference need, as against those that are in storage."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lakegate.errors import Conflict, Refused
from lakegate.ports import MAIN, Warehouse
from lakegate.ports.warehouse import normal_uri, table_folder
from lakegate.workflow.service import Service
from lakegate.workflow.verification.facts import Needs


@dataclass(kw_only=True)
class FilesByReference:
    """Files that references need, each by the first one that needs it; it is a container of their URIs."""

    location: str
    names: dict[str, str] = field(default_factory=dict)  # the reference, by URI

    def __contains__(self, uri: object) -> bool:
        return normal_uri(str(uri)) in self.names

    def add(self, uri: str, name: str) -> None:
        self.names.setdefault(normal_uri(uri), name)

    def folders(self) -> set[str]:
        """Return the folders to list: a table's, or the one that a file is in where somebody put it elsewhere."""
        return {table_folder(uri, self.location) or uri.rpartition("/")[0] for uri in self.names}


def read_needs(service: Service, warehouse: Warehouse) -> tuple[Needs, ...]:
    """Return the needs of main, and of every other reference beyond main's. Of main only the head counts, and of a
    branch all its commits and its base, because an approval reads the commit that was audited.
    """
    files_by_reference = FilesByReference(location=service.tables.location())
    unread = {
        name: tuple(_follow(service, files_by_reference, name, head, start)) for name, head, start in _lines(service)
    }
    missing_files = dict(files_by_reference.names)
    for folder in files_by_reference.folders():
        for file in warehouse.files(folder):
            missing_files.pop(file.uri, None)
    lost_files: dict[str, list[str]] = {name: [] for name in unread}
    for uri, name in sorted(missing_files.items()):
        lost_files[name].append(uri)
    files = Counter(files_by_reference.names.values())
    return tuple(
        Needs(reference=name, files=files[name], lost_files=tuple(lost_files[name]), unread=reasons)
        for name, reasons in unread.items()
    )


def _lines(service: Service) -> Iterator[tuple[str, str, str]]:
    """Yield each reference's name, its head, and the commit since which its tables are needed, main first."""
    head = service.branches.head(MAIN) or ""
    yield MAIN, head, head
    for reference in service.branches.references():
        if reference.name != MAIN:
            yield reference.name, reference.head, reference.base or reference.head


def _follow(service: Service, files_by_reference: FilesByReference, name: str, head: str, start: str) -> Iterator[str]:
    """Add what a reference needs. Yield the reason for each table that cannot be followed to all of its files."""
    try:
        files = set(service.branches.metadata_files(head, start))
    except Conflict as error:
        yield str(error)
        return
    for file in sorted(files, key=lambda file: (file.table, file.uri)):
        try:
            for uri in () if file.is_view else service.tables.readable_files([file.uri], files_by_reference):
                files_by_reference.add(uri, name)
        except Refused as error:
            yield f"{file.table}: {error}"
        files_by_reference.add(file.uri, name)
