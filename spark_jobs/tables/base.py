"""Tables at the attempt's base, without the rows that the batch replaces: only rows with keys that the batch may share.

Iceberg plans by the bounds in its manifests, so the cost grows with the rows near the batch's keys and not with the
table.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Advice
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
    """Rows of a table that may have keys of the batch, and an upper bound of their number."""

    rows: int
    table: DataFrame


@dataclass(frozen=True, kw_only=True)
class Base:
    """A catalog of the session at the base, and the tables loaded from it so far (None: no such table).

    By table: `replaced_files` has the data files that do not count; `rewritten` has, by file version, the number of its
    rows that other data files hold, which do not count either.
    """

    spark: SparkSession
    catalog: str
    tables: dict[str, Any | None] = field(default_factory=dict)
    replaced_files: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    rewritten: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def table(self, name: str) -> Any | None:
        if name not in self.tables:
            self.tables[name] = iceberg.load(self.spark, self.catalog, name)
        return self.tables[name]

    def rows(self, name: str) -> int:
        """Return how many rows the table has, from its manifests unless delete files hide some."""
        table, replaced_files = self.table(name), self.replaced_files.get(name, ())
        row_count = iceberg.rows(self.spark, table) if table is not None else 0
        if row_count is not None:
            return row_count - sum(data.rows for data in replaced_files) - sum(self.rewritten.get(name, {}).values())
        rows = self._without_rewritten(name, self.spark.table(table_name(self.catalog, name)))
        return rows.where(~F.col("_file").isin([data.path for data in replaced_files])).count()

    def candidates(
        self, target: Reference, columns: Sequence[IcebergField], ranges: Sequence[KeyRanges]
    ) -> Candidates | None:
        """Return the target's rows that may have a key of the batch; None if there are none.

        The batch has its keys in `columns`, within `boxes`.
        """
        table = self.table(target.table)
        if table is None:
            return None
        table_fields = iceberg.fields(self.spark, table)
        if not set(target.columns) <= table_fields.keys():
            return None  # the column is new with the batch, so no row has a key
        condition = overlap_condition(
            ranges, [(own_field, table_fields[name]) for own_field, name in zip(columns, target.columns, strict=True)]
        )
        replaced_paths = frozenset(data.path for data in self.replaced_files.get(target.table, ()))
        tasks = iceberg.plan_tasks(self.spark, table, json.dumps(condition), replaced_paths)
        if tasks.isEmpty():
            return None
        rows = self._without_rewritten(target.table, iceberg.read_tasks(self.spark, table, tasks))
        return Candidates(rows=iceberg.rows_in(tasks), table=rows)

    def _without_rewritten(self, name: str, rows: DataFrame) -> DataFrame:
        ids = self.rewritten.get(name)
        return rows.where(~rewritten.is_of(ids)) if ids else rows


def check_references(base: Base, plan: Plan) -> None:
    """Raise Unfit if a foreign key refers to columns that its table lacks or whose values it can never equal."""
    references = [(metric.columns, metric.refers_to) for metric in plan.metrics if metric.refers_to]
    other_references = [(columns, target) for columns, target in references if target.table != plan.table]
    differences = [
        mismatch for columns, target in other_references for mismatch in _mismatches(base, plan, columns, target)
    ]
    if differences:
        raise Unfit(
            f"the contract of {plan.table} does not fit the tables it refers to: {'; '.join(differences)}. Nothing was "
            f"appended",
            Advice(operator="correct the contract, run lakegate contract push, then lakegate retry"),
        )


def _mismatches(base: Base, plan: Plan, columns: Sequence[str], target: Reference) -> Iterable[str]:
    table = base.table(target.table)
    if table is None:
        return  # without the table every key is an orphan, which is a verdict and no misfit
    table_fields, types = iceberg.fields(base.spark, table), {column.name: column.type for column in plan.columns}
    for column, name in zip(columns, target.columns, strict=True):
        if name not in table_fields:
            yield f'{target.table} has no column "{name}"'
        elif not comparable(canonical(types[column]), table_fields[name].type):
            yield f'"{column}" is {types[column]} and {target.table}.{name} is {table_fields[name].type}'
