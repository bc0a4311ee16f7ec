"""Chunks of a sequence, and the sequence begun at another place each time. It does not know what it is made of."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from random import Random
from typing import TypeVar

T = TypeVar("T")


def chunked(things: Iterable[T], most: int, *limits: tuple[Callable[[T], int], int]) -> Iterator[list[T]]:
    """Yield the things in their order, at most `most` in a chunk, and no more of each measure than its limit. A thing
    that alone exceeds a limit is a chunk by itself.
    """
    chunk: list[T] = []
    sums = [0] * len(limits)
    for thing in things:
        its = [measure(thing) for measure, _ in limits]
        sums = [total + more for total, more in zip(sums, its, strict=True)]
        is_over = any(total > limit for total, (_, limit) in zip(sums, limits, strict=True))
        if chunk and (len(chunk) == most or is_over):
            yield chunk
            chunk, sums = [], its
        chunk.append(thing)
    if chunk:
        yield chunk


def rotated(things: list[T], now: datetime) -> list[T]:
    """By chance, the same in a minute: were it one further each minute, sweeps that come every five minutes would begin
    five things with the same one for ever.
    """
    first = Random(int(now.timestamp() // 60)).randrange(max(len(things), 1))  # noqa: S311 - nobody is to be fooled
    return things[first:] + things[:first]
