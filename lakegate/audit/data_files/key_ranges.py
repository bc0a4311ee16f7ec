"""Ranges of a batch's keys, and the condition that prunes a table's data files by them, in Iceberg's JSON.

It is one-sided: a pruned file shares no key with the batch, and one that is kept may still share none.
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from operator import itemgetter
from typing import Any

from lakegate.audit.data_files.statistics import LAST_ASCII, REPLACED, DataFileStatistics, IcebergField, between

_WHOLE = ("int", "long")
_ORDERED = (*_WHOLE, "date", "timestamp", "timestamptz", "string")
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
"""A range for each column of a key, which a data file's keys lie in."""
Pairs = Sequence[tuple[IcebergField, IcebergField]]
"""Each column of the key in the batch, with the column it is compared with."""


def key_ranges(files: Iterable[DataFileStatistics], columns: Sequence[IcebergField]) -> list[KeyRanges]:
    """Return the ranges of these data files' keys, from their bounds; a file without keys has none."""
    return [ranges for file in files if (ranges := _key_ranges(file, columns)) is not None]


def is_ordered(column: IcebergField) -> bool:
    """Return True if ranges locate the column's values. Floating-point columns have no such ranges, because bounds
    leave NaN out.
    """
    return column.type in _ORDERED or column.type.startswith("decimal(")


def overlap_condition(found: Sequence[KeyRanges], pairs: Pairs) -> Any:
    """Return a condition on the second column of each pair, true of every row that has a key in one of these ranges. It
    is true if they exclude nothing, false if there are none.
    """
    said: Any = False
    for ranges in _fewer(found):
        said = _either(said, _inside(ranges, pairs))
    return said


def comparable(mine: str, theirs: str) -> bool:
    """Return True if values of a Spark SQL type and of an Iceberg type can be the same key."""
    if mine.startswith("decimal("):
        return theirs.startswith("decimal(")
    return theirs in _COMPARABLE.get(mine, (mine,))


def _key_ranges(file: DataFileStatistics, columns: Sequence[IcebergField]) -> KeyRanges | None:
    """Return the ranges of a data file's keys, or None if it has no keys."""
    if any(column.id in file.nulls and file.nulls[column.id] == file.values.get(column.id) for column in columns):
        return None
    return tuple(_range(file, column) for column in columns)


def _range(file: DataFileStatistics, column: IcebergField) -> Range:
    if not is_ordered(column):
        return None
    try:
        return between(file, column)
    except (KeyError, ValueError, struct.error):
        return None


def _fewer(batch: Sequence[KeyRanges]) -> list[KeyRanges]:
    """Merge neighbouring ranges if there are too many."""
    if len(batch) <= MOST_RANGES:
        return list(dict.fromkeys(batch))
    starts = [ranges[0][0] for ranges in batch if ranges[0] is not None]
    if len(starts) < len(batch):
        return [_hull(batch)]
    ordered = [ranges for _, ranges in sorted(zip(starts, batch, strict=True), key=itemgetter(0))]
    size = ceil(len(ordered) / MOST_RANGES)
    return [_hull(ordered[start : start + size]) for start in range(0, len(ordered), size)]


def _hull(batch: Sequence[KeyRanges]) -> KeyRanges:
    return tuple(_span([ranges[at] for ranges in batch]) for at in range(len(batch[0])))


def _span(ranges: Sequence[Range]) -> Range:
    known = [found for found in ranges if found]
    if len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _inside(ranges: KeyRanges, pairs: Pairs) -> Any:
    said: Any = True
    for found, (mine, theirs) in zip(ranges, pairs, strict=True):
        if found is None or not (mine.type == theirs.type or (mine.type in _WHOLE and theirs.type in _WHOLE)):
            continue
        low, high = found
        if theirs.type == "int":
            low, high = max(low, _INT[0]), min(high, _INT[1])
            if low > high:
                return False  # outside the other column's type
        if theirs.type in _LEAST and low - _LEAST[theirs.type] < _WIDTH:
            continue  # by partition values, rows of such a range may be in any partition
        if theirs.type == "string":
            low, high = _beyond_doubt(low, high)
        least, most = _literal(theirs.type, low), _literal(theirs.type, high)
        if least is not None and most is not None:
            said = _both(said, _both(_compared("gt-eq", theirs, least), _compared("lt-eq", theirs, most)))
    return said


def _beyond_doubt(low: str, high: str) -> tuple[str, str]:
    """Widen the range so that it also covers values whose bounds are not valid UTF-8, in data files, row groups or
    partitions. Iceberg decodes such bounds to U+FFFD, while parquet orders the bytes elsewhere among non-ASCII letters.

    A decoded bound differs from its bytes at one letter. It excludes a text that its bytes would include only if the
    text has there a letter from U+FFFD on (seen from below) or one from U+0080 to U+FFFD (seen from above).
    """
    least = next((at for at, letter in enumerate(low) if letter >= REPLACED[0]), len(low))
    most = next((at for at, letter in enumerate(high) if LAST_ASCII < letter <= REPLACED[0]), None)
    return low[:least], high if most is None else high[:most] + REPLACED[1]


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


def _compared(how: str, column: IcebergField, value: Any) -> Any:
    return {"type": how, "term": column.name, "value": value}


def _both(one: Any, other: Any) -> Any:
    return other if one is True else {"type": "and", "left": one, "right": other}


def _either(one: Any, other: Any) -> Any:
    if one is True or other is True:
        return True
    return other if one is False else {"type": "or", "left": one, "right": other}
