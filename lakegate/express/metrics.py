"""Metrics of rows by DuckDB, each as Spark computes it. Where DuckDB cannot say that, the batch is handed over."""

# ruff: noqa: S608 - columns are quoted, and expressions are a plan's own

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.drift import Past
from lakegate.audit.evaluation.samples import evenly
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate
from lakegate.audit.model.plan import Metric, Plan, Trait
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.audit.schema.names import fold
from lakegate.duckdb.arrow import types_of
from lakegate.duckdb.dialect import STRICTLY, duckdb_identifier
from lakegate.duckdb.macros import MACROS
from lakegate.duckdb.metrics import KINDS, Rows, name_list, whole
from lakegate.duckdb.numbers import DOUBLE, INEXACT, Types, annotate, type_of
from lakegate.express.limits import Limits

AT = "_lakegate_at"  # the place of a row; no contract's column may have this name
_ROWS = Rows(relation="_lakegate_rows_read", order=AT)
_EXACT = (exp.Count, exp.CountIf, exp.Min, exp.Max)
_AT_ONCE = 10_000  # numbers that Python gets
PER_QUERY = 50
"""Metrics of one query: DuckDB's work, and its depth, grow with their square."""
UNSURE = "The file has a value by which only Spark can say whether its row fails a check."
_NEAR, _DISPLAY_ERROR = 1e-9, 1e-12
"""By how much a number may differ with the order of summing, when its verdict is at stake, and when its spelling is."""


