"""The one append, by PyIceberg: data files with rows of one file version and one partition each, in a single commit.

It never repeats a commit. PyIceberg's own retries are off, and nothing is deleted: a commit may have been made whose
answer is lost.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import pyarrow_to_schema, write_file
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionFieldValue, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, WriteTask

from lakegate.adapters.iceberg.commits import append, one_commit, one_try
from lakegate.adapters.iceberg.errors import iceberg_errors
from lakegate.audit.errors import HandedOver
from lakegate.counts import count

_LONGEST = 200  # bytes of a text in a data file's path: with more, storage may refuse the path
Values = tuple[Any, ...]
"""Of a partition, in the order of its table's partition fields."""


def write(
    table: Table, rows: pa.Table, io: FileIO, partitions: int, write_id: uuid.UUID | None = None
) -> list[DataFile]:
    """Write the rows of one file version as data files of the table, without a commit; the names of all end with
    `write_id`. Raise HandedOver if they make more than so many partitions, or something that PyIceberg cannot write.
    """
    with iceberg_errors(f"writing data files of {'.'.join(table.name())}"):
        try:
            parts = _parts(table, rows, partitions)
            files = list(
                write_file(io=io, table_metadata=table.metadata, tasks=_tasks(table, parts, write_id or uuid.uuid4()))
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, NotImplementedError) as error:
            raise HandedOver("The rows are some that PyIceberg does not write.") from error
    if sum(file.record_count for file in files) != rows.num_rows:
        raise HandedOver("PyIceberg has lost rows between partitions.")
    for file in files:
        file.spec_id = table.metadata.default_spec_id  # PyIceberg notes it of files alone that it has read
    return files


def _tasks(table: Table, parts: Iterable[tuple[Values, pa.Table]], write_id: uuid.UUID) -> Iterator[WriteTask]:
    schema, spec = table.schema(), table.spec()
    for number, (values, rows) in enumerate(parts):
        yield WriteTask(
            write_uuid=write_id,
            task_id=number,
            schema=pyarrow_to_schema(rows.schema, name_mapping=schema.name_mapping),
            record_batches=rows.to_batches(),
            partition_key=partition_key(spec, schema, values) if values else None,
        )


def partition_key(spec: PartitionSpec, schema: Schema, values: Sequence[Any]) -> PartitionKey:
    """Return the partition in which the spec's fields have these values, in their order."""
    field_values = [
        PartitionFieldValue(field=field, value=value) for field, value in zip(spec.fields, values, strict=True)
    ]
    return PartitionKey(field_values=field_values, partition_spec=spec, schema=schema)


def _parts(table: Table, rows: pa.Table, limit: int) -> list[tuple[Values, pa.Table]]:
    """Return the rows of each partition, in their order. PyIceberg itself looks at all rows again for each of them."""
    fields = table.spec().fields
    if not rows.num_rows or not fields:
        return [((), rows)] if rows.num_rows else []
    values = _values(table.spec(), table.schema(), rows)
    order = [(name, "ascending") for name in values.column_names]
    groups = values.group_by(values.column_names).aggregate([([], "count_all")]).sort_by(order)
    group_rows = [tuple(row.values()) for row in groups.to_pylist()]
    _check_partitions(group_rows, limit)
    if len(group_rows) > 1:
        rows = rows.take(pc.sort_indices(values, sort_keys=order))
    counts = [number for *_, number in group_rows]
    starts = accumulate(counts, initial=0)
    return [(tuple(key), rows.slice(start, number)) for (*key, number), start in zip(group_rows, starts, strict=False)]


def _values(spec: PartitionSpec, schema: Schema, rows: pa.Table) -> pa.Table:
    """Return the values of the spec's fields, one at least, for each row."""
    columns = [_of_field(field, schema, rows) for field in spec.fields]
    return pa.Table.from_arrays(columns, names=[str(at) for at in range(len(columns))])


def _of_field(field: PartitionField, schema: Schema, rows: pa.Table) -> pa.Array:
    """Return each row's value of a partition field, computed once for the same value of the column."""
    source = schema.find_field(field.source_id)
    column = rows.column(source.name).combine_chunks().dictionary_encode(null_encoding="encode")
    return field.transform.pyarrow_transform(source.field_type)(column.dictionary).take(column.indices)


def _check_partitions(partitions: Sequence[Values], limit: int) -> None:
    if len(partitions) > limit:
        raise HandedOver(
            f"A file has rows in {count(len(partitions), 'partition')}, and the express engine writes {limit:,}."
        )
    if any(_length(values) > _LONGEST for values in partitions):
        raise HandedOver("A file has long texts in partition columns.")


def _length(values: Iterable[Any]) -> int:
    return sum(len(value.encode()) for value in values if isinstance(value, str))


def commit(table: Table, files: Sequence[DataFile]) -> None:
    """Append the data files in one commit. Raise OutcomeUnknown if nobody knows whether it was made."""
    with (
        iceberg_errors(f"appending to {'.'.join(table.name())}", changes=True),
        one_commit(table) as transaction,
    ):
        append(table, transaction, files)


def set_properties(table: Table, values: Mapping[str, str]) -> None:
    """Set properties of the table, in one commit. Raise OutcomeUnknown as `commit`."""
    with (
        iceberg_errors(f"setting properties of {'.'.join(table.name())}", changes=True),
        one_try(table) as transaction,
    ):
        transaction.set_properties(dict(values))


def replace(table: Table, old_files: Iterable[DataFile], files: Iterable[DataFile]) -> None:
    """Put data files in the place of others, in one commit. Raise OutcomeUnknown as `commit`."""
    with (
        iceberg_errors(f"replacing data files of {'.'.join(table.name())}", changes=True),
        one_commit(table) as transaction,
        transaction.update_snapshot().overwrite() as overwrite,
    ):
        for file in old_files:
            overwrite.delete_data_file(file)
        for file in files:
            overwrite.append_data_file(file)
