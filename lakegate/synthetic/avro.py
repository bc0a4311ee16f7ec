"""Made-up rows as an Avro file, as its specification has it: one block, every value or null, nothing compressed."""

import json
import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pyarrow as pa

from lakegate.audit.plan import Plan
from lakegate.audit.types import Array, Atom, Map, Struct, Type, digits, parse
from lakegate.errors import Misconfigured

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAGIC = b"Obj\x01"

Encoder = Callable[[Any], bytes]


def encoded(rows: pa.Table, plan: Plan) -> bytes:
    """The file. Raises Misconfigured where Avro has no such names or types."""
    types = {column.name: parse(column.type) for column in plan.columns if column.name in rows.column_names}
    try:
        schema, encode = _record(Struct(types), "made_up")
    except ValueError as error:
        raise Misconfigured(f"table {plan.table}: no Avro file can be made up: {error}") from error
    about = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    body = b"".join(map(encode, rows.to_pylist()))
    sync = sha256(body).digest()[:16]
    head = _long(len(about)) + b"".join(_text(name) + _bytes(said) for name, said in about.items()) + b"\0"
    block = _long(rows.num_rows) + _bytes(body) + sync if rows.num_rows else b""
    return _MAGIC + head + sync + block


def _record(kind: Struct, name: str) -> tuple[object, Encoder]:
    """Records have names, each its own."""
    parts: Mapping[str, tuple[object, Encoder]] = {
        field: _nullable(part, f"{name}_{at}") for at, (field, part) in enumerate(kind.fields.items())
    }
    if wrong := next((field for field in parts if not _NAME.fullmatch(field)), None):
        raise ValueError(f"{wrong!r} is no name there: names are letters, digits and _")
    fields = [{"name": field, "type": said} for field, (said, _) in parts.items()]
    encoders = {field: encode for field, (_, encode) in parts.items()}
    return (
        {"type": "record", "name": name, "fields": fields},
        lambda row: b"".join(encode(row[field]) for field, encode in encoders.items()),
    )


def _nullable(kind: Type, name: str) -> tuple[object, Encoder]:
    said, encode = _typed(kind, name)
    return ["null", said], lambda value: _long(0) if value is None else _long(1) + encode(value)


def _typed(kind: Type, name: str) -> tuple[object, Encoder]:
    match kind:
        case Struct():
            return _record(kind, name)
        case Array(element):
            said, encode = _nullable(element, name)
            return {"type": "array", "items": said}, lambda value: _blocks(list(map(encode, value)))
        case Map(Atom("string"), value):
            said, encode = _nullable(value, name)
            return (
                {"type": "map", "values": said},
                lambda pairs: _blocks([_text(key) + encode(each) for key, each in pairs]),
            )
        case Atom() if found := digits(kind):
            precision, scale = found
            said = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
            return said, lambda value: _bytes(_unscaled(value, scale))
        case Atom(atom) if atom in _ATOMS:
            return _ATOMS[atom]
    raise ValueError(f"it has no type for {kind}")


def _long(value: int) -> bytes:
    """Seven bits a byte, the lowest first, the sign in the last bit."""
    left, out = value << 1 if value >= 0 else ~(value << 1), bytearray()
    while left > 0x7F:  # noqa: PLR2004 - what seven bits hold
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def _bytes(value: bytes) -> bytes:
    return _long(len(value)) + value


def _text(value: str) -> bytes:
    return _bytes(value.encode())


def _blocks(items: list[bytes]) -> bytes:
    """An array's or a map's items, and that there are no more."""
    return _long(len(items)) + b"".join(items) + _long(0) if items else _long(0)


def _unscaled(value: Decimal, scale: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    whole: int = int("".join(map(str, digits))) * 10 ** (scale + int(exponent)) * (-1 if sign else 1)
    return whole.to_bytes(whole.bit_length() // 8 + 1, signed=True)


def _days(value: date) -> bytes:
    return _long((value - _EPOCH.date()).days)


def _microseconds(value: datetime) -> bytes:
    at = value if value.tzinfo else value.replace(tzinfo=UTC)
    return _long((at - _EPOCH) // timedelta(microseconds=1))


def _of(kind: str, logical: str) -> Mapping[str, str]:
    return {"type": kind, "logicalType": logical}


_ATOMS: Mapping[str, tuple[object, Encoder]] = {
    "boolean": ("boolean", lambda value: bytes([value])),
    **dict.fromkeys(("tinyint", "smallint", "int"), ("int", _long)),
    "bigint": ("long", _long),
    "float": ("float", struct.Struct("<f").pack),
    "double": ("double", struct.Struct("<d").pack),
    "string": ("string", _text),
    "binary": ("bytes", _bytes),
    "date": (_of("int", "date"), _days),
    "timestamp": (_of("long", "timestamp-micros"), _microseconds),
    "timestamp_ntz": (_of("long", "local-timestamp-micros"), _microseconds),
}
