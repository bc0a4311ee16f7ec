"""Arrow's types of Spark SQL's, as readers and made-up rows have them."""

import pyarrow as pa

from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, parse
from lakegate.errors import Misconfigured

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(kind: str | Type) -> pa.DataType:
    """Return the arrow type of a Spark SQL type."""
    match parse(kind) if isinstance(kind, str) else kind:
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields):
            return pa.struct([pa.field(name, arrow_type(field_kind)) for name, field_kind in fields.items()])
        case Atom() as atom if size := digits(atom):
            return pa.decimal128(*size)
        case Atom(name) if name in _TYPES:
            return _TYPES[name]
    raise Misconfigured(f"a column of type {kind} has no type of Arrow")
