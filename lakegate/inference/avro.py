"""Rows of an Avro file in every codec that Spark reads: fastavro needs a package of its own for some of them."""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import fastavro
import pyarrow as pa
from fastavro.types import Schema

_MAGIC, _SYNC = b"Obj\x01", 16
_META: Schema = {"type": "map", "values": "bytes"}
_CHECKSUM = 4  # bytes, which snappy has behind each block


def _of_arrow(codec: str) -> Callable[[bytes], bytes]:
    def unpack(packed: bytes) -> bytes:
        with pa.CompressedInputStream(pa.BufferReader(packed), codec) as stream:
            return bytes(stream.read())

    return unpack


def _snappy(packed: bytes) -> bytes:
    size, shift = 0, 0
    for byte in packed:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return bytes(pa.Codec("snappy").decompress(packed[:-_CHECKSUM], size))


_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda packed: zlib.decompress(packed, -zlib.MAX_WBITS),
    "snappy": _snappy,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
    "zstandard": _of_arrow("zstd"),
}


def container(file: BinaryIO) -> tuple[Any, list[Any]]:
    """Return a file's schema and its records. Raise an error of any kind if it is not whole."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it has another beginning")
    meta: Any = fastavro.schemaless_reader(file, _META, None)
    sync, schema = file.read(_SYNC), json.loads(meta["avro.schema"])
    unpack = _UNPACK[meta.get("avro.codec", b"null").decode()]
    parsed = fastavro.parse_schema(schema)
    return schema, list(_records(file, parsed, unpack, sync))


def _records(file: BinaryIO, schema: Schema, unpack: Callable[[bytes], bytes], sync: bytes) -> Iterator[Any]:
    while more := file.read(1):
        file.seek(-len(more), io.SEEK_CUR)
        count, size = (_long(file) for _ in range(2))
        block = io.BytesIO(unpack(file.read(size)))
        yield from (fastavro.schemaless_reader(block, schema, None) for _ in range(count))
        if file.read(_SYNC) != sync:
            raise ValueError("a block ends elsewhere than it says")


def _long(file: BinaryIO) -> int:
    found: Any = fastavro.schemaless_reader(file, "long", None)
    return int(found)
