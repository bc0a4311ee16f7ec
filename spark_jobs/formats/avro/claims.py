"""Checks that an Avro file can hold the rows that its blocks claim, within its limits.

It reads no row. A compressed block is decompressed only if its file may exceed a limit, and only to count.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.limits import Limits, beyond_limits, more_than
from lakegate.counts import count
from spark_jobs.formats.avro.blocks import MOST_BYTES, SYNC, Block, walk
from spark_jobs.formats.footer import Unreadable
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, is_unreachable
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import SPLIT

# The most bytes that one compressed byte can hold.
RATIOS = {"null": 1, "deflate": 1_032, "snappy": 32, "zstandard": 32_768, "bzip2": 1_100_000, "xz": 20_000}
_XZ_MEMORY = 128 * 1024  # KiB for the decoder: the largest preset takes half of that
ROWS_OF_NOTHING = 1_000_000
"""The most rows that may take no bytes at all."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """An open file's blocks: where the first begins, the marker between them, and their codec."""

    spark: SparkSession
    uri: str
    stream: Any
    start: int
    length: int
    sync: bytes
    codec: str

    def __iter__(self) -> Iterator[Block]:
        return walk(partial(hadoop.part, self.spark, self.stream), self.start, self.length, self.sync)


def rows_in(blocks: Blocks, least: int, limits: Limits) -> tuple[int, tuple[Fault, ...]]:
    """Return the rows, each of at least `least` bytes, or the limits that the file exceeds.

    Unreadable if it claims rows that it cannot hold.
    """
    if blocks.codec not in RATIOS:
        codecs = ", ".join(RATIOS)
        advice = Advice(vendor="compress it by deflate, snappy or zstandard")
        raise Unreadable(f"its blocks are compressed by a codec that is none of {codecs}", blocks.codec[:60], advice)
    rows = size_packed = largest = 0
    begins, split = dict[int, int](), SPLIT
    for number, block in enumerate(blocks, 1):
        if number > limits.blocks:
            return 0, (more_than(limits, "blocks"),)
        _check_rows(number, block, least, RATIOS[blocks.codec])
        rows, size_packed, largest = rows + block.rows, size_packed + block.size, max(largest, block.size)
        while split <= block.head - SYNC:
            begins[split], split = block.head, split + SPLIT
    begins |= dict.fromkeys(range(split, blocks.length, SPLIT), blocks.length)
    if not least and rows > ROWS_OF_NOTHING:
        raise Unreadable(
            f"it says that it has {count(rows, 'row')} that take no bytes, and the limit is {ROWS_OF_NOTHING:,}"
        )
    if wrong := beyond_limits(limits, rows=rows):
        return 0, wrong
    _check_splits(blocks, begins)
    return rows, _uncompressed_faults(blocks, size_packed, largest, limits)


def _check_rows(number: int, block: Block, least: int, ratio: int) -> None:
    room = block.size * ratio
    if block.rows * least > room:
        raise Unreadable(
            f"block {number:,} says that it has {count(block.rows, 'row')} in {count(block.size, 'byte')}, which "
            f"hold at most {room // least:,}"
        )


def _check_splits(blocks: Blocks, begins: Mapping[int, int]) -> None:
    """Raise Unreadable if a value contains the marker where a split begins.

    The reader of a split starts at the first marker in it, which must be a block's.
    """
    if not begins:
        return
    avro, conf = jvm(blocks.spark).org.apache.avro, hadoop.configuration(blocks.spark)
    source = avro.mapred.FsInput(hadoop.path(blocks.spark, blocks.uri), conf)
    with closing(avro.file.DataFileReader(source, avro.generic.GenericDatumReader())) as reader:
        for split, begin in begins.items():
            reader.sync(split)
            if reader.previousSync() != begin:
                raise Unreadable("the marker between its blocks stands within one, too: readers take it for an end")


def _uncompressed_faults(blocks: Blocks, size_packed: int, largest: int, limits: Limits) -> tuple[Fault, ...]:
    """Return a fault if all blocks decompress to more than the limit.

    Unreadable if one block does not fit into memory, because readers decompress a block as a whole.
    """
    ratio, total = RATIOS[blocks.codec], 0
    may_be_much = size_packed * ratio > limits.uncompressed
    if not may_be_much and largest * ratio <= MOST_BYTES:
        return ()
    for number, block in enumerate(blocks, 1):
        greatest = block.size * ratio
        if may_be_much or greatest > MOST_BYTES:
            greatest = _count_uncompressed(blocks, block, min(MOST_BYTES, limits.uncompressed - total) + 1)
        total += greatest
        if total > limits.uncompressed:
            return (more_than(limits, "uncompressed"),)
        if greatest > MOST_BYTES:
            message = f"block {number:,} has more than {MOST_BYTES:,} bytes uncompressed, which no reader takes"
            raise Unreadable(message, advice=Advice(vendor="write smaller blocks"))
    return ()


def _count_uncompressed(blocks: Blocks, block: Block, limit: int) -> int:
    """Count the bytes that a block decompresses to, up to `limit`."""
    java = jvm(blocks.spark)
    io = java.org.apache.commons.io
    blocks.stream.seek(block.start)
    content = io.input.BoundedInputStream(blocks.stream, block.size)
    content.setPropagateClose(False)
    try:
        with closing(_UNPACK[blocks.codec](java, java.java.io.BufferedInputStream(content))) as stream:
            return int(io.IOUtils.copyLarge(stream, io.output.NullOutputStream(), 0, limit))
    except FAILURES as error:
        if is_unreachable(error):
            raise
        return 0  # reading its rows reports the error


def _inflating(java: Any, stream: Any) -> Any:
    no_wrap = java.java.util.zip.Inflater(True)  # noqa: FBT003 - Java has no names
    return java.java.util.zip.InflaterInputStream(stream, no_wrap)


_UNPACK: Mapping[str, Callable[[Any, Any], Any]] = {
    "null": lambda _, stream: stream,
    "snappy": lambda _, stream: stream,
    "deflate": _inflating,
    "zstandard": lambda java, stream: java.com.github.luben.zstd.ZstdInputStream(stream),
    "bzip2": lambda java, stream: java.org.apache.commons.compress.compressors.bzip2.BZip2CompressorInputStream(stream),
    "xz": lambda java, stream: java.org.tukaani.xz.XZInputStream(stream, _XZ_MEMORY),
}
