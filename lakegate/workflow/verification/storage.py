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
    needed = FilesByReference(location=service.tables.location())
    unread = {name: tuple(_follow(service, needed, name, head, since)) for name, head, since in _lines(service)}
    missing = dict(needed.names)
    for folder in needed.folders():
        for file in warehouse.files(folder):
            missing.pop(file.uri, None)
    lost: dict[str, list[str]] = {name: [] for name in unread}
    for uri, name in sorted(missing.items()):
        lost[name].append(uri)
    files = Counter(needed.names.values())
    return tuple(
        Needs(reference=name, files=files[name], lost=tuple(lost[name]), unread=why) for name, why in unread.items()
    )


def _lines(service: Service) -> Iterator[tuple[str, str, str]]:
    """Yield each reference's name, its head, and the commit since which its tables are needed, main first."""
    head = service.branches.head(MAIN) or ""
    yield MAIN, head, head
    for each in service.branches.references():
        if each.name != MAIN:
            yield each.name, each.head, each.base or each.head


def _follow(service: Service, needed: FilesByReference, name: str, head: str, since: str) -> Iterator[str]:
    """Add what a reference needs. Yield the reason for each table that cannot be followed to all of its files."""
    try:
        files = set(service.branches.metadata_files(head, since))
    except Conflict as error:
        yield str(error)
        return
    for file in sorted(files, key=lambda file: (file.table, file.uri)):
        try:
            for uri in () if file.is_view else service.tables.reached([file.uri], needed):
                needed.add(uri, name)
        except Refused as error:
            yield f"{file.table}: {error}"
        needed.add(file.uri, name)
