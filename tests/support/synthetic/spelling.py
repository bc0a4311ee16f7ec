"""Dates and timestamps as text, in the letters that contracts spell them with, or as ISO 8601 has them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time

_PIECE = re.compile(r"([A-Za-z])\1*|'[^']*'|.", re.DOTALL)
_MICROSECONDS = 6
_CENTURY = range(2000, 2100)  # of a year in two digits
_LETTERS: Mapping[str, Callable[[datetime, int], str]] = {
    "y": lambda at, digits: f"{at.year:04}"[-digits:],
    "M": lambda at, digits: f"{at:%b}" if digits > 2 else f"{at.month:0{digits}}",
    "d": lambda at, digits: f"{at.day:0{digits}}",
    "H": lambda at, digits: f"{at.hour:0{digits}}",
    "h": lambda at, digits: f"{at.hour % 12 or 12:0{digits}}",
    "m": lambda at, digits: f"{at.minute:0{digits}}",
    "s": lambda at, digits: f"{at.second:0{digits}}",
    "S": lambda at, digits: f"{at.microsecond:06}"[:digits],
    "a": lambda at, _: f"{at:%p}",
    "X": lambda _, __: "Z",
    "x": lambda _, digits: ("+00", "+0000", "+00:00")[digits - 1],
}


def spelled(moment: date, pattern: str = "") -> str:
    """Return the text of a date or a timestamp; an instant is written in UTC."""
    if isinstance(moment, datetime) and moment.tzinfo:
        moment = moment.astimezone(UTC)
    if not pattern:
        return moment.isoformat().replace("+00:00", "Z")
    at = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    return "".join(_piece(at, found[0]) for found in _PIECE.finditer(pattern))


def holds(pattern: str, moment: date) -> bool:
    """Return True if that spelling loses nothing of a date or a timestamp."""
    lengths = {found[1]: len(found[0]) for found in _PIECE.finditer(pattern) if found[1]}
    if not pattern or (lengths["y"] == len("yy") and moment.year not in _CENTURY):
        return not pattern
    if not isinstance(moment, datetime):
        return True
    lost = moment.microsecond % 10 ** (_MICROSECONDS - lengths.get("S", 0))
    return not (lost or (moment.second and "s" not in lengths) or (moment.minute and "m" not in lengths))


def _piece(at: datetime, piece: str) -> str:
    if piece[0] in _LETTERS:
        return _LETTERS[piece[0]](at, len(piece))
    return (piece[1:-1] or "'") if piece.startswith("'") else piece
