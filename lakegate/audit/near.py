"""Which data files of a table could share keys with a batch, by ranges alone: said as Iceberg's JSON of an expression.

It is one-sided: a file that is left out shares none, one that is not may still share none.
"""

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from operator import itemgetter
from typing import Any

from lakegate.audit.statistics import LAST_ASCII, REPLACED, DataFileStatistics, Field, between

_WHOLE = ("int", "long")
_ORDERED = (*_WHOLE, "date", "timestamp", "timestamptz", "string")
_COMPARABLE = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _WHOLE),
    "timestamp": ("timestamptz",),
    "timestamp_ntz": ("timestamp",),
}
_INT = (-(2**31), 2**31 - 1)
_LEAST = {"int": _INT[0], "long": -(2**63)}
_WIDTH = 1_000_000  # of any truncate: nearer to the least number than that, Iceberg's partition begins again from above
BOXES = 50  # more of them cost more to compare with than they leave out
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Range = tuple[Any, Any] | None
"""The least and the greatest value of a column, as `bound` says them; None where they are not known."""
Box = tuple[Range, ...]
Pairs = Sequence[tuple[Field, Field]]
"""Each column of the key in the batch, with the one it is compared with."""


def boxes(files: Iterable[DataFileStatistics], columns: Sequence[Field]) -> list[Box]:
    """Where the keys of these data files are, by their bounds; a file without keys has none."""
    return [box for file in files if (box := _box(file, columns)) is not None]


def is_ordered(column: Field) -> bool:
    """Whether ranges tell where values are. Not of floating-point columns, because bounds leave NaN out."""
    return column.type in _ORDERED or column.type.startswith("decimal(")


def near(found: Sequence[Box], pairs: Pairs) -> Any:
    """The expression, over the second column of each pair: true where boxes say nothing, false for no file at all."""
    said: Any = False
    for box in _fewer(found):
        said = _either(said, _inside(box, pairs))
    return said


def comparable(mine: str, theirs: str) -> bool:
    """Whether values of a Spark SQL type and of an Iceberg type can be the same key."""
    if mine.startswith("decimal("):
        return theirs.startswith("decimal(")
    return theirs in _COMPARABLE.get(mine, (mine,))


def _box(file: DataFileStatistics, columns: Sequence[Field]) -> Box | None:
    """The ranges of a data file's keys, or None where it has none."""
    if any(column.id in file.nulls and file.nulls[column.id] == file.values.get(column.id) for column in columns):
        return None
    return tuple(_range(file, column) for column in columns)


def _range(file: DataFileStatistics, column: Field) -> Range:
    if not is_ordered(column):
        return None
    try:
        return between(file, column)
    except (KeyError, ValueError, struct.error):
        return None


def _fewer(boxes: Sequence[Box]) -> list[Box]:
    """Neighbours together, where there are too many."""
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
                return False  # too large for the other column
        if theirs.type in _LEAST and low - _LEAST[theirs.type] < _WIDTH:
            continue  # by partitions, the rows of such a range may be anywhere
        if theirs.type == "string":
            low, high = _beyond_doubt(low, high)
        least, most = _said(theirs.type, low), _said(theirs.type, high)
        if least is not None and most is not None:
            said = _both(said, _both(_compared("gt-eq", theirs, least), _compared("lt-eq", theirs, most)))
    return said


def _beyond_doubt(low: str, high: str) -> tuple[str, str]:
    """The range as wide as it must be for bounds that Iceberg reads as text, of data files, row groups or partitions,
    though they are none: U+FFFD stands there for bytes that parquet orders elsewhere, among letters that are not ASCII.

    A bound that is read so differs from its bytes at one letter. It passes a text by, which it does not pass as bytes,
    only where that has a letter from U+FFFD on there (from below) or one from U+0080 to U+FFFD (from above).
    """
    least = next((at for at, letter in enumerate(low) if letter >= REPLACED[0]), len(low))
    most = next((at for at, letter in enumerate(high) if LAST_ASCII < letter <= REPLACED[0]), None)
    return low[:least], high if most is None else high[:most] + REPLACED[1]


def _said(kind: str, value: Any) -> Any:
    """A bound as Iceberg's JSON has single values; None for a moment that no calendar here has."""
    try:
        if kind == "date":
            return (_EPOCH + timedelta(days=value)).date().isoformat()
        if kind in ("timestamp", "timestamptz"):
            text = (_EPOCH + timedelta(microseconds=value)).isoformat()
            return text if kind == "timestamptz" else text.removesuffix("+00:00")
    except OverflowError:
        return None
    return f"{value:f}" if kind.startswith("decimal(") else value


def _compared(how: str, column: Field, value: Any) -> Any:
    return {"type": how, "term": column.name, "value": value}


def _both(one: Any, other: Any) -> Any:
    return other if one is True else {"type": "and", "left": one, "right": other}


def _either(one: Any, other: Any) -> Any:
    if one is True or other is True:
        return True
    return other if one is False else {"type": "or", "left": one, "right": other}
