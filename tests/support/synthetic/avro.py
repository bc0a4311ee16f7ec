"""Made-up rows as an Avro file: every value or null, nothing compressed, the same bytes for the same rows."""

import re
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO

import fastavro
import pyarrow as pa

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, parse
from lakegate.errors import Misconfigured

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ATOMS: Mapping[str, object] = {
    "boolean": "boolean",
    **dict.fromkeys(("tinyint", "smallint", "int"), "int"),
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}


def encoded(rows: pa.Table, plan: Plan) -> bytes:
    """Return the rows as an Avro file. Raise Misconfigured if Avro has no such names or types."""
    types = {column.name: parse(column.type) for column in plan.columns if column.name in rows.column_names}
    try:
        schema = _record(Struct(types), "made_up")
    except ValueError as error:
        raise Misconfigured(f"table {plan.table}: no Avro file can be made up: {error}") from error
    records, out = rows.to_pylist(maps_as_pydicts="strict"), BytesIO()
    marker = sha256(repr(records).encode()).digest()[:16]  # by default the library takes any
    fastavro.writer(out, schema, records, sync_marker=marker)
    return out.getvalue()


def _record(kind: Struct, name: str) -> dict[str, object]:
    """Return a record's schema, in which each record has a name of its own."""
    if wrong := next((field for field in kind.fields if not _NAME.fullmatch(field)), None):
        raise ValueError(f"{wrong!r} is no name there: names are letters, digits and _")
    fields = [
        {"name": field, "type": ["null", _typed(part, f"{name}_{at}")]}
        for at, (field, part) in enumerate(kind.fields.items())
    ]
    return {"type": "record", "name": name, "fields": fields}


def _typed(kind: Type, name: str) -> object:
    match kind:
        case Struct():
            return _record(kind, name)
        case Array(element):
            return {"type": "array", "items": ["null", _typed(element, name)]}
        case Map(Atom("string"), value):
            return {"type": "map", "values": ["null", _typed(value, name)]}
        case Atom() if found := digits(kind):
            precision, scale = found
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case Atom(atom) if atom in _ATOMS:
            return _ATOMS[atom]
    raise ValueError(f"it has no type for {kind}")
