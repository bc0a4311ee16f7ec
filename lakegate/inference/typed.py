"""Sample files of typed formats: parquet, ORC and Avro, with each column's type as Spark would read it."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from lakegate.adapters.avro_blocks import Records
from lakegate.adapters.decoding import TooLarge, bounded, orc_batches, parquet_batches
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.faults import NANOSECONDS
from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, leaves
from lakegate.express.footer import spark_type
from lakegate.inference.avro_moments import out_of_range
from lakegate.inference.sample import NoContract, Sample, check_names, held, unfit

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
_ORC = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("ns"): "timestamp",
}
_UNNAMED = re.compile("_col[0-9]+")
_REFORM = date(1582, 10, 15)
_AVRO = {"boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double"}
_AVRO |= {"string": "string", "bytes": "binary", "null": UNKNOWN_TYPE}
_LOGICAL = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp_ntz",
    ("long", "local-timestamp-micros"): "timestamp_ntz",
}
_UNREAD = {"BROTLI", "LZO", "BYTE_STREAM_SPLIT"}
"""Compressions and encodings of parquet that Spark has no code for."""
_MOST_DIGITS = 38
_NO_FIELDS = "is a struct without fields, which a table cannot hold"
_WIDER = ({"int", "bigint"}, {"float", "double"})


class _Strange(Exception):
    """A column has a type that no table holds, or that Spark does not read."""


def parquet(path: Path) -> Sample:
    """Return a parquet file. Raise NoContract if Arrow cannot read it, or Spark a column of it."""
    try:
        file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")  # Spark reads no finer
        _check_codecs(path, file.metadata)
        columns = _typed(path, file.schema_arrow, _leaves(file))
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
        said = f"it is written with {min(names & _UNREAD)}, which Spark does not read"
        raise unfit(path.name, f"{said}: write it with another compression or encoding, such as zstd")


def _whole(path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return the rows as one table. Raise NoContract if they take more memory than a sample may."""
    try:
        pieces = list(bounded(batches))
    except TooLarge as error:
        raise unfit(path.name, f"{error}: give a part of it") from error
    return pa.Table.from_batches(pieces, pieces[0].schema if pieces else schema)


def _leaves(file: pq.ParquetFile) -> Callable[[pa.Field], Type]:
    schema = file.metadata.schema
    columns = iter([schema.column(at) for at in range(len(schema))])
    return lambda field: _tree(field.type, lambda _: _of_parquet(next(columns)))


def _typed(path: Path, schema: pa.Schema, kind: Callable[[pa.Field], Type]) -> dict[str, Type]:
    found = {}
    check_names(path.name, schema.names)
    for field in schema:
        try:
            found[field.name] = kind(field)
        except _Strange as error:
            raise unfit(path.name, f"column {display_name(field.name)} {error}") from error
    return found


