"""Values of text as the Spark job takes them: a text is a value of its column's type, or its row does not parse.

A reader returns None for what is no value; spaces around a text are gone before it is asked.
"""

import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from lakegate.audit.errors import HandedOver
from lakegate.audit.schema.types import MOST_DIGITS, Atom, canonical, digits
from lakegate.audit.text.values import NO_NUMBER, NUMBER, SCIENTIFIC, spelling
from lakegate.reading.moments import days, iso, pattern_reader

Read = Callable[[str], Any]
BITS = {"int": 31, "bigint": 63}
"""Bits of whole numbers, without that of the sign."""
_LONGEST_NUMBER = 1_000
_LARGEST, _EDGE = 3.4028234663852886e38, 3.4028235677973366e38  # of 32 bits; from where on there is none
_EXACT = Context(prec=2_000, rounding=ROUND_HALF_EVEN)
_NUMBER, _NO_NUMBER, _SCIENTIFIC = (re.compile(form, re.ASCII) for form in (NUMBER, NO_NUMBER, SCIENTIFIC))


@lru_cache(maxsize=10_000)
def reader(type_name: str, pattern: str = "") -> Read:
    """Return the reader of a type's texts; `pattern` spells dates and timestamps, else they are ISO 8601."""
    kind = canonical(type_name)
    if kind == "string":
        return lambda text: text
    plain = _of_dates(kind, pattern) if pattern else _plain(kind)
    return lambda text: plain(text.strip(" "))


@lru_cache(maxsize=10_000)
def scientific(type_name: str) -> Read:
    """Return the reader of a decimal that may have an exponent. Its digits must all be kept."""
    kind = canonical(type_name)
    size, plain = digits(Atom(kind)) or (0, 0), reader(kind)

    def read(text: str) -> Decimal | None:
        number: Decimal | None = plain(text)
        if number is not None or not _SCIENTIFIC.fullmatch(text.strip(" ")):
            return number
        return _fit(Decimal(text.strip(" ")), *size)

    return read


def _plain(kind: str) -> Read:
    if size := digits(Atom(kind)):
        return _with_form(kind, lambda text: _fit(Decimal(text), *size))
    if kind in BITS:
        return _with_form(kind, lambda text: _whole(text, BITS[kind]))
    if kind in ("float", "double"):
        return _double if kind == "double" else _float
    if kind == "boolean":
        return _with_form(kind, lambda text: text[0] in "tT")
    if kind == "date":
        return _with_form(kind, lambda text: days(iso(text)))
    if kind in ("timestamp", "timestamp_ntz"):
        return _with_form(kind, iso)
    raise HandedOver(f"Only Spark reads values of type {kind} from text.")


def _with_form(kind: str, read: Read) -> Read:
    form = re.compile(spelling(kind), re.ASCII)
    return lambda text: read(text) if form.fullmatch(text) else None


def _of_dates(kind: str, pattern: str) -> Read:
    parse = pattern_reader(pattern)
    return (lambda text: days(parse(text))) if kind == "date" else parse


def _whole(text: str, bits: int) -> int | None:
    digits_text = text.lstrip("+-").lstrip("0")
    if len(digits_text) > 19:  # noqa: PLR2004 - digits of 64 bits
        return None
    number = -int(digits_text or "0") if text.startswith("-") else int(digits_text or "0")
    return number if -(2**bits) <= number < 2**bits else None


def _fit(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return the number with the type's places; None if it has other digits, or too many."""
    if number.adjusted() >= MOST_DIGITS and number:
        return None
    if number.adjusted() < -MOST_DIGITS and number:
        return None
    exact = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if exact != number or (exact and exact.adjusted() + 1 + scale > precision):
        return None
    return exact or exact.copy_abs()


def _double(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    return float(text) if _NO_NUMBER.fullmatch(text) else None


def _float(text: str) -> float | None:
    number = _double(text)
    if number is None or number != number or abs(number) == float("inf"):  # noqa: PLR0124 - NaN is not itself
        return number
    return nearest_float(text, number)


def nearest_float(text: str, number: float) -> float | None:
    """Return the number of 32 bits that is nearest to a text, of which `number` is the nearest of 64 bits; None if it
    is too large. By way of 64 bits it could be rounded twice.
    """
    near = as_float(number)
    if near is None and abs(number) != _EDGE:
        return None
    if len(text) > _LONGEST_NUMBER:
        raise HandedOver("Only Spark can say to which number of 32 bits it rounds a number.")
    exact = Fraction(Decimal(text))
    if near is None:
        return math.copysign(_LARGEST, number) if abs(exact) < Fraction(_EDGE) else None
    [bits] = struct.unpack("<I", struct.pack("<f", near))
    neighbours = [near, *(_of_bits(bits + step) for step in (-1, 1))]
    return min(
        filter(math.isfinite, neighbours), key=lambda candidate: (abs(Fraction(candidate) - exact), candidate != near)
    )


def as_float(number: float) -> float | None:
    """Return the number of 32 bits that is nearest to one of 64; None if it is too large."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return nearest


def _of_bits(bits: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    return value
