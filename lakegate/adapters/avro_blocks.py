"""Records of an Avro file in bounded memory: each block is unpacked as far as there is memory for it."""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import IO, Any

import fastavro
import pyarrow as pa

from lakegate.adapters.decoding import MOST_BYTES, TooLarge

AT_ONCE = 1024  # records
MOST_RECORDS = MOST_BYTES // 16  # of one file: a record may have no bytes at all
_MAGIC, _META = b"Obj\x01", {"type": "map", "values": "bytes"}
_SYNC, _BYTE, _CONTINUATION, _LONGEST = 16, 7, 0x80, 10
_CHECKSUM = 4  # bytes behind a block of snappy


class Records:
    """The records of a file that is open for reading. Raise ValueError where it is no Avro, or breaks off."""

    def __init__(self, file: IO[bytes]) -> None:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it has another beginning")
        meta: Any = fastavro.schemaless_reader(file, _META, None)
        self.schema: Any = json.loads(meta["avro.schema"])
        self._codec = meta.get("avro.codec", b"null").decode()
        self._file, self._sync = file, file.read(_SYNC)

    def pieces(self, schema: Any = None) -> Iterator[list[Any]]:
        """Yield the records, some at once, by a schema that differs from the file's in logical types alone. Raise
        TooLarge if a block, or their number, is beyond the bound.
        """
        records = self._records(fastavro.parse_schema(schema or self.schema))
        while piece := list(islice(records, AT_ONCE)):
            yield piece

    def _records(self, schema: Any) -> Iterator[Any]:
        total = 0
        while (rows := self._number()) is not None:
            total += rows
            if total > MOST_RECORDS:
                raise TooLarge(f"it has more than {MOST_RECORDS:,} rows")
            block = io.BytesIO(self._block())
            for _ in range(rows):
                yield fastavro.schemaless_reader(block, schema, None)

    def _block(self) -> bytes:
        size = self._number() or 0
        body_packed, sync = self._file.read(max(size, 0)), self._file.read(_SYNC)
        if len(body_packed) != size or sync != self._sync:
            raise ValueError("a block is corrupt")
        body = unpack_block(body_packed, self._codec)
        if len(body) > MOST_BYTES:
            raise TooLarge(f"a block has more than {MOST_BYTES:,} bytes uncompressed")
        return body

    def _number(self) -> int | None:
        """Return one of Avro's numbers, or None at the end of the file."""
        value = 0
        for shift in range(_LONGEST):
            byte = self._file.read(1)
            if not byte:
                break
            value |= (byte[0] & (_CONTINUATION - 1)) << _BYTE * shift
            if byte[0] < _CONTINUATION:
                return (value >> 1) ^ -(value & 1)
        if value or byte:
            raise ValueError("a block is corrupt")
        return None


def unpack_block(content: bytes, codec: str) -> bytes:
    """Return what comes out of a block, or a bit more than the bound of it. Raise ValueError for an unknown codec."""
    if (way := _CODECS.get(codec)) is None:
        raise ValueError(f"it is compressed by {codec}, which the job does not read")
    try:
        return way(content)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise ValueError(f"a block is corrupt ({error})") from error


def _of_snappy(content: bytes) -> bytes:
    """Unpack by the size that stands first, seven bits a byte, the lowest first."""
    size = 0
    for shift, byte in enumerate(content[:_LONGEST]):
        size |= (byte & (_CONTINUATION - 1)) << _BYTE * shift
        if byte < _CONTINUATION:
            break
    if size > MOST_BYTES:
        raise TooLarge(f"a block has more than {MOST_BYTES:,} bytes uncompressed")
    return bytes(pa.Codec("snappy").decompress(content[:-_CHECKSUM], decompressed_size=size, asbytes=True))


def _of_zstandard(content: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return bytes(stream.read(MOST_BYTES + 1))


_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": lambda content: content,
    "deflate": lambda content: zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, MOST_BYTES + 1),
    "bzip2": lambda content: bz2.BZ2Decompressor().decompress(content, MOST_BYTES + 1),
    "xz": lambda content: lzma.LZMADecompressor().decompress(content, MOST_BYTES + 1),
    "snappy": _of_snappy,
    "zstandard": _of_zstandard,
}
