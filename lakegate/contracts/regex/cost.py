"""Bounds on how long an engine of regular expressions is busy with a text that does not match.

Java's engine backtracks wherever a repetition could have ended elsewhere. The number of its tries is counted as a
polynomial of the text's length. From that follows how long a text may be that is shown to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from lakegate.contracts.regex.charset import NOTHING, REPEATS, Nodes, before, characters, first, is_one, op
from lakegate.contracts.regex.stack import FRAMES, frames, frames_for_each

MOST = 250_000_000  # tries, which take Java a second or two
LENGTHS = (10_000, 1_000, 250)  # characters that a text may have, if there must be a limit
ANY_LENGTH = 1_000_000  # characters of the longest text that is considered
_EASY = 0.1  # part of a try that comparing a character takes
FEW = 100  # tries for each letter of the longest text that is shown to a pattern: that is done at once
_DEGREE = 8  # with so many ends, each behind the one before, the shortest of LENGTHS takes more tries than MOST
_SOME = 7  # repetitions; more of them may count as endless

Polynomial = tuple[float, ...]
"""Factors c of the text's length n: the sum of c[k] * n**k / k!, because k ends each lie behind the one before."""

_NOTHING: Polynomial = ()
_ONCE: Polynomial = (1.0,)
_EACH: Polynomial = (0.0, 1.0)  # at each character of the text
_ENDLESS: Polynomial = (math.inf,)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """A part's effort: in how many `ways` it can match what stands there, and what trying them all `costs`."""

    ways: Polynomial
    costs: Polynomial


def tries_bounds(tree: Nodes) -> tuple[Polynomial, ...]:
    """Return two bounds on how often an engine tries with a text that does not match; both hold. One counts the pattern
    as it is written. The other counts long repetitions as endless, which says less of short texts.
    """
    return tuple(_tries(each) for each in (tree, _without_end(tree)))


def worst(bounds: Sequence[Polynomial], length: int) -> float:
    """Return how often an engine tries at most with a text of that length."""
    return min(_at(bound, length) for bound in bounds)


def is_quick(bounds: Sequence[Polynomial], length: int | None) -> bool:
    """Return True if an engine tries a few times at most for each letter of a text of that length, or of any length."""
    longest_text = length or ANY_LENGTH
    return worst(bounds, longest_text) <= FEW * longest_text


def as_searched(tree: Nodes) -> Nodes:
    """Return the pattern with the repetitions at its ends cut to the least number. It is found in the same texts, and
    an engine does not try the rest.
    """
    first_done = _without_first_repeats(list(tree))
    return _without_first_repeats(first_done[::-1])[::-1] or tree


