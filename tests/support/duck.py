"""A plan's metrics and checks over a parquet file, computed by DuckDB: a second opinion beside the audit's own.

It shares no code with the audit, and reads Spark's predicates through a translator.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from lakegate.audit.model.plan import ROWS_VIEW, Check, Metric, MetricKind, Operator, Plan, Unit

_COMPARE: dict[Operator, Callable[..., bool]] = {
    Operator.MUST_BE: operator.eq,
    Operator.MUST_NOT_BE: operator.ne,
    Operator.GREATER_THAN: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
    Operator.LESS_THAN: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.IN_RANGE: lambda value, low, high: low <= value <= high,
    Operator.OUT_OF_RANGE: lambda value, low, high: not low <= value <= high,
}


def failed_checks(plan: Plan, file: Path) -> dict[str, float | None]:
    """The checks that the file fails, each with its metric."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", connection.read_parquet(str(file)))
        values = {metric.id: measure(connection, metric) for metric in plan.metrics}
        rows = count(connection, "SELECT count(*) FROM data")
    return {
        check.name: values[check.metric]
        for check in plan.checks
        if not passes(check, plan.metric(check.metric).kind, values[check.metric], rows)
    }


def passes(check: Check, kind: MetricKind, value: float | None, rows: int) -> bool:
    if value is None:
        return False
    compared = 100 * value / rows if check.unit is Unit.PERCENT and kind.counts_rows else value
    return _COMPARE[check.operator](compared, *check.threshold)


def measure(connection: duckdb.DuckDBPyConnection, metric: Metric) -> float | None:
    columns = ", ".join(quoted(column) for column in metric.columns)
    match metric.kind:
        case MetricKind.ROWS:
            return count(connection, "SELECT count(*) FROM data")
        case MetricKind.NULLS:
            return count(connection, f"SELECT count(*) FROM data WHERE {columns} IS NULL")
        case MetricKind.FAILING:
            return count(connection, f"SELECT count(*) FROM data WHERE {translated(metric.sql)}")
        case MetricKind.DUPLICATES:
            whole = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in metric.columns)
            keys = f"SELECT count(*) - 1 AS again FROM data WHERE {whole} GROUP BY {columns}"
            return count(connection, f"SELECT coalesce(sum(again), 0) FROM ({keys})")
        case MetricKind.VALUE:
            return number(connection, f"SELECT {translated(metric.sql)} FROM data")
        case MetricKind.QUERY:
            return number(connection, f"WITH {ROWS_VIEW} AS (FROM data) {translated(metric.sql)}")
    raise NotImplementedError(metric.kind)


def translated(predicate: str) -> str:
    """A predicate of Spark's in DuckDB's words."""
    tree = sqlglot.parse_one(predicate, read="spark")
    for node in list(tree.find_all(exp.Quantile)):  # Spark's lies between two values
        node.replace(exp.Anonymous(this="quantile_cont", expressions=[node.this, node.args["quantile"]]))
    return tree.sql(dialect="duckdb")


def quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    found = number(connection, query)
    assert found is not None
    return int(found)


def number(connection: duckdb.DuckDBPyConnection, query: str) -> float | None:
    row = connection.execute(query).fetchone()
    assert row is not None
    return None if row[0] is None or not math.isfinite(row[0]) else float(row[0])
