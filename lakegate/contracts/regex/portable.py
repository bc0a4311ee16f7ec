r"""Regular expressions of contracts, written anew so that every engine here reads them alike, or refused.

ODCS's patterns are ECMA-262's. Java's, Python's and RE2's engines differ from that and from each other (`$` before a
last line break, what `\s` and `.` take in, look-around), so a pattern is taken apart and put together from what all of
them agree on.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from typing import Any

from lakegate.contracts.regex.charset import is_one, op
from lakegate.contracts.regex.extent import has_every_text, has_no_text
from lakegate.contracts.regex.repetition import as_searched, longest

# Python's own reader of patterns, for which it has no public name.
parser: Any = import_module("re._parser")

LONGEST = 1_000  # repetitions, those within others multiplied; RE2 takes no more
MOST_CHARACTERS = 10_000  # of a pattern
DEEPEST = 30  # groups within groups: each is read by calls within calls
_ASCII = 128
_LINE_BREAKS = "\n\r\u2028\u2029"
_SPACES = "\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {
    op.CATEGORY_DIGIT: "0-9",
    op.CATEGORY_WORD: "A-Za-z0-9_",
    op.CATEGORY_SPACE: _SPACES,
}
_NEGATIONS = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
}
_SPECIAL = frozenset(r"\^$.|?*+()[]{}-&~#")
# Pieces that Python reads in a way of its own.
_NOT_ECMA = re.compile(r"(?<!\\)(?:\\\\)*(\\[aNU0]|\\u[dD][89a-fA-F]|\{,|\(\?[^:])")
# To ECMA a class that is closed at once is empty, and to Python the bracket is the first of its characters.
_EMPTY_CLASS = re.compile(r"(?:[^\\\[]|\\.|\[(?!\^?\])(?:[^\\\]]|\\.)*\])*(\[\^?\])", re.DOTALL)
_ESCAPE_OR_CLASS = re.compile(
    r"\\.|\[(?:\\.|[^\]\\])*\]?", re.DOTALL
)  # an escape, or a class, whose parentheses open nothing
_FLAGS = re.ASCII  # otherwise `\d` of the parsed tree would be Unicode's


@dataclass(frozen=True, kw_only=True)
class Portable:
    """A pattern as engines agree on it, the longest text that is shown to one (None: any), and whether surely every
    text has it, or none.
    """

    text: str
    longest: int | None
    of_every: bool = False
    of_none: bool = False


@lru_cache(maxsize=256)
def portable(pattern: str) -> Portable:
    """Return the pattern as Java and RE2 both read it, and Python reads the original: found anywhere in a text.

    Raise ValueError, with what is wrong, if they would not agree, or might never be done.
    """
    tree = parse(pattern)
    if _times(tree) > LONGEST:
        raise ValueError(f"more than {LONGEST:,} repetitions are not supported, and those within others multiply")
    has_every, has_none = has_every_text(tree), has_no_text(tree)
    if longest(tree):
        tree = as_searched(tree)
    return Portable(text=_sequence(tree), longest=longest(tree), of_every=has_every, of_none=has_none)


def parse(pattern: str) -> Any:
    """Return the pattern as Python's own reader takes it apart. Raise ValueError, with what is wrong."""
    if (length := len(pattern)) > MOST_CHARACTERS:
        raise ValueError(f"it has {length:,} characters, and the limit is {MOST_CHARACTERS:,}: say it in a shorter way")
    if match := _NOT_ECMA.search(pattern) or _EMPTY_CLASS.match(pattern):
        raise ValueError(f"{match[1]} is not supported: engines do not agree on it")
    if (depth := _nesting(pattern)) > DEEPEST:
        raise ValueError(
            f"its groups are nested {depth:,} deep, and the limit is {DEEPEST}: take out what is not needed"
        )
    try:
        with warnings.catch_warnings():  # brackets in brackets, which are escaped when they are written anew
            warnings.simplefilter("ignore", FutureWarning)
            return parser.parse(pattern, _FLAGS)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None


def _nesting(pattern: str) -> int:
    """Return how many groups are open at once at most. It goes through the pattern once."""
    steps = ({"(": 1, ")": -1}.get(letter, 0) for letter in _ESCAPE_OR_CLASS.sub("", pattern))
    return max(accumulate(steps, initial=0))


def class_of(characters: Iterable[int], *, is_negated: bool) -> str:
    """Return a class of these characters, or of all others. It is spelled out, because Java looks single characters up
    in a table and asks ranges one after the other. A pattern of a UUID takes half the time.
    """
    return f"[{'^' * is_negated}{''.join(map(_in_class, characters))}]"


def _sequence(tree: Sequence[tuple[Any, Any]]) -> str:
    return "".join(_literal_text(kind, value) for kind, value in tree)