def _tree(kind: pa.DataType, atom: Callable[[pa.DataType], str]) -> Type:
    """Return the type with its parts in their order; `atom` names those without parts."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if pa.types.is_struct(kind):
        if not kind.num_fields:
            raise _Strange(_NO_FIELDS)
        return Struct({field.name: _tree(field.type, atom) for field in kind})
    if pa.types.is_map(kind):
        return Map(_tree(kind.key_type, atom), _tree(kind.item_type, atom))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Array(_tree(kind.value_type, atom))
    return Atom(atom(kind))


def _of_parquet(column: pq.ColumnSchema) -> str:
    if known := spark_type(column):
        return known
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
        columns = _typed(path, file.schema, lambda field: _tree(field.type, _of_orc))
        rows = _whole(path, orc_batches(path), file.schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unfit(path.name, "it cannot be read as ORC: it is not whole, or damaged") from error
    if columns and all(map(_UNNAMED.fullmatch, columns)):
        raise unfit(path.name, "its columns have no names: they are called _col0, _col1, …")
    sample = _sample(path, FileKind.ORC, columns, rows)
    for name, kind in columns.items():
        _check_calendar(sample, name, kind)
    return sample


def _of_orc(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if kind not in _ORC:
        raise _Strange(f"is {kind}, which Spark does not read from ORC")
    return _ORC[kind]


def _check_calendar(sample: Sample, name: str, kind: Type) -> None:
    if str(kind) not in ("date", "timestamp"):
        return
    first = pc.min(sample.rows.column(name).cast(pa.date32(), safe=False)).as_py()
    if first and first < _REFORM:
        why = f"column {display_name(name)} has days before 1582-10-15, which Spark does not read from ORC as they are"
        raise unfit(sample.name, why)


def avro(path: Path) -> Sample:
    """Return an Avro file. Raise NoContract if it cannot be read, or a column of it."""
    try:
        with path.open("rb") as file:
            columns, rows = _of_records(path, Records(file))
    except NoContract:
        raise
    except UnicodeDecodeError:
        raise unfit(path.name, "it has text that is not UTF-8") from None
    except Exception as error:
        why = _out_of_range(path) or "it cannot be read as Avro: it is not whole, or not as its schema says"
        raise unfit(path.name, why) from error
    return _sample(path, FileKind.AVRO, columns, rows)


def _out_of_range(path: Path) -> str:
    """Return which moment of a file no reader takes; "" if that is not its fault."""
    try:
        with path.open("rb") as file:
            return out_of_range(Records(file))
    except Exception:  # noqa: BLE001 - it is broken in another way, which was found first
        return ""


def _of_records(path: Path, records: Records) -> tuple[dict[str, Type], pa.Table]:
    if not isinstance(records.schema, dict) or records.schema.get("type") != "record":
        raise unfit(path.name, "its rows are not records")
    columns = _avro_columns(path, records.schema)
    schema = pa.schema([(name, held(kind)) for name, kind in columns.items()])
    pieces = records.pieces(_as_spark(records.schema))
    return columns, _whole(path, (_avro_rows(path, piece, schema) for piece in pieces), schema)


def _as_spark(said: Any) -> Any:
    """Return an Avro schema without the logical types that Spark passes over, such as the time of day and UUIDs."""
    if isinstance(said, list):
        return [_as_spark(part) for part in said]
    if not isinstance(said, dict):
        return said
    is_known = said.get("logicalType") == "decimal" or (str(said.get("type")), said.get("logicalType")) in _LOGICAL
    return {word: _as_spark(part) for word, part in said.items() if is_known or word != "logicalType"}


def _avro_columns(path: Path, schema: Mapping[str, Any]) -> dict[str, Type]:
    known: dict[str, Type] = {}
    found = {}
    check_names(path.name, [field["name"] for field in schema["fields"]])
    for field in schema["fields"]:
        try:
            found[field["name"]] = _of_avro(field["type"], known)
        except _Strange as error:
            raise unfit(path.name, f"column {display_name(field['name'])} {error}") from error
    return found


def _of_avro(said: Any, known: dict[str, Type]) -> Type:
    """Return the Spark SQL type of an Avro type. `known` are the named types so far."""
    if isinstance(said, list):
        return _of_union([each for each in said if each != "null"], known)
    if isinstance(said, str):
        if said not in _AVRO and said not in known:
            raise _Strange(f"is {said}, which is a part of itself")
        return known.get(said) or Atom(_AVRO[said])
    kind = said["type"]
    if kind == "record" and not said["fields"]:
        raise _Strange(_NO_FIELDS)
    if kind == "record":
        found: Type = Struct({field["name"]: _of_avro(field["type"], known) for field in said["fields"]})
    elif kind == "array":
        return Array(_of_avro(said["items"], known))
    elif kind == "map":
        return Map(Atom("string"), _of_avro(said["values"], known))
    else:
        found = Atom(_avro_atom(said))
    if "name" in said:
        known[said["name"]] = found
    return found


def _of_union(branches: list[Any], known: dict[str, Type]) -> Type:
    if not branches:
        return Atom(UNKNOWN_TYPE)
    kinds = [_of_avro(each, known) for each in branches]
    if len(kinds) == 1:
        return kinds[0]
    for wider in _WIDER:
        if {str(kind) for kind in kinds} == wider:
            return Atom(max(wider, key=len))
    raise _Strange("is a union of several types: split it into columns")


def _avro_atom(said: Mapping[str, Any]) -> str:
    kind, logical = said["type"], said.get("logicalType")
    if kind in ("bytes", "fixed") and logical == "decimal":
        if said["precision"] > _MOST_DIGITS:
            raise _Strange(f"is a decimal of {said['precision']} digits, and a table holds {_MOST_DIGITS}")
        return f"decimal({said['precision']},{said.get('scale', 0)})"
    if kind in ("bytes", "fixed"):
        return "binary"
    if kind == "enum":
        return "string"
    return _LOGICAL.get((kind, str(logical)), _AVRO[kind])


def _avro_rows(path: Path, records: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [pa.array([record[field.name] for record in records], field.type) for field in schema]
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise unfit(path.name, "it has a value that is none of its column's type") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _sample(path: Path, kind: FileKind, columns: dict[str, Type], rows: pa.Table) -> Sample:
    for name in columns:
        _check_text(path, name, rows.column(name))
    nested = {name: of for name, of in columns.items() if not isinstance(of, Atom)}
    if empty := [name for name, of in nested.items() if any(part == Atom(UNKNOWN_TYPE) for _, part in leaves(of))]:
        raise unfit(path.name, f"column {display_name(empty[0])} has a part without any value, and so without a type")
    return Sample(name=path.name, form=FileFormat(kind=kind), columns=columns, rows=rows, size=path.stat().st_size)


def _check_text(path: Path, name: str, values: pa.ChunkedArray) -> None:
    """Raise NoContract if a column, or a part of it, has text that is not UTF-8: Arrow reads it as it is."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        said = f"column {display_name(name)} has text that is not UTF-8: write it as UTF-8"
        raise unfit(path.name, said) from None
