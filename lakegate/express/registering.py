"""Registration: a copy of the landed parquet file itself becomes a data file of the table, if readers find in it just
what was audited.

They find its columns by name, the id of its file version in its partition, and rows by the statistics in its footer.
So the footer is held against the rows, all of which are read. Of any other file the rows are appended.
"""

import io
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    PYARROW_PARQUET_FIELD_ID_KEY,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from lakegate.adapters.iceberg.specs import ids_by_name, names_of
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import display_name
from lakegate.express import footer
from lakegate.express.appending import partition_key, partitions_of
from lakegate.express.field_ids import field_ids
from lakegate.express.tables import spark_type

_BYTES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())  # bounds of these may be shortened


class Unregistered(Exception):
    """A file that cannot be a data file of the table, for this reason: a plain sentence without a row's value."""


def data_file(table: Table, spec: PartitionSpec, path: str, body: bytes, rows: pa.Table, file: str) -> DataFile:
    """Return the entry of a copy, at the path, of a file version with these rows. Raise Unregistered if it is none."""
    about = pq.read_metadata(io.BytesIO(body))
    _check_columns(table, about, _field_ids(body, about))
    _check_statistics(about, rows)
    schema = table.schema()
    by_name = {field.name: field.field_id for field in schema.fields}
    try:
        told = data_file_statistics_from_parquet_metadata(
            parquet_metadata=about,
            stats_columns=compute_statistics_plan(schema, table.properties),
            parquet_column_mapping=by_name,
        ).to_serialized_dict()
    except (ValueError, TypeError, NotImplementedError) as error:
        raise Unregistered("its statistics are some that PyIceberg does not read") from error
    _tell_of_file(told, by_name[FILE_COLUMN], file, rows.num_rows)
    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=_partition(spec, schema, rows),
        file_size_in_bytes=len(body),
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **told,
    )
    made.spec_id = spec.spec_id
    return made


def _tell_of_file(told: dict[str, dict[int, object]], column: int, file: str, rows: int) -> None:
    """Add what is true of the column that readers make of the partition: it holds the file version in each row."""
    told["value_counts"][column], told["null_value_counts"][column] = rows, 0
    told["lower_bounds"][column] = told["upper_bounds"][column] = file.encode()


def _field_ids(body: bytes, about: pq.FileMetaData) -> list[int | None]:
    """Return the field ids of the file's columns. Raise Unregistered if Arrow, which may take them from a schema of its
    own in the file, has others.
    """
    told = [(field.metadata or {}).get(PYARROW_PARQUET_FIELD_ID_KEY) for field in about.schema.to_arrow_schema()]
    try:
        found = field_ids(body)
    except (ValueError, IndexError) as error:
        raise Unregistered("its footer is not as parquet has it") from error
    if [None if it is None else str(it).encode() for it in found] != told:
        raise Unregistered("its columns have field ids, and readers do not agree on them")
    return found


def _check_columns(table: Table, about: pq.FileMetaData, ids: Sequence[int | None]) -> None:
    """Raise Unregistered unless the file's columns, found by name, are some of the table's in Iceberg's own types."""
    fields = {field.name: field for field in table.schema().fields}
    columns = [about.schema.column(at) for at in range(about.num_columns)]
    for column in columns:
        name = display_name(column.name)
        field = fields.get(column.name)
        if field is None or column.name == FILE_COLUMN:
            raise Unregistered(f"its column {name} is not in the table, which may get one of that name")
        if not footer.is_as_iceberg_writes(column) or footer.spark_type(column) != spark_type(field.field_type):
            raise Unregistered(f"its column {name} is not stored as the table's type {field.field_type}")
    names = [column.name for column in columns]
    if any(it is not None for it in ids) and list(ids) != [fields[name].field_id for name in names]:
        raise Unregistered("its columns have field ids, and they are not the table's")
    _check_names(table, names)


def _check_names(table: Table, names: Sequence[str]) -> None:
    """Raise Unregistered if the table's own mapping of names has others for these columns."""
    found = ids_by_name(table.name_mapping() if names_of(table) else table.schema().name_mapping)
    own = {field.name: field.field_id for field in table.schema().fields}
    if any(found.get(name) != own[name] for name in names):
        raise Unregistered("the table maps the names of columns (schema.name-mapping.default) in another way")


def _check_statistics(about: pq.FileMetaData, rows: pa.Table) -> None:
    """Raise Unregistered unless what the footer says of each piece of a column is true: readers pass over pieces by
    it.
    """
    names = [about.schema.column(at).name for at in range(about.num_columns)]
    for group, piece in _pieces(about, rows):
        for at, name in enumerate(names):
            chunk = group.column(at)
            if chunk.physical_type == "BOOLEAN" and "PLAIN" not in chunk.encodings:
                raise Unregistered(f"its column {display_name(name)} is encoded as Spark's reader of data files cannot")
            if chunk.bloom_filter_offset is not None:
                raise Unregistered("it has Bloom filters, which cannot be checked")
            if chunk.num_values != piece.num_rows or not _is_true(chunk.statistics, piece.column(name)):
                raise Unregistered(f"its footer has statistics of column {display_name(name)} that are not its rows'")


def _pieces(about: pq.FileMetaData, rows: pa.Table) -> Iterator[tuple[pq.RowGroupMetaData, pa.Table]]:
    at = 0
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        yield group, rows.slice(at, group.num_rows)
        at += group.num_rows


def _is_true(told: pq.Statistics | None, values: pa.ChunkedArray) -> bool:
    if told is None:
        return True
    if told.has_null_count and told.null_count != values.null_count:
        return False
    if not told.has_min_max:
        return True
    found = pc.min_max(_physical(values))
    low, high = found["min"].as_py(), found["max"].as_py()
    if low is None:
        return False
    least, most = (_as_number(values.type, bound) for bound in (told.min_raw, told.max_raw))
    if values.type in _BYTES:
        return bool(least <= low and high <= most)
    return bool(least == low and high == most)


def _physical(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as parquet compares them."""
    kind = values.type
    if pa.types.is_date(kind):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return values.cast(pa.int64())
    return values.cast(pa.large_binary()) if kind in _BYTES else values


def _as_number(kind: pa.DataType, bound: object) -> object:
    """Return a bound of a footer on the scale of `_physical`."""
    if not pa.types.is_decimal(kind):
        return bound
    whole = int.from_bytes(bound, "big", signed=True) if isinstance(bound, bytes) else int(str(bound))
    return Decimal(f"{whole}E-{kind.scale}")  # exact: arithmetic rounds to 28 digits


def _partition(spec: PartitionSpec, schema: Schema, rows: pa.Table) -> Record:
    found = partitions_of(spec, schema, rows)
    if found.num_rows != 1:
        raise Unregistered("it has rows of several partitions")
    return partition_key(spec, schema, [column[0].as_py() for column in found.columns]).partition