def _without_first_repeats(nodes: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    while nodes and nodes[0][0] in REPEATS:
        kind, (low, _, body) = nodes[0]
        if low:
            return [(kind, (low, low, body)), *nodes[1:]]
        nodes = nodes[1:]
    return nodes


def _tries(tree: Nodes) -> Polynomial:
    is_tied = len(tree) > 0 and tree[0] == (op.AT, op.AT_BEGINNING)
    return _times(_of_all(tree, NOTHING).costs, _ONCE if is_tied else _EACH)


def _without_end(nodes: Nodes) -> Nodes:
    """Return the same with characters that may be repeated many times repeated for ever."""
    return [(kind, _endless(kind, value)) for kind, value in nodes]


def _endless(kind: Any, value: Any) -> Any:
    if kind is op.SUBPATTERN:
        return (*value[:3], _without_end(value[3]))
    if kind is op.BRANCH:
        return (value[0], [_without_end(branch) for branch in value[1]])
    if kind not in REPEATS:
        return value
    low, high, body = value
    if not is_one(body):
        return low, high, _without_end(body)
    return low, op.MAXREPEAT if high - low > _SOME else high, body


def longest(tree: Nodes) -> int | None:
    """Return how long a text may be to be shown to an engine; None if any may. Raise ValueError if none may."""
    most = _tries(tree)
    by_tries = next((length for length in (ANY_LENGTH, *LENGTHS) if _at(most, length) <= MOST), 0)
    if not by_tries:
        raise ValueError(
            "it has so many repetitions that could each end in many places that an engine may be busy for ever: let "
            "each end where the next one cannot begin, say how many there may be, such as {0,20}, or tie it to the "
            "start with ^"
        )
    limits = [by_tries] if by_tries < ANY_LENGTH else []
    if (for_each := frames_for_each(tree)) and frames(tree) > FRAMES:
        limits.append(int(FRAMES / for_each))
    return min(limits, default=None)


def _of_all(nodes: Nodes, follows: frozenset[int], *, repeated: bool = False) -> Effort:
    """Return the effort of a sequence. `follows` are the characters that may come next: a repetition that ends where
    none of them can begin has one way to go on. `repeated`: the sequence stands in a repetition, where Java
    remembers nothing of what it has tried.
    """
    ways, costs = _ONCE, _NOTHING
    for kind, value in reversed(nodes):  # what comes behind a piece is tried for each of its ends
        effort = _of_one(kind, value, follows, repeated=repeated)
        costs = _plus(effort.costs, _times(effort.ways, costs))
        ways = _times(effort.ways, ways)
        follows = before(kind, value, follows)
    return Effort(ways=ways, costs=_plus(_ONCE, costs))


def _of_one(kind: Any, value: Any, follows: frozenset[int], *, repeated: bool) -> Effort:
    if kind is op.SUBPATTERN:
        return _of_all(value[3], follows, repeated=repeated)
    if kind is op.BRANCH:
        return _of_branches(value[1], follows, repeated=repeated)
    if kind in REPEATS:
        low, high, body = value
        if is_one(body):
            return _of_character(low, high, characters(*body[0]), follows)
        return _of_group(kind, low, high, body, follows, repeated=repeated)
    return Effort(ways=_ONCE, costs=(_EASY,))


def _of_branches(branches: Sequence[Nodes], follows: frozenset[int], *, repeated: bool) -> Effort:
    """Return the effort of branches. Only one of them can match if no two begin alike."""
    efforts = [_of_all(branch, follows, repeated=repeated) for branch in branches]
    begins = [first(branch, follows) for branch in branches]
    are_apart = sum(map(len, begins)) == len(NOTHING.union(*begins)) and all(begins)
    ways = [each.ways for each in efforts]
    costs = _plus((float(len(branches)),), *(each.costs for each in efforts))
    return Effort(ways=_most(*ways) if are_apart else _plus(*ways), costs=costs)


def _of_character(low: int, high: Any, taken: frozenset[int], follows: frozenset[int]) -> Effort:
    ends = _EACH if high is op.MAXREPEAT else (float(high - low + 1),)
    length = _EACH if high is op.MAXREPEAT else (float(high),)
    return Effort(ways=ends if taken & follows else _ONCE, costs=length)


def _of_group(kind: Any, low: int, high: Any, body: Nodes, follows: frozenset[int], *, repeated: bool) -> Effort:
    """Return the effort of a repeated group. Java remembers where it was tried in vain only of an outermost greedy
    group without an end. It does not remember as long as the group has to be repeated, nor in a group that may be
    left out. The parts behind the group are tried each time.
    """
    begins = first(body, follows)
    once = _of_all(body, follows if high == 1 else begins | follows, repeated=True)
    if high is not op.MAXREPEAT:
        each, times = _power(once.ways, high), float(high)
        numbers = high - low + 1.0 if begins & follows else 1.0
        return Effort(ways=_times((numbers,), each), costs=_times(_times((times,), each), once.costs))
    if once.ways != _ONCE and (kind is op.MIN_REPEAT or repeated):
        return Effort(ways=_ENDLESS, costs=_ENDLESS)
    ends_anywhere = begins & follows or once.ways != _ONCE
    before = _power(once.ways, max(low - 1, 0))
    ends = _times(_times(_EACH, once.ways), before) if ends_anywhere else _ONCE
    return Effort(ways=ends, costs=_times(_times(_EACH, once.costs), before))


def _plus(*added: Polynomial) -> Polynomial:
    return tuple(map(sum, zip_longest(*added, fillvalue=0.0)))


def _most(*compared: Polynomial) -> Polynomial:
    return tuple(map(max, zip_longest(*compared, fillvalue=0.0)))


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    """Return the product. Past its degree, a pattern is refused however large the numbers are, so they need not be
    known.
    """
    if len(one) + len(other) - 1 > _DEGREE + 1:
        return _ENDLESS
    made = [0.0] * max(len(one) + len(other) - 1, 0)
    for at, factor in enumerate(one):
        for beside, by in enumerate(other):
            made[at + beside] += factor * by if factor and by else 0.0
    while made and not made[-1]:
        made.pop()
    return tuple(made)


def _power(of: Polynomial, times: int) -> Polynomial:
    made = _ONCE
    for _ in range(times if of != _ONCE else 0):
        made = _times(made, of)
        if max(made, default=0.0) > MOST or len(made) > len(LENGTHS) + 2:
            return _ENDLESS
    return made


def _at(of: Polynomial, length: int) -> float:
    return sum(factor * float(length) ** k / math.factorial(k) for k, factor in enumerate(of) if factor)
