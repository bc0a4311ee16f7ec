"""Patterns that every text has, or none: a check of one checks nothing. What is not sure is neither."""

from typing import Any

from lakegate.contracts.regex.charset import REPEATS, SINGLE_OPS, Nodes, op

_BREAKS = frozenset(map(ord, "\n\r\u2028\u2029"))


def has_every_text(nodes: Nodes) -> bool:
    """Return True if every text has the pattern somewhere."""
    nodes = list(nodes)
    if len(nodes) == 1 and nodes[0][0] in (op.SUBPATTERN, op.BRANCH):
        return any(map(has_every_text, _branches(*nodes[0])))
    at_either_end = _is_empty(nodes, begin=True, end=False) or _is_empty(nodes, begin=False, end=True)
    return at_either_end or _takes_whole(nodes)


def has_no_text(nodes: Nodes) -> bool:
    """Return True if no text has the pattern anywhere."""
    return not _may_match(nodes, before=False, after=False)


def _is_empty(nodes: Nodes, *, begin: bool, end: bool) -> bool:
    """Return True if nothing is needed to match, at the beginning or at the end of a text."""
    return all(_piece_is_empty(kind, value, begin=begin, end=end) for kind, value in nodes)


def _piece_is_empty(kind: Any, value: Any, *, begin: bool, end: bool) -> bool:
    if kind is op.AT:
        return begin if value is op.AT_BEGINNING else end
    if kind in REPEATS:
        return value[0] == 0 or _is_empty(value[2], begin=begin, end=end)
    return any(_is_empty(branch, begin=begin, end=end) for branch in _branches(kind, value))


def _takes_whole(nodes: Nodes) -> bool:
    """Return True if a piece takes any text from its beginning to its end, and the others need nothing."""
    inner = [(kind, value) for kind, value in nodes if kind is not op.AT]
    whole = [(kind, value) for kind, value in inner if _takes_any(kind, value)]
    rest = [node for node in inner if node not in whole]
    return bool(whole) and _is_empty(rest, begin=False, end=False)


def _takes_any(kind: Any, value: Any) -> bool:
    if kind is op.SUBPATTERN:
        return len(value[3]) == 1 and _takes_any(*value[3][0])
    return kind in REPEATS and value[0] == 0 and value[1] is op.MAXREPEAT and _is_any_letter(value[2])


def _is_any_letter(nodes: Nodes) -> bool:
    """Return True if some branch takes each single character."""
    while len(nodes) == 1 and nodes[0][0] is op.SUBPATTERN:
        nodes = nodes[0][1][3]
    members: list[tuple[Any, Any]] = []
    for branch in _branches(*nodes[0]) if len(nodes) == 1 and nodes[0][0] is op.BRANCH else [nodes]:
        if len(branch) == 1:
            kind, value = branch[0]
            members += value if kind is op.IN else [(kind, value)]
    breaks = {value for kind, value in members if kind is op.LITERAL} >= _BREAKS
    has_breaks = breaks or (op.CATEGORY, op.CATEGORY_SPACE) in members
    return (op.ANY, None) in members and has_breaks and (op.NEGATE, None) not in members


def _may_match(nodes: Nodes, *, before: bool, after: bool) -> bool:
    """Return False if no text has these, with a character `before` them or `after` them."""
    nodes = list(nodes)
    needs = [_needs(kind, value) for kind, value in nodes]
    last = max((at for at, need in enumerate(needs) if need), default=-1)
    for at, (kind, value) in enumerate(nodes):
        if not _piece_may_match(kind, value, before=before, after=after or at < last):
            return False
        before = before or needs[at]
    return True


def _piece_may_match(kind: Any, value: Any, *, before: bool, after: bool) -> bool:
    if kind is op.AT:
        return not (before if value is op.AT_BEGINNING else after)
    if kind in REPEATS:
        return value[0] == 0 or _may_match(value[2], before=before, after=after)
    branches = _branches(kind, value)
    return not branches or any(_may_match(branch, before=before, after=after) for branch in branches)


def _needs(kind: Any, value: Any) -> bool:
    """Return True if the piece takes a character at least."""
    if kind in REPEATS:
        return value[0] > 0 and any(_needs(*node) for node in value[2])
    branches = _branches(kind, value)
    return kind in SINGLE_OPS or (bool(branches) and all(any(_needs(*node) for node in branch) for branch in branches))


def _branches(kind: Any, value: Any) -> list[Nodes]:
    return [value[3]] if kind is op.SUBPATTERN else list(value[1]) if kind is op.BRANCH else []
