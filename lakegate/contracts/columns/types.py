"""Column types: their names in ODCS and Spark, and how a value of each is read and written in SQL. It judges none."""

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from lakegate.audit.schema.types import Array, Map, Struct
from lakegate.contracts.odcs import vocabulary

Comparable = (
    Any  # int, float, Decimal, str, bool, date or datetime: what the type's `parse` gives, comparable with its like
)

_FINER = re.compile(r"[.,][0-9]{6}0*[1-9]")
NUMERIC = ("whole", "float", "decimal")
TEMPORAL = ("date", "instant", "clock")
"""Kinds of types."""


@dataclass(frozen=True, kw_only=True)
class Type:
    """A column's type. `name` is Spark SQL's; `parse` reads a value out of a contract or raises ValueError. With
    `widens`, files may make a number of twice the bits of it, by which its values are compared from then on. With
    `grows`, files may give it greater values.
    """

    name: str
    kind: str
    parse: Callable[[Any], Comparable]
    options: vocabulary.Place
    transforms: tuple[str, ...] = ("identity", "bucket")
    widens: bool = False
    grows: bool = False

    @property
    def has_nan(self) -> bool:
        return self.kind == "float"

    def literal(self, value: Comparable) -> exp.Expr:
        """Return a parsed value in SQL, of exactly this type."""
        if self.kind in ("string", "boolean"):
            return exp.convert(value)
        if self.kind == "whole":
            return exp.Literal.number(value)
        if self.kind in ("float", "decimal"):
            text = exp.Literal.number(format(value, "f") if isinstance(value, Decimal) else repr(value))
        else:
            text = exp.Literal.string(iso(value))
        return exp.Cast(this=text, to=exp.DataType.build(self.name, dialect="spark"))


def iso(value: Comparable) -> Any:
    """Return a parsed value as JSON can hold it: numbers as they are, dates and timestamps in ISO's spelling."""
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _whole(bits: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise ValueError("is not a whole number")
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"does not fit in {bits} bits")
        return int(value)

    return parse


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is not a number")  # noqa: TRY004 - as below
    try:
        return float(value)
    except OverflowError:
        raise ValueError("is too large") from None


def _single(value: Any) -> float:
    """Return the nearest 32-bit number, with which a comparison with such a column really compares."""
    try:
        return float(struct.unpack("f", struct.pack("f", _number(value)))[0])
    except OverflowError:
        raise ValueError("does not fit in 32 bits") from None


def _in_both(value: Any) -> float:
    """Return a number that 32 bits and 64 hold alike. Raise ValueError if they do not."""
    if (number := _single(value)) != _number(value):
        raise ValueError(f"is another number {WIDER_TYPE_HINT}")
    return number


_MOST_DIGITS_AROUND_POINT = 100  # digits before the point or zeros behind it, beyond which no arithmetic is done
_EXACT = Context(prec=100)  # by default 28 digits, and a decimal has up to 38


def _decimal(precision: int, scale: int) -> Callable[[Any], Decimal]:
    def parse(value: Any) -> Decimal:
        try:
            number = Decimal(str(_number(value) if isinstance(value, float) else value))
        except InvalidOperation:
            raise ValueError("is not a number") from None
        if not number.is_finite() or (number and abs(number.adjusted()) > _MOST_DIGITS_AROUND_POINT):
            raise ValueError("is not a number" if not number.is_finite() else f"is not a decimal({precision},{scale})")
        _, digits, exponent = number.normalize(_EXACT).as_tuple()
        places, before = max(-int(exponent), 0), len(digits) + int(exponent) if number else 0
        if isinstance(value, bool) or places > scale or before > precision - scale:
            raise ValueError(f"is not a decimal({precision},{scale})")
        return number

    return parse


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is not text: put it in quotes")  # noqa: TRY004 - one error for "not of this type"
    return value


def boolean(value: Any) -> bool:
    """Return a value that is true or false; raise ValueError for any other."""
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")  # noqa: TRY004 - as above
    return value


def _date(value: Any) -> date:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("is not a date such as 2013-12-31") from None


def _instant(value: Any) -> datetime:
    moment = _moment(value)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("is too far from now") from None


def _clock(value: Any) -> datetime:
    if (moment := _moment(value)).tzinfo:
        raise ValueError("has an offset, and the column has no timezone")
    return moment


def _moment(value: Any) -> datetime:
    if isinstance(value, str) and _FINER.search(value):
        raise ValueError("has more than six places of a second, which is all that are kept")
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError("is not a timestamp such as 2013-12-31T23:00:00Z") from None


def _no_bytes(_value: Any) -> bytes:
    raise ValueError("cannot be compared with a binary column")


def _whole_column(_value: Any) -> bytes:
    raise ValueError("cannot be compared with a nested column")


def nested_type(tree: Struct | Array | Map) -> Type:
    """Return the type of a column that has parts."""
    options = {Struct: vocabulary.OBJECT_OPTIONS, Array: vocabulary.ARRAY_OPTIONS, Map: vocabulary.NO_OPTIONS}[
        type(tree)
    ]
    kind = type(tree).__name__.lower()
    return Type(name=str(tree), kind=kind, parse=_whole_column, options=options, transforms=())


