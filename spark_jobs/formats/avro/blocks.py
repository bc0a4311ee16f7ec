"""Avro's blocks, walked from head to head before any row is made: how many rows a file claims, and in how many bytes.

It unpacks nothing. A head that claims what cannot be is the file's own fault.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lakegate.counts import count
from spark_jobs.formats.footer import Unreadable

SYNC = 16  # bytes of the marker behind each block
MOST_BYTES = 2**31 - 1  # of a block, packed or not: Java has no longer arrays
_LONGEST_NUMBER = 10  # bytes
_HEAD = 2 * _LONGEST_NUMBER
_LEAST, _MOST = 4 * 1024, 1024 * 1024  # bytes that are read at a time
_CORRUPT = "its rows cannot be read to the end, a block is corrupt (block {:,} {})"

Read = Callable[[int, int], bytes]
"""So many bytes of a file, from a place on."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block as its head tells it: where the head begins, where its bytes do, how many these are, how many rows."""

    head: int
    start: int
    size: int
    rows: int


class Short(Exception):
    """More bytes are needed than there are."""


def number(said: bytes, at: int) -> tuple[int, int]:
    """One of Avro's numbers, and where it ends: seven bits a byte, the lowest first, the sign in the last bit."""
    value = 0
    for shift in range(_LONGEST_NUMBER):
        byte = piece(said, at + shift, 1)[0]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more come
            return (value >> 1) ^ -(value & 1), at + shift + 1
    raise Unreadable("its header is broken")


def piece(said: bytes, at: int, size: int) -> bytes:
    if at + size > len(said):
        raise Short
    return said[at : at + size]


def walk(read: Read, start: int, length: int, sync: bytes) -> Iterator[Block]:
    """Each block of a file that has so many bytes, from where its header ends. Unreadable where one is none, or would
    be passed over by readers: what comes behind a block without rows is.
    """
    candidates, at, nth, is_over = _Near(read, length), start, 0, False
    while at < length:
        nth += 1
        block = _block(candidates, at, nth)
        end = block.start + block.size
        if block.size > MOST_BYTES or end + SYNC > length:
            raise _corrupt(nth, f"says that it has {count(block.size, 'byte')}, and there are {length - block.start:,}")
        if candidates.take(end, SYNC) != sync:
            raise _corrupt(nth, "does not end where it says")
        if is_over and block.rows:
            raise _corrupt(nth - 1, "has no rows and stands before others, which no reader comes to")
        is_over = is_over or not block.rows
        yield block
        at = end + SYNC


def _block(candidates: "_Near", at: int, nth: int) -> Block:
    try:
        head = candidates.take(at, _HEAD)
        rows, behind = number(head, 0)
        size, behind = number(head, behind)
    except (Short, Unreadable):
        raise _corrupt(nth, "has no head that can be read") from None
    if rows < 0 or size < 0:
        raise _corrupt(nth, f"says that it has {count(rows, 'row')} in {count(size, 'byte')}")
    return Block(head=at, start=at + behind, size=size, rows=rows)


def _corrupt(nth: int, why: str) -> Unreadable:
    return Unreadable(_CORRUPT.format(nth, why))


class _Near:
    """The bytes around the last place: more at a time while blocks are small, few where they are passed over."""

    def __init__(self, read: Read, length: int) -> None:
        self._read, self._length = read, length
        self._from, self._held, self._size = 0, b"", _LEAST

    def take(self, at: int, size: int) -> bytes:
        """So many bytes, or those that there are to the end of the file."""
        end = min(at + size, self._length)
        held_to = self._from + len(self._held)
        if not self._from <= at <= end <= held_to:
            is_next = self._from <= at <= held_to
            self._size = min(2 * self._size, _MOST) if is_next else _LEAST
            self._from, self._held = at, self._read(at, min(self._size, self._length - at))
        return self._held[at - self._from : end - self._from]
