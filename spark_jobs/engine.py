"""Spark as the engine of one job: a module carries out each method. The order of steps is in `lakegate.audit.run`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit import engine
from lakegate.audit.completeness import RowCounts
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.engine import ProvedTable
from lakegate.audit.evaluation.audits import Row
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.verdicts import Dependent, Measurements
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.model.report import CheckResult
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import Struct
from spark_jobs.appending import audits
from spark_jobs.appending.append import append
from spark_jobs.appending.faults import find_faulty
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.jvm import hadoop, identity
from spark_jobs.jvm.session import AUDIT, BASE, LAKE, LEDGER, REST, check_iceberg, open_catalog, tune_for_size
from spark_jobs.metrics import malformed, measure, quarantine, samples
from spark_jobs.metrics.keys import Batch
from spark_jobs.tables import ddl, iceberg, nessie, rewritten
from spark_jobs.tables.base import Base, check_references


@dataclass(frozen=True, kw_only=True)
class SparkStorage:
    """Hadoop's file systems."""

    spark: SparkSession

    def read(self, uri: str) -> bytes:
        return hadoop.read(self.spark, uri)

    def write(self, uri: str, body: bytes) -> None:
        hadoop.write(self.spark, uri, body)


@dataclass(frozen=True, kw_only=True)
class SparkFiles:
    """The job's staged files, each read by its format's reader."""

    spark: SparkSession
    job: Job

    def inspect(self) -> list[Inspection]:
        return inspect_all(self.spark, self.job.plan, self.job.files)

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return find_faulty(self.spark, plan, inspections)

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], rows_by_file: Mapping[str, int]
    ) -> dict[str, int]:
        return malformed.count(self.spark, plan, inspections, rows_by_file)


@dataclass(frozen=True, kw_only=True)
class SparkTable:
    """A table loaded from a catalog of the session."""

    spark: SparkSession
    table: Any

    def columns(self) -> Struct:
        return ddl.shape(self.spark, self.table).own_columns

    def fields(self) -> dict[str, IcebergField]:
        return iceberg.fields(self.spark, self.table)

    def read(self, entries: Mapping[str, Any], files: Mapping[str, str], *, per_file: bool) -> DataFrame:  # noqa: ARG002 - for tables without the column
        """Return the rows of these data files with the file versions, of which `files` has the id for each path."""
        return iceberg.read(self.spark, self.table, entries, per_file=per_file)

    def has_deletes(self) -> bool:
        return iceberg.has_deletes(self.spark, self.table)

    def changes_since(self, before: "SparkTable | None") -> Difference:
        return iceberg.compare(self.spark, before and before.table, self.table)

    def data_files_with(self, versions: Collection[str]) -> dict[str, Any]:
        return rewritten.data_files_with(self.spark, self.table, versions)

    def row_counts(self, files: DataFiles, replaced_ids: Collection[str]) -> RowCounts:
        return rewritten.row_counts(self.spark, self.table, files, replaced_ids)


