"""Ranges of a batch's keys, and the condition that prunes a table's data files by them, in Iceberg's JSON.

It is one-sided: a pruned file shares no key with the batch, and one that is kept may still share none.
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from operator import itemgetter
from typing import Any

from lakegate.audit.data_files.statistics import (
    LAST_ASCII,
    REPLACEMENT_LETTERS,
    DataFileStatistics,
    IcebergField,
    bounds_of,
)

_WHOLE = ("int", "long")
_ORDERED_TYPES = (*_WHOLE, "date", "timestamp", "timestamptz", "string")
_COMPARABLE = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _WHOLE),
    "timestamp": ("timestamptz",),
    "timestamp_ntz": ("timestamp",),
}
_INT = (-(2**31), 2**31 - 1)
_LEAST = {"int": _INT[0], "long": -(2**63)}
_WIDTH = 1_000_000  # largest width of truncate: closer to the least number, the partition's value wraps
MOST_RANGES = 50  # comparing with more of them costs more than they exclude
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Range = tuple[Any, Any] | None
"""A column's least and greatest value, as `bound` decodes them; None if they are unknown."""
KeyRanges = tuple[Range, ...]
"""A range for each column of a key, within which a data file's keys are."""
Pairs = Sequence[tuple[IcebergField, IcebergField]]
"""Each column of the key in the batch, with the column it is compared with."""


def key_ranges(files: Iterable[DataFileStatistics], columns: Sequence[IcebergField]) -> list[KeyRanges]:
    """Return the ranges of these data files' keys, from their bounds; a file without keys has none."""
    return [ranges for file in files if (ranges := _key_ranges(file, columns)) is not None]


def is_ordered(column: IcebergField) -> bool:
    """Return True if ranges locate the column's values. Floating-point columns have no such ranges, because bounds
    leave NaN out.
    """
    return column.type in _ORDERED_TYPES or column.type.startswith("decimal(")


def overlap_condition(ranges_of_files: Sequence[KeyRanges], pairs: Pairs) -> Any:
    """Return a condition on the second column of each pair, true of every row that has a key in one of these ranges. It
    is true if they exclude nothing, false if there are none.
    """
    condition: Any = False
    for ranges in _fewer(ranges_of_files):
        condition = _or(condition, _inside_condition(ranges, pairs))
    return condition


def comparable(spark_name: str, iceberg_name: str) -> bool:
    """Return True if values of a Spark SQL type and of an Iceberg type can be the same key."""
    if spark_name.startswith("decimal("):
        return iceberg_name.startswith("decimal(")
    return iceberg_name in _COMPARABLE.get(spark_name, (spark_name,))


def _key_ranges(file: DataFileStatistics, columns: Sequence[IcebergField]) -> KeyRanges | None:
    """Return the ranges of a data file's keys, or None if it has no keys."""
    if any(column.id in file.nulls and file.nulls[column.id] == file.values.get(column.id) for column in columns):
        return None
    return tuple(_range(file, column) for column in columns)


def _range(file: DataFileStatistics, column: IcebergField) -> Range:
    if not is_ordered(column):
        return None
    try:
        return bounds_of(file, column)
    except (KeyError, ValueError, struct.error):
        return None


def _fewer(batch: Sequence[KeyRanges]) -> list[KeyRanges]:
    """Merge neighbouring ranges if there are too many."""
    if len(batch) <= MOST_RANGES:
        return list(dict.fromkeys(batch))
    starts = [ranges[0][0] for ranges in batch if ranges[0] is not None]
    if len(starts) < len(batch):
        return [_hull(batch)]
    by_start = [ranges for _, ranges in sorted(zip(starts, batch, strict=True), key=itemgetter(0))]
    size = ceil(len(by_start) / MOST_RANGES)
    return [_hull(by_start[start : start + size]) for start in range(0, len(by_start), size)]


def _hull(batch: Sequence[KeyRanges]) -> KeyRanges:
    return tuple(_span([ranges[at] for ranges in batch]) for at in range(len(batch[0])))


def _span(ranges: Sequence[Range]) -> Range:
    sure = [range_ for range_ in ranges if range_]
    if len(sure) < len(ranges):
        return None
    return min(low for low, _ in sure), max(high for _, high in sure)


def _inside_condition(ranges: KeyRanges, pairs: Pairs) -> Any:
    condition: Any = True
    for range_, (own_field, other_field) in zip(ranges, pairs, strict=True):
        if range_ is None or not (
            own_field.type == other_field.type or (own_field.type in _WHOLE and other_field.type in _WHOLE)
        ):
            continue
        low, high = range_
        if other_field.type == "int":
            low, high = max(low, _INT[0]), min(high, _INT[1])
            if low > high:
                return False  # outside the other column's type
        if other_field.type in _LEAST and low - _LEAST[other_field.type] < _WIDTH:
            continue  # by partition values, rows of such a range may be in any partition
        if other_field.type == "string":
            low, high = _beyond_doubt(low, high)
        least, greatest = _literal(other_field.type, low), _literal(other_field.type, high)
        if least is not None and greatest is not None:
            condition = _and(
                condition, _and(_comparison("gt-eq", other_field, least), _comparison("lt-eq", other_field, greatest))
            )
    return condition


def _beyond_doubt(low: str, high: str) -> tuple[str, str]:
    """Widen the range so that it also covers values whose bounds are not valid UTF-8, in data files, row groups or
    partitions. Iceberg decodes such bounds to U+FFFD, while parquet orders the bytes elsewhere among non-ASCII letters.

    A decoded bound differs from its bytes at one letter. It excludes a text that its bytes would include only if the
    text has there a letter from U+FFFD on (seen from below) or one from U+0080 to U+FFFD (seen from above).
    """
    least = next((at for at, letter in enumerate(low) if letter >= REPLACEMENT_LETTERS[0]), len(low))
    greatest_end = next((at for at, letter in enumerate(high) if LAST_ASCII < letter <= REPLACEMENT_LETTERS[0]), None)
    return low[:least], high if greatest_end is None else high[:greatest_end] + REPLACEMENT_LETTERS[1]


def _literal(kind: str, value: Any) -> Any:
    """Return a bound as Iceberg's JSON of single values; None for a moment beyond the calendar's range."""
    try:
        if kind == "date":
            return (_EPOCH + timedelta(days=value)).date().isoformat()
        if kind in ("timestamp", "timestamptz"):
            text = (_EPOCH + timedelta(microseconds=value)).isoformat()
            return text if kind == "timestamptz" else text.removesuffix("+00:00")
    except OverflowError:
        return None
    return f"{value:f}" if kind.startswith("decimal(") else value


def _comparison(operator: str, column: IcebergField, value: Any) -> Any:
    return {"type": operator, "term": column.name, "value": value}


def _and(first: Any, other: Any) -> Any:
    return other if first is True else {"type": "and", "left": first, "right": other}


def _or(first: Any, other: Any) -> Any:
    if first is True or other is True:
        return True
    return other if first is False else {"type": "or", "left": first, "right": other}
