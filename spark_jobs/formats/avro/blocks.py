"""Avro's blocks, walked from head to head: the rows and bytes that each claims.

It decompresses nothing. A head with an impossible claim is the file's fault.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lakegate.counts import count
from spark_jobs.formats.footer import Unreadable

SYNC = 16  # bytes of the marker behind each block
MOST_BYTES = 2**31 - 1  # of a block, compressed or not: Java has no longer arrays
_LONGEST_NUMBER = 10  # bytes
_HEAD = 2 * _LONGEST_NUMBER
_LEAST, _GREATEST_READ = 4 * 1024, 1024 * 1024  # bytes that are read at a time
_CORRUPT = "its rows cannot be read to the end, a block is corrupt (block {:,} {})"

Read = Callable[[int, int], bytes]
"""(offset, size) → that part of a file."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block as its head describes it: offsets of the head and of the data, the data's size in bytes, and the rows."""

    head: int
    start: int
    size: int
    rows: int


class Short(Exception):
    """More bytes are needed than there are."""


def number(data: bytes, at: int) -> tuple[int, int]:
    """Return one of Avro's numbers and the offset behind it: seven bits a byte, the lowest first, zigzag-encoded."""
    value = 0
    for shift in range(_LONGEST_NUMBER):
        byte = piece(data, at + shift, 1)[0]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return (value >> 1) ^ -(value & 1), at + shift + 1
    raise Unreadable("its header is broken")


def piece(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise Short
    return data[at : at + size]


def walk(read: Read, start: int, length: int, sync: bytes) -> Iterator[Block]:
    """Yield each block from where the header ends.

    Unreadable if a block is broken, or if one without rows stands before others: readers stop there.
    """
    window, at, nth, is_over = _Window(read, length), start, 0, False
    while at < length:
        nth += 1
        block = _block(window, at, nth)
        end = block.start + block.size
        if block.size > MOST_BYTES or end + SYNC > length:
            raise _corrupt(nth, f"says that it has {count(block.size, 'byte')}, and there are {length - block.start:,}")
        if window.take(end, SYNC) != sync:
            raise _corrupt(nth, "does not end where it says")
        if is_over and block.rows:
            raise _corrupt(nth - 1, "has no rows and stands before others, which no reader comes to")
        is_over = is_over or not block.rows
        yield block
        at = end + SYNC


def _block(window: "_Window", at: int, nth: int) -> Block:
    try:
        head = window.take(at, _HEAD)
        rows, end = number(head, 0)
        size, end = number(head, end)
    except (Short, Unreadable):
        raise _corrupt(nth, "has no head that can be read") from None
    if rows < 0 or size < 0:
        raise _corrupt(nth, f"says that it has {count(rows, 'row')} in {count(size, 'byte')}")
    return Block(head=at, start=at + end, size=size, rows=rows)


def _corrupt(nth: int, reason: str) -> Unreadable:
    return Unreadable(_CORRUPT.format(nth, reason))


class _Window:
    """A window of bytes: it grows while blocks are small, and stays small while large ones are skipped."""

    def __init__(self, read: Read, length: int) -> None:
        self._read, self._length = read, length
        self._from, self._bytes, self._size = 0, b"", _LEAST

    def take(self, at: int, size: int) -> bytes:
        """Return `size` bytes from `at`, or as many as the file has left."""
        end = min(at + size, self._length)
        held_to = self._from + len(self._bytes)
        if not self._from <= at <= end <= held_to:
            is_next = self._from <= at <= held_to
            self._size = min(2 * self._size, _GREATEST_READ) if is_next else _LEAST
            self._from, self._bytes = at, self._read(at, min(self._size, self._length - at))
        return self._bytes[at - self._from : end - self._from]