_DAYS = ("identity", "bucket", "years", "months", "days")
_HOURS = (*_DAYS, "hours")
_PARTITION_TRANSFORMS = ("identity", "bucket", "truncate")

TYPES: Mapping[str, Type] = {
    column_type.name: column_type
    for column_type in (
        Type(
            name="boolean",
            kind="boolean",
            parse=boolean,
            options=vocabulary.NO_OPTIONS,
            transforms=("identity",),
        ),
        Type(
            name="int",
            kind="whole",
            parse=_whole(32),
            options=vocabulary.INTEGER_OPTIONS,
            transforms=_PARTITION_TRANSFORMS,
        ),
        Type(
            name="bigint",
            kind="whole",
            parse=_whole(64),
            options=vocabulary.INTEGER_OPTIONS,
            transforms=_PARTITION_TRANSFORMS,
        ),
        Type(name="float", kind="float", parse=_single, options=vocabulary.NUMBER_OPTIONS, transforms=()),
        Type(name="double", kind="float", parse=_number, options=vocabulary.NUMBER_OPTIONS, transforms=()),
        Type(
            name="string",
            kind="string",
            parse=_text,
            options=vocabulary.STRING_OPTIONS,
            transforms=_PARTITION_TRANSFORMS,
        ),
        Type(
            name="binary",
            kind="binary",
            parse=_no_bytes,
            options=vocabulary.BINARY_OPTIONS,
            transforms=_PARTITION_TRANSFORMS,
        ),
        Type(name="date", kind="date", parse=_date, options=vocabulary.DATE_OPTIONS, transforms=_DAYS),
        Type(name="timestamp", kind="instant", parse=_instant, options=vocabulary.TIMESTAMP_OPTIONS, transforms=_HOURS),
        Type(name="timestamp_ntz", kind="clock", parse=_clock, options=vocabulary.TIMESTAMP_OPTIONS, transforms=_HOURS),
    )
}

WIDER_TYPE_HINT = (
    "in 32 bits than in 64, to which files may widen the column: write the column with format: f64, or leave out "
    "widenedTypes: evolve"
)


def widening(of: Type) -> Type:
    """Return the type as it is if files may widen it."""
    return replace(of, parse=_in_both, widens=True) if of.name == "float" else replace(of, grows=True)


_ALIASES = {"integer": "int", "long": "bigint", "real": "float", "timestamp_ltz": "timestamp"}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\))?")
_WIDEST = 38

# Logical types: the kinds that a physical type may have beside it, and the Spark type for each width in the options.
LOGICAL: Mapping[str, tuple[tuple[str, ...], Mapping[str | None, str]]] = {
    "boolean": (("boolean",), {None: "boolean"}),
    "integer": (("whole", "decimal"), {None: "int", "i32": "int", "i64": "bigint"}),
    "number": (("float", "decimal"), {None: "double", "f32": "float", "f64": "double"}),
    "string": (("string", "binary"), {None: "string"}),
    "date": (("date",), {None: "date"}),
    "timestamp": (("instant", "clock"), {None: "timestamp", "zoned": "timestamp", "local": "timestamp_ntz"}),
}


def logical_of(of: Type) -> str:
    """Return the logical type that gives its words to a column with a physical type alone."""
    return next(name for name in reversed([*LOGICAL]) if of.kind in LOGICAL[name][0])  # decimals are numbers


def agree(of: Type, logical: str) -> bool:
    """Return True if a column of that logical type may be kept as this type."""
    kinds, _ = LOGICAL.get(logical, ((of.kind,), {}))
    is_broken = logical == "integer" and of.kind == "decimal" and not of.name.endswith(",0)")
    return of.kind in kinds and not is_broken


def physical(name: str) -> Type:
    """Return Spark's type of that name. Raise ValueError with the reason if there is none."""
    plain = " ".join(name.lower().split())
    if (spark_type := TYPES.get(_ALIASES.get(plain, plain))) is not None:
        return spark_type
    if match := _DECIMAL.fullmatch(plain):
        return _decimals(int(match[1] or 10), int(match[2] or 0))
    near = vocabulary.hint(plain, (*TYPES, *_ALIASES, "decimal(10,2)"))
    raise ValueError(f"is no type of a column here{near}; there are {', '.join((*TYPES, 'decimal(p,s)'))}")


def _decimals(precision: int, scale: int) -> Type:
    """Return a decimal type, without truncate: near its least, truncate would make a decimal of more digits, and no
    manifest could be written.
    """
    if not 1 <= precision <= _WIDEST or scale > precision:
        raise ValueError(f"is no decimal: it has 1 to {_WIDEST} digits, and no more places than digits")
    return Type(
        name=f"decimal({precision},{scale})",
        kind="decimal",
        parse=_decimal(precision, scale),
        options=vocabulary.DECIMAL_OPTIONS,
    )
