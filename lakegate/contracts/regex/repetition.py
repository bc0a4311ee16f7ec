"""Limits on how a pattern repeats: it is refused, or is asked of texts up to a length, or of any text.

Java's engine backtracks wherever a repetition could have ended elsewhere, and calls itself for each round of a group.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from operator import mul
from typing import Any

from lakegate.contracts.regex.charset import NO_CHARACTERS, REPEATS, Nodes, before, first, is_one, op

LENGTHS = (1_000, 500, 250, 100)  # characters that a text may have, if there must be a limit
ANY_LENGTH = 100_000  # a pattern within the limits below at so many characters is asked of any text
MOST_TRIES = 25_000_000  # tries with one text, which take Java a tenth of a second
FRAMES = 3_000  # of Java's stack, which overflows at some five thousand
_WAYS = 100  # in which a round of a group without an end may match
_EASY = 0.1  # part of a try that comparing a character takes


def longest(tree: Nodes) -> int | None:
    """Return how long a text may be to be shown to an engine; None if any may. Raise ValueError if none may."""
    lengths_that_fit = (
        length
        for length in (ANY_LENGTH, *LENGTHS)
        if _Tries(length=length).of_pattern(tree) <= MOST_TRIES and _frames(tree, length) <= FRAMES
    )
    if not (length := next(lengths_that_fit, 0)):
        raise ValueError(
            "it has so many repetitions, or so much in one, that an engine may be busy for ever or overflow: let each "
            "end where the next one cannot begin, say how many there may be, such as {0,20}, or tie it to the start "
            "with ^"
        )
    return None if length == ANY_LENGTH else length


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


@dataclass(frozen=True, kw_only=True)
class _Effort:
    """A part's effort: in how many `ways` it can match a text, and how many tries all of them take."""

    ways: float = 1
    tries: float = _EASY


@dataclass(frozen=True, kw_only=True)
class _Tries:
    """A bound on an engine's tries with a text of a length that does not match."""

    length: int

    def of_pattern(self, tree: Nodes) -> float:
        is_tied = len(tree) > 0 and tree[0] == (op.AT, op.AT_BEGINNING)
        return self._sequence(tree, NO_CHARACTERS).tries * (1 if is_tied else self.length)

    def _sequence(self, nodes: Nodes, follows: frozenset[int], *, is_nested: bool = False) -> _Effort:
        """Return the effort of a sequence before the characters that may come next. A repetition that ends where none
        of them can begin has one way to go on.
        """
        pieces = list(_pieces(nodes))
        _refuse_neighbours(pieces)
        ways, tries = 1.0, 0.0
        for kind, value in reversed(pieces):  # what comes behind a piece is tried for each of its ends
            effort = self._piece(kind, value, follows, is_nested=is_nested)
            ways, tries = effort.ways * ways, effort.tries + effort.ways * tries
            follows = before(kind, value, follows)
        return _Effort(ways=ways, tries=1 + tries)

    def _piece(self, kind: Any, value: Any, follows: frozenset[int], *, is_nested: bool) -> _Effort:
        if kind is op.BRANCH:
            return self._branches(value[1], follows, is_nested=is_nested)
        return self._repetition(kind, value, follows, is_nested=is_nested) if kind in REPEATS else _Effort()

    def _branches(self, branches: Sequence[Nodes], follows: frozenset[int], *, is_nested: bool) -> _Effort:
        """Return the effort of branches. Only one of them can match if no two begin alike."""
        efforts = [self._sequence(branch, follows, is_nested=is_nested) for branch in branches]
        begins = [first(branch, follows) for branch in branches]
        are_apart = sum(map(len, begins)) == len(NO_CHARACTERS.union(*begins)) and all(begins)
        ways = (max if are_apart else sum)(effort.ways for effort in efforts)
        return _Effort(ways=ways, tries=len(branches) + sum(effort.tries for effort in efforts))

    def _repetition(self, kind: Any, value: Any, follows: frozenset[int], *, is_nested: bool) -> _Effort:
        low, high, body = value
        begins, is_endless = first(body, follows), high is op.MAXREPEAT
        greatest = float(self.length if is_endless else high)
        ends = max(greatest - low + 1, 1.0) if begins & follows else 1.0
        if is_one(body):
            return _Effort(ways=ends, tries=greatest)
        round_effort = self._sequence(body, follows if high == 1 else begins | follows, is_nested=True)
        if not is_endless:
            powers = list(accumulate(repeat(round_effort.ways, high), mul, initial=1.0))
            return _Effort(
                ways=sum(powers[low if begins & follows else high :]), tries=round_effort.tries * sum(powers[:high])
            )
        if round_effort.ways > (1 if is_nested or kind is op.MIN_REPEAT else _WAYS):
            raise ValueError(
                "it repeats a group without an end that could match the same characters in many ways, because another "
                "repetition or a choice in it ends anywhere: repeat once, as a+ does in the place of (a+)+, or let "
                "each round begin with what nothing else in it takes, as [a-z]+( [a-z]+)* does in that of ([a-z]+ ?)+"
            )
        # Java remembers where a group without an end has failed, once it has been repeated as often as it must.
        ways = math.prod(repeat(round_effort.ways, max(low, 1)))
        return _Effort(
            ways=ways * (ends if ways == 1 else greatest),
            tries=greatest * round_effort.tries * ways / round_effort.ways,
        )


def _pieces(nodes: Nodes) -> Iterator[tuple[Any, Any]]:
    """Yield the pieces, those of a plain group one by one."""
    for kind, value in nodes:
        if kind is op.SUBPATTERN:
            yield from _pieces(value[3])
        else:
            yield kind, value


def _refuse_neighbours(pieces: Sequence[tuple[Any, Any]]) -> None:
    """Refuse a repetition without an end beside another of the same characters."""
    runs = [kind in REPEATS and value[1] is op.MAXREPEAT and is_one(value[2]) for kind, value in pieces]
    firsts = [
        first(value[2], NO_CHARACTERS) if is_run else NO_CHARACTERS
        for is_run, (_, value) in zip(runs, pieces, strict=True)
    ]
    if any(current & other for current, other in pairwise(firsts)):
        raise ValueError(
            "two of its repetitions without an end stand side by side and take the same characters: repeat one alone, "
            r"as [a-z][a-z0-9]* does in the place of [a-z]+[a-z0-9]*, and \w*\d in that of \w*\d+"
        )


def _frames(nodes: Nodes, length: int, rounds: float = 0) -> float:
    """Return how deep Java's stack gets at most: a frame for each piece of a group, in each round."""
    return sum(_frames_of(kind, value, length, rounds) for kind, value in _pieces(nodes))


def _frames_of(kind: Any, value: Any, length: int, rounds: float) -> float:
    if kind is op.BRANCH:  # comes back to where its branches meet
        return 2 * rounds + max(_frames(branch, length, rounds) for branch in value[1])
    if kind not in REPEATS or is_one(value[2]):
        return rounds
    _, high, body = value
    by_length = length / max(body.getwidth()[0], 1)
    return rounds + _frames(body, length, by_length if high is op.MAXREPEAT else min(max(rounds, 1) * high, by_length))
