"""Bounds on how deep Java's engine of regular expressions goes: it calls itself for each piece of a repeated group."""

import math
from collections.abc import Sequence
from typing import Any

from lakegate.contracts.regex.charset import REPEATS, Nodes, is_one, op

FRAMES = 3_000  # of Java's stack, which overflows at some five thousand: one for each piece of a group, each time


def frames(nodes: Nodes) -> float:
    """Return how deep Java's stack gets at most: a frame for each piece, each time that it is repeated."""
    return sum((_frames_of(kind, value) for kind, value in nodes), start=0.0)


def _frames_of(kind: Any, value: Any) -> float:
    within = max(map(frames, _parts(kind, value)), default=0.0)
    if kind in REPEATS and within:
        return math.inf if value[1] is op.MAXREPEAT else value[1] * (1 + within)
    return _own(kind) + within


def _own(kind: Any) -> int:
    """Return the frames of a piece itself: a choice comes back to where its branches meet."""
    return 2 if kind is op.BRANCH else 1


def frames_for_each(nodes: Nodes) -> float:
    """Return the frames for each character of a text: a group takes as many each time as it is repeated."""
    return max((_for_each(kind, value) for kind, value in nodes), default=0.0)


def _for_each(kind: Any, value: Any) -> float:
    parts = _parts(kind, value)
    within = max(map(frames_for_each, parts), default=0.0)
    if kind not in REPEATS or not parts:
        return within
    shortest: int = value[2].getwidth()[0]
    return (1 + _once(value[2])) / max(shortest, 1) + within


def _once(nodes: Nodes) -> float:
    """Return the frames of a group, without those of the groups that are repeated in it."""
    found = 0.0
    for kind, value in nodes:
        parts = [] if kind in REPEATS else _parts(kind, value)
        found += _own(kind) + max(map(_once, parts), default=0.0)
    return found


def _parts(kind: Any, value: Any) -> Sequence[Nodes]:
    """Return the sequences that stand in a group."""
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.BRANCH:
        parts: Sequence[Nodes] = value[1]
        return parts
    return [value[2]] if kind in REPEATS and not is_one(value[2]) else []
