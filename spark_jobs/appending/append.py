"""The one append: all good files in a single commit, each data file with rows of one file version only.

It never repeats an append with an unknown outcome.
"""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from spark_jobs.appending import text_sizes
from spark_jobs.appending.faults import check_sizes, find_faulty
from spark_jobs.appending.rows import rows_of
from spark_jobs.jvm import identity
from spark_jobs.jvm.failures import FAILURES, is_caused_by, is_task_failure
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import nessie
from spark_jobs.tables.ddl import table_name


def append(spark: SparkSession, job: Job, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Append these files. Return them, with a fault on each that cannot be written; the others are appended."""
    return _append(spark, job, inspections, is_sized=False)


def _append(spark: SparkSession, job: Job, inspections: Sequence[Inspection], *, is_sized: bool) -> list[Inspection]:
    """Append; `is_sized` is true if the files' texts are known to be within the limit."""
    before = _head(spark, job)
    try:
        _write(spark, job.plan, inspections, is_sized=is_sized)
    except FAILURES as error:
        if not _is_surely_not_committed(error, before, _head(spark, job)):
            raise
        is_large = text_sizes.is_beyond_share(error)
        # Nothing else that reads all rows is asked of files that are too large: it might never end.
        files = (
            check_sizes(spark, job.plan, inspections) if is_large else find_faulty(spark, job.plan, inspections, error)
        )
        if not is_large and not any(file.faults for file in files):
            raise
        # The error of one file may have hidden another file's, so the rest is appended in the same careful way.
        fine = [file for file in files if not file.faults]
        rest = _append(spark, job, fine, is_sized=is_sized or is_large) if fine else ()
        by_id = {file.id: file for file in rest}
        return [by_id.get(file.id, file) for file in files]
    return list(inspections)


def _head(spark: SparkSession, job: Job) -> str:
    return nessie.head(job.catalog, job.branch, identity.token(spark, job.catalog))


def _write(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], *, is_sized: bool) -> None:
    rows = rows_of(spark, plan, inspections)
    sized_rows = rows if is_sized else text_sizes.fail_beyond_share(plan, inspections, rows)
    sized_rows.writeTo(table_name(LAKE, plan.table)).append()


def _is_surely_not_committed(error: Exception, before: str, after: str) -> bool:
    """Return True if a task failed, after which Spark does not commit, and the branch's head has not moved."""
    return is_task_failure(error) and not is_caused_by(error, "CommitStateUnknownException") and before == after
