"""Types of texts: a column has a type if the job reads each of its texts as a value of it, and the value would be
written as that text again. Where it would be another text, a column stays text, and a remark says why.

Layout is no part of a text: spaces around all values alike, and one way to write true and false.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from lakegate.audit.errors import HandedOver
from lakegate.audit.schema.types import MOST_DIGITS, Atom
from lakegate.audit.text.values import NULLS
from lakegate.counts import count
from lakegate.inference.suggestions import is_personal
from lakegate.reading.values import reader
from lakegate.visibility import code_point, visible

NO_VALUE = "no value: the type is a guess"
SPELLINGS = (
    "yyyy/MM/dd",
    "dd.MM.yyyy",
    "d.M.yyyy",
    "dd/MM/yyyy",
    "MM/dd/yyyy",
    "d/M/yyyy",
    "M/d/yyyy",
    "dd-MM-yyyy",
    "MM-dd-yyyy",
)
"""Spellings of dates as contracts have them, the stricter ones first."""
_EXAMPLE = 40  # letters of a text that is shown
_YEAR_1 = -719_162  # days before 1970: Python's first date, and that of most readers
_DAY_MICROSECONDS = 86_400_000_000
_USUAL_DIGITS = 18
_WHOLE = re.compile("0|-?[1-9][0-9]*")
_NUMBERS_PER_TEXT = 20  # numbers for each text that is none
_DIGITS = re.compile("[+-]?[0-9]+")
_FIXED_PLACES = re.compile("-?(0|[1-9][0-9]*)[.]([0-9]+)")
_ZEROS_IN_FRONT = re.compile("[+-]?0[0-9]+([.].*)?")
_ZONE_AT_END = re.compile(".*(Z|[+-][0-9]{2}:[0-9]{2})")
_COMMA = re.compile("[+-]?[0-9.' ]*,[0-9]+")


@dataclass(frozen=True, kw_only=True)
class TextType:
    """A column's type, how its dates are spelled if not as ISO 8601 has them, its own texts of null, and a remark."""

    type: Atom
    pattern: str = ""
    nulls: tuple[str, ...] = ()
    remark: str = ""

    def has(self, text: str) -> bool:
        """Return True if a text is a value of the column, or one of its nulls."""
        return text in self.nulls or _read(self.type.name, text, self.pattern) is not None


def type_of_texts(name: str, texts: Collection[str]) -> TextType:
    """Return the type of a CSV's column with these different texts. An empty one is null unless the column is text."""
    non_empty = [text for text in texts if text]
    if not non_empty:
        return TextType(type=Atom("string"), remark="" if texts else NO_VALUE)
    nulls = tuple(text for text in non_empty if text in NULLS or not text.strip(" "))
    for null_texts in ((), nulls) if nulls else ((),):
        values = [text for text in non_empty if text not in null_texts]
        if values and (text_type := _type_of(values)):
            return replace(text_type, nulls=null_texts)
    rest = [text for text in non_empty if text not in nulls]
    return TextType(type=Atom("string"), remark=next(_remarks(name, [text.strip(" ") for text in rest], rest), ""))


def of_moments(texts: Sequence[str]) -> TextType | None:
    """Return the type of texts that are dates or moments, or None."""
    return _dates(texts) or _moments(texts) or _in_one_spelling(texts)


def _type_of(texts: Sequence[str]) -> TextType | None:
    plain = [text.strip(" ") for text in texts]
    if not all(plain) or not _is_layout(texts, plain):
        return None
    kinds: Sequence[Callable[[Sequence[str]], TextType | None]] = (_truths, _wholes, _doubles, _decimals, of_moments)
    return next((text_type for of in kinds if (text_type := of(plain))), None)


def _is_layout(texts: Sequence[str], plain: Sequence[str]) -> bool:
    """Return True if no text has spaces around it, or all have as many, or all are padded to one width."""
    margins = {(len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))) for text in texts}
    if len(margins) == 1:
        return True
    is_one_side = not any(before for before, _ in margins) or not any(after for _, after in margins)
    return is_one_side and len(set(map(len, texts))) == 1 and len(set(plain)) == len(plain)


def _atom(kind: str) -> TextType:
    return TextType(type=Atom(kind))


def _truths(texts: Sequence[str]) -> TextType | None:
    cases: Sequence[Callable[[str], str]] = (str.lower, str.upper, str.capitalize)
    is_one = any(set(texts) <= {case("true"), case("false")} for case in cases)
    return _atom("boolean") if is_one else None


def _wholes(texts: Sequence[str]) -> TextType | None:
    read = reader("bigint")
    return _atom("bigint") if all(_WHOLE.fullmatch(text) and read(text) is not None for text in texts) else None


def _doubles(texts: Sequence[str]) -> TextType | None:
    read = reader("double")
    numbers = [read(text) for text in texts]
    if any(number is None for number in numbers) or not any(map(math.isfinite, numbers)):
        return None
    if all(_DIGITS.fullmatch(text) for text in texts):
        return None  # beyond 64 bits, or written in another way
    pairs = list(zip(texts, numbers, strict=True))
    is_kept = any(all(text in way(number) for text, number in pairs) for way in _WAYS)
    odd = [text for text, number in pairs if math.isnan(number)]
    return _atom("double") if is_kept and len(odd) < 2 else None  # noqa: PLR2004 - NaN and nan are two texts


