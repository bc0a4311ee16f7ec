"""Notes of snapshots on the runs that made them: a run's key, and the appends that it brought. It changes nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakegate.audit.model.codec import from_json, to_json
from lakegate.publishing.iceberg.refs import properties_of

KEY, APPENDS, SNAPSHOT = "lakegate.key", "lakegate.appends", "lakegate.snapshot"
"""Notes in a snapshot's summary, or of a merge: the key of a run, what it brought, as JSON, and its last snapshot."""
_WRITE = re.compile(r"-(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-[0-9]+)*\.[a-z]+")


@dataclass(frozen=True, kw_only=True)
class Append:
    """One append to a branch: its id, a name for people, and its rows. The names of its data files end with the id;
    others are listed as `paths`, or by the id of Spark's that their names have.
    """

    id: str
    name: str
    rows: int
    paths: tuple[str, ...] = ()


def summary(key: str, appends: Sequence[Append]) -> dict[str, str]:
    """Return the properties of the snapshot that brings these appends."""
    return {KEY: key, APPENDS: to_json(tuple(appends))}


def appends_on(steps: Iterable[Table]) -> list[Append]:
    """Return what a branch holds beyond its base, in the order in which it came: the table after each change of it."""
    return [append for table in steps for append in _appends(table)]


def appends_in(records: Iterable[Mapping[str, str]]) -> list[Append]:
    """Return what a published run has brought."""
    return [append for record in records if APPENDS in record for append in _read(record[APPENDS])]


def append_of(path: str, appends: Iterable[Append]) -> str | None:
    """Return the id of the append that a data file is of; None if it is of none of them."""
    names = {path, written_by(path)}
    return next((append.id for append in appends if names & {append.id, *append.paths}), None)


def written_by(path: str) -> str:
    """Return the id of the write that a data file's name has; the path if it has none."""
    match = _WRITE.search(PurePosixPath(path).name)
    return match["id"] if match else path


def _appends(table: Table) -> list[Append]:
    snapshot = table.current_snapshot()
    text = properties_of(snapshot).get(APPENDS)
    if text is not None:
        return _read(text)
    paths = _added_rows(table, snapshot) if snapshot else {}
    if not paths or snapshot is None:
        return []
    name = f"snapshot {snapshot.snapshot_id}"
    return [Append(id=name.replace(" ", "-"), name=name, rows=sum(paths.values()), paths=tuple(paths))]


def _read(text: str) -> list[Append]:
    return list(from_json(tuple[Append, ...], text.encode()))


def _added_rows(table: Table, snapshot: Snapshot) -> dict[str, int]:
    """Return the rows of each data file that a snapshot added."""
    manifests = [
        manifest
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot.snapshot_id and manifest.content is ManifestContent.DATA
    ]
    entries = (entry for new in manifests for entry in new.fetch_manifest_entry(table.io, discard_deleted=True))
    files = [entry.data_file for entry in entries if entry.snapshot_id == snapshot.snapshot_id]
    return {file.file_path: file.record_count for file in files}
