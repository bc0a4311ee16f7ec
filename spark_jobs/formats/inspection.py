"""Inspection of staged files before any row is read: whether each opens, and is within its limits.

A file's trouble is its own fault. Storage that cannot be reached is no file's fault and ends the job.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from lakegate.audit.advice import Fault
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import COPY_DELETED, EMPTY, Inspection
from lakegate.audit.schema.kinds import FIRST
from spark_jobs.formats.footer import Ends, Footer, Unreadable
from spark_jobs.formats.format import Read
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.scan import inspect_text
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, is_caused_by, is_unreachable, root_cause
from spark_jobs.jvm.isolate import THREADS

_LAST = 256  # bytes; the last ones hold ORC's postscript


def inspect_all(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Inspection]:
    """Inspect every file; the result is in their order."""
    wrong = {file.id: beyond_limits(plan.files.limits, bytes=file.size) for file in files}
    small_enough = [file for file in files if not wrong[file.id]]
    inspections = {inspection.id: inspection for inspection in _inspect_readable(spark, plan, small_enough)}
    return [inspections.get(file.id) or Inspection(file=file, faults=wrong[file.id]) for file in files]


def _inspect_readable(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Inspection]:
    form = FORMATS[plan.files.kind]
    if form.text:
        return inspect_text(spark, plan, files, form.text)
    if (read := form.read) is None:
        raise NotImplementedError(f"a file of kind {plan.files.kind} has neither a footer nor lines")
    with ThreadPoolExecutor(THREADS) as pool:
        inspections = list(pool.map(lambda file: _inspect(spark, plan, file, read), files))
    return form.check_machines(spark, inspections)


def _inspect(spark: SparkSession, plan: Plan, file: JobFile, read: Read) -> Inspection:
    if file.size == 0:
        return Inspection(file=file, faults=(EMPTY,))
    try:
        footer = _read_footer(spark, plan, file, read)
    except FAILURES as error:
        if is_unreachable(error):
            raise
        footer = Footer(faults=(_fault(plan, error),))
    return Inspection(file=file, rows=footer.rows, columns=footer.columns, faults=footer.faults)


def _read_footer(spark: SparkSession, plan: Plan, file: JobFile, read: Read) -> Footer:
    """Read the footer; if that fails read it once more, so that a hiccup of the network does not end the job."""
    try:
        return _read_once(spark, plan, file.uri, read)
    except FAILURES:
        return _read_once(spark, plan, file.uri, read)


def _read_once(spark: SparkSession, plan: Plan, uri: str, read: Read) -> Footer:
    length, first, last = hadoop.ends(spark, uri, FIRST, _LAST)
    if length == 0:
        return Footer(faults=(EMPTY,))
    try:
        ends = Ends(length=length, first=first, last=last)
        return read(spark, uri, ends, plan.files.limits)
    except Unreadable as error:
        return Footer(faults=(error.fault(plan.columns),))


def _fault(plan: Plan, error: Exception) -> Fault:
    if is_caused_by(error, "FileNotFoundException"):
        return COPY_DELETED
    fault = FORMATS[plan.files.kind].explain(root_cause(error))
    return fault or Unreadable("its footer cannot be read", root_cause(error)).fault(plan.columns)
