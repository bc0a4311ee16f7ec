"""Rows of a data frame in the types of a contract, where each value stays what it is.

Whoever reads a CSV with Pandas or Polars gets 64 bits, doubles and times where the contract says 32 bits, decimals and
days. A column in which one value would change stays as it is, and is then refused with the column's name.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.types import Atom, parse
from lakegate.reading.arrow import arrow_type

_EXACT = {pa.float16(): 2**11 - 1, pa.float32(): 2**24 - 1, pa.float64(): 2**53 - 1}
"""Whole numbers up to here are numbers with a point, each its own: the next one may have been one more."""
_DIGITS = 15  # so many decimal digits survive a double
_WIDEST = 38

Cast = Callable[[pa.ChunkedArray, pa.DataType], pa.ChunkedArray]
"""Returns the values in another type. Raises an error of Arrow's if one of them would change."""


def narrow(rows: pa.Table, columns: Sequence[TableColumn]) -> pa.Table:
    """Return the rows with every column in its contract's type, if all its values allow that."""
    types = {column.name: kind for column in columns if (kind := plain_type(column.type)) is not None}
    for at, name in enumerate(rows.column_names):
        if name in types and rows.schema.names.count(name) == 1:
            values = _narrow(rows.column(at), types[name])
            rows = rows.set_column(at, name, values) if values.type != rows.field(at).type else rows
    return rows


def plain_type(text: str) -> pa.DataType | None:
    """Return Arrow's type of a plain column's Spark SQL type; None if the column is nested."""
    kind = parse(text)
    return arrow_type(kind) if isinstance(kind, Atom) else None


def _narrow(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if values.type == target:
        return values
    try:
        return _cast_for(values.type, target)(values, target)
    except pa.ArrowException:
        return values


def _cast_for(source: pa.DataType, target: pa.DataType) -> Cast:
    """Return the cast from one type to another that changes no value; it keeps the values if there is none."""
    return next((cast for is_source, is_target, cast in _CASTS if is_source(source) and is_target(target)), _keep)


def _keep(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:  # noqa: ARG001 - see Cast
    return values


def _safe(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return values.cast(target)


def _whole(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Cast doubles to whole numbers: Pandas makes doubles of whole numbers with nulls among them."""
    return _require_limit(values, _EXACT[values.type]).cast(target)


def _same_float(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return _require_same(values, values.cast(target, safe=False))


def _integer_as_decimal(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return values.cast(pa.decimal128(_WIDEST, target.scale)).cast(target)  # Arrow asks room for any integer at once


def _double_as_decimal(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Cast doubles by their shortest spelling: with so few digits no other decimal reads as the same double."""
    return _require_limit(values.cast(pa.float64()), 10.0 ** (_DIGITS - target.scale)).cast(pa.string()).cast(target)


def _day(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return _require_same(values, values.cast(target))


def _day_of_text(values: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    return values.cast(pa.string()).cast(target)  # the one spelling that Arrow takes is 2026-01-31


def _require_limit(values: pa.ChunkedArray, limit: float) -> pa.ChunkedArray:
    """Return the values. Raise ArrowInvalid unless all are below the bound in size; NaN is not."""
    if not pc.all(pc.less_equal(pc.abs(values), limit)).as_py() and values.null_count < len(values):
        raise pa.ArrowInvalid("a value may have lost digits")
    return values


def _require_same(values: pa.ChunkedArray, cast: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cast values. Raise ArrowInvalid unless they are the same when they are cast back."""
    is_same = pc.all(pc.or_(pc.equal(cast.cast(values.type), values), _is_nan(values))).as_py()
    if is_same is False:
        raise pa.ArrowInvalid("a value would change")
    return cast


def _is_nan(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_nan(values) if pa.types.is_floating(values.type) else pc.is_null(values)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_naive(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.tz is None


def _is_zoned(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


_CASTS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool], Cast]] = (
    (pa.types.is_integer, pa.types.is_integer, _safe),
    (pa.types.is_integer, pa.types.is_floating, _safe),
    (pa.types.is_integer, pa.types.is_decimal, _integer_as_decimal),
    (pa.types.is_floating, pa.types.is_integer, _whole),
    (pa.types.is_floating, pa.types.is_floating, _same_float),
    (pa.types.is_floating, pa.types.is_decimal, _double_as_decimal),
    (pa.types.is_decimal, pa.types.is_decimal, _safe),
    (pa.types.is_decimal, pa.types.is_integer, _safe),
    (_is_text, _is_text, _safe),
    (_is_text, pa.types.is_date, _day_of_text),
    (pa.types.is_date64, pa.types.is_date, _safe),
    (_is_naive, pa.types.is_date, _day),
    (_is_naive, _is_naive, _safe),
    (_is_zoned, _is_zoned, _safe),
)
"""Pairs of source and target types, in the order in which they are looked up, each with its cast."""
