"""Files that claim, repeat or nest more than anybody's do: bytes by size, made without any library of their formats.

Nothing here is judged.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

SYNC = b"s" * 16
NOTHINGS = {"type": "record", "name": "r", "fields": [{"name": name, "type": "null"} for name in ("id", "name")]}


def number(value: int) -> bytes:
    """As Avro has it."""
    left, out = (value << 1) ^ (value >> 63), b""
    while left > 127:
        left, out = left >> 7, out + bytes([left & 127 | 128])
    return out + bytes([left])


def text(of: bytes) -> bytes:
    return number(len(of)) + of


def avro(schema: object, blocks: Iterable[tuple[int, bytes]] = (), codec: str = "null") -> bytes:
    """An Avro file of such blocks: how many rows each claims, and its bytes."""
    said = {"avro.schema": schema if isinstance(schema, bytes) else json.dumps(schema).encode()}
    said |= {"avro.codec": codec.encode()} if codec != "null" else {}
    pairs = b"".join(text(name.encode()) + text(value) for name, value in said.items())
    head = b"Obj\x01" + number(len(said)) + pairs + b"\0" + SYNC
    return head + b"".join(number(rows) + text(body) + SYNC for rows, body in blocks)


def record(*fields: tuple[str, object], name: str = "r") -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields]}


def rows_of_nothing(rows: int) -> bytes:
    """An Avro file of 165 bytes with as many rows as one likes."""
    return avro(NOTHINGS, [(rows, b"")])


def tiny_blocks(count: int) -> bytes:
    """An Avro file of so many blocks of one row."""
    return avro(record(("id", "int")), [(1, b"\x02")] * count)


def inflating(size: int) -> bytes:
    """An Avro file of one row, a text of so many letters in a thousandth of the bytes."""
    letters = zlib.compressobj(9, wbits=-15)
    packed = letters.compress(b"\x02" + number(size))
    step = b"a" * 1_000_000
    packed += b"".join(letters.compress(step) for _ in range(size // len(step))) + letters.flush()
    return avro(record(("id", "int"), ("name", "string")), [(1, packed)], "deflate")


def doubling(depth: int) -> dict[str, object]:
    """A schema whose n-th column is a record of two of the one before: 2^n columns, if the names are written out."""
    kinds: list[object] = [record(("a", "int"), name="r0")]
    kinds += [record(("a", f"r{at - 1}"), ("b", f"r{at - 1}"), name=f"r{at}") for at in range(1, depth)]
    return record(*((f"c{at}", kind) for at, kind in enumerate(kinds)))


def object_of(keys: int) -> bytes:
    """A line of JSON with so many keys."""
    return b'{"id":1,"name":"x",' + b",".join(b'"k%d":1' % at for at in range(keys)) + b"}\n"


def objects_of(lines: int, keys: int) -> bytes:
    """So many lines of JSON, no key of which is in another one."""
    return b"".join(
        b'{"id":1,' + b",".join(b'"k%d_%d":1' % (line, at) for at in range(keys)) + b"}\n" for line in range(lines)
    )


def deep(depth: int) -> bytes:
    """A line of JSON with arrays in arrays."""
    return b'{"id":1,"name":' + b"[" * depth + b"]" * depth + b"}\n"
