"""Dates and times in text as Spark takes them: ISO 8601, or a spelling of Java's DateTimeFormatter, strictly.

A date is a number of days since 1970, and a moment a number of microseconds: Python knows no year 0, and Spark does.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from lakegate.audit.errors import HandedOver

_DAY_MICROSECONDS = 86_400_000_000
_CENTURY = 2000  # of a year of two digits
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST_OFFSET = 18 * 3600
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.](\d{1,6})0*)?)?)?(?:(Z)|([+-])(\d\d):(\d\d))?", re.ASCII
)
PIECE = re.compile(r"y+|M+|d+|H+|h+|m+|s+|S+|a|X+|x+|'(?:''|[^'])*'|.", re.DOTALL)
"""Letters of one part of a moment, a quoted text, or a letter that means itself."""
# What Java surely takes, and what it may take: years of more digits, signs.
_SURE = {"yyyy": "[0-9]{4}", "yy": "[0-9]{2}", "MMM": "[A-Za-z]{3}", "a": "[AaPp][Mm]"}
_MAYBE = {"yyyy": r"(?:[0-9]{4}|[+][0-9]{5,}|-[0-9]{4,})", "yy": "[0-9]{2}", "MMM": r"[^\W\d_]{3,4}", "a": r"[^\W\d_]+"}
_OFFSET = {"X": "[+-][0-9]{2}(?:[0-9]{2})?", "XX": "[+-][0-9]{4}", "XXX": "[+-][0-9]{2}:[0-9]{2}"}
_NUMBERS = frozenset("yMdHhmsS")

Parse = Callable[[str], int | None]


def iso(text: str) -> int | None:
    """Return the microseconds of a text in the form of ISO 8601; None if there is no such moment."""
    match = _ISO.fullmatch(text)
    if not match:
        return None
    year, month, day = (int(part) for part in match.group(1, 2, 3))
    hour, minute, second = (int(part or 0) for part in match.group(4, 5, 6))
    micros = int((match[7] or "").ljust(6, "0"))
    offset = _offset(match[9], match[10], match[11]) if match[9] else 0
    return _moment(year, month, day, (hour, minute, second, micros), offset)


def days(micros: int | None) -> int | None:
    """Return the days of a moment."""
    return None if micros is None else micros // _DAY_MICROSECONDS


def _moment(year: int, month: int, day: int, clock: tuple[int, int, int, int], offset: int | None) -> int | None:
    hour, minute, second, micros = clock
    if offset is None or not 1 <= month <= 12 or not 1 <= day <= _length(year, month):  # noqa: PLR2004 - of a year
        return None
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - of a clock
        return None
    seconds = _number(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds * 1_000_000 + micros


def _length(year: int, month: int) -> int:
    if month == 2:  # noqa: PLR2004 - February
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _number(year: int, month: int, day: int) -> int:
    """Return the day's number since 1970, by the calendar that goes on before 1582 as after it."""
    year, month = (year - 1, month + 9) if month <= 2 else (year, month - 3)  # noqa: PLR2004 - a year begins in March
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468


def _offset(sign: str, hours: str, minutes: str) -> int | None:
    """Return an offset in seconds; None if Java has none such."""
    size = int(hours) * 3600 + int(minutes) * 60
    return None if size > _LONGEST_OFFSET or int(minutes) > 59 else (size if sign == "+" else -size)  # noqa: PLR2004


@lru_cache(maxsize=1_000)
def pattern_reader(pattern: str) -> Parse:
    """Return the reader of texts in a contract's spelling: microseconds, or None. It raises HandedOver at a text of
    which only Java can say what it makes of it.
    """
    pieces = PIECE.findall(pattern)
    sure, maybe = (re.compile("".join(_form(piece, forms) for piece in pieces), re.DOTALL) for forms in (_SURE, _MAYBE))
    is_odd = _is_adjacent(pieces) or {"H", "h"} <= {piece[0] for piece in pieces}
    names = [piece for piece in pieces if piece[0].isalpha()]

    def parse(text: str) -> int | None:
        match = sure.fullmatch(text)
        if match and not is_odd:
            return _resolve(dict(zip(names, match.groups(), strict=True)))
        if match or maybe.fullmatch(text):
            raise HandedOver("Only Spark can say which moment a text in the contract's spelling is.")
        return None

    return parse


def _form(piece: str, forms: dict[str, str]) -> str:
    if not piece[0].isalpha():
        literal = piece[1:-1].replace("''", "'") or "'"  # two quotes are one
        return _letters(literal if piece[0] == "'" and len(piece) > 1 else piece)
    if piece in forms:
        return f"({forms[piece]})"
    if piece[0] == "S":
        return f"([0-9]{{1,{len(piece)}}})"
    if piece[0] in "Xx":
        return f"({_OFFSET[piece.upper()]}{'|[Zz]' if piece[0] == 'X' else ''})"
    number = f"[0-9]{{{len(piece)}}}" if len(piece) > 1 else "[0-9]{1,19}"
    return f"({number})" if forms is _SURE or len(piece) > 1 else f"(-?{number})"


def _letters(text: str) -> str:
    """Return the pattern of a literal, which Java compares without case."""
    return "".join(f"(?i:{re.escape(letter)})" if letter.isalpha() else re.escape(letter) for letter in text)


def _is_adjacent(pieces: list[str]) -> bool:
    """Return True if a number of no certain length is beside another number."""
    pairs = [(first, other) for first, other in pairwise(pieces) if _is_number(first) and _is_number(other)]
    return any(len(first) == 1 or other == "yyyy" for first, other in pairs)


def _is_number(piece: str) -> bool:
    return piece[0] in _NUMBERS and piece != "MMM"


def _resolve(parts: dict[str, str]) -> int | None:
    by = {piece[0].upper() if piece[0] in "Xx" else piece[0]: part for piece, part in parts.items()}
    year = int(by["y"]) + (_CENTURY if "yy" in parts else 0)
    month = _month(by["M"]) if "MMM" in parts else int(by["M"])
    clock = _hour(by), int(by.get("m", 0)), int(by.get("s", 0)), int(by.get("S", "").ljust(6, "0"))
    if clock[0] is None:
        return None
    return _moment(year, month, int(by["d"]), clock, _spelled_offset(by.get("X", "Z")))  # type: ignore[arg-type]


def _month(name: str) -> int:
    return _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else 0


def _hour(by: dict[str, str]) -> int | None:
    if "h" not in by:
        return int(by.get("H", 0))
    hour = int(by["h"])
    if not 1 <= hour <= 12:  # noqa: PLR2004 - of a clock's half
        return None
    return hour % 12 + (12 if by["a"].lower() == "pm" else 0)


def _spelled_offset(text: str) -> int | None:
    if text in "Zz":
        return 0
    digits = text[1:].replace(":", "")
    return _offset(text[0], digits[:2], digits[2:] or "0")
