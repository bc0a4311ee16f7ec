"""Rows of a Spark data frame as Arrow, exactly, all in this process.

Spark 4 makes Arrow of its own rows. Spark 3 has that for Pandas alone, and by an Arrow that knows no Java after 17: so
there rows come as Python's values, a piece at a time, and become Arrow of the data frame's own types here.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import types

from lakegate.errors import Misconfigured, Refused
from spark_jobs.appending import utf8
from spark_jobs.jvm.failures import FAILURES

_PIECE = 10_000  # rows
_ATOMS: dict[type[types.DataType], pa.DataType] = {
    types.BooleanType: pa.bool_(),
    types.ByteType: pa.int8(),
    types.ShortType: pa.int16(),
    types.IntegerType: pa.int32(),
    types.LongType: pa.int64(),
    types.FloatType: pa.float32(),
    types.DoubleType: pa.float64(),
    types.StringType: pa.string(),
    types.BinaryType: pa.binary(),
    types.DateType: pa.date32(),
    types.TimestampType: pa.timestamp("us", tz="UTC"),
    types.TimestampNTZType: pa.timestamp("us"),
    types.NullType: pa.null(),
}


def collect_rows(frame: Any) -> pa.Table:
    """Return the rows of a Spark data frame. Raise Misconfigured if Arrow, or Python, has no such values, and Refused
    if a text is not UTF-8.
    """
    try:
        if hasattr(frame, "toArrow"):
            return frame.toArrow()
        schema = pa.schema(_field(field.name, field.dataType, field.nullable) for field in frame.schema.fields)
        return pa.Table.from_batches(_sound_batches(frame, schema), schema)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise Misconfigured(f"the Spark data frame cannot become Arrow: {error}") from error


def _sound_batches(frame: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows. Raise Refused at a text that is not UTF-8: in Python's values its bytes would be replaced."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    try:
        yield from _batches(utf8.fail_at_broken(types, frame), schema)
    except FAILURES as error:
        if not utf8.is_broken(error):
            raise
        raise Refused(f"nothing is appended: {'; '.join(utf8.faults(types, frame))}") from error


def _batches(frame: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    plain = [_plain(field.dataType) for field in frame.schema.fields]
    for rows in _pieces(frame.toLocalIterator(prefetchPartitions=True)):
        columns = zip(plain, zip(*rows, strict=True), schema.types, strict=True)
        arrays = [pa.array(map(plainly, values), kind) for plainly, values, kind in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _pieces(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(rows)
    while piece := list(islice(rest, _PIECE)):
        yield piece


def _field(name: str, kind: types.DataType, nullable: bool) -> pa.Field:  # noqa: FBT001 - as Arrow has it
    return pa.field(name, _type(kind), nullable=nullable)


def _type(kind: types.DataType) -> pa.DataType:
    """Return Arrow's type of the same values. Raise TypeError if a table has no such values."""
    if isinstance(kind, types.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, types.ArrayType):
        return pa.list_(_field("element", kind.elementType, kind.containsNull))
    if isinstance(kind, types.MapType):
        return pa.map_(_type(kind.keyType), _field("value", kind.valueType, kind.valueContainsNull))
    if isinstance(kind, types.StructType):
        return pa.struct([_field(field.name, field.dataType, field.nullable) for field in kind.fields])
    if (atom := _ATOMS.get(type(kind))) is None:
        raise TypeError(f"no table has values of the type {kind.simpleString()}")
    return atom


def _plain(kind: types.DataType) -> Callable[[Any], Any]:
    """Return what makes of a value of this type what Arrow takes: an instant comes as a time of day in the zone of
    this machine, a struct without its names, and a map as a dictionary.
    """
    convert = _of(kind)
    return lambda value: None if value is None else convert(value)


def _of(kind: types.DataType) -> Callable[[Any], Any]:
    if isinstance(kind, types.TimestampType):
        return lambda value: value.astimezone(UTC)
    if isinstance(kind, types.ArrayType):
        element = _plain(kind.elementType)
        return lambda value: list(map(element, value))
    if isinstance(kind, types.MapType):
        key, item = _plain(kind.keyType), _plain(kind.valueType)
        return lambda value: [(key(name), item(member)) for name, member in value.items()]
    if isinstance(kind, types.StructType):
        parts = {field.name: _plain(field.dataType) for field in kind.fields}
        return lambda value: {name: part(member) for (name, part), member in zip(parts.items(), value, strict=True)}
    return lambda value: value
