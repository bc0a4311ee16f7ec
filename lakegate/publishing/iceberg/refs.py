"""References of a table and the snapshots that they point to, as its metadata has them. It changes nothing."""

from collections.abc import Iterator, Mapping

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

NO_COMMIT = "0"
"""The commit before a table's first snapshot, or of a table that is not there yet."""


def snapshot_of(table: Table | None) -> int | None:
    """Return the snapshot that a table is loaded at."""
    return table.metadata.current_snapshot_id if table else None


def snapshot_at(table: Table, name: str) -> int | None:
    """Return the snapshot that a reference of the table points to; None if there is no such reference."""
    reference = table.metadata.refs.get(name)
    return None if reference is None else reference.snapshot_id


def commit_of(snapshot: int | None) -> str:
    """Return the name of the commit that a snapshot is."""
    return NO_COMMIT if snapshot is None else str(snapshot)


def table_at(table: Table, snapshot: int | None, properties: Mapping[str, str] | None = None) -> Table:
    """Return a copy of the table at one of its snapshots; None is before the first. It may have other properties, which
    the catalog does not get.
    """
    values = {**table.metadata.properties, **(properties or {})}
    metadata = table.metadata.model_copy(update={"current_snapshot_id": snapshot, "properties": values})
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog, table.config)


def ancestors(table: Table | None) -> Iterator[Snapshot]:
    """Yield the snapshots of a table at a state, as far as it knows them, the newest first."""
    snapshot = table.current_snapshot() if table else None
    while table and snapshot:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def base_of(head: Table) -> int | None:
    """Return the newest snapshot in the history of a branch, at its head, that ever was main's; None if it has come
    from none.
    """
    mains = {entry.snapshot_id for entry in head.metadata.snapshot_log} | {snapshot_at(head, MAIN_BRANCH)}
    return next((snapshot.snapshot_id for snapshot in ancestors(head) if snapshot.snapshot_id in mains), None)


def properties_of(snapshot: Snapshot | None) -> Mapping[str, str]:
    """Return the properties in a snapshot's summary that are nobody's but its writer's."""
    return snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
