"""Suggestions for a column, by its name, its type and its numbers alone, each with the number that it rests on.

They are modest: nothing is asked of a column that few rows say, and bounds leave room. It reads nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

from lakegate.audit.schema.types import Atom, Type, digits
from lakegate.counts import count
from lakegate.inference.numbers import Numbers
from lakegate.reading.values import BITS

MIN_ROWS = 20
"""Rows of which fewer say nothing but types."""
_OFTEN = 20  # rows for each value of a list, at least
_LONGEST_VALUE = 40  # letters of a value in a list
_ROOM = 10  # years before the first one
_FIRST_YEAR = 1
_KEYS = re.compile(r"(?i:(^|[_. -])(id|uuid|guid|key|code|number|no|nr)$)|[a-z](Id|ID|Key|Code|Number|No)$")
_PERSONAL = re.compile(
    r"(?i:(^|[^a-z])(e-?mail|phone|telephone|mobile|ssn|passport|iban|birth|birthday|dob|surname|"
    r"salary|firstname|lastname|(first|last|full|given|family|user)[_. -]name|address|street|ip|credit[_. -]?card|"
    r"tax[_. -]?id)([^a-z]|$))|[a-z](Email|Phone|Birth|Address)|(first|last)Name"
)
_KEY_TYPES = ("int", "bigint", "string", "date")  # types of a first column that may be a key
_DIGITS = 100  # of a sum, more than a column's values have


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A value that a contract gives a word, and the number that it rests on."""

    value: Any
    reason: str


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """A column's suggestions: words of the column, of its options, and the values of its `enum`."""

    words: Mapping[str, Suggestion] = field(default_factory=dict)
    options: Mapping[str, Suggestion] = field(default_factory=dict)
    values: Suggestion | None = None
    personal: bool = False


def is_personal(name: str) -> bool:
    """Return True if a name sounds like personal data."""
    return bool(_PERSONAL.search(name))


def key_of(kinds: Mapping[str, Type], numbers: Mapping[str, Numbers]) -> str | None:
    """Return the column that looks like the key: by its name, or because it is the first; None if there is none. A key
    has no nulls, and no value twice in a file.
    """
    sound = [
        name for name, column in numbers.items() if column.rows >= MIN_ROWS and not column.nulls and column.repeats == 0
    ]
    by_name = [name for name in sound if _KEYS.search(name)]
    first = [name for name in sound if name == next(iter(kinds)) and str(kinds[name]) in _KEY_TYPES]
    return next(iter([*by_name, *first]), None)


def suggest(name: str, kind: Type, numbers: Numbers, *, is_key: bool) -> Suggestions:
    """Return what a column's numbers suggest."""
    personal, words, options = is_personal(name), dict[str, Suggestion](), dict[str, Suggestion]()
    values = None
    if is_key:
        words["primaryKey"] = Suggestion(
            value=True, reason=f"{count(numbers.distinct or 0, 'different value')} in {count(numbers.rows, 'row')}"
        )
    elif numbers.rows >= MIN_ROWS and not numbers.nulls:
        words["required"] = Suggestion(value=True, reason=f"no null in {count(numbers.rows, 'row')}")
    if numbers.values_present >= MIN_ROWS and not is_key and not personal and isinstance(kind, Atom):
        options |= _bounds(name, kind, numbers)
        values = _values(numbers)
    if numbers.values_present >= MIN_ROWS and str(kind) == "string" and not numbers.empty and values is None:
        options["minLength"] = Suggestion(value=1, reason=f"no empty text in {numbers.values_present:,}")
    return Suggestions(words=words, options=options, values=values, personal=personal)


def _values(numbers: Numbers) -> Suggestion | None:
    short_texts = [value for value in numbers.values if 0 < len(value) <= _LONGEST_VALUE and value.isprintable()]
    number = len(numbers.values)
    if number < 2 or len(short_texts) < number or numbers.values_present < number * _OFTEN:  # noqa: PLR2004 - one value is no list
        return None
    return Suggestion(value=numbers.values, reason=f"{count(number, 'different value')} in {numbers.values_present:,}")


def _bounds(name: str, kind: Atom, numbers: Numbers) -> dict[str, Suggestion]:
    if numbers.first_year is not None:
        return _first_day(numbers, kind)
    if numbers.smallest is None or numbers.odd or _KEYS.search(name):
        return {}
    low, high = Decimal(str(numbers.smallest)), Decimal(str(numbers.largest))
    with localcontext(prec=_DIGITS):
        room = (high - low) or abs(high) or Decimal(1)
        lower = Decimal(0) if low >= 0 else _round(low - room, ROUND_FLOOR)
        upper = Decimal(0) if high <= 0 else _round(high + room, ROUND_CEILING)
    bounds = {
        "minimum": (lower, f"the least is {_number_text(numbers.smallest)}"),
        "maximum": (upper, f"the greatest is {_number_text(numbers.largest)}"),
    }
    return {
        word: Suggestion(value=int(limit) if limit == int(limit) else limit, reason=reason)
        for word, (limit, reason) in bounds.items()
        if _fits(limit, kind)
    }


def _first_day(numbers: Numbers, kind: Atom) -> dict[str, Suggestion]:
    year = (numbers.first_year or 0) - _ROOM
    if year < _FIRST_YEAR:
        return {}
    moment = {"date": "", "timestamp": "T00:00:00Z", "timestamp_ntz": "T00:00:00"}[kind.name]
    return {"minimum": Suggestion(value=f"{year:04}-01-01{moment}", reason=f"the first is of {numbers.first_year}")}


def _number_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def _round(number: Decimal, towards: str) -> Decimal:
    """Return the number with one digit alone, away from the values."""
    return number.quantize(Decimal(1).scaleb(number.adjusted()), rounding=towards) if number else number


def _fits(limit: Decimal, kind: Atom) -> bool:
    if size := digits(kind):
        places = max(-int(limit.normalize().as_tuple().exponent), 0)
        end = Decimal(10 ** size[0] - 1).scaleb(-size[1])  # a bound there would leave no value out
        return places <= size[1] and abs(limit) < end
    if bits := BITS.get(kind.name):
        return limit == int(limit) and -(2**bits) <= limit < 2**bits
    return abs(limit) < Decimal("1e30")
