"""Commits by PyIceberg, each made once. Its own repetitions may last half an hour, which no function has, and a table's
properties may ask for more of them; and what a repetition commits to is a state that nobody has looked at.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import UpdatesAndRequirements
from pyiceberg.table.update.snapshot import _FastAppendFiles


def one_try(table: Table) -> Transaction:
    """Return a transaction of the table whose commit is tried once."""
    table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"  # of this copy alone: the table keeps its own
    return table.transaction()


@contextmanager
def one_commit(table: Table) -> Iterator[Transaction]:
    """Yield a transaction of the table that makes a snapshot, and is committed once at its end. A commit that is
    refused because it is there already, as its request was delivered twice, is made.
    """
    transaction = one_try(table)
    try:
        with transaction:
            yield transaction
    except CommitFailedException:
        snapshot_id = transaction.table_metadata.current_snapshot_id
        if snapshot_id is None or table.catalog.load_table(table.name()).snapshot_by_id(snapshot_id) is None:
            raise


def append(
    table: Table, transaction: Transaction, files: Iterable[DataFile], summary: Mapping[str, str] | None = None
) -> None:
    """Append the data files in one snapshot, each under its own partition spec. PyIceberg's own append takes all for
    files of the table's default one.
    """
    producer = _Append(
        operation=Operation.APPEND, transaction=transaction, io=table.io, snapshot_properties=dict(summary or {})
    )
    for file in files:
        producer.append_data_file(file)
    producer.commit()


def stage_append(
    table: Table, files: Iterable[DataFile], branch: str, summary: Mapping[str, str]
) -> tuple[int, UpdatesAndRequirements]:
    """Write the manifests of an append to one of the table's own branches. Return the id of its snapshot, and what a
    commit of it changes and requires.
    """
    producer = _Append(
        operation=Operation.APPEND,
        transaction=table.transaction(),
        io=table.io,
        snapshot_properties=dict(summary),
        branch=branch,
    )
    for file in files:
        producer.append_data_file(file)
    return producer.snapshot_id, producer.updates()


class _Append(_FastAppendFiles):
    """An append with a manifest for each partition spec."""

    def updates(self) -> UpdatesAndRequirements:
        return self._commit()

    def _manifests(self) -> list[ManifestFile]:
        by_spec = groupby(sorted(self._added_data_files, key=attrgetter("spec_id")), key=attrgetter("spec_id"))
        return [*(self._manifest_of_added(number, files) for number, files in by_spec), *self._existing_manifests()]

    def _manifest_of_added(self, spec: int, files: Iterable[DataFile]) -> ManifestFile:
        with self.new_manifest_writer(self.spec(spec)) as writer:
            for file in files:
                entry = ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=self._snapshot_id,
                    sequence_number=None,
                    file_sequence_number=None,
                    data_file=file,
                )
                writer.add(entry)
        return writer.to_manifest_file()
