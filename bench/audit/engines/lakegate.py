"""lakegate's own audit, by the job's functions, with a folder as its catalog."""

from dataclasses import replace

from pyspark.sql import SparkSession

from lakegate import __version__
from lakegate.audit.model.job import Job
from lakegate.audit.run import Run, audit_table
from lakegate.audit.schema.inspection import Inspection, fit_all
from spark_jobs.appending.rows import rows_of
from spark_jobs.engine import SparkAttempt, SparkEngine, SparkTable
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import ddl, iceberg


def version() -> str:
    return f"lakegate {__version__}"


def append_and_audit(spark: SparkSession, job: Job) -> Run:
    """Do the job's work without Nessie's branch and the report's file. Return the run, with timings and results."""
    run = Run(job=job, engine=SparkEngine(source=SparkAttempt(spark=spark, job=job)))
    with run.step("inspect"):
        run.inspections = inspected(spark, job)
    with run.step("prepare"):
        ddl.prepare(spark, job.plan, None)
    with run.step("append"):
        rows_of(spark, job.plan, run.good).writeTo(ddl.table_name(LAKE, job.plan.table)).append()
    _audit(spark, run)
    return run


def inspected(spark: SparkSession, job: Job) -> list[Inspection]:
    """Return the files' inspections, which the append has before it starts."""
    return fit_all(job.plan, None, inspect_all(spark, job.plan, job.files))[1]


def audit(spark: SparkSession, job: Job, appended: str) -> Run:
    """Audit a table that another append has filled. The audit includes the files' inspection, which judges columns."""
    name = appended.removeprefix(f"{LAKE}.")
    job = replace(job, plan=replace(job.plan, table=name))
    run = Run(job=job, engine=SparkEngine(source=SparkAttempt(spark=spark, job=job)), inspections=inspected(spark, job))
    _audit(spark, run)
    return run


def _audit(spark: SparkSession, run: Run) -> None:
    loaded = SparkTable(spark=spark, table=iceberg.load(spark, LAKE, run.job.plan.table))
    audit_table(run, loaded, [inspection.id for inspection in run.good])
