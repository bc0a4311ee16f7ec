"""Parquet's footer, read by Arrow: a file of plain columns, as any writer makes it. Any other file is handed over.

Spark's own reader is the reference for what a file is. So nothing is told here of a file that is strange, damaged, or
beyond a limit: Spark finds the fault, and words it.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.audit.advice import Fault
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import Limits, beyond_limits
from lakegate.audit.schema.fit import UNKNOWN_TYPE, FileColumn
from lakegate.audit.schema.inspection import EMPTY, Inspection
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS

_MAGIC = b"PAR1"
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD")
_ENCODINGS = {"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"}
_OTHER_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_TYPES: Mapping[tuple[str, str], str] = {
    ("BOOLEAN", "NONE"): "boolean",
    ("INT32", "NONE"): "int",
    ("INT32", "INT8"): "tinyint",
    ("INT32", "INT16"): "smallint",
    ("INT32", "INT32"): "int",
    ("INT64", "NONE"): "bigint",
    ("INT64", "INT64"): "bigint",
    ("FLOAT", "NONE"): "float",
    ("DOUBLE", "NONE"): "double",
    ("BYTE_ARRAY", "STRING"): "string",
    ("BYTE_ARRAY", "NONE"): "binary",
    ("INT32", "DATE"): "date",
}
_READ_AS: Mapping[str, tuple[pa.DataType, ...]] = {
    "boolean": (pa.bool_(),),
    "tinyint": (pa.int8(),),
    "smallint": (pa.int16(),),
    "int": (pa.int32(),),
    "bigint": (pa.int64(),),
    "float": (pa.float32(),),
    "double": (pa.float64(),),
    "string": (pa.string(), pa.large_string(), pa.string_view()),
    "binary": (pa.binary(), pa.large_binary(), pa.binary_view()),
    "date": (pa.date32(), pa.date64()),
}
"""Arrow's types of each type. A file may carry a schema of Arrow's own, by which Arrow would read something else."""


def inspect(file: JobFile, body: Any, limits: Limits) -> Inspection:
    """Return the file's rows and columns; the body may be a file that is mapped into memory. Raise HandedOver if it is
    anything but an ordinary file within its limits.
    """
    if not body:
        return Inspection(file=file, faults=(EMPTY,))
    if body[: len(_MAGIC)] != _MAGIC:
        raise HandedOver(f"{_name(file)} is no parquet file.")
    try:
        parquet = pq.ParquetFile(pa.BufferReader(body))
        about, schema = parquet.metadata, parquet.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise HandedOver(f"{_name(file)} has no footer that Arrow reads.") from error
    _check(file, about, len(body), limits)
    columns = tuple(_column(file, about.schema.column(at), schema.field(at)) for at in range(about.num_columns))
    return Inspection(file=file, rows=about.num_rows, columns=columns)


def uncompressed_size(body: bytes) -> int:
    """Return how many bytes the footer says that the file's pages have uncompressed."""
    return _size(pq.ParquetFile(io.BytesIO(body)).metadata)


def unreadable(body: Any) -> str:
    """Return why nobody can read a footer, in Arrow's words; "" if somebody may."""
    try:
        pq.ParquetFile(pa.BufferReader(body))
    except pa.ArrowNotImplementedError:
        return ""
    except (pa.ArrowException, OSError, ValueError) as error:
        return str(error).splitlines()[0]
    return ""


def footer_faults(body: Any, limits: Limits) -> tuple[Fault, ...]:
    """Return the fault of a file that says itself that it is beyond a limit; none if Arrow does not read its footer."""
    try:
        about = pq.ParquetFile(pa.BufferReader(body)).metadata
    except (pa.ArrowException, OSError, ValueError):
        return ()
    first = beyond_limits(limits, row_groups=about.num_row_groups, columns=about.num_columns)
    return first or beyond_limits(limits, rows=about.num_rows, uncompressed=_size(about))


def _size(about: pq.FileMetaData) -> int:
    return sum(int(about.row_group(at).total_byte_size) for at in range(about.num_row_groups))


