"""Each kind of metric in DuckDB: its number, the rows that count for it, and those that a person is shown.

It writes SQL and runs none. Where only Spark can say (see `dialect`), a predicate is null, and so is the number.
"""

# ruff: noqa: S608 - names are quoted, and expressions are a plan's own

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.model.plan import ROWS_VIEW, Metric, MetricKind
from lakegate.duckdb.dialect import duckdb_identifier, translated


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows that a metric is asked of: the `relation` that holds them, and the column that says in which `order`
    they landed. `named` spells another table. `before` is true of those rows of `table`, the plan's own, that one of
    these may repeat or refer to.
    """

    relation: str
    order: str = ""
    table: str = ""
    named: Callable[[str], str] = duckdb_identifier
    before: str = "true"


Said = Callable[[Metric, Rows], str]


@dataclass(frozen=True, kw_only=True)
class DuckDBKind:
    """One kind of metric in SQL. Its `number` is a subquery, and `failing` is true of a row that counts. `shown` is
    true of the rows that a person is shown for it; a kind without it has no such rows in a table.
    """

    number: Said
    failing: Said = lambda _, __: "false"
    shown: Said | None = None


def _counted(metric: Metric, rows: Rows) -> str:
    """A count of the failing rows, unless there is one of which only Spark can say whether it fails."""
    wrong = f"({KINDS[metric.kind].failing(metric, rows)})"
    known = f"bool_and({wrong} IS NOT NULL) IS NOT FALSE"
    return f"(SELECT CASE WHEN {known} THEN count_if({wrong}) END FROM {rows.relation})"


def _null(metric: Metric, _: Rows) -> str:
    return f"{duckdb_identifier(metric.columns[0])} IS NULL"


def _broken(metric: Metric, _: Rows) -> str:
    return f"({translated(metric.sql)})"


def _repeats(metric: Metric, rows: Rows) -> str:
    """Count the rows whose key is there before, among these alone."""
    grouped = f"FROM {rows.relation} WHERE {_whole(metric.columns)} GROUP BY {_listed(metric.columns)}"
    return f"(SELECT coalesce(sum(again), 0) FROM (SELECT count(*) - 1 AS again {grouped}))"


def _repeating(metric: Metric, rows: Rows) -> str:
    """A row whose key an earlier one of these has."""
    place = f"row_number() OVER (PARTITION BY {_listed(metric.columns)} ORDER BY {duckdb_identifier(rows.order)})"
    return f"({_whole(metric.columns)} AND {place} > 1)"


def _repeated(metric: Metric, rows: Rows) -> str:
    """A row whose key is there twice; the first one, too."""
    keys = _listed(metric.columns)
    among = f"SELECT {keys} FROM {rows.relation} WHERE {rows.before} AND {_whole(metric.columns)}"
    return f"({keys}) IN ({among} GROUP BY ALL HAVING count(*) > 1)"


def _orphaned(metric: Metric, rows: Rows) -> str:
    """A row whose key refers to nothing; where no table is referred to, that is every row with a key."""
    whole = _whole(metric.columns)
    if (target := metric.refers_to) is None:
        return whole
    there = _whole(target.columns) + (f" AND {rows.before}" if target.table == rows.table else "")
    known = f"SELECT {_listed(target.columns)} FROM {rows.named(target.table)} WHERE {there}"
    return f"{whole} AND ({_listed(metric.columns)}) NOT IN ({known})"


def _whole(key: Sequence[str]) -> str:
    """A null among its columns makes it no key."""
    return " AND ".join(f"{duckdb_identifier(name)} IS NOT NULL" for name in key)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(duckdb_identifier, columns))


KINDS: Mapping[MetricKind, DuckDBKind] = {
    MetricKind.ROWS: DuckDBKind(number=lambda _, rows: f"(SELECT count(*) FROM {rows.relation})"),
    MetricKind.NULLS: DuckDBKind(number=_counted, failing=_null, shown=_null),
    MetricKind.FAILING: DuckDBKind(number=_counted, failing=_broken, shown=_broken),
    MetricKind.DUPLICATES: DuckDBKind(number=_repeats, failing=_repeating, shown=_repeated),
    MetricKind.ORPHANS: DuckDBKind(number=_counted, failing=_orphaned, shown=_orphaned),
    MetricKind.UNPARSED: DuckDBKind(number=lambda _, __: "0"),  # rows of a relation have been parsed
    MetricKind.VALUE: DuckDBKind(number=lambda it, rows: f"(SELECT {translated(it.sql)} FROM {rows.relation})"),
    MetricKind.QUERY: DuckDBKind(
        number=lambda it, rows: f"(WITH {ROWS_VIEW} AS (FROM {rows.relation}) {translated(it.sql)})"
    ),
}
