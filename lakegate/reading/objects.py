"""JSON's objects, one a line, as Jackson reads them for the Spark job: numbers keep their spelling."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.types import Atom, canonical, digits
from lakegate.audit.text.objects import HALF, HALF_PAIR, NO_HALF, NO_OBJECT
from lakegate.audit.text.scan import row_faults
from lakegate.reading.lines import Line
from lakegate.reading.values import BITS, as_float, nearest_float, reader, scientific

_HALF, _NO_HALF = re.compile(HALF), re.compile(NO_HALF, re.DOTALL)
_SURE_DIGITS = 15  # of a number with a point: with more, two versions of Java spell it in two ways
_LONGEST_NUMBER = 1_000  # letters, which Jackson takes
_LONGEST_TEXT = 5_000_000
_DEEPEST = 200
_PLAIN = 10**-3, 10**7  # numbers between these are spelled without an exponent


class Whole(str):
    """A number without point and exponent, as it is spelled."""

    __slots__ = ()


class BrokenNumber(str):
    """A number with a point or an exponent, as it is spelled."""

    __slots__ = ()


Pairs = list[tuple[str, Any]]


class Object(Pairs):
    """An object's keys and values, with keys that are there twice."""


@dataclass(frozen=True, kw_only=True)
class LineObject:
    """A line's keys, whether it is a row or not, and its object; `reason` says why it is no row."""

    keys: tuple[str, ...] = ()
    values: Object | None = None
    reason: str = ""


def _refuse(word: str) -> None:
    raise ValueError(word)


_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_int=Whole, parse_float=BrokenNumber, parse_constant=_refuse)
_UNSURE = HandedOver("Only Spark can say how it spells a number with a point in a column of text.")
_TOO_DEEP = HandedOver("Only Spark can say what it makes of JSON that is so deep, or of such long texts and numbers.")


def found_in(line: Line, form: FileFormat) -> LineObject:
    """Return what a line holds that is not blank."""
    value, end = _decode(line.text)
    keys = tuple(key for key, _ in value) if isinstance(value, Object) else ()
    if not line.sound:
        return LineObject(keys=keys, reason=row_faults(form, 0)[0])
    if not isinstance(value, Object) or line.text[end:].strip(" \t"):
        return LineObject(keys=keys, reason=NO_OBJECT)
    if _HALF.search(line.text) and _HALF.search(_NO_HALF.sub(" ", line.text)):
        return LineObject(keys=keys, reason=HALF_PAIR)
    return LineObject(keys=keys, values=value)


def _decode(text: str) -> tuple[Any, int]:
    """Return the first value in a text and where it ends; None if there is none."""
    start = len(text) - len(text.lstrip(" \t"))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return None, 0
    except RecursionError:
        raise _TOO_DEEP from None
    if len(text) > _DEEPEST and _is_beyond(value, 0):
        raise _TOO_DEEP
    return value, end


def _is_beyond(value: Any, depth: int) -> bool:
    if depth > _DEEPEST:
        return True
    if isinstance(value, Object):
        return any(len(key) > _LONGEST_NUMBER or _is_beyond(part, depth + 1) for key, part in value)
    if isinstance(value, list):
        return any(_is_beyond(part, depth + 1) for part in value)
    limit = _LONGEST_NUMBER - 1 if isinstance(value, Whole | BrokenNumber) else _LONGEST_TEXT
    return isinstance(value, str) and len(value) > limit


Read = Callable[[Any], Any]


@lru_cache(maxsize=10_000)
def value_reader(column: TableColumn, pattern: str, *, approximate: bool = False) -> Read:
    """Return the reader of a column's values that are not null: None for one that is none of the column's type."""
    kind = canonical(column.type)
    if kind == "string":
        return partial(spell, approximate=approximate)
    if digits(Atom(kind)):
        return lambda value: scientific(kind)(_number_text(value))
    if kind in BITS:
        return lambda value: _whole(value, BITS[kind])
    if kind == "boolean":
        return lambda value: value if isinstance(value, bool) else None
    if kind in ("float", "double"):
        return lambda value: _float(value, kind) if isinstance(value, Whole | BrokenNumber) else None
    return lambda value: reader(kind, pattern)(spell(value))


def _number_text(value: Any) -> str:
    return str(value) if isinstance(value, Whole | BrokenNumber) else spell(value)


def _whole(value: Any, bits: int) -> int | None:
    number = int(value) if isinstance(value, Whole) else None
    return number if number is not None and -(2**bits) <= number < 2**bits else None


def _float(text: str, kind: str) -> float | None:
    number = float(text) + 0.0 if isinstance(text, Whole) else float(text)  # a whole number has no sign at 0
    if math.isinf(number):
        return None
    if kind == "double":
        return number
    if as_float(number) != nearest_float(text, number):
        raise HandedOver("Only Spark can say to which number of 32 bits it rounds a number.")
    return as_float(number)


def spell(value: Any, *, approximate: bool = False) -> str:
    """Return a value as the text that Spark makes of it: a string's own, and anything else as JSON without spaces."""
    if isinstance(value, str) and not isinstance(value, Whole | BrokenNumber):
        return value
    return _json(value, approximate=approximate)


def _json(value: Any, *, approximate: bool) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Whole):
        return "0" if value == "-0" else str(value)
    if isinstance(value, BrokenNumber):
        return _java(value, approximate=approximate)
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Object):
        return "{" + ",".join(f"{_quote(key)}:{_json(part, approximate=approximate)}" for key, part in value) + "}"
    return "[" + ",".join(_json(part, approximate=approximate) for part in value) + "]"


_CONTROL_LETTERS = re.compile('[\x00-\x1f"\\\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _quote(text: str) -> str:
    return '"' + _CONTROL_LETTERS.sub(lambda match: _SHORT.get(match[0], f"\\u{ord(match[0]):04X}"), text) + '"'


def _java(text: str, *, approximate: bool) -> str:
    """Return the nearest 64-bit number as Java spells it."""
    number = float(text)
    if not math.isfinite(number):
        raise _UNSURE
    sign, digits_of, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits, power = "".join(map(str, digits_of)), Decimal(repr(number)).adjusted()
    if (len(digits) > _SURE_DIGITS and not approximate) or not isinstance(exponent, int):
        raise _UNSURE
    minus = "-" if sign else ""
    if not number or _PLAIN[0] <= abs(number) < _PLAIN[1]:
        plain = f"{Decimal(digits).scaleb(exponent):f}"
        return f"{minus}{plain}" + ("" if "." in plain else ".0")
    return f"{minus}{digits[0]}.{digits[1:] or '0'}E{power}"
