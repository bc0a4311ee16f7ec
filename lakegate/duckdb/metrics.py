"""Each kind of metric in DuckDB's SQL: its number, the rows that count for it, and the rows to show a person.

It runs no SQL. Where only Spark knows the result (see `dialect`), a predicate is null, and so is the number.
"""

# ruff: noqa: S608 - names are quoted, and expressions are a plan's own

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.model.plan import ROWS_VIEW, Metric, MetricKind
from lakegate.duckdb.dialect import UNKNOWN, duckdb_identifier, to_duckdb


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of a metric: the `relation` that holds them, and the column that gives their `order` of landing. `spell`
    spells another table's name. `before` is the condition of the rows of `table`, the plan's own, that a row may repeat
    or refer to. `types` are Spark's types of the columns, by name, as far as they are known.
    """

    relation: str
    order: str = ""
    table: str = ""
    spell: Callable[[str], str] = duckdb_identifier
    before: str = "true"
    types: frozenset[tuple[str, str]] = UNKNOWN


ToSql = Callable[[Metric, Rows], str]


@dataclass(frozen=True, kw_only=True)
class DuckDBKind:
    """One kind of metric in SQL. Its number is an `aggregate` over the relation, for several of which one pass is
    enough, or else a `query` of its own, which may read all columns. `condition` is that of a row that counts, and
    `sample` that of a row to show a person; None for a kind without such rows in a table.
    """

    aggregate: ToSql | None = None
    query: ToSql | None = None
    condition: ToSql = lambda _, __: "false"
    sample: ToSql | None = None
    reads_all: bool = False

    def number(self, metric: Metric, rows: Rows) -> str:
        """Return the number as a subquery."""
        if self.aggregate:
            return f"(SELECT {self.aggregate(metric, rows)} FROM {rows.relation})"
        if self.query is None:
            raise NotImplementedError(f"a metric of kind {metric.kind} has no number")
        return self.query(metric, rows)


def _count(metric: Metric, rows: Rows) -> str:
    """Count the failing rows. The result is null if only Spark knows whether one of the rows fails."""
    wrong = f"({KINDS[metric.kind].condition(metric, rows)})"
    return f"CASE WHEN bool_and({wrong} IS NOT NULL) IS NOT FALSE THEN count_if({wrong}) END"


def _null(metric: Metric, _: Rows) -> str:
    return f"{duckdb_identifier(metric.columns[0])} IS NULL"


def _break_condition(metric: Metric, rows: Rows) -> str:
    return f"({to_duckdb(metric.sql, rows.types)})"


def _repeats(metric: Metric, rows: Rows) -> str:
    """Count the rows that repeat the key of an earlier row of the relation."""
    groups = f"FROM {rows.relation} WHERE {whole(metric.columns)} GROUP BY {name_list(metric.columns)}"
    return f"(SELECT coalesce(sum(again), 0) FROM (SELECT count(*) - 1 AS again {groups}))"


def _repeat_condition(metric: Metric, rows: Rows) -> str:
    """Return the condition of a row that repeats the key of an earlier row of the relation."""
    place = f"row_number() OVER (PARTITION BY {name_list(metric.columns)} ORDER BY {duckdb_identifier(rows.order)})"
    return f"({whole(metric.columns)} AND {place} > 1)"


def _repeat_keys(metric: Metric, rows: Rows) -> str:
    """Return the condition of a row with a key that several rows have. The first of them counts, too."""
    keys = name_list(metric.columns)
    among = f"SELECT {keys} FROM {rows.relation} WHERE {rows.before} AND {whole(metric.columns)}"
    return f"({keys}) IN ({among} GROUP BY ALL HAVING count(*) > 1)"


def _orphan_condition(metric: Metric, rows: Rows) -> str:
    """Return the condition of a row with a dangling key. If the other table is missing, that is every key."""
    condition = whole(metric.columns)
    if (target := metric.refers_to) is None:
        return condition
    target_rows = whole(target.columns) + (f" AND {rows.before}" if target.table == rows.table else "")
    keys = f"SELECT {name_list(target.columns)} FROM {rows.spell(target.table)} WHERE {target_rows}"
    return f"{condition} AND ({name_list(metric.columns)}) NOT IN ({keys})"


def whole(key: Sequence[str]) -> str:
    """Return the condition of a complete key: SQL ignores a key with a null."""
    return " AND ".join(f"{duckdb_identifier(name)} IS NOT NULL" for name in key)


def name_list(columns: Sequence[str]) -> str:
    """Return the columns as SQL lists them."""
    return ", ".join(map(duckdb_identifier, columns))


KINDS: Mapping[MetricKind, DuckDBKind] = {
    MetricKind.ROWS: DuckDBKind(aggregate=lambda _, __: "count(*)"),
    MetricKind.NULLS: DuckDBKind(aggregate=_count, condition=_null, sample=_null),
    MetricKind.FAILING: DuckDBKind(aggregate=_count, condition=_break_condition, sample=_break_condition),
    MetricKind.DUPLICATES: DuckDBKind(query=_repeats, condition=_repeat_condition, sample=_repeat_keys),
    MetricKind.ORPHANS: DuckDBKind(aggregate=_count, condition=_orphan_condition, sample=_orphan_condition),
    MetricKind.MALFORMED: DuckDBKind(query=lambda _, __: "0"),  # rows of a relation have been parsed
    MetricKind.VALUE: DuckDBKind(aggregate=lambda metric, rows: to_duckdb(metric.sql, rows.types)),
    MetricKind.QUERY: DuckDBKind(
        reads_all=True,
        query=lambda metric, rows: f"(WITH {ROWS_VIEW} AS (FROM {rows.relation}) {to_duckdb(metric.sql, rows.types)})",
    ),
}
