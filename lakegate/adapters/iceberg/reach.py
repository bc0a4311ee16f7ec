"""Files that readers of a table may read, found by following its metadata files in storage."""

from collections.abc import Container, Iterable, Iterator

from pyiceberg.manifest import ManifestFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from lakegate.adapters.iceberg.files import MetadataIO
from lakegate.adapters.iceberg.manifests import AT_ONCE, fetch_manifests, live_entries
from lakegate.landing.chunks import in_chunks


def reached_files(io: MetadataIO, metadata: Iterable[str], known_uris: Container[str]) -> Iterator[str]:
    """See `Tables.reached`. Raise FileNotFoundError if a file of a current snapshot is missing."""
    for chunk in in_chunks(dict.fromkeys(metadata), AT_ONCE):
        unread = [uri for uri in chunk if uri not in known_uris]
        io.look_ahead(unread)
        tables = {uri: FromInputFile.table_metadata(io.new_input(uri)) for uri in unread}
        currents = filter(None, (table.current_snapshot() for table in tables.values()))
        io.look_ahead(
            dict.fromkeys(snapshot.manifest_list for snapshot in currents if snapshot.manifest_list not in known_uris)
        )
        for uri, table in tables.items():
            yield from _of_table(io, table, known_uris)
            yield uri


def _of_table(io: MetadataIO, table: TableMetadata, known_uris: Container[str]) -> Iterator[str]:
    for snapshot in table.snapshots:
        try:
            yield from _of_snapshot(io, snapshot, known_uris)
        except FileNotFoundError:  # somebody has expired the snapshot, and a later metadata file lists it no more
            if snapshot.snapshot_id == table.current_snapshot_id:
                raise
    yield from (file.statistics_path for file in (*table.statistics, *table.partition_statistics))


def _of_snapshot(io: MetadataIO, snapshot: Snapshot, known_uris: Container[str]) -> Iterator[str]:
    if snapshot.manifest_list in known_uris:
        return
    unread: dict[str, ManifestFile] = {
        manifest.manifest_path: manifest
        for manifest in snapshot.manifests(io)
        if manifest.manifest_path not in known_uris
    }
    for manifest in fetch_manifests(io, list(unread.values())):
        yield from (entry.data_file.file_path for entry in live_entries(io, manifest))
        yield manifest.manifest_path
    yield snapshot.manifest_list
