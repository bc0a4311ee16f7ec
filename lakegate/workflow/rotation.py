"""Rotation: each minute begins with another of many things, for a sweep may not come to the last of them."""

from datetime import datetime
from typing import TypeVar

T = TypeVar("T")


def rotated(things: list[T], now: datetime) -> list[T]:
    first = int(now.timestamp() // 60) % max(len(things), 1)
    return things[first:] + things[:first]
