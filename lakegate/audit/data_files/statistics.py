"""Column statistics of Iceberg's data files, and the metrics that they prove. It reads no manifest and runs no query.

A proof is one-sided: bounds may be wider than the values, so they show that no row fails, never that one does.
"""

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lakegate.audit.model.plan import NOW, Metric, MetricKind, Proof, Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = {"int": "<i", "long": "<q", "float": "<f", "double": "<d", "date": "<i"}
_NARROW = {"long": "int", "double": "float"}
_MICROSECONDS = ("timestamp", "timestamptz")
_FLOATING = ("float", "double")
REPLACEMENT_LETTERS = ("\ufffd", "\ufffe")
"""Iceberg's replacement for text that is not UTF-8, and the letter it becomes if an upper bound is rounded up. Parquet
orders the original bytes, so such a text is no bound.
"""
LAST_ASCII = "\x7f"
_DISCRETE_TYPES = ("boolean", "int", "long", "date")  # discrete: two values have a fixed number of others between them


@dataclass(frozen=True, kw_only=True)
class IcebergField:
    """A column of the table's schema: Iceberg's field id and type."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class DataFileStatistics:
    """One data file's manifest entry: counts and bounds by field id, bounds as Iceberg's hex text. `row_groups` is 0 if
    the entry does not tell.
    """

    path: str
    rows: int
    values: Mapping[int, int] = field(default_factory=dict)
    nulls: Mapping[int, int] = field(default_factory=dict)
    nans: Mapping[int, int] = field(default_factory=dict)
    lower: Mapping[int, str] = field(default_factory=dict)
    upper: Mapping[int, str] = field(default_factory=dict)
    row_groups: int = 1

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> "DataFileStatistics":
        """Read Iceberg's own JSON of a data file."""

        def by_field(name: str) -> dict[int, Any]:
            pairs = entry.get(name) or {"keys": [], "values": []}
            return dict(zip(pairs["keys"], pairs["values"], strict=True))

        return cls(
            path=entry["file-path"],
            rows=entry["record-count"],
            values=by_field("value-counts"),
            nulls=by_field("null-value-counts"),
            nans=by_field("nan-value-counts"),
            lower=by_field("lower-bounds"),
            upper=by_field("upper-bounds"),
            row_groups=len(entry.get("split-offsets") or ()),
        )

    def constant(self, column: IcebergField) -> str | None:
        """Return the text that every row of the column holds, if that is certain (its bounds must not be truncated)."""
        lower, upper = self.lower.get(column.id), self.upper.get(column.id)
        if lower is None or lower != upper or self.nulls.get(column.id) != 0:
            return None
        return bytes.fromhex(lower).decode()


def with_rows(files: Sequence[DataFileStatistics], rows: int) -> list[DataFileStatistics]:
    """Return these data files as if nothing were known of them but that they hold so many rows together."""
    numbers = [rows, *[0] * len(files)]
    return [DataFileStatistics(path=file.path, rows=number) for file, number in zip(files, numbers, strict=False)]


def measure(metric: Metric, files: Sequence[DataFileStatistics], columns: Mapping[str, IcebergField]) -> float | None:
    """Return the metric over these data files, or None if their statistics do not give it."""
    proof = KINDS.get(metric.kind)
    return proof.number(metric, files, columns) if proof else None


def columns_asked(metric: Metric) -> Sequence[str]:
    """Return the columns whose statistics may give the metric, or which of the table's data files hold its keys."""
    if metric.scope is Scope.TABLE:
        return metric.columns
    proof = KINDS.get(metric.kind)
    return proof.columns(metric) if proof else ()


def _nulls(metric: Metric, files: Sequence[DataFileStatistics], columns: Mapping[str, IcebergField]) -> float | None:
    return _total(file.nulls.get(columns[metric.columns[0]].id) for file in files)


def _none_fails(
    metric: Metric, files: Sequence[DataFileStatistics], columns: Mapping[str, IcebergField]
) -> float | None:
    """Return 0 if statistics prove that no row fails, otherwise None."""
    proof = metric.proof
    return 0 if proof and all(_proves(proof, file, columns[proof.column]) for file in files) else None


def _total(counts: Iterable[int | None]) -> int | None:
    numbers = list(counts)
    return None if None in numbers else sum(count for count in numbers if count is not None)


def _extreme(metric: Metric, files: Sequence[DataFileStatistics], columns: Mapping[str, IcebergField]) -> float | None:
    """Return the least or the greatest value of a numeric column: numeric bounds are exact, and leave NaN out."""
    if not metric.bound:
        return None
    side, column = metric.bound, columns[metric.columns[0]]
    files_with_values = [file for file in files if not _only_nulls(file, column)]
    if column.type in _FLOATING and any(file.nans.get(column.id) != 0 for file in files_with_values):
        return None
    bounds = [(file.lower if side == "lower" else file.upper).get(column.id) for file in files_with_values]
    values = [float(bound_value(column.type, text)) for text in bounds if text is not None]
    if not values or len(values) < len(bounds) or not all(map(math.isfinite, values)):
        return None
    return min(values) if side == "lower" else max(values)


def _only_nulls(file: DataFileStatistics, column: IcebergField) -> bool:
    return column.id in file.nulls and file.nulls[column.id] == file.values.get(column.id)