class DuckDB:
    """One DuckDB in memory, without access to files or the network."""

    def __init__(self, limits: Limits) -> None:
        self._own = duckdb.connect()
        settings = (
            f"SET memory_limit = '{limits.memory // 1024**2}MiB'",
            f"SET temp_directory = {exp.Literal.string(limits.spill).sql(dialect='duckdb')}",
            f"SET threads = {limits.threads}",
            "SET GLOBAL TimeZone = 'UTC'",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        )
        for statement in (*MACROS, STRICTLY, *settings):
            self._own.execute(statement)

    def close(self) -> None:
        self._own.close()

    @contextmanager
    def _with(self, relations: Mapping[str, pa.Table], cannot: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection that has these relations. An error of DuckDB is of a value that only Spark knows, or of a
        batch too large: raise HandedOver, which says what it `cannot` do.
        """
        for name, rows in relations.items():
            self._own.register(name, rows)
        try:
            yield self._own
        except duckdb.Error as error:
            raise HandedOver(f"DuckDB cannot {cannot}.") from error
        finally:
            for name in relations:
                self._own.unregister(name)

    def _over(self, rows: pa.Table) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return self._with({_ROWS.relation: widen(rows)}, "compute a check with the file's values")

    def numbers(self, metrics: Sequence[Metric], rows: pa.Table) -> dict[str, float | None]:
        """Return the metrics of these rows, which are one file's; None where a number about all rows has none. Raise
        HandedOver if DuckDB does not know one.
        """
        _check_means(metrics, rows.schema)
        numbers = dict[str, float | None]()
        for at in range(0, len(metrics), PER_QUERY):
            part = metrics[at : at + PER_QUERY]
            with self._over(rows.select(columns_needed(part, rows.column_names))) as connection:
                [values] = connection.execute(_numbers_sql(part, _rows_with_types(rows))).fetchall()
            numbers |= {metric.id: _number(metric, value) for metric, value in zip(part, values, strict=True)}
        return numbers

    def count(self, query: str, relations: Mapping[str, pa.Table]) -> int:
        """Return the one number of a query over these relations."""
        with self._with(relations, "compare the file's keys") as connection:
            [(number,)] = connection.execute(query).fetchall()
        return int(number)

    def marks(self, metrics: Sequence[Metric], rows: pa.Table) -> list[tuple[bool | None, ...]]:
        """Return for each row whether it counts for each of these metrics; None if only Spark knows."""
        if not metrics:
            return [()] * rows.num_rows
        at = duckdb_identifier(AT)
        source = _rows_with_types(rows)
        conditions = ", ".join(KINDS[metric.kind].condition(metric, source) for metric in metrics)
        with self._over(_with_places(rows)) as connection:
            return connection.execute(f"SELECT {conditions} FROM {_ROWS.relation} ORDER BY {at}").fetchall()

    def places(self, metric: Metric, rows: pa.Table, limit: int) -> list[int]:
        """Return the places of at most so many rows to show, from all that fail; of keys that repeat, the first so many
        of each of the first so many keys.
        """
        source = _rows_with_types(rows)
        with self._over(_with_places(rows)) as connection:
            if metric.has(Trait.REPEATS):
                return [at for (at,) in connection.execute(_keys_sql(metric, source, limit)).fetchall()]
            [(total,)] = connection.execute(f"SELECT count(*) FROM ({_places_sql(metric, source)})").fetchall()
            places = set(evenly(range(total), limit))
            return [at for n, at in enumerate(_stream_numbers(connection, _places_sql(metric, source))) if n in places]


def _stream_numbers(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[int]:
    """Yield the numbers that a query has, few at once: all may be too many for Python."""
    answer = connection.execute(sql)
    while rows := answer.fetchmany(_AT_ONCE):
        yield from (number for (number,) in rows)


def _check_means(metrics: Sequence[Metric], schema: pa.Schema) -> None:
    """Raise HandedOver for a mean of decimals, which Spark rounds to four places more than theirs."""
    plain = frozenset(field.name.lower() for field in schema if not pa.types.is_decimal(field.type))
    if any(_averages(metric.sql, plain) for metric in metrics if metric.has(Trait.NUMBER)):
        raise HandedOver("Only Spark has the places of a mean of decimals.")


@lru_cache(maxsize=1024)
def _averages(sql: str, plain: frozenset[str]) -> bool:
    """Return True if a mean may be one of decimals: of anything but one of these columns."""
    means = [mean.this for mean in sqlglot.parse_one(sql, read="spark").find_all(exp.Avg)]
    return any(not isinstance(of, exp.Column) or of.name.lower() not in plain for of in means)


def _rows_with_types(rows: pa.Table) -> Rows:
    return replace(_ROWS, types=types_of(rows.schema))


def _numbers_sql(metrics: Sequence[Metric], rows: Rows) -> str:
    """Return the query of all these numbers, in which one pass gives all that are aggregates."""
    aggregates_by_id = {
        metric.id: to_sql(metric, rows) for metric in metrics if (to_sql := KINDS[metric.kind].aggregate)
    }
    names = {name: f"_{at}" for at, name in enumerate(aggregates_by_id)}
    numbers = ", ".join(names.get(metric.id) or KINDS[metric.kind].number(metric, rows) for metric in metrics)
    aggregates = ", ".join(f"{sql} AS {names[name]}" for name, sql in aggregates_by_id.items())
    return f"SELECT {numbers}" + (f" FROM (SELECT {aggregates} FROM {rows.relation})" if aggregates_by_id else "")


def _number(metric: Metric, value: Any) -> float | None:
    if value is None and metric.kind.counts_rows:
        raise HandedOver(UNSURE)
    return float(value) if value is not None and math.isfinite(value) else None


def _places_sql(metric: Metric, rows: Rows) -> str:
    at = duckdb_identifier(AT)
    return f"SELECT {at} FROM {rows.relation} WHERE {KINDS[metric.kind].condition(metric, rows)} ORDER BY {at}"


def _keys_sql(metric: Metric, rows: Rows, limit: int) -> str:
    at = duckdb_identifier(AT)
    repeats = (
        f"SELECT {name_list(metric.columns)}, min({at}, {limit}) AS places FROM {rows.relation} "
        f"WHERE {whole(metric.columns)} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT {limit}"
    )
    return f"SELECT unnest(places) AS {at} FROM ({repeats}) ORDER BY ALL"


def _with_places(rows: pa.Table) -> pa.Table:
    return rows.append_column(AT, pa.array(range(rows.num_rows), pa.int64()))


def columns_needed(metrics: Sequence[Metric], columns: Sequence[str]) -> list[str]:
    """Return the columns that these metrics ask for, one at least: rows are counted by it."""
    if any(KINDS[metric.kind].reads_all for metric in metrics):
        return list(columns)
    names = {name for metric in metrics for name in _names_in(metric)}
    return [name for name in columns if fold(name) in names] or list(columns[:1])


def _names_in(metric: Metric) -> Iterable[str]:
    """Return all names in a metric, which may be of columns, folded: SQL goes by no case."""
    return _names_in_sql(metric.sql) if metric.sql else map(fold, metric.columns)


@lru_cache(maxsize=10_000)
def _names_in_sql(sql: str) -> frozenset[str]:
    identifiers = sqlglot.parse_one(sql, read="spark").find_all(exp.Identifier)
    return frozenset(fold(identifier.name) for identifier in identifiers)


def widen(rows: pa.Table) -> pa.Table:
    """Return the rows with every float as the double that it is: beside a decimal, DuckDB would make floats of both."""
    kinds = [pa.float64() if pa.types.is_float32(field.type) else field.type for field in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.schema.names, kinds, strict=True))))


def is_exact(metric: Metric, types: Types) -> bool:
    """Return True if a number depends neither on the order in which rows are added up nor on an engine's last digit.
    The types are Spark's of the columns, by their names in lower case.
    """
    if not metric.has(Trait.NUMBER):
        return True
    tree = sqlglot.parse_one(metric.sql, read="spark")
    annotate(tree, types)
    inexact = [aggregate for aggregate in tree.find_all(exp.AggFunc) if not isinstance(aggregate, _EXACT)]
    sums = all(isinstance(aggregate, exp.Sum) and type_of(aggregate) not in (None, DOUBLE) for aggregate in inexact)
    return sums and not tree.find(*INEXACT)


def check_near_limits(plan: Plan, metric: Metric, value: float, rows: int, past: Past) -> None:
    """Raise HandedOver if a value so near to this one would have another verdict, or be told otherwise."""
    own_plan = replace(plan, checks=tuple(check for check in plan.checks if check.metric == metric.id))
    verdicts = {
        tuple(result.verdict for result in _results_near(own_plan, metric, value, error, rows, past))
        for error in (-_NEAR, 0, _NEAR)
    }
    texts = {
        tuple(check.result for check in _results_near(own_plan, metric, value, error, rows, past))
        for error in (-_DISPLAY_ERROR, 0, _DISPLAY_ERROR)
    }
    if len(verdicts) > 1 or (len(texts) > 1 and any(verdict is not Verdict.PASS for verdict in next(iter(verdicts)))):
        raise HandedOver("A check's number is so near to a limit that only Spark's own decides.")


def _results_near(
    plan: Plan, metric: Metric, value: float, error: float, rows: int, past: Past
) -> tuple[CheckResult, ...]:
    measurement = Measurement(value=value + error * abs(value), source=Source.AGGREGATE)
    return evaluate(plan, [Measurements(file="", rows=rows, metrics={metric.id: measurement})], {}, past)[""]
