"""A table in a Spark session as the job finds it: what it held before, the batch's files, and the audit of those.

It appends what it is given and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.data_files.difference import DataFiles
from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.audit.evaluation.verdicts import Measurements, evaluate
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.model.report import CheckResult, DataFile
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm.session import LAKE
from spark_jobs.metrics.keys import Batch
from spark_jobs.metrics.measure import measure_all, row_metrics
from spark_jobs.metrics.samples import with_samples
from spark_jobs.tables import iceberg
from spark_jobs.tables.base import Base
from spark_jobs.tables.ddl import prepare

Files = Mapping[str, Sequence[tuple[object, ...]]]
"""Rows by the id of their file version."""


def together(plans: Sequence[Plan], table: str, columns: Sequence[TableColumn]) -> Plan:
    """A plan with the metrics of all of these, so that they are measured at once, of a table that has every file apart
    however it is written.
    """
    known = {metric.id: metric for plan in plans for metric in plan.metrics}
    metrics, partitions = tuple(known.values()), (spark_identifier(FILE_COLUMN),)
    every = replace(plans[0], table=table, columns=tuple(columns), metrics=metrics, partitions=partitions)
    return replace(every, checks=(), key=())


def write(spark: SparkSession, table: str, columns: Sequence[TableColumn], files: Files) -> None:
    """Append the files to such a table, at once."""
    schema = (
        ", ".join(f"{spark_identifier(column.name)} {column.type}" for column in columns) + f", {FILE_COLUMN} string"
    )
    rows = [(*row, file) for file, some in files.items() for row in some]
    if rows:
        spark.createDataFrame(rows, schema).writeTo(f"{LAKE}.{table}").append()


@dataclass(kw_only=True)
class Table:
    """A table of file versions (id → rows), as the job would find it."""

    spark: SparkSession
    plan: Plan
    reads: int = 0
    before: Any | None = None
    others: dict[str, Any | None] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()  # file versions of those before

    def hold(self, files: Mapping[str, Sequence[tuple[object, ...]]]) -> Table:
        prepare(self.spark, self.plan, iceberg.load(self.spark, LAKE, self.plan.table))
        schema = ", ".join(f"{spark_identifier(column.name)} {column.type}" for column in self.plan.columns)
        frames = [
            self.spark.createDataFrame(rows, f"{schema}, {FILE_COLUMN} string").na.fill(file, [FILE_COLUMN]).coalesce(1)
            for file, rows in files.items()
        ]
        if frames:  # each in a data file of its own, as a batch is appended
            reduce(DataFrame.union, frames).writeTo(f"{LAKE}.{self.plan.table}").append()
        return self

    def on_main(self, files: Mapping[str, Sequence[tuple[object, ...]]]) -> Table:
        """Hold these as what the table has before the batch."""
        self.hold(files)
        self.before = iceberg.load(self.spark, LAKE, self.plan.table)
        return self

    @cached_property
    def loaded(self) -> object:
        return iceberg.load(self.spark, LAKE, self.plan.table)

    @cached_property
    def data(self) -> DataFiles:
        return iceberg.compare(self.spark, self.before, self.loaded).new_files

    @cached_property
    def files(self) -> dict[str, list[DataFileStatistics]]:
        column = iceberg.fields(self.spark, self.loaded)[FILE_COLUMN]
        found: dict[str, list[DataFileStatistics]] = {}
        for data in self.data.statistics.values():
            found.setdefault(data.constant(column) or "", []).append(data)
        return dict(sorted(found.items()))

    def read(self, ids: Iterable[str]) -> DataFrame:
        self.reads += 1
        entries = {data.path: self.data.entries[data.path] for file in ids for data in self.files[file]}
        return iceberg.read(self.spark, self.loaded, entries)

    def measured(self) -> list[Measurements]:
        return row_metrics(self.plan, self.files, iceberg.fields(self.spark, self.loaded), self.read)

    @property
    def batch(self) -> Batch:
        return Batch(files=self.files, columns=iceberg.fields(self.spark, self.loaded), read=self.read)

    @property
    def base(self) -> Base:
        tables = {self.plan.table: self.before, **self.others}
        replaced = {self.plan.table: self._replaced()} if self.replaced else {}
        return Base(spark=self.spark, catalog=LAKE, tables=tables, replaced_files=replaced)

    def _replaced(self) -> list[DataFile]:
        there = iceberg.compare(self.spark, None, self.before).new_files.statistics
        column = iceberg.fields(self.spark, self.loaded)[FILE_COLUMN]
        its = [data for data in there.values() if data.constant(column) in self.replaced]
        return [DataFile(path=data.path, rows=data.rows) for data in its]

    def judged(self) -> dict[str, tuple[CheckResult, ...]]:
        results = evaluate(self.plan, *measure_all(self.plan, self.batch, self.base))
        return with_samples(self.plan, results, self.batch, self.base)
