"""The one append, by PyIceberg: data files with rows of one file version and one partition each, in a single commit.

It never repeats a commit. PyIceberg's own retries are off, and nothing is deleted: a commit may have been made whose
answer is lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO, _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from lakegate.adapters.iceberg import iceberg_errors
from lakegate.adapters.iceberg.commits import append, one_commit, one_try
from lakegate.adapters.iceberg.specs import NAMES, add_specs, names_of
from lakegate.adapters.lake import LakeIO
from lakegate.audit.errors import HandedOver
from lakegate.counts import count

_LONGEST = 200  # bytes of a text that stands in a data file's path: with more, storage may refuse the path


class DataIO(LakeIO):
    """Access to data files, which deletes none."""

    def delete(self, location: Any) -> None:
        """Delete nothing: what a failed write leaves is named by no table."""


def write(table: Table, rows: pa.Table, io: PyArrowFileIO, partitions: int) -> list[DataFile]:
    """Write the rows of one file version as data files of the table, without a commit. Raise HandedOver if they make
    more than so many partitions, or something that PyIceberg cannot write.
    """
    _check_partitions(table, rows, partitions)
    with iceberg_errors(f"writing data files of {'.'.join(table.name())}"):
        try:
            files = list(_dataframe_to_data_files(table.metadata, rows, io))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, NotImplementedError) as error:
            raise HandedOver("The rows are some that PyIceberg does not write.") from error
    if sum(file.record_count for file in files) != rows.num_rows:
        raise HandedOver("PyIceberg has lost rows between partitions.")
    for file in files:
        file.spec_id = table.metadata.default_spec_id  # PyIceberg notes it of files alone that it has read
    return files


def partitions_of(spec: PartitionSpec, schema: Schema, rows: pa.Table) -> pa.Table:
    """Return the partitions that the rows are in: a column for each of the spec's fields, one at least."""
    parts = []
    for field in spec.fields:
        source = schema.find_field(field.source_id)
        values = field.transform.pyarrow_transform(source.field_type)(rows.column(source.name))
        parts.append(values)
    names = [str(at) for at in range(len(parts))]
    return pa.Table.from_arrays(parts, names=names).group_by(names).aggregate([])


def _check_partitions(table: Table, rows: pa.Table, most: int) -> None:
    if not table.spec().fields:
        return
    found = partitions_of(table.spec(), table.schema(), rows)
    if found.num_rows > most:
        raise HandedOver(
            f"A file has rows in {count(found.num_rows, 'partition')}, and the express engine writes {most:,}."
        )
    texts = [row for row in found.to_pylist() if _length(row.values()) > _LONGEST]
    if texts:
        raise HandedOver("A file has long texts in partition columns.")


def _length(values: Iterable[Any]) -> int:
    return sum(len(value.encode()) for value in values if isinstance(value, str))


def commit(table: Table, files: Sequence[DataFile], registered: PartitionSpec | None = None) -> None:
    """Append the data files in one commit, some of them `registered` under this spec. Raise OutcomeUnknown if nobody
    knows whether it was made.
    """
    with (
        iceberg_errors(f"appending to {'.'.join(table.name())}", changes=True),
        one_commit(table) as transaction,
    ):
        if registered:
            add_specs(table, transaction, [registered])
            if not names_of(table):
                transaction.set_properties({NAMES: table.schema().name_mapping.model_dump_json()})
        append(table, transaction, files)


def set_properties(table: Table, values: Mapping[str, str]) -> None:
    """Set properties of the table, in one commit. Raise OutcomeUnknown as `commit`."""
    with (
        iceberg_errors(f"setting properties of {'.'.join(table.name())}", changes=True),
        one_try(table) as transaction,
    ):
        transaction.set_properties(dict(values))


def replace(table: Table, gone: Iterable[DataFile], files: Iterable[DataFile]) -> None:
    """Put data files in the place of others, in one commit. Raise OutcomeUnknown as `commit`."""
    with (
        iceberg_errors(f"replacing data files of {'.'.join(table.name())}", changes=True),
        one_commit(table) as transaction,
        transaction.update_snapshot().overwrite() as overwrite,
    ):
        for file in gone:
            overwrite.delete_data_file(file)
        for file in files:
            overwrite.append_data_file(file)
