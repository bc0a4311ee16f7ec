"""Chunks of a sequence, and the sequence begun at another place each time. It does not know what it is made of."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from random import Random
from typing import TypeVar

T = TypeVar("T")


def in_chunks(things: Iterable[T], limit: int, *limits: tuple[Callable[[T], int], int]) -> Iterator[list[T]]:
    """Yield the things in their order, at most `limit` in a chunk, and no more of each measure than its limit. A thing
    that alone exceeds a limit is a chunk by itself.
    """
    chunk: list[T] = []
    sums = [0] * len(limits)
    for thing in things:
        sizes = [measure(thing) for measure, _ in limits]
        sums = [total + size for total, size in zip(sums, sizes, strict=True)]
        is_over = any(total > limit for total, (_, limit) in zip(sums, limits, strict=True))
        if chunk and (len(chunk) == limit or is_over):
            yield chunk
            chunk, sums = [], sizes
        chunk.append(thing)
    if chunk:
        yield chunk


def rotate(things: list[T], now: datetime) -> list[T]:
    """Return the things, beginning with one of them that is drawn anew each minute, because a sweep may not come to the
    last of them. Moving on by one each minute would not do: of five things, a sweep every five minutes would always
    begin with the same one.
    """
    first = Random(int(now.timestamp() // 60)).randrange(max(len(things), 1))  # noqa: S311 - nobody is to be fooled
    return things[first:] + things[:first]
