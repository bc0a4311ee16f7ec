"""Characters that a piece of a pattern takes or begins with, as Python's reader of patterns has taken it apart.

ASCII characters stand for themselves, one for all other white space, and one for all others: they need not be told
from each other.
"""

from collections.abc import Sequence
from importlib import import_module
from string import ascii_letters, digits
from typing import Any

# Python's own names for the pieces, for which it has no public module.
op: Any = import_module("re._constants")

Nodes = Sequence[tuple[Any, Any]]

SINGLE_OPS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
"""Pieces that match a single character."""
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
ASCII = frozenset(range(128))
_OTHER_SPACE, _OTHER = 128, 129  # for all beyond
_FOREIGN = frozenset({_OTHER_SPACE, _OTHER})
ANY = ASCII | _FOREIGN
NO_CHARACTERS: frozenset[int] = frozenset()


def is_one(body: Nodes) -> bool:
    """Return True if the body matches a single character."""
    return len(body) == 1 and body[0][0] in SINGLE_OPS


def characters(kind: Any, value: Any) -> frozenset[int]:
    """Return the characters that a piece for a single character takes; more rather than fewer."""
    if kind is op.LITERAL:
        return _of_range(value, value)
    if kind is op.NOT_LITERAL:
        return ANY - {value} | _FOREIGN
    if kind is op.ANY:
        return ANY - {ord("\n"), ord("\r")}
    if value[0][0] is op.NEGATE:
        whole = (_member(*member) - (NO_CHARACTERS if member[0] is op.CATEGORY else _FOREIGN) for member in value[1:])
        return ANY - NO_CHARACTERS.union(*whole)
    return NO_CHARACTERS.union(*(_member(*member) for member in value))


_DIGITS = frozenset(map(ord, digits))
_WORD = _DIGITS | {*map(ord, ascii_letters), ord("_")}
_SPACE = frozenset(map(ord, "\t\n\x0b\f\r ")) | {_OTHER_SPACE}
_CATEGORIES = {
    op.CATEGORY_DIGIT: _DIGITS,
    op.CATEGORY_WORD: _WORD,
    op.CATEGORY_SPACE: _SPACE,
    op.CATEGORY_NOT_DIGIT: ANY - _DIGITS,
    op.CATEGORY_NOT_WORD: ANY - _WORD,
    op.CATEGORY_NOT_SPACE: ANY - _SPACE,
}


def _member(kind: Any, value: Any) -> frozenset[int]:
    if kind is op.CATEGORY:
        return _CATEGORIES.get(value, ANY)
    return _of_range(*value) if kind is op.RANGE else _of_range(value, value)


def _of_range(low: int, high: int) -> frozenset[int]:
    return frozenset(range(low, min(high + 1, len(ASCII)))) | (_FOREIGN if high >= len(ASCII) else NO_CHARACTERS)


def first(nodes: Nodes, follows: frozenset[int]) -> frozenset[int]:
    """Return the characters that a text of these can begin with, those that follow among them if it may be empty."""
    for kind, value in reversed(nodes):
        follows = before(kind, value, follows)
    return follows


def before(kind: Any, value: Any, follows: frozenset[int]) -> frozenset[int]:
    begins, may_be_empty = _begins(kind, value)
    return begins | follows if may_be_empty else begins


def _begins(kind: Any, value: Any) -> tuple[frozenset[int], bool]:
    if kind in SINGLE_OPS:
        return characters(kind, value), False
    if kind is op.AT:
        return NO_CHARACTERS, value is not op.AT_END
    if kind is op.SUBPATTERN:
        return _of_any([value[3]])
    if kind is op.BRANCH:
        return _of_any(value[1])
    if kind in REPEATS:
        begins, may_be_empty = _of_any([value[2]])
        return begins, may_be_empty or value[0] == 0
    return ANY, True


def _of_any(branches: Sequence[Nodes]) -> tuple[frozenset[int], bool]:
    """Return the characters that the branches can begin with, and whether one may be empty. The number -1, which no
    character has, stands for the end.
    """
    end = frozenset({-1})
    firsts = NO_CHARACTERS.union(*(first(branch, end) for branch in branches))
    return firsts - end, bool(firsts & end)
