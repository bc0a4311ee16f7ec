"""Sample files of typed formats: parquet, ORC and Avro, with each column's type as Spark would read it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from lakegate.adapters.avro_blocks import Records
from lakegate.adapters.decoding import TooLarge, orc_batches, parquet_batches, within_limit
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.faults import NANOSECONDS
from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS, Array, Atom, Map, Struct, Type, leaves
from lakegate.express.footer import spark_type
from lakegate.inference.sample import NoContract, Sample, check_names, unfit
from lakegate.reading.arrow import arrow_type

_PARQUET = {
    ("INT32", "UINT8"): "smallint",
    ("INT32", "UINT16"): "int",
    ("INT32", "UINT32"): "bigint",
    ("INT64", "UINT64"): "decimal(20,0)",
    ("INT96", "NONE"): "timestamp",
    ("FIXED_LEN_BYTE_ARRAY", "NONE"): "binary",
    ("BYTE_ARRAY", "ENUM"): "string",
    ("BYTE_ARRAY", "JSON"): "string",
    ("BYTE_ARRAY", "BSON"): "binary",
}
"""Types that Spark reads and the express lane hands over."""
_PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date")
_TYPES = {arrow_type(name): name for name in (*_PLAIN, "timestamp", "timestamp_ntz")} | {
    pa.timestamp("ms", "UTC"): "timestamp",
    pa.timestamp("ms"): "timestamp_ntz",
    pa.timestamp("ns"): "timestamp",  # of ORC, whose timestamps Spark reads so
    pa.null(): UNKNOWN_TYPE,
}
"""Spark's types of Arrow's, as ORC and Avro have them."""
_NO_NAME = re.compile("_col[0-9]+")
_REFORM = date(1582, 10, 15)
_AVRO: Mapping[tuple[str, str], pa.DataType] = {
    ("null", ""): pa.null(),
    ("boolean", ""): pa.bool_(),
    ("int", ""): pa.int32(),
    ("long", ""): pa.int64(),
    ("float", ""): pa.float32(),
    ("double", ""): pa.float64(),
    ("string", ""): pa.string(),
    ("enum", ""): pa.string(),
    ("bytes", ""): pa.binary(),
    ("fixed", ""): pa.binary(),
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
"""Arrow's types of Avro's, by the logical types that Spark knows."""
_YEARS = range(-719_162, 2_932_897)  # days from 1970 of the years 1 to 9999
_DAY = 86_400
_PARTS = {"ms": 1_000 * _DAY, "us": 1_000_000 * _DAY}  # of a day
_UNREAD = {"BROTLI", "LZO", "BYTE_STREAM_SPLIT"}
"""Compressions and encodings of parquet that Spark has no code for."""
_WIDER = ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))
Kind = TypeVar("Kind")


class _Strange(Exception):
    """A column has a type that no table holds, or that Spark does not read."""


def parquet(path: Path) -> Sample:
    """Return a parquet file. Raise NoContract if Arrow cannot read it, or Spark a column of it."""
    try:
        file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")  # Spark reads no finer
        _check_codecs(path, file.metadata)
        columns = _column_types(path, file.schema_arrow.names, file.schema_arrow.types, _leaves(file))
        rows = _whole(path, parquet_batches(path), file.schema_arrow)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unfit(path.name, "it cannot be read as parquet: it is not whole, or damaged") from error
    return _sample(path, FileKind.PARQUET, columns, rows)


def _check_codecs(path: Path, about: pq.FileMetaData) -> None:
    """Raise NoContract at a compression or an encoding of values that Spark does not read."""
    groups = map(about.row_group, range(about.num_row_groups))
    chunks = [group.column(at) for group in groups for at in range(about.num_columns)]
    names = {name for chunk in chunks for name in (chunk.compression, *chunk.encodings)}
    if names & _UNREAD:
        message = f"it is written with {min(names & _UNREAD)}, which Spark does not read"
        raise unfit(path.name, f"{message}: write it with another compression or encoding, such as zstd")


def _whole(path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return the rows as one table. Raise NoContract if they take more memory than a sample may."""
    try:
        pieces = list(within_limit(batches))
    except TooLarge as error:
        raise unfit(path.name, f"{error}: give a part of it") from error
    return pa.Table.from_batches(pieces, pieces[0].schema if pieces else schema)


