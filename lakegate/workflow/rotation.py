"""Rotation: each minute begins with another of many things, for a sweep may not come to the last of them."""

from datetime import datetime
from random import Random
from typing import TypeVar

T = TypeVar("T")


def rotated(things: list[T], now: datetime) -> list[T]:
    """By chance, the same in a minute: were it one further each minute, sweeps that come every five minutes would begin
    five things with the same one for ever.
    """
    first = Random(int(now.timestamp() // 60)).randrange(max(len(things), 1))  # noqa: S311 - nobody is to be fooled
    return things[first:] + things[:first]
