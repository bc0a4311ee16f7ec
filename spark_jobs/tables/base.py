"""What tables hold at the attempt's base, but for what the batch replaces: of their rows, those whose keys the batch
could share, and no others.

Iceberg plans by the bounds in its manifests, so that the cost grows with what is near, not with the table.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.data_files.key_ranges import KeyRanges, comparable, overlap_condition
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, Reference
from lakegate.audit.model.report import DataFile
from lakegate.audit.schema.types import canonical
from spark_jobs.tables import iceberg, rewritten
from spark_jobs.tables.ddl import table_name


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Rows of a table that may have keys of the batch; no more than `rows` of them."""

    rows: int
    table: DataFrame


@dataclass(frozen=True, kw_only=True)
class Base:
    """A catalog of the session that stands at the base, and its tables as far as they are loaded (None: not there).

    By table: `replaced` are data files that don't count, `rewritten` says how many rows of a file version (by id) other
    data files hold, which don't count either.
    """

    spark: SparkSession
    catalog: str
    tables: dict[str, Any | None] = field(default_factory=dict)
    replaced: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    rewritten: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def table(self, name: str) -> Any | None:
        if name not in self.tables:
            self.tables[name] = iceberg.load(self.spark, self.catalog, name)
        return self.tables[name]

    def rows(self, name: str) -> int:
        """How many rows the table has: by its manifests, if none of its rows is deleted by a file of its own."""
        table, replaced = self.table(name), self.replaced.get(name, ())
        counted = iceberg.rows(self.spark, table) if table is not None else 0
        if counted is not None:
            return counted - sum(data.rows for data in replaced) - sum(self.rewritten.get(name, {}).values())
        rows = self._without_rewritten(name, self.spark.table(table_name(self.catalog, name)))
        return rows.where(~F.col("_file").isin([data.path for data in replaced])).count()

    def candidates(
        self, target: Reference, columns: Sequence[IcebergField], ranges: Sequence[KeyRanges]
    ) -> Candidates | None:
        """The target's rows that may have a key of the batch, which has it in `columns` and in these ranges; None where
        there are no such rows.
        """
        table = self.table(target.table)
        if table is None:
            return None
        theirs = iceberg.fields(self.spark, table)
        if not set(target.columns) <= theirs.keys():
            return None  # a column that came with the batch: no row has a key
        where = overlap_condition(
            ranges, [(mine, theirs[name]) for mine, name in zip(columns, target.columns, strict=True)]
        )
        replaced = frozenset(data.path for data in self.replaced.get(target.table, ()))
        tasks = iceberg.plan_tasks(self.spark, table, json.dumps(where), replaced)
        if tasks.isEmpty():
            return None
        name = table_name(self.catalog, target.table)
        rows = self._without_rewritten(target.table, iceberg.read_tasks(self.spark, name, table, tasks))
        return Candidates(rows=iceberg.rows_in(tasks), table=rows)

    def _without_rewritten(self, name: str, rows: DataFrame) -> DataFrame:
        ids = self.rewritten.get(name)
        return rows.where(~rewritten.is_of(ids)) if ids else rows


def check_references(base: Base, plan: Plan) -> None:
    """Unfit where a foreign key refers to columns that its table has not, or that its values can never equal."""
    referred = [(metric.columns, metric.refers_to) for metric in plan.metrics if metric.refers_to]
    referring = [(columns, target) for columns, target in referred if target.table != plan.table]
    differences = [said for columns, target in referring for said in _mismatches(base, plan, columns, target)]
    if differences:
        raise Unfit(
            f"the contract of {plan.table} does not fit the tables it refers to: {'; '.join(differences)}. Nothing was "
            f"appended. Correct the contract, run lakegate contract push, then lakegate retry"
        )


def _mismatches(base: Base, plan: Plan, columns: Sequence[str], target: Reference) -> Iterable[str]:
    table = base.table(target.table)
    if table is None:
        return  # no such table, no such rows: every key is an orphan, until it is there
    theirs, mine = iceberg.fields(base.spark, table), {column.name: column.type for column in plan.columns}
    for column, name in zip(columns, target.columns, strict=True):
        if name not in theirs:
            yield f'{target.table} has no column "{name}"'
        elif not comparable(canonical(mine[column]), theirs[name].type):
            yield f'"{column}" is {mine[column]} and {target.table}.{name} is {theirs[name].type}'