def _check(file: JobFile, about: pq.FileMetaData, length: int, limits: Limits) -> None:
    groups = [about.row_group(at) for at in range(about.num_row_groups)]
    columns, schema = about.num_columns, about.schema.to_arrow_schema()
    measures = {"rows": about.num_rows, "uncompressed": _size(about), "row_groups": len(groups), "columns": columns}
    if beyond_limits(limits, bytes=length, footer=about.serialized_size, nesting=1, **measures):
        raise HandedOver(f"{_name(file)} is beyond a limit of its contract.")
    if not columns or len(schema) != columns or any(pa.types.is_nested(field.type) for field in schema):
        raise HandedOver(f"{_name(file)} has nested columns, or none.")
    rows_in_groups = sum(group.num_rows for group in groups)
    if rows_in_groups != about.num_rows or any(min(group.num_rows, group.total_byte_size) < 0 for group in groups):
        raise HandedOver(f"{_name(file)} has a footer that contradicts itself.")
    if any(key in _OTHER_CALENDAR for key in about.metadata or {}) or _is_of_spark_2(about):
        raise HandedOver(f"{_name(file)} was written by an old Spark, whose days may follow another calendar.")
    for group in groups:
        _check_pages(file, [group.column(at) for at in range(columns)], length)


def _is_of_spark_2(about: pq.FileMetaData) -> bool:
    version = (about.metadata or {}).get(b"org.apache.spark.version", b"")
    return bool(b"" < version < b"3")


def _check_pages(file: JobFile, chunks: list[pq.ColumnChunkMetaData], length: int) -> None:
    if any(chunk.compression not in _CODECS or not _ENCODINGS.issuperset(chunk.encodings) for chunk in chunks):
        raise HandedOver(f"{_name(file)} is compressed or encoded in a rare way.")
    for chunk in chunks:
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
            start = min(start, chunk.dictionary_page_offset)
        size = chunk.total_compressed_size
        if chunk.file_path or start < 0 or size < 0 or start + size > length:
            raise HandedOver(f"{_name(file)} has a footer that contradicts itself.")


def _column(file: JobFile, column: pq.ColumnSchema, field: pa.Field) -> FileColumn:
    """Return the column as Spark would read it."""
    if column.name != field.name or column.max_repetition_level or column.max_definition_level > 1:
        raise HandedOver(f"Column {display_name(field.name)} of {_name(file)} is no plain column.")
    kind = spark_type(column)
    if kind is None or not _is_read_so(kind, field.type):
        raise HandedOver(f"Column {display_name(field.name)} of {_name(file)} is of a type that only Spark knows.")
    return FileColumn(name=field.name, type=kind)


def spark_type(column: pq.ColumnSchema) -> str | None:
    """Return the Spark SQL type of a column; None if it is another than the usual ones."""
    logical = column.logical_type
    name = logical.type
    if name == "UNKNOWN":
        return UNKNOWN_TYPE if json.loads(logical.to_json()) == {"Type": "Null"} else None
    if name == "INT":  # signed or unsigned
        return _TYPES.get((column.physical_type, column.converted_type.replace("_", "")))
    if name == "TIMESTAMP":
        return _moment(json.loads(logical.to_json()))
    if name == "DECIMAL":
        return f"decimal({column.precision},{column.scale})" if column.precision <= MOST_DIGITS else None
    return _TYPES.get((column.physical_type, name))


def _moment(logical_type: Mapping[str, object]) -> str | None:
    if logical_type.get("timeUnit") not in ("microseconds", "milliseconds"):
        return None
    return "timestamp" if logical_type.get("isAdjustedToUTC") is True else "timestamp_ntz"


def _is_read_so(kind: str, read: pa.DataType) -> bool:
    value = read.value_type if pa.types.is_dictionary(read) else read
    if kind == UNKNOWN_TYPE:
        return bool(pa.types.is_null(value))
    if kind.startswith("decimal("):
        return bool(pa.types.is_decimal(value)) and kind == f"decimal({value.precision},{value.scale})"
    if kind.startswith("timestamp"):
        return (
            bool(pa.types.is_timestamp(value))
            and value.unit in ("us", "ms")
            and (kind == "timestamp") == bool(value.tz)
        )
    return value in _READ_AS[kind]


def _name(file: JobFile) -> str:
    return f"File {file.key}"
