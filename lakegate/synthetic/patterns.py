"""Texts that match a pattern, as Python's own reader of patterns has taken it apart."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from lakegate.contracts.regex.charset import REPEATS, SINGLE_OPS, Nodes, characters, is_one, op
from lakegate.contracts.regex.portable import parser

_END = re.compile(r"(?<!\\)(?:\\\\)*\\z")  # Python spells the end of a text differently
_VISIBLE = frozenset(range(32, 127))


def tree(pattern: str) -> Nodes:
    """Return a pattern taken apart."""
    nodes: Nodes = parser.parse(_END.sub(lambda end: end[0][:-1] + "Z", pattern), re.ASCII)
    return nodes


def example(nodes: Nodes, random: Random, slack: int) -> str:
    """Return a text. One of the repetitions may add so many letters to what it has to."""
    looser = random.randrange(len(nodes) or 1)
    spare = [slack if place == looser else random.choice((0, 0, 1, 3)) for place in range(len(nodes))]
    return "".join(_piece(*node, random, extra) for node, extra in zip(nodes, spare, strict=True))


def _piece(kind: Any, value: Any, random: Random, slack: int) -> str:
    if kind in SINGLE_OPS:
        return random.choice(_letters(kind, value))
    if kind in REPEATS:
        low, high, body = value
        extra = random.choice((0, random.randint(0, slack), slack))
        if is_one(body):
            return "".join(random.choices(_letters(*body[0]), k=min(low + extra, high)))
        extra //= len(example(body, random, 0)) or 1
        return "".join(example(body, random, 1) for _ in range(min(low + extra, high)))
    if kind is op.BRANCH:
        return example(random.choice(value[1]), random, slack)
    return example(value[3], random, slack) if kind is op.SUBPATTERN else ""


def _letters(kind: Any, value: Any) -> Sequence[str]:
    """Return letters that a piece takes: those of ASCII that can be seen, or else the ends of its ranges."""
    if kind is op.LITERAL:
        return chr(value)
    ranges = [ends for member, ends in value if member in (op.LITERAL, op.RANGE)] if kind is op.IN else []
    ends = [code for pair in ranges for code in (pair if isinstance(pair, tuple) else (pair,))]
    return [chr(code) for code in sorted(characters(kind, value) & _VISIBLE) or ends or [ord(" ")]]