def _proves(proof: Proof, file: DataFileStatistics, column: IcebergField) -> bool:
    if not proof.nulls and file.nulls.get(column.id) != 0:
        return False
    if _only_nulls(file, column):
        return True  # only nulls, which another check covers
    if column.type in _FLOATING and file.nans.get(column.id) != 0:
        return False
    try:
        lower, upper = bounds_of(file, column)
        is_above_minimum = proof.minimum is None or _is_above(
            lower, limit(column.type, proof.minimum), proof.exclusive_minimum
        )
        is_below_maximum = proof.maximum is None or _is_above(
            limit(column.type, proof.maximum), upper, proof.exclusive_maximum
        )
        has_known_values = _all_among(proof.values, column.type, lower, upper) and _none_of(
            proof.without, column.type, lower, upper
        )
    except (KeyError, TypeError, ValueError, ArithmeticError, struct.error):
        return False  # no bounds, or bounds that cannot be compared: a query decides
    return is_above_minimum and is_below_maximum and has_known_values


def _all_among(values: Iterable[float | str], kind: str, lower: Any, upper: Any) -> bool:
    """Return True if only these values can be between the bounds: every value of a discrete type between them is
    listed, or both bounds are one listed value.
    """
    limits_inside = {edge for value in values if lower <= (edge := limit(kind, value)) <= upper}
    if not values:
        return True
    return (
        len(limits_inside) == upper - lower + 1 if kind in _DISCRETE_TYPES else lower == upper and bool(limits_inside)
    )


def _none_of(values: Iterable[float | str], kind: str, lower: Any, upper: Any) -> bool:
    return not any(lower <= limit(kind, value) <= upper for value in values)


def _is_above(greater: Any, smaller: Any, exclusive: bool) -> bool:  # noqa: FBT001 - a field of the proof
    return bool(greater > smaller if exclusive else greater >= smaller)


def bounds_of(file: DataFileStatistics, column: IcebergField) -> tuple[Any, Any]:
    """Return the column's bounds. Raise KeyError if there are none, and ValueError if they cannot be correct."""
    lower, upper = bound_value(column.type, file.lower[column.id]), bound_value(column.type, file.upper[column.id])
    if lower > upper:
        raise ValueError(f"the bounds of {column.name!r} cross")
    if column.type == "string" and file.row_groups != 1 and _may_hide(lower, upper):
        raise ValueError(f"a row group's bounds of {column.name!r} may be no UTF-8")
    return lower, upper


def _may_hide(lower: str, upper: str) -> bool:
    """Return True if texts may be outside the merged bounds of several row groups.

    Iceberg decodes each row group's bounds as UTF-8 and merges the decoded values. Invalid bytes decode to U+FFFD and
    may sort differently, so a true bound can be lost. The lost bound and the decoded one agree up to the first invalid
    byte, and the merged bound is between the two. So a bound is lost only if the lower bound has a letter from U+0080
    to U+FFFD, or the upper bound has one from U+FFFD on.
    """
    return any(LAST_ASCII < letter <= REPLACEMENT_LETTERS[0] for letter in lower) or any(
        letter >= REPLACEMENT_LETTERS[0] for letter in upper
    )


def bound_value(kind: str, text: str) -> Any:
    """Return an Iceberg bound as a comparable value; temporal ones are Iceberg's own numbers. Raise ValueError if it
    bounds nothing.
    """
    raw = bytes.fromhex(text)
    if kind in _MICROSECONDS:
        return struct.unpack("<q", raw)[0]
    if kind in _NUMBERS:
        narrow = len(raw) == struct.calcsize("<i")  # written before the column was widened
        return struct.unpack(_NUMBERS[_NARROW.get(kind, kind) if narrow else kind], raw)[0]
    if kind.startswith("decimal("):
        scale = int(kind.rstrip(")").split(",")[1])
        return Decimal(f"{int.from_bytes(raw, 'big', signed=True)}E-{scale}")  # exact: arithmetic rounds to 28 digits
    if kind == "string":
        return exact(raw.decode())
    if kind == "boolean":
        return raw != b"\x00"
    raise TypeError(kind)


def exact(text: str) -> str:
    """Return the text as a bound. Raise ValueError if the file may have other bytes there."""
    if any(sign in text for sign in REPLACEMENT_LETTERS):
        raise ValueError(f"{text!r} may stand for bytes that are not UTF-8")
    return text


def limit(kind: str, value: float | str) -> Any:
    """Return a proof's limit on the scale of `bound`. A value that precedes now will always precede it."""
    if value == NOW and kind in ("date", *_MICROSECONDS):
        now = datetime.now(UTC)
        value = (now.date() if kind == "date" else now).isoformat()
    if kind == "date":
        return (datetime.fromisoformat(str(value)).date() - _EPOCH.date()).days
    if kind in _MICROSECONDS:
        moment = datetime.fromisoformat(str(value))
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    if kind.startswith("decimal(") or (kind in ("int", "long") and isinstance(value, str)):
        return Decimal(str(value))
    return float(value) if kind in _FLOATING else value


@dataclass(frozen=True, kw_only=True)
class StatisticsProof:
    """A kind of metric's rule over statistics, and the columns whose statistics it needs."""

    number: Callable[[Metric, Sequence[DataFileStatistics], Mapping[str, IcebergField]], float | None]
    columns: Callable[[Metric], Sequence[str]]


KINDS: Mapping[MetricKind, StatisticsProof] = {
    MetricKind.ROWS: StatisticsProof(
        number=lambda _, files, __: sum(file.rows for file in files), columns=lambda _: ()
    ),
    MetricKind.NULLS: StatisticsProof(number=_nulls, columns=lambda metric: metric.columns),
    MetricKind.FAILING: StatisticsProof(
        number=_none_fails, columns=lambda metric: (metric.proof.column,) if metric.proof else ()
    ),
    MetricKind.VALUE: StatisticsProof(number=_extreme, columns=lambda metric: metric.columns if metric.bound else ()),
}
"""Kinds that statistics may give; any other is computed from rows."""
