"""Failing rows for the report, spelled as Spark's JSON of them, with masked values hidden."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.samples import (
    TEXT,
    Row,
    by_keys,
    rows_per_sample,
    shown_columns,
    to_sample,
    with_rows,
)
from lakegate.audit.model.plan import Metric, Plan, TableColumn, Trait
from lakegate.audit.model.report import CheckResult
from lakegate.audit.schema.types import canonical
from lakegate.duckdb.metrics import KINDS
from lakegate.express.metrics import DuckDB

_DIGITS = 10  # tell any number of 32 bits from its neighbours
_BYTES = (pa.binary(), pa.large_binary())
_TEXTS = (*_BYTES, pa.string(), pa.large_string())
_LONGEST = 4 * TEXT  # bytes of as many letters


def with_samples(
    plan: Plan, results: Results, read: Callable[[str], pa.Table], duckdb: DuckDB
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the same results, with failing rows of each file at each check that did not pass."""
    metrics = [pair for pair in to_sample(plan, results) if KINDS[pair[0].kind].sample and not pair[0].refers_to]
    pairs = [(metric, file) for metric, files in metrics for file in files]
    if not pairs:
        return dict(results)
    limit = rows_per_sample(len(pairs))
    rows = {file: read(file) for file in dict.fromkeys(file for _, file in pairs)}
    samples = {(file, metric.id): _sample(plan, metric, rows[file], duckdb, limit) for metric, file in pairs}
    return with_rows(results, samples, len(pairs))


def _sample(plan: Plan, metric: Metric, rows: pa.Table, duckdb: DuckDB, limit: int) -> list[Row]:
    places = duckdb.places(metric, rows, limit)
    if metric.has(Trait.REPEATS):
        return by_keys(rows_at(plan, shown_columns(plan, metric), rows, places), metric, limit)
    return rows_at(plan, shown_columns(plan, metric), rows, places)


def rows_at(plan: Plan, names: Sequence[str], rows: pa.Table, places: Sequence[int]) -> list[Row]:
    """Return these columns of the rows at these places, as the report shows them."""
    columns_by_name = {column.name: column for column in plan.columns}
    selection = rows.select(names)  # whose pieces Arrow's take would join, all of them
    rows_to_show = pa.concat_tables([selection.slice(0, 0), *(selection.slice(at, 1) for at in places)])
    columns = [
        [to_display(columns_by_name[name], value) for value in _shorten(rows_to_show.column(name))] for name in names
    ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shorten(column: pa.ChunkedArray) -> list[Any]:
    """Return the values, of texts no more than is shown: Python would have all of each."""
    if column.type not in _TEXTS:
        return values_of(column)
    starts = [None if (text := value.as_buffer()) is None else text[:_LONGEST].to_pybytes() for value in column]
    if column.type in _BYTES:
        return starts
    return [None if start is None else start.decode(errors="ignore") for start in starts]


def values_of(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):  # without its zone, which is UTC, Python needs no list of zones
        column = column.cast(pa.timestamp("us"))
    return list(column.to_pylist())


def to_display(column: TableColumn, value: Any) -> Any:
    """Return a value as the report has it, cut to a readable length; of a masked one, only whether it is there."""
    if value is None:
        return None
    if column.masked:
        return MASK
    if isinstance(value, str):
        return value[:TEXT]
    if isinstance(value, bytes):
        return value[: TEXT // 2].hex().upper()
    if isinstance(value, float):
        return _number(column, value)
    return value if isinstance(value, bool | int) else _text(column, value)


def _number(column: TableColumn, value: float) -> float | str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return shortest(value) if canonical(column.type) == "float" else value


def shortest(value: float) -> float:
    """Return the number with the fewest digits that is this one in 32 bits."""
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, _DIGITS))
    return next((near for near in candidates if _in_32_bits(near) == value), value)


def _in_32_bits(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf


def _text(column: TableColumn, value: Any) -> str:
    """Return a decimal, a date or a moment as Spark casts it to text."""
    kind = canonical(column.type)
    if not kind.startswith("timestamp"):
        return str(value)
    whole, _, part = str(value.isoformat(timespec="microseconds")).partition(".")
    fraction = f".{part}".rstrip("0").rstrip(".")
    return whole + fraction + ("Z" if kind == "timestamp" else "")