def _as_short(number: float) -> Collection[str]:
    """Yield what is written without a fraction that is 0."""
    usual = f"{number!r}".removesuffix(".0")
    return (usual, "NaN") if math.isnan(number) else (usual,)


def _as_java(number: float) -> Collection[str]:
    if not math.isfinite(number):
        return ("NaN",) if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity",)
    if not number or 10**-3 <= abs(number) < 10**7:
        return (f"{Decimal(repr(number)):f}",)
    sign, digits, _ = Decimal(repr(number)).normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return (f"{'-' if sign else ''}{digits[0]}.{rest}E{Decimal(repr(number)).adjusted()}",)


def _as_script(number: float) -> Collection[str]:
    """Yield what JavaScript writes."""
    if not math.isfinite(number):
        return _as_java(number)
    return (re.sub("e([+-])0*", r"e\1", f"{number!r}".removesuffix(".0")),)


_WAYS: Sequence[Callable[[float], Collection[str]]] = (lambda number: (repr(number),), _as_short, _as_java, _as_script)


def _decimals(texts: Sequence[str]) -> TextType | None:
    """Return the decimal of numbers with one number of places, which it writes again."""
    matches = [_FIXED_PLACES.fullmatch(text) for text in texts]
    if not all(matches):
        return None
    places = {len(match[2]) for match in matches if match}
    before = max(len(match[1]) for match in matches if match)
    if len(places) > 1 or any(text[0] == "-" and not Decimal(text) for text in texts):
        return None
    [scale] = places
    size = max(before + scale, _USUAL_DIGITS)
    return _atom(f"decimal({size},{scale})") if size <= MOST_DIGITS and scale <= size else None


def _dates(texts: Sequence[str]) -> TextType | None:
    return _atom("date") if all(_is_since_year_1(_read("date", text), 1) for text in texts) else None


def _moments(texts: Sequence[str]) -> TextType | None:
    zones = [bool(_ZONE_AT_END.fullmatch(text[10:])) for text in texts]
    if any(zones) != all(zones):
        return None
    kind = "timestamp" if all(zones) else "timestamp_ntz"
    if not all(_is_since_year_1(_read(kind, text), _DAY_MICROSECONDS) for text in texts):
        return None
    is_kept = not all(zones) or all(text.endswith(("Z", "+00:00")) for text in texts)
    return TextType(type=Atom(kind), remark="" if is_kept else "moments, as UTC has them: offsets are not kept")


def _read(kind: str, text: str, pattern: str = "") -> Any:
    try:
        return reader(kind, pattern)(text)
    except HandedOver:
        return None


def _is_since_year_1(value: int | None, units: int) -> bool:
    return value is not None and value >= _YEAR_1 * units


def _in_one_spelling(texts: Sequence[str]) -> TextType | None:
    """Return dates in their one spelling; None if day and month could change places."""
    orders = _orders(texts)
    return TextType(type=Atom("date"), pattern=next(iter(orders.values()))) if len(orders) == 1 else None


def _orders(texts: Sequence[str]) -> Mapping[str, str]:
    """Return the spellings that all texts are of, one for each order of day, month and year."""
    patterns = dict[str, str]()
    for pattern in SPELLINGS:
        if all(_is_since_year_1(_read("date", text, pattern), 1) for text in texts):
            patterns.setdefault(pattern.replace("dd", "d").replace("MM", "M"), pattern)
    return patterns


def _remarks(name: str, plain: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """Yield what a person should know of texts that have no type though they look as if they had."""
    if not plain:
        return
    if len(orders := _orders(plain)) > 1:
        message = " or as ".join(orders.values())
        yield f"dates as {message}: if you know, say logicalType: date with that format"
    read = reader("double")
    if rest := [text for text in plain if read(text) is None]:
        if all(map(_COMMA.fullmatch, rest)):
            yield f"numbers with a comma{_example_of(name, rest, _COMMA.fullmatch)}: a number has a point"
        elif len(rest) * _NUMBERS_PER_TEXT < len(plain):
            yield f"numbers, but for {count(len(rest), 'text')}{_example_of(name, rest, bool)}"
        return
    if any(_ZEROS_IN_FRONT.fullmatch(text) for text in plain):
        yield f"digits with zeros in front{_example_of(name, plain, _ZEROS_IN_FRONT.fullmatch)}"
    if all(_WHOLE.fullmatch(text) for text in plain) and list(plain) == list(texts):
        yield "whole numbers beyond 64 bits, of which a double would lose digits"
    yield f"a number would be written in another way{_example_of(name, plain, lambda text: not _is_kept(text))}"


def _is_kept(text: str) -> bool:
    number = float(text)
    return any(text in way(number) for way in _WAYS)


def _example_of(name: str, texts: Sequence[str], condition: Callable[[str], object]) -> str:
    """Return an example, unless the column's name sounds personal."""
    example = min((text for text in texts if condition(text)), default="")
    return f", such as {visible(example[:_EXAMPLE], code_point)}" if example and not is_personal(name) else ""
