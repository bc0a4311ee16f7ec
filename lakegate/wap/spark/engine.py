"""The audit's engine for one run in Spark, as the service's job has it, on a branch of any catalog.

It works in a session of its own beside the person's, with the options of the job's. Files to be appended are put where
this Spark reads them, and Spark writes their rows as data files, which PyIceberg commits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.engine import ProvedTable
from lakegate.audit.errors import Unfit
from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import spark_identifier
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.publishing.iceberg.refs import pinned, snapshot_of
from lakegate.wap.data import Given
from lakegate.wap.engine import RunEngine, statistics_of
from lakegate.wap.spark.rows import collected
from lakegate.wap.spark.tables import SparkRunTable, in_java, in_python
from spark_jobs.appending.rows import rows_of, unreadable
from spark_jobs.appending.utf8 import is_broken
from spark_jobs.engine import SparkFiles, SparkView
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import ICEBERG, is_tested, new_session
from spark_jobs.metrics import malformed, quarantine
from spark_jobs.metrics.keys import Batch
from spark_jobs.tables import iceberg
from spark_jobs.tables.base import Base, check_references
from spark_jobs.tables.overwrite import write_data_files

_SHOWN = 3  # rows that do not parse


@contextmanager
def opened(session: Any, job: Job, given: Mapping[str, Given], **more: Any) -> Iterator["SparkRunEngine"]:
    """Yield the engine of one append, or one audit, in a session beside the person's. Raise Misconfigured if the
    session cannot do that.
    """
    _check(session)
    if given:
        check_reach(session.sparkContext.master, job.branch)
    with TemporaryDirectory(prefix="lakegate-") as folder:
        staged = replace(
            job, files=tuple(_staged(job.plan, file, given.get(file.id), Path(folder)) for file in job.files)
        )
        spark = new_session(session)
        engine = SparkRunEngine(job=job, spark=spark, files=SparkFiles(spark=spark, job=staged), **more)
        try:
            yield engine
        finally:
            engine.close()
            jvm(session).org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _staged(plan: Plan, file: JobFile, given: Given | None, folder: Path) -> JobFile:
    """Put a file that is to be appended where the executors read it, under its id."""
    if given is None:
        return file
    place = folder / f"{file.id}{plan.files.suffix(given.name)}"
    place.write_bytes(given.body)
    return replace(file, uri=place.as_uri())


def _check(session: Any) -> None:
    if not isinstance(session, SparkSession):
        raise Misconfigured(
            f"{type(session).__qualname__} is no Spark session with a JVM of its own (Spark Connect's is none)"
        )
    try:
        found = str(jvm(session).org.apache.iceberg.IcebergBuild.version())
    except TypeError:  # it is a package, because there is no such class
        found = ""
    if not is_tested(found):
        raise Misconfigured(
            f"the Spark session has {f'Iceberg {found}' if found else 'no Iceberg'}, and a run needs {ICEBERG}: start "
            f"it with spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{ICEBERG}, or what that is "
            f"called for your Spark and Scala"
        )


def check_reach(master: str, branch: str) -> None:
    """Raise Misconfigured if the executors of such a Spark do not read this machine's files."""
    if not master.startswith("local"):
        raise Misconfigured(
            f"Spark runs on {master}, whose executors read no file of this machine: write to branch {branch} with "
            "Spark itself, and audit it then (docs/how-to/wap.md says how)"
        )


@dataclass(kw_only=True)
class SparkRunEngine(RunEngine):
    """One append, or one audit, of a run in Spark."""

    spark: SparkSession
    files: SparkFiles = field()  # type: ignore[assignment]
    opened: list[Any] = field(default_factory=list)

    def close(self) -> None:
        for table in self.opened:
            table.io().close()

    def _in_java(self, table: Table) -> Any:
        self.opened.append(in_java(self.spark, table))
        return self.opened[-1]

    def _known(self, found: Table) -> SparkRunTable:  # type: ignore[override]
        return SparkRunTable(spark=self.spark, table=self._in_java(found), appends=self.appends)

    def check_references(self, plan: Plan) -> None:
        check_references(self._base_of(plan, {}), plan)

    def _base_of(self, plan: Plan, own: Mapping[str, SparkRunTable | None]) -> Base:
        """Return the tables that the rows are compared with: `own` at its base, and others as they are on main."""
        others = {name: self._other(name) for name in plan.depends_on if name != plan.table}
        tables = {name: it and it.table for name, it in {**others, **own}.items()}
        return Base(spark=self.spark, catalog="", tables=tables)

    def view(self, plan: Plan, proved: ProvedTable[SparkRunTable]) -> SparkView:  # type: ignore[override]
        read = self._reading(proved)
        own = quarantine.View(
            plan=plan,
            batch=Batch(files=proved.files, columns=proved.columns, read=read),
            base=self._base_of(plan, {plan.table: proved.base}),
            read=partial(read, per_file=True),
            entries=proved.difference.new_files.entries,
        )
        view = self.viewed = SparkView(spark=self.spark, view=own)
        return view

    def _reading(self, proved: ProvedTable[SparkRunTable]) -> Callable[..., DataFrame]:
        """Return a function that reads the rows of appends, by id, each with the id of its append."""
        entries = proved.difference.new_files.entries

        def read(ids: Iterable[str], *, per_file: bool = False) -> DataFrame:
            of_path = {data.path: each for each in ids for data in proved.files.get(each, ())}
            wanted = {path: entries[path] for path in of_path}
            rows = iceberg.read(self.spark, proved.table.table, wanted, per_file=per_file)
            told = F.create_map(*(F.lit(part) for pair in of_path.items() for part in pair))
            return rows.withColumn(FILE_COLUMN, F.element_at(told, F.col("_file")))

        return read

    def rows(self, append: str) -> pa.Table:
        names = [spark_identifier(column.name) for column in self.job.plan.columns]
        return collected(self.viewed.view.batch.read([append]).select(*names))

    def _written(self, plan: Plan, table: Table, each: Inspection) -> list[DataFile]:
        self._check_parsed(plan, each)
        own = self._in_java(pinned(table, snapshot_of(table), statistics_of(plan)))
        rows = rows_of(self.spark, plan, [each]).select(*(spark_identifier(it.name) for it in table.schema().fields))
        try:
            return in_python(self.spark, own, write_data_files(self.spark, own, rows))
        except FAILURES as error:
            if is_broken(error):
                faults = unreadable(self.spark, plan, each, error).faults
                raise Unfit(f"{each.file.key}: {'; '.join(faults)}", faults[0].advice) from error
            said = raw(plan.columns, root_cause(error))
            raise Unfit(f"{each.file.key}: Spark cannot write its rows ({said})") from error

    def _check_parsed(self, plan: Plan, each: Inspection) -> None:
        """Raise Unfit if rows of a text file do not parse: they are in no table, so no audit would meet them."""
        wrong = sum(part.malformed().count() for part in parse_files(self.spark, plan, [each]))
        if not wrong:
            return
        shown = malformed.sample(self.spark, plan, each, _SHOWN)
        told = "; ".join(
            f"{'line' if 'line' in row else 'row'} {next(iter(row.values()))}: {row['why']}" for row in shown
        )
        raise Unfit(f"{each.file.key}: {wrong:,} of {count(each.rows, 'row')} did not parse ({told})")