@dataclass(frozen=True, kw_only=True)
class SparkView:
    """See `metrics`, of which each method is a module."""

    spark: SparkSession
    view: quarantine.View

    def measure(self) -> tuple[list[Measurements], dict[str, Dependent]]:
        return measure.measure_all(self.view.plan, self.view.batch, self.view.base)

    def failing_rows(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
        return quarantine.failing_rows(self.view, file, earlier, checks)

    def without(self, order: Sequence[str], failures: quarantine.Failures) -> "SparkView":
        return replace(self, view=quarantine.without(self.view, order, failures))

    def with_samples(
        self, results: Results, plan: Plan, inspections: Sequence[Inspection]
    ) -> dict[str, tuple[CheckResult, ...]]:
        results_with_samples = samples.with_samples(self.view.plan, results, self.view.batch, self.view.base)
        return malformed.with_samples(self.spark, plan, inspections, results_with_samples)


class SparkSource(engine.Source[SparkTable, SparkView], Protocol):
    """Files and a branch for Spark."""

    job: Job
    spark: SparkSession

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """See `Engine`."""


@dataclass(kw_only=True)
class SparkAttempt:
    """`SparkSource` of an attempt. `catalogs` has the catalog at each Nessie reference."""

    spark: SparkSession
    job: Job
    catalogs: dict[Ref, str] = field(default_factory=dict)

    @classmethod
    def start(cls, spark: SparkSession, job: Job) -> "SparkAttempt":
        """Return the attempt in a session that has the Iceberg which the job is made for."""
        check_iceberg(spark, job)
        source = cls(spark=spark, job=job)
        source._open(LAKE, Ref(job.branch))
        source._open(BASE, Ref(job.branch, job.base))
        tune_for_size(spark, job)
        return source

    @property
    def storage(self) -> SparkStorage:
        return SparkStorage(spark=self.spark)

    @property
    def files(self) -> SparkFiles:
        return SparkFiles(spark=self.spark, job=self.job)

    def head(self) -> str:
        catalog = self.job.catalog
        return nessie.head(catalog, self.job.branch, identity.token(self.spark, catalog))

    def load(self, table: str, *refs: Ref) -> list[SparkTable | None]:
        catalogs = [self._catalog(ref) for ref in refs]
        with ThreadPoolExecutor(len(refs)) as pool:
            return list(pool.map(lambda catalog: self._load(catalog, table), catalogs))

    def _load(self, catalog: str, name: str) -> SparkTable | None:
        iceberg_table = iceberg.load(self.spark, catalog, name)
        return None if iceberg_table is None else SparkTable(spark=self.spark, table=iceberg_table)

    def _catalog(self, ref: Ref) -> str:
        """Return the catalog at a reference, opened at its first use: first the audited commit, then the one after
        quarantine, and the one that notes the audits.
        """
        if ref not in self.catalogs:
            self._open(next(name for name in (AUDIT, REST, LEDGER) if name not in self.catalogs.values()), ref)
        return self.catalogs[ref]

    def _open(self, name: str, ref: Ref) -> None:
        open_catalog(self.spark, name, self.job.catalog, ref)
        self.catalogs[ref] = name

    def prepare(self, table: SparkTable | None, columns: Sequence[TableColumn]) -> None:
        ddl.prepare(self.spark, self.job.plan, table and table.table, columns)

    def remove_replaced(self, table: SparkTable, files: Mapping[str, Any]) -> None:
        rewritten.remove_rows(self.spark, self.job, table.table, files)

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return append(self.spark, replace(self.job, plan=plan), inspections)

    def quarantine(
        self,
        view: SparkView,
        order: Sequence[str],
        failures: quarantine.Failures,
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        rows = malformed.malformed_rows(self.spark, plan, inspections) if inspections else None
        quarantine.quarantine_rows(self.spark, self.job, view.view, order, failures, rows)

    def append_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        audits.append(self.spark, self.job, rows)


@dataclass(frozen=True, kw_only=True)
class SparkEngine:
    """One job, or one append or audit of a run without the service, on one session."""

    source: SparkSource

    def check_references(self, plan: Plan) -> None:
        check_references(Base(spark=self.source.spark, catalog=BASE, tables=self._other_tables(plan)), plan)

    def _other_tables(self, plan: Plan) -> dict[str, Any]:
        """Return the tables that the plan refers to, as they are at the base."""
        source, names = self.source, [name for name in plan.depends_on if name != plan.table]
        base = Ref(source.job.branch, source.job.base)
        return {name: table and table.table for name in names for table in source.load(name, base)}

    def view(self, plan: Plan, proof: ProvedTable[SparkTable]) -> SparkView:
        name, entries = plan.table, proof.difference.new_files.entries

        def read(ids: Iterable[str], *, per_file: bool = False) -> DataFrame:
            files = {data.path: file for file in ids for data in proof.files.get(file, ())}
            return proof.table.read({path: entries[path] for path in files}, files, per_file=per_file)

        base = Base(
            spark=self.source.spark,
            catalog=BASE,
            tables={**self._other_tables(plan), name: proof.base and proof.base.table},
            replaced_files={name: proof.replaced_files},
            rewritten={name: proof.rewritten},
        )
        batch = Batch(files=proof.files, columns=proof.columns, read=read)
        view = quarantine.View(plan=plan, batch=batch, base=base, read=partial(read, per_file=True), entries=entries)
        return SparkView(spark=self.source.spark, view=view)

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return self.source.append(plan, inspections)