def _leaves(file: pq.ParquetFile) -> Callable[[pa.DataType], Type]:
    schema = file.metadata.schema
    columns = iter([schema.column(at) for at in range(len(schema))])
    return lambda kind: _tree(kind, lambda _: _of_parquet(next(columns)))


def _column_types(
    path: Path, names: Sequence[str], types: Sequence[Any], convert: Callable[[Any], Kind]
) -> dict[str, Kind]:
    """Return the type of each column, converted from what the file says. Raise NoContract if a table has none such."""
    check_names(path.name, names)
    columns = {}
    for name, kind in zip(names, types, strict=True):
        try:
            columns[name] = convert(kind)
        except _Strange as error:
            raise unfit(path.name, f"column {display_name(name)} {error}") from error
    return columns


def _tree(kind: pa.DataType, atom: Callable[[pa.DataType], str]) -> Type:
    """Return the type with its parts in their order; `atom` names those without parts."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if pa.types.is_struct(kind):
        if not kind.num_fields:
            raise _Strange("is a struct without fields, which a table cannot hold")
        return Struct({field.name: _tree(field.type, atom) for field in kind})
    if pa.types.is_map(kind):
        return Map(_tree(kind.key_type, atom), _tree(kind.item_type, atom))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Array(_tree(kind.value_type, atom))
    return Atom(atom(kind))


def _of_parquet(column: pq.ColumnSchema) -> str:
    if kind := spark_type(column):
        return kind
    logical = column.logical_type.type
    name = column.converted_type.replace("_", "") if logical == "INT" else logical
    if other := _PARQUET.get((column.physical_type, name)):
        return other
    if logical == "TIMESTAMP":
        raise _Strange(NANOSECONDS)
    raise _Strange(f"is {column.physical_type} ({logical}), which Spark does not read from parquet")


def orc_file(path: Path) -> Sample:
    """Return an ORC file. Raise NoContract if Arrow cannot read it, or Spark a column of it."""
    try:
        file = orc.ORCFile(path)
        columns = _column_types(path, file.schema.names, file.schema.types, _of_arrow)
        rows = _whole(path, orc_batches(path), file.schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unfit(path.name, "it cannot be read as ORC: it is not whole, or damaged") from error
    if columns and all(map(_NO_NAME.fullmatch, columns)):
        raise unfit(path.name, "its columns have no names: they are called _col0, _col1, …")
    for name in (name for name, kind in columns.items() if str(kind) in ("date", "timestamp")):
        _check_calendar(path, name, rows.column(name))
    return _sample(path, FileKind.ORC, columns, rows)


def _of_arrow(kind: pa.DataType) -> Type:
    return _tree(kind, _atom)


def _atom(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if kind not in _TYPES:
        raise _Strange(f"is {kind}, which Spark does not read from ORC")
    return _TYPES[kind]


def _check_calendar(path: Path, name: str, values: pa.ChunkedArray) -> None:
    first = pc.min(values.cast(pa.date32(), safe=False)).as_py()
    if first and first < _REFORM:
        reason = (
            f"column {display_name(name)} has days before 1582-10-15, which Spark does not read from ORC as they are"
        )
        raise unfit(path.name, reason)


def avro(path: Path) -> Sample:
    """Return an Avro file. Raise NoContract if it cannot be read, or a column of it."""
    try:
        with path.open("rb") as file:
            rows = _of_records(path, Records(file))
    except NoContract:
        raise
    except UnicodeDecodeError:
        raise unfit(path.name, "it has text that is not UTF-8") from None
    except Exception as error:
        raise unfit(path.name, "it cannot be read as Avro: it is not whole, or not as its schema says") from error
    for name in rows.column_names:
        _check_years(path, name, rows.column(name))
    return _sample(path, FileKind.AVRO, _column_types(path, rows.schema.names, rows.schema.types, _of_arrow), rows)


def _of_records(path: Path, records: Records) -> pa.Table:
    if not isinstance(records.schema, dict) or records.schema.get("type") != "record":
        raise unfit(path.name, "its rows are not records")
    whole_schema: Any = fastavro.parse_schema(records.schema, expand=True)
    names, kinds = ([field[word] for field in whole_schema["fields"]] for word in ("name", "type"))
    schema = pa.schema(list(_column_types(path, names, kinds, _of_avro).items()))
    pieces = records.pieces(_as_stored(records.schema))
    return _whole(path, (_avro_rows(path, piece, schema) for piece in pieces), schema)


def _as_stored(schema: Any) -> Any:
    """Return an Avro schema by which moments are numbers: those of far-off years have no other form in Python."""
    if isinstance(schema, list):
        return [_as_stored(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_decimal = schema.get("logicalType") == "decimal"
    return {word: _as_stored(part) for word, part in schema.items() if is_decimal or word != "logicalType"}


def _of_avro(schema: Any) -> pa.DataType:
    """Return Arrow's type of an Avro type in which each name means itself."""
    if isinstance(schema, list):
        return _of_union([_of_avro(branch) for branch in schema if branch != "null"])
    if isinstance(schema, str):
        schema = {"type": schema}
    kind, logical = schema["type"], str(schema.get("logicalType", ""))
    if kind == "record":
        return pa.struct([(field["name"], _of_avro(field["type"])) for field in schema["fields"]])
    if kind == "array":
        return pa.list_(_of_avro(schema["items"]))
    if kind == "map":
        return pa.map_(pa.string(), _of_avro(schema["values"]))
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return _decimal(schema["precision"], schema.get("scale", 0))
    if (kind, "") not in _AVRO:
        raise _Strange(f"is {kind}, which is a part of itself")
    return _AVRO.get((kind, logical)) or _AVRO[kind, ""]


