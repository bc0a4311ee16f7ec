"""Conditions that show cheaply that a text has a pattern: true only of texts that have it, of most if not of all.

An engine of regular expressions takes some ten nanoseconds to hold a character against a class, and three to search for
one outside; comparing bytes as they are costs nearly nothing. If a condition is not true, the pattern itself is asked.
False negatives are allowed; false positives are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sqlglot import exp

from lakegate.contracts.regex.charset import ANY, ASCII, SINGLE_OPS, characters, op
from lakegate.contracts.regex.portable import class_of, parse

_HEX = frozenset(map(ord, "0123456789abcdefABCDEF"))
_LONG = 16  # characters; with shorter texts the engine is as fast


@dataclass(frozen=True, kw_only=True)
class Block:
    """A run of characters, each one of these; `greatest` is None if there is no end."""

    characters: frozenset[int]
    least: int = 1
    greatest: int | None = 1


def has(text: exp.Expr, pattern: str) -> exp.Expr | None:
    """Return the condition that a text has a pattern; None if nothing cheaper than the pattern would show it."""
    blocks = list(_whole(parse(pattern)))
    if not blocks or None in blocks:
        return None
    real_blocks = [block for block in blocks if block]
    if len(real_blocks) == 1:
        return _of_one_class(text, real_blocks[0])
    is_fixed = all(block.least == block.greatest for block in real_blocks)
    return _by_place(text, real_blocks) if is_fixed and sum(block.least for block in real_blocks) >= _LONG else None


def is_like(text: exp.Expr, pattern: str, longest: int | None) -> exp.Expr:
    """Return the condition that a text has a pattern as every engine reads it, and surely no more than `longest`
    characters.
    """
    matches = exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(pattern))
    if longest is None:
        return matches
    return exp.And(this=exp.LTE(this=octets(text), expression=exp.Literal.number(longest)), expression=matches)


def lengths(pattern: str) -> tuple[int, int | None]:
    """Return how many characters a text with the pattern has at least and at most; None if there is no end."""
    tree = parse(pattern)
    least, greatest = tree.getwidth()
    is_whole = len(tree) > 1 and tree[0] == (op.AT, op.AT_BEGINNING) and tree[-1] == (op.AT, op.AT_END)
    return int(least), int(greatest) if is_whole and greatest < op.MAXREPEAT else None


def octets(text: exp.Expr) -> exp.Expr:
    """Return the number of bytes, which is known without a look at the text. Characters are at most as many, and at
    least a quarter.
    """
    return exp.Anonymous(this="OCTET_LENGTH", expressions=[text.copy()])


def _whole(tree: Any) -> Iterator[Block | None]:
    """Yield the blocks that a pattern of a whole text is made of: nothing if it is none, None for a piece that is no
    block.
    """
    if len(tree) > 1 and tree[0] == (op.AT, op.AT_BEGINNING) and tree[-1] == (op.AT, op.AT_END):
        yield from _blocks(tree[1:-1])


def _blocks(tree: Any) -> Iterator[Block | None]:
    for kind, value in tree:
        if kind is op.SUBPATTERN:
            yield from _blocks(value[3])
        elif kind is op.MAX_REPEAT:
            yield _repeat_block(*value)
        else:
            class_members = characters(kind, value) if kind in SINGLE_OPS else ANY
            yield (
                Block(characters=class_members) if class_members and class_members <= ASCII else None
            )  # ASCII characters are their own bytes


def _repeat_block(low: int, high: Any, body: Any) -> Block | None:
    body_blocks = list(_blocks(body))
    if len(body_blocks) != 1 or body_blocks[0] is None or body_blocks[0] != Block(characters=body_blocks[0].characters):
        return None
    return Block(characters=body_blocks[0].characters, least=low, greatest=None if high is op.MAXREPEAT else high)


def _of_one_class(text: exp.Expr, block: Block) -> exp.Expr:
    """Return the condition that nothing of the text is outside the class, and that it has the length."""
    tests: list[exp.Expr] = [exp.GTE(this=octets(text), expression=exp.Literal.number(block.least))]
    if block.greatest is not None:
        tests.append(exp.LTE(this=octets(text), expression=exp.Literal.number(block.greatest)))
    is_whole_bytes = block.least == block.greatest and block.least % 2 == 0
    test = _CASE_TESTS.get(block.characters) if is_whole_bytes else None
    return exp.and_(*tests, test(text) if test else _none_outside(text, block.characters))


def _upper(text: exp.Expr) -> exp.Expr:
    """Return the condition that the text is as its bytes are written, two digits each."""
    return exp.EQ(this=_digits(text), expression=text.copy())


def _lower(text: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.Lower(this=_digits(text)), expression=text.copy())


def _digits(text: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="HEX", expressions=[exp.Anonymous(this="UNHEX", expressions=[text.copy()])])


_CASE_TESTS = {frozenset(map(ord, "0123456789abcdef")): _lower, frozenset(map(ord, "0123456789ABCDEF")): _upper}


def _none_outside(text: exp.Expr, characters: frozenset[int]) -> exp.Expr:
    class_text = exp.Literal.string(class_of(sorted(characters), is_negated=True))
    return exp.Not(this=exp.RegexpLike(this=text.copy(), expression=class_text))


def _by_place(text: exp.Expr, blocks: Sequence[Block]) -> exp.Expr:
    """Return the condition that every block is where it must be: those of one character each, the others all of a class
    at a time.
    """
    starts = accumulate((block.least for block in blocks), initial=1)
    places = list(zip(starts, blocks, strict=False))
    length = exp.Literal.number(sum(block.least for block in blocks))
    tests: list[exp.Expr] = [exp.EQ(this=octets(text), expression=length)]
    parts: dict[frozenset[int], list[exp.Expr]] = {}
    for start, block in places:
        part = _part(text, start, block.least)
        if len(block.characters) == 1:
            literal = chr(*block.characters) * block.least
            tests.append(exp.EQ(this=part, expression=_bytes(exp.Literal.string(literal))))
        else:
            parts.setdefault(block.characters, []).append(part)
    tests += [_all_of(characters, class_parts) for characters, class_parts in parts.items()]
    return exp.and_(*tests)


def _all_of(characters: frozenset[int], parts: list[exp.Expr]) -> exp.Expr:
    text_of_parts = exp.cast(exp.Concat(expressions=parts) if len(parts) > 1 else parts[0], "string", dialect="spark")
    if characters >= _HEX:
        number = exp.Anonymous(this="UNHEX", expressions=[text_of_parts])  # null if one is no digit
        return exp.Not(this=exp.Is(this=number, expression=exp.null()))
    return _none_outside(text_of_parts, characters)


def _part(text: exp.Expr, start: int, length: int) -> exp.Expr:
    """Return a part of the bytes, which are found by their number; for characters, all before them would be looked
    at.
    """
    return exp.Substring(this=_bytes(text), start=exp.Literal.number(start), length=exp.Literal.number(length))


def _bytes(text: exp.Expr) -> exp.Expr:
    return exp.cast(text.copy(), "binary", dialect="spark")
