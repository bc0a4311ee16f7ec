"""Data files of a table that could share keys with a batch, judged by ranges alone, as Iceberg's JSON of an expression.

It is one-sided: a file that is left out shares no key, one that is kept may still share none.
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from operator import itemgetter
from typing import Any

from lakegate.audit.statistics import LAST_ASCII, REPLACED, DataFileStatistics, IcebergField, between

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
BOXES = 50  # comparing with more boxes costs more than they exclude
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Range = tuple[Any, Any] | None
"""A column's least and greatest value, as `bound` decodes them; None if they are unknown."""
Box = tuple[Range, ...]
Pairs = Sequence[tuple[IcebergField, IcebergField]]
"""Each column of the key in the batch, with the column it is compared with."""


def boxes(files: Iterable[DataFileStatistics], columns: Sequence[IcebergField]) -> list[Box]:
    """Return the ranges of these data files' keys, from their bounds; a file without keys has none."""
    return [box for file in files if (box := _box(file, columns)) is not None]


def is_ordered(column: IcebergField) -> bool:
    """Return True if ranges locate the column's values. Floating-point columns have no such ranges, because bounds
    leave NaN out.
    """
    return column.type in _ORDERED or column.type.startswith("decimal(")


def near(found: Sequence[Box], pairs: Pairs) -> Any:
    """Return the expression over the second column of each pair: true if the boxes exclude nothing, false without
    boxes.
    """
    said: Any = False
    for box in _fewer(found):
        said = _either(said, _inside(box, pairs))
    return said


def comparable(mine: str, theirs: str) -> bool:
    """Return True if values of a Spark SQL type and of an Iceberg type can be the same key."""
    if mine.startswith("decimal("):
        return theirs.startswith("decimal(")
    return theirs in _COMPARABLE.get(mine, (mine,))


def _box(file: DataFileStatistics, columns: Sequence[IcebergField]) -> Box | None:
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


def _fewer(boxes: Sequence[Box]) -> list[Box]:
    """Merge neighbouring boxes if there are too many."""
    if len(boxes) <= BOXES:
        return list(dict.fromkeys(boxes))
    starts = [box[0][0] for box in boxes if box[0] is not None]
    if len(starts) < len(boxes):
        return [_hull(boxes)]
    ordered = [box for _, box in sorted(zip(starts, boxes, strict=True), key=itemgetter(0))]
    size = ceil(len(ordered) / BOXES)
    return [_hull(ordered[start : start + size]) for start in range(0, len(ordered), size)]


def _hull(boxes: Sequence[Box]) -> Box:
    return tuple(_span([ranges[at] for ranges in boxes]) for at in range(len(boxes[0])))


def _span(ranges: Sequence[Range]) -> Range:
    known = [found for found in ranges if found]
    if len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _inside(box: Box, pairs: Pairs) -> Any:
    said: Any = True
    for found, (mine, theirs) in zip(box, pairs, strict=True):
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
        least, most = _said(theirs.type, low), _said(theirs.type, high)
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


def _said(kind: str, value: Any) -> Any:
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