def _of_union(kinds: Sequence[pa.DataType]) -> pa.DataType:
    if len(kinds) < 2:  # noqa: PLR2004 - a union beside null
        return next(iter(kinds), pa.null())
    if wide := next((pair[1] for pair in _WIDER if {*kinds} == {*pair}), None):
        return wide
    raise _Strange("is a union of several types: split it into columns")


def _decimal(precision: int, scale: int) -> pa.DataType:
    if precision > MOST_DIGITS:
        raise _Strange(f"is a decimal of {precision} digits, and a table holds {MOST_DIGITS}")
    return pa.decimal128(precision, scale)


def _avro_rows(path: Path, records: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [pa.array([record[field.name] for record in records], field.type) for field in schema]
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise unfit(path.name, "it has a value that is none of its column's type") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_years(path: Path, name: str, values: pa.ChunkedArray) -> None:
    """Raise NoContract at a date or timestamp that no calendar of four digits has: readers fail at it."""
    for part in (part for chunk in values.chunks for part in _without_parts(chunk) if pa.types.is_temporal(part.type)):
        is_date = pa.types.is_date(part.type)
        day, numbers = 1 if is_date else _PARTS[part.type.unit], part.view(pa.int32() if is_date else pa.int64())
        early, late = pc.less(numbers, _YEARS.start * day), pc.greater_equal(numbers, _YEARS.stop * day)
        for number in numbers.filter(pc.or_(early, late))[:1]:
            logical = next(message for (_, message), kind in _AVRO.items() if kind == part.type)
            reason = f"column {display_name(name)} has the {logical} {number}, which is outside the years 1 to 9999"
            raise unfit(path.name, f"{reason}: write such values as null")


def _without_parts(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the values, of nested ones those of their parts."""
    if not pa.types.is_nested(values.type):
        yield values
    elif pa.types.is_map(values.type):
        yield from (*_without_parts(values.keys), *_without_parts(values.items))
    else:
        for part in values.flatten() if pa.types.is_struct(values.type) else [values.flatten()]:
            yield from _without_parts(part)


def _sample(path: Path, kind: FileKind, columns: dict[str, Type], rows: pa.Table) -> Sample:
    for name in columns:
        _check_text(path, name, rows.column(name))
    nested_types = {name: of for name, of in columns.items() if not isinstance(of, Atom)}
    if empty := [
        name for name, of in nested_types.items() if any(part == Atom(UNKNOWN_TYPE) for _, part in leaves(of))
    ]:
        raise unfit(path.name, f"column {display_name(empty[0])} has a part without any value, and so without a type")
    return Sample(name=path.name, form=FileFormat(kind=kind), columns=columns, rows=rows, size=path.stat().st_size)


def _check_text(path: Path, name: str, values: pa.ChunkedArray) -> None:
    """Raise NoContract if a column, or a part of it, has text that is not UTF-8: Arrow reads it as it is."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        message = f"column {display_name(name)} has text that is not UTF-8: write it as UTF-8"
        raise unfit(path.name, message) from None
