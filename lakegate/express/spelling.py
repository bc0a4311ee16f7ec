"""Rows as JSON in the quarantine table, spelled as Spark's: every value whole, and nulls told."""

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from lakegate.express.samples import shortest

_LEAST, _GREATEST = 1e-3, 1e7  # Java writes numbers beyond them with an exponent
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)}
_ESCAPES |= {ord(sign): f"\\{letter}" for sign, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}


def row_json(kinds: Mapping[str, str], values: Sequence[Any]) -> str:
    """Return a row as JSON; `kinds` are the Spark SQL types of its columns, in their order."""
    pairs = zip(kinds.items(), values, strict=True)
    return "{" + ",".join(f"{_text(name)}:{_value(kind, value)}" for (name, kind), value in pairs) + "}"


def _value(kind: str, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    return _number(kind, value) if isinstance(value, float) else _text(_as_text(kind, value))


def _as_text(kind: str, value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds") + ("Z" if kind == "timestamp" else "")
    return value if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _number(kind: str, value: float) -> str:
    """Return a floating-point number as Java writes it."""
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value != value:  # noqa: PLR0124 - only NaN is not itself
        return '"NaN"'
    decimal = Decimal(repr(shortest(value) if kind == "float" else value))
    if not value or _LEAST <= abs(value) < _GREATEST:
        plain = f"{decimal:f}"
        return plain if "." in plain else f"{plain}.0"
    sign, digits, exponent = decimal.normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{rest}E{int(exponent) + len(digits) - 1}"
