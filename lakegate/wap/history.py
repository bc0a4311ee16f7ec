"""What snapshots say of the runs that made them: a run's key, and the appends that it brought. It changes nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakegate.audit.model.codec import from_json, to_json
from lakegate.errors import Refused
from lakegate.wap.port import Open

KEY, BROUGHT = "lakegate.key", "lakegate.appends"
"""Properties of a snapshot's summary: the key of the run that made it, and what it brought, as JSON."""
_WRITE = re.compile(r"-(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.[a-z]+")


@dataclass(frozen=True, kw_only=True)
class Append:
    """One append to a branch: its id, a name for people, and its rows. The names of its data files end with the id.
    Those of an append that lakegate did not make are listed as `paths`.
    """

    id: str
    name: str
    rows: int
    paths: tuple[str, ...] = ()


def summary(key: str, appends: Sequence[Append]) -> dict[str, str]:
    """Return the properties of the snapshot that brings these appends."""
    return {KEY: key, BROUGHT: to_json(tuple(appends))}


def appends_on(branch: Open) -> list[Append]:
    """Return what the branch holds beyond its base, in the order in which it came."""
    return [each for snapshot in snapshots(branch) for each in _appends(branch.head, snapshot)]


def has_key(branch: Open, key: str) -> bool:
    """Return True if a snapshot of the branch tells the key, so that main's history will."""
    return any(_said(snapshot, KEY) == key for snapshot in snapshots(branch))


def snapshots(branch: Open) -> list[Snapshot]:
    """Return the branch's snapshots beyond its base, the oldest first. Raise Refused if some have expired."""
    base = branch.base.metadata.current_snapshot_id if branch.base else None
    found: list[Snapshot] = []
    for snapshot in ancestors(branch.head):
        if snapshot.snapshot_id == base:
            return found[::-1]
        found.append(snapshot)
    if base is not None:
        raise Refused(f"branch {branch.name}: its history does not reach back to main any more. Begin a new run")
    return found[::-1]


def ancestors(table: Table | None) -> Iterator[Snapshot]:
    """Yield the snapshots of a table at a state, as far as it knows them, the newest first."""
    snapshot = table.current_snapshot() if table else None
    while table and snapshot:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def published(main: Table | None, key: str) -> Snapshot | None:
    """Return the newest snapshot of main's history that tells the key."""
    return next((it for it in ancestors(main) if _said(it, KEY) == key), None)


def published_appends(main: Table | None, key: str) -> list[Append]:
    """Return what the run of this key brought to main."""
    mine = [it for it in ancestors(main) if _said(it, KEY) == key]
    return [each for snapshot in mine[::-1] for each in _appends(main, snapshot)]


def append_of(path: str, appends: Iterable[Append]) -> str | None:
    """Return the id of the append that a data file is of; None if it is of none of them."""
    found = _WRITE.search(PurePosixPath(path).name)
    told = found["id"] if found else ""
    return next((each.id for each in appends if each.id == told or path in each.paths), None)


def _appends(table: Table | None, snapshot: Snapshot) -> list[Append]:
    told = _said(snapshot, BROUGHT)
    if told is not None:
        return list(from_json(tuple[Append, ...], told.encode()))
    paths = _added(table, snapshot)
    if not paths:
        return []
    number = snapshot.snapshot_id
    rows = sum(paths.values())
    return [Append(id=f"snapshot-{number}", name=f"snapshot {number}", rows=rows, paths=tuple(paths))]


def _said(snapshot: Snapshot, name: str) -> str | None:
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(name)


def _added(table: Table | None, snapshot: Snapshot) -> dict[str, int]:
    """Return the rows of each data file that a snapshot added."""
    if table is None:
        return {}
    mine = [
        it
        for it in snapshot.manifests(table.io)
        if it.added_snapshot_id == snapshot.snapshot_id and it.content is ManifestContent.DATA
    ]
    entries = [entry for manifest in mine for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)]
    added = [entry.data_file for entry in entries if entry.snapshot_id == snapshot.snapshot_id]
    return {file.file_path: file.record_count for file in added}
