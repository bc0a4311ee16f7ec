"""A plan's checks over rows in memory, with the tables that its foreign keys refer to and the files before."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from lakegate.audit.evaluation.drift import Past
from lakegate.audit.model.plan import Plan
from lakegate.duckdb.dialect import duckdb_identifier
from lakegate.inference.evaluator import DuckDBEvaluator

_GIVEN = "given"  # the plan's own table


class LakeEvaluator(DuckDBEvaluator):
    """`references` are the tables that foreign keys refer to, by name; the plan's own table is there with the rows that
    it has besides those that are evaluated. `past` is what the files before measured, by metric id.
    """

    def __init__(self, plan: Plan, references: Mapping[str, pa.Table], past: Past | None = None) -> None:
        super().__init__(plan)
        self.past = past or {}
        self._given = references.get(plan.table)
        for name, table in references.items():
            self._connection.register(name if name != plan.table else _GIVEN, table)

    def _offer(self, rows: pa.Table) -> None:
        super()._offer(rows)
        self._offer_parents(rows)

    def _offer_parents(self, rows: pa.Table) -> None:
        """Offer the rows, and those that the table has besides, as the parents of a table that refers to
        itself.
        """
        own = [it.refers_to for it in self.plan.metrics if it.refers_to and it.refers_to.table == self.plan.table]
        columns = dict.fromkeys(name for reference in own for name in reference.columns)
        if columns and columns.keys() <= set(rows.column_names):
            parents = [
                f"SELECT {', '.join(map(duckdb_identifier, columns))} FROM {table}"
                for table in ("made_up", *([duckdb_identifier(_GIVEN)] if self._given is not None else []))
            ]
            view = f"CREATE OR REPLACE TEMP VIEW {duckdb_identifier(self.plan.table)} AS {' UNION ALL '.join(parents)}"
            self._connection.execute(view)
