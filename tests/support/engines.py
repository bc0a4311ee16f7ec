"""Compare DuckDB's results of translated expressions with Catalyst's, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from lakegate.duckdb.dialect import STRICTLY, to_duckdb
from lakegate.duckdb.macros import MACROS
from lakegate.express.metrics import widen
from lakegate.reading.arrow import arrow_type
from tests.support.catalyst import Catalyst, Rows

HANDED_OVER = object()


def answers(types: Mapping[str, str], rows: Rows, expressions: Sequence[str]) -> list[list[Any]]:
    """Every expression of every row, or that it is handed over."""
    with _opened() as connection:
        table = _table(types, rows)
        return [_answers(connection, text, frozenset(types.items()), table) for text in expressions]


def aggregates(types: Mapping[str, str], rows: Rows, expressions: Sequence[str]) -> list[Any]:
    """Every aggregate of all rows, or that it is handed over."""
    with _opened() as connection:
        connection.register("rows", _table(types, rows))
        return [_aggregate(connection, to_duckdb(text, frozenset(types.items()))) for text in expressions]


def _aggregate(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    try:
        return connection.execute(f"SELECT {text} FROM rows").fetchall()[0][0]
    except (duckdb.DataError, duckdb.InvalidInputException):
        return HANDED_OVER


def _opened() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in (*MACROS, STRICTLY, "SET TimeZone = 'UTC'", "SET threads = 1"):
        connection.execute(statement)
    return connection


def _answers(
    connection: duckdb.DuckDBPyConnection, text: str, types: frozenset[tuple[str, str]], rows: pa.Table
) -> list[Any]:
    """An expression that is null by an error lacks even the struct around it. DuckDB may take a part of it out of TRY,
    and then the rows are asked one by one.
    """
    connection.register("rows", rows)
    sql = to_duckdb(text, types).removeprefix("TRY")
    try:
        found = connection.sql(f"SELECT TRY({{'v': {sql}}}) AS v FROM rows").to_arrow_table()
    except (duckdb.DataError, duckdb.InvalidInputException):
        if rows.num_rows == 1:
            return [HANDED_OVER]
        return [
            answer for at in range(rows.num_rows) for answer in _answers(connection, text, types, rows.slice(at, 1))
        ]
    return _column(found.column(0).combine_chunks())


def _column(structs: pa.Array) -> list[Any]:
    values = pa.array(structs.field("v")) if isinstance(structs, pa.StructArray) else structs
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return [
        value if there else HANDED_OVER
        for value, there in zip(values.to_pylist(), structs.is_valid().to_pylist(), strict=True)
    ]


def _table(types: Mapping[str, str], rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True)
    return widen(pa.table({name: _array(kind, of) for (name, kind), of in zip(types.items(), columns, strict=True)}))


def _array(kind: str, values: Sequence[Any]) -> pa.Array:
    if kind.startswith("decimal"):
        return pa.array([None if value is None else str(value) for value in values], pa.string()).cast(arrow_type(kind))
    if kind == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if kind.startswith("timestamp"):
        return pa.array(values, pa.int64()).cast(arrow_type(kind))
    return pa.array(values, arrow_type(kind), from_pandas=False)


@dataclass(kw_only=True)
class Compared:
    """The number of pairs of expression and row, those that were handed over, and those that differ."""

    pairs: int = 0
    handed_over: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, catalyst: Catalyst, types: Mapping[str, str], rows: Rows, expressions: Sequence[str]) -> None:
        theirs, ours = catalyst.answers(types, rows, expressions), answers(types, rows, expressions)
        for text, spoken, own in zip(expressions, theirs, ours, strict=True):
            for row, one, other in zip(rows, spoken, own, strict=True):
                self.pairs += 1
                if other is HANDED_OVER:
                    self.handed_over += 1
                elif not same(one, other):
                    self.wrong.append(f"{text}: Spark {one!r}, express {other!r} of {asked(text, types, row)}")


def asked(text: str, types: Mapping[str, str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(types, row, strict=True) if f"`{name}`" in text}


def same(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str | bool) or isinstance(other, str | bool):
        return bool(type(one) is type(other) and one == other)
    if isinstance(one, float) or isinstance(other, float):
        return str(float(one)) == str(float(other))
    return bool(one == other)


def near(one: Any, other: Any) -> bool:
    """Return True if two numbers of all rows have the same verdict. One that is not finite is none."""
    if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
        return _finite(one) == _finite(other)
    return math.isclose(one, other, rel_tol=1e-9)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
