"""Numbers of columns over all samples. They decide nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.schema.types import Atom, Type, digits

MOST_VALUES = 10
"""Different values of a text column that are listed, at most."""
_COUNTABLE = ("int", "bigint", "string", "date")
_COMPARABLE = ("int", "bigint", "float", "double")
_TEMPORAL = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Numbers of one column. None: not counted for its type. `repeats` are the rows of any one file that repeat
    another's value there, `least` and `most` the values between which all numbers are, `first_year` that of dates,
    `empty` the texts without a letter, and `values` all of a text column that has few.
    """

    rows: int
    nulls: int
    distinct: int | None = None
    repeats: int | None = None
    smallest: Any = None
    largest: Any = None
    odd: int = 0  # infinities and NaN
    first_year: int | None = None
    empty: int = 0
    values: tuple[str, ...] = ()

    @property
    def values_present(self) -> int:
        return self.rows - self.nulls


def measure(tables: Sequence[pa.Table], kinds: Mapping[str, Type]) -> dict[str, Numbers]:
    """Return the numbers of each column; `tables` are the samples' rows, all of the same types. A column is looked at
    by itself, so that many of them take as many times as long as one.
    """
    return {name: _measure_column([table.column(name) for table in tables], kind) for name, kind in kinds.items()}


def _measure_column(parts: Sequence[pa.ChunkedArray], kind: Type) -> Numbers:
    values = pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    numbers = Numbers(rows=len(values), nulls=values.null_count)
    if not isinstance(kind, Atom):
        return numbers
    if kind.name in _COUNTABLE or digits(kind):
        repeats = sum(len(part) - part.null_count - _distinct(part) for part in parts)
        numbers = replace(numbers, distinct=_distinct(values), repeats=repeats)
    if kind.name in ("float", "double"):
        return _of_floats(numbers, values)
    if kind.name in _COMPARABLE or digits(kind):
        return _with_bounds(numbers, values)
    if kind.name in _TEMPORAL:
        return replace(numbers, first_year=_first_year(values))
    return _of_texts(numbers, values) if kind.name == "string" else numbers


def _distinct(values: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(values).as_py())


def _with_bounds(numbers: Numbers, values: pa.ChunkedArray) -> Numbers:
    ends = pc.min_max(values)
    return replace(numbers, smallest=ends["min"].as_py(), largest=ends["max"].as_py())


def _of_floats(numbers: Numbers, values: pa.ChunkedArray) -> Numbers:
    present = values.drop_null()
    sound = present.filter(pc.is_finite(present))
    return _with_bounds(replace(numbers, odd=len(present) - len(sound)), sound)


def _first_year(values: pa.ChunkedArray) -> int | None:
    first = pc.min(values)
    return int(pc.year(first).as_py()) if first.is_valid else None


def _of_texts(numbers: Numbers, values: pa.ChunkedArray) -> Numbers:
    empty = int(pc.sum(pc.equal(values, "")).as_py() or 0)
    is_short = bool(numbers.distinct) and (numbers.distinct or 0) <= MOST_VALUES
    texts = sorted(values.unique().drop_null().to_pylist()) if is_short else ()
    return replace(numbers, empty=empty, values=tuple(texts))
