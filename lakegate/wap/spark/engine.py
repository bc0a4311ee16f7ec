"""A run as the source of Spark's engine, on a branch of any catalog.

It works in a session of its own beside the person's, with the options of the job's. Files to be appended are put where
this Spark reads them, and Spark writes their rows as data files, which PyIceberg commits.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from lakegate.audit.errors import Unfit
from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import spark_identifier
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.wap.data import Input
from lakegate.wap.source import RunSource
from lakegate.wap.spark.rows import collect_rows
from lakegate.wap.spark.tables import SparkRunTable, in_java, in_python
from spark_jobs.appending.rows import rows_of, unreadable
from spark_jobs.appending.utf8 import is_broken
from spark_jobs.engine import SparkEngine, SparkFiles, SparkView
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import ICEBERG, is_tested, new_session
from spark_jobs.metrics import malformed
from spark_jobs.tables import iceberg
from spark_jobs.tables.overwrite import write_data_files

_SAMPLE = 3  # rows that do not parse


@contextmanager
def open_engine(session: Any, job: Job, inputs: Mapping[str, Input], **options: Any) -> Iterator[SparkEngine]:
    """Yield the engine of one append, or one audit, in a session beside the person's. Raise Misconfigured if the
    session cannot do that.
    """
    _check(session)
    if inputs:
        check_reach(session.sparkContext.master, job.branch)
    with TemporaryDirectory(prefix="lakegate-") as folder:
        local_job = replace(
            job, files=tuple(_stage(job.plan, file, inputs.get(file.id), Path(folder)) for file in job.files)
        )
        spark = new_session(session)
        source = SparkRun(job=job, spark=spark, files=SparkFiles(spark=spark, job=local_job), **options)
        try:
            yield SparkEngine(source=source)
        finally:
            source.close()
            jvm(session).org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _stage(plan: Plan, file: JobFile, data: Input | None, folder: Path) -> JobFile:
    """Put a file that is to be appended where the executors read it, under its id."""
    if data is None:
        return file
    place = folder / f"{file.id}{plan.files.suffix(data.name)}"
    place.write_bytes(data.body)
    return replace(file, uri=place.as_uri())


def _check(session: Any) -> None:
    if not isinstance(session, SparkSession):
        raise Misconfigured(
            f"{type(session).__qualname__} is no Spark session with a JVM of its own (Spark Connect's is none)"
        )
    try:
        version = str(jvm(session).org.apache.iceberg.IcebergBuild.version())
    except TypeError:  # it is a package, because there is no such class
        version = ""
    if not is_tested(version):
        raise Misconfigured(
            f"the Spark session has {f'Iceberg {version}' if version else 'no Iceberg'}, and a run needs {ICEBERG}: "
            f"start it with spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{ICEBERG}, or what "
            f"that is called for your Spark and Scala"
        )


def check_reach(master: str, branch: str) -> None:
    """Raise Misconfigured if the executors of such a Spark do not read this machine's files."""
    if not master.startswith("local"):
        raise Misconfigured(
            f"Spark runs on {master}, whose executors read no file of this machine: write to branch {branch} with "
            "Spark itself, and audit it then (docs/how-to/wap.md says how)"
        )


@dataclass(kw_only=True)
class SparkRun(RunSource):
    """`SparkSource` of one append, or one audit, of a run."""

    spark: SparkSession
    files: SparkFiles
    open_tables: list[Any] = field(default_factory=list)

    def close(self) -> None:
        for table in self.open_tables:
            table.io().close()

    def _in_java(self, table: Table) -> Any:
        self.open_tables.append(in_java(self.spark, table))
        return self.open_tables[-1]

    def _as_table(self, table: Table | None) -> SparkRunTable | None:
        return SparkRunTable(spark=self.spark, table=self._in_java(table), appends=self.appends) if table else None

    def rows(self, view: SparkView, append: str) -> pa.Table:
        """Return the audited rows of an append, by its id, in the contract's columns."""
        names = [spark_identifier(column.name) for column in self.job.plan.columns]
        return collect_rows(view.view.batch.read([append]).select(*names))

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        table = self._in_java(self.target(plan))
        self.commit(inspections, {inspection.id: self._write(plan, table, inspection) for inspection in inspections})
        return list(inspections)

    def _write(self, plan: Plan, table: Any, inspection: Inspection) -> list[DataFile]:
        self._check_parsed(plan, inspection)
        names = iceberg.fields(self.spark, table)
        rows = rows_of(self.spark, plan, [inspection]).select(*map(spark_identifier, names))
        try:
            return in_python(self.spark, table, write_data_files(self.spark, table, rows))
        except FAILURES as error:
            if is_broken(error):
                faults = unreadable(self.spark, plan, inspection, error).faults
                raise Unfit(f"{inspection.file.key}: {'; '.join(faults)}", faults[0].advice) from error
            cause = raw(plan.columns, root_cause(error))
            raise Unfit(f"{inspection.file.key}: Spark cannot write its rows ({cause})") from error

    def _check_parsed(self, plan: Plan, inspection: Inspection) -> None:
        """Raise Unfit if rows of a text file do not parse: they are in no table, so no audit would meet them."""
        rows = sum(part.malformed().count() for part in parse_files(self.spark, plan, [inspection]))
        if not rows:
            return
        sample = malformed.sample(self.spark, plan, inspection, _SAMPLE)
        lines = "; ".join(
            f"{'line' if 'line' in row else 'row'} {next(iter(row.values()))}: {row['why']}" for row in sample
        )
        raise Unfit(f"{inspection.file.key}: {rows:,} of {count(inspection.rows, 'row')} did not parse ({lines})")
