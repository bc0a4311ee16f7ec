"""A plan's checks over rows in memory, with the tables that its foreign keys refer to and the files before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import duckdb
import pyarrow as pa

from lakegate.audit.evaluation.drift import Past
from lakegate.audit.model.plan import Metric, Plan
from lakegate.duckdb.dialect import duckdb_identifier
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.inference.evaluator import Evaluator

_GIVEN = "given"  # the plan's own table


class LakeEvaluator(Evaluator):
    """`references` are the tables that foreign keys refer to, by name; the plan's own table is there with the rows that
    it has besides those that are evaluated. `past` is what the files before measured, by metric id.
    """

    def __init__(self, plan: Plan, references: Mapping[str, pa.Table], past: Past | None = None) -> None:
        super().__init__(plan)
        self.past = past or {}
        self.duckdb = _Lake(plan, references)


@cache
def _engine() -> DuckDB:
    """The one that all lakes have connections to: to start it takes longer than most evaluations."""
    return DuckDB(Limits(threads=1))


class _Lake(DuckDB):
    """DuckDB with the tables of a lake, and with the rows themselves as parents where a table refers to itself."""

    def __init__(self, plan: Plan, references: Mapping[str, pa.Table]) -> None:
        self._own = _engine()._own.cursor()
        own = [it.refers_to for it in plan.metrics if it.refers_to and it.refers_to.table == plan.table]
        self._keys = list(dict.fromkeys(name for reference in own for name in reference.columns))
        self._table, self._has_own, self._whole = plan.table, plan.table in references, pa.table({})
        for name, table in references.items():
            self._own.register(name if name != plan.table else _GIVEN, table)

    def numbers(self, metrics: Sequence[Metric], rows: pa.Table) -> dict[str, float | None]:
        self._whole = rows  # of which a query has the columns that it names
        return super().numbers(metrics, rows)

    @contextmanager
    def _over(self, rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
        self._whole = rows if {*self._keys} <= {*rows.column_names} else self._whole
        with super()._over(rows) as connection:
            if self._keys and {*self._keys} <= {*self._whole.column_names}:
                connection.register("whole", self._whole.select(self._keys))
                keys, tables = ", ".join(map(duckdb_identifier, self._keys)), ["whole", *[_GIVEN][: self._has_own]]
                parents = " UNION ALL ".join(f"SELECT {keys} FROM {table}" for table in tables)
                connection.execute(f"CREATE OR REPLACE TEMP VIEW {duckdb_identifier(self._table)} AS {parents}")
            yield connection