def _times(tree: Sequence[tuple[Any, Any]]) -> int:
    """Return how often a part is repeated at most, as RE2 counts: one without an end as often as it must be there."""
    return max((_repeat_text(kind, value) for kind, value in tree), default=1)


def _repeat_text(kind: Any, value: Any) -> int:
    if kind is op.SUBPATTERN:
        return _times(value[3])
    if kind is op.BRANCH:
        return max(map(_times, value[1]))
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        low, high, body = value
        return max(int(low if high is op.MAXREPEAT else high), 1) * _times(body)
    return 1


def _literal_text(kind: Any, value: Any) -> str:
    if kind not in _WRITERS:
        raise ValueError(f"{str(kind).lower().replace('_', ' ')} is not supported: engines do not agree on it")
    return _WRITERS[kind](value)


def literal(code: int) -> str:
    """Return a character as itself, or bracketed or escaped if a reader of SQL or of patterns could take it for
    something else.
    """
    letter = chr(code)
    if not code:
        return r"\x00"
    if letter == "\\":
        return r"\\"
    if letter == "^":
        return r"\^"
    return f"[{letter}]" if letter in _SPECIAL - set("[]-") else f"\\{letter}" if letter in _SPECIAL else letter


def _in_class(code: int) -> str:
    letter = chr(code) if code else r"\x00"
    return f"\\{letter}" if letter in r"\^[]-&~" else letter


def _class(members: Sequence[tuple[Any, Any]]) -> str:
    is_negated = bool(members) and members[0][0] is op.NEGATE
    are_few = all(kind in (op.LITERAL, op.RANGE) and max(_codes(value)) < _ASCII for kind, value in members)
    if len(members) > 1 and not is_negated and are_few:
        return class_of((code for _, value in members for code in _codes(value)), is_negated=False)
    parts = [_member(kind, value) for kind, value in members[is_negated:]]
    return f"[{'^' * is_negated}{''.join(parts)}]"


def _codes(value: Any) -> range:
    low, high = value if isinstance(value, tuple) else (value, value)
    return range(low, high + 1)


def _member(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return _in_class(value)
    if kind is op.RANGE:
        return f"{_in_class(value[0])}-{_in_class(value[1])}"
    if kind is op.CATEGORY and value in _CLASSES:
        return _CLASSES[value]
    raise ValueError("a class that holds everything but something, inside brackets, is not supported")


def _lone_class(members: Sequence[tuple[Any, Any]]) -> str:
    """Return a class; a category alone comes as a class of its own."""
    if len(members) == 1 and members[0][0] is op.CATEGORY:
        category = members[0][1]
        return f"[{_CLASSES[category]}]" if category in _CLASSES else f"[^{_CLASSES[_NEGATIONS[category]]}]"
    return _class(members)


def _repeat(value: tuple[int, Any, Sequence[tuple[Any, Any]]], lazy: str = "") -> str:
    low, high, body = value
    is_endless = high is op.MAXREPEAT
    times = {(0, True): "*", (1, True): "+"}.get((low, is_endless))
    if times is None:
        exactly = f"{{{low}}}" if low == high else f"{{{low},{high}}}"
        times = f"{{{low},}}" if is_endless else "?" if (low, high) == (0, 1) else exactly
    body_text = _sequence(body)
    is_whole = is_one(body) or (len(body) == 1 and body[0][0] is op.SUBPATTERN)
    return f"{body_text if is_whole else f'(?:{body_text})'}{times}{lazy}"


def _group(value: tuple[int | None, int, int, Sequence[tuple[Any, Any]]]) -> str:
    _, extra_flags, fewer_flags, body = value
    if extra_flags or fewer_flags:
        raise ValueError("flags inside a pattern are not supported")
    return f"(?:{_sequence(body)})"


def _at(boundary: Any) -> str:
    texts = {op.AT_BEGINNING: r"\A", op.AT_END: r"\z"}
    if boundary not in texts:
        raise ValueError("a boundary of words is not supported: engines do not agree on it")
    return texts[boundary]


_WRITERS: Mapping[Any, Callable[[Any], str]] = {
    op.LITERAL: literal,
    op.NOT_LITERAL: lambda code: f"[^{_in_class(code)}]",
    op.ANY: lambda _: f"[^{_LINE_BREAKS}]",
    op.IN: _lone_class,
    op.BRANCH: lambda value: f"(?:{'|'.join(_sequence(branch) for branch in value[1])})",
    op.SUBPATTERN: _group,
    op.MAX_REPEAT: _repeat,
    op.MIN_REPEAT: lambda value: _repeat(value, "?"),
    op.AT: _at,
}
