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

FEW = 20
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
_ORDERED = ("int", "bigint", "string", "date")  # types of a first column that may be a key
_DIGITS = 100  # of a sum, more than a column's values have


@dataclass(frozen=True, kw_only=True)
class Said:
    """A value that a contract gives a word, and the number that it rests on."""

    value: Any
    why: str


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """A column's suggestions: words of the column, of its options, and the values of its `enum`."""

    words: Mapping[str, Said] = field(default_factory=dict)
    options: Mapping[str, Said] = field(default_factory=dict)
    values: Said | None = None
    personal: bool = False


def is_personal(name: str) -> bool:
    """Return True if a name sounds like personal data."""
    return bool(_PERSONAL.search(name))


def key_of(kinds: Mapping[str, Type], numbers: Mapping[str, Numbers]) -> str | None:
    """Return the column that looks like the key: by its name, or because it is the first; None if there is none. A key
    has no nulls, and no value twice in a file.
    """
    sound = [name for name, found in numbers.items() if found.rows >= FEW and not found.nulls and found.repeats == 0]
    named = [name for name in sound if _KEYS.search(name)]
    first = [name for name in sound if name == next(iter(kinds)) and str(kinds[name]) in _ORDERED]
    return next(iter([*named, *first]), None)


def suggested(name: str, kind: Type, found: Numbers, *, is_key: bool) -> Suggestions:
    """Return what a column's numbers suggest."""
    personal, words, options = is_personal(name), dict[str, Said](), dict[str, Said]()
    values = None
    if is_key:
        words["primaryKey"] = Said(
            value=True, why=f"{count(found.distinct or 0, 'different value')} in {count(found.rows, 'row')}"
        )
    elif found.rows >= FEW and not found.nulls:
        words["required"] = Said(value=True, why=f"no null in {count(found.rows, 'row')}")
    if found.given >= FEW and not is_key and not personal and isinstance(kind, Atom):
        options |= _bounds(name, kind, found)
        values = _values(found)
    if found.given >= FEW and str(kind) == "string" and not found.empty and values is None:
        options["minLength"] = Said(value=1, why=f"no empty text in {found.given:,}")
    return Suggestions(words=words, options=options, values=values, personal=personal)


def _values(found: Numbers) -> Said | None:
    fitting = [value for value in found.values if 0 < len(value) <= _LONGEST_VALUE and value.isprintable()]
    many = len(found.values)
    if many < 2 or len(fitting) < many or found.given < many * _OFTEN:  # noqa: PLR2004 - one value is no list
        return None
    return Said(value=found.values, why=f"{count(many, 'different value')} in {found.given:,}")


def _bounds(name: str, kind: Atom, found: Numbers) -> dict[str, Said]:
    if found.first_year is not None:
        return _since(found, kind)
    if found.least is None or found.odd or _KEYS.search(name):
        return {}
    low, high = Decimal(str(found.least)), Decimal(str(found.most))
    with localcontext(prec=_DIGITS):
        room = (high - low) or abs(high) or Decimal(1)
        least = Decimal(0) if low >= 0 else _rounded(low - room, ROUND_FLOOR)
        most = Decimal(0) if high <= 0 else _rounded(high + room, ROUND_CEILING)
    bounds = {
        "minimum": (least, f"the least is {_shown(found.least)}"),
        "maximum": (most, f"the greatest is {_shown(found.most)}"),
    }
    fitting = {word: said for word, said in bounds.items() if _fits(said[0], kind)}
    return {
        word: Said(value=int(bound) if bound == int(bound) else bound, why=why)
        for word, (bound, why) in fitting.items()
    }


def _since(found: Numbers, kind: Atom) -> dict[str, Said]:
    year = (found.first_year or 0) - _ROOM
    if year < _FIRST_YEAR:
        return {}
    moment = {"date": "", "timestamp": "T00:00:00Z", "timestamp_ntz": "T00:00:00"}[kind.name]
    return {"minimum": Said(value=f"{year:04}-01-01{moment}", why=f"the first is of {found.first_year}")}


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def _rounded(number: Decimal, towards: str) -> Decimal:
    """Return the number with one digit alone, away from the values."""
    return number.quantize(Decimal(1).scaleb(number.adjusted()), rounding=towards) if number else number


def _fits(bound: Decimal, kind: Atom) -> bool:
    if size := digits(kind):
        places = max(-int(bound.normalize().as_tuple().exponent), 0)
        end = Decimal(10 ** size[0] - 1).scaleb(-size[1])  # a bound there would leave no value out
        return places <= size[1] and abs(bound) < end
    if bits := BITS.get(kind.name):
        return bound == int(bound) and -(2**bits) <= bound < 2**bits
    return abs(bound) < Decimal("1e30")
