"""Inspection of staged text files: whether they open, their columns and their rows. One query scans all of them.

It counts lines and parses no value. Rows that the append leaves out show as a difference to this count.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.text.scan import Scan, inspect
from spark_jobs.formats.text.first_bytes import fault_of_bytes
from spark_jobs.formats.text.text_format import TextFormat
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.isolate import THREADS, per_file


def inspect_text(spark: SparkSession, plan: Plan, files: Sequence[JobFile], text: TextFormat) -> list[Inspection]:
    """Inspect every file; the result is in their order."""
    with ThreadPoolExecutor(THREADS) as pool:
        faults = list(pool.map(lambda file: fault_of_bytes(spark, file, plan.files.limits), files))
    readable = [file for file, fault in zip(files, faults, strict=True) if not fault]
    scans = _scan_all(spark, plan.files, readable, text) if readable else {}
    return [
        Inspection(file=file, faults=(fault,)) if fault else inspect(plan, file, scans.get(file.id, Scan()))
        for file, fault in zip(files, faults, strict=True)
    ]


def _scan_all(
    spark: SparkSession, form: FileFormat, files: Sequence[JobFile], text: TextFormat
) -> dict[str, Scan | str]:
    """Scan the files together. If that fails, scan each by itself and return the reason of those that fail again."""
    try:
        return dict(text.scan(spark, form, [file.uri for file in files]))
    except FAILURES:
        results = per_file(files, lambda file: text.scan(spark, form, [file.uri]).get(file.id, Scan()), THREADS)
        pairs = zip(files, results, strict=True)
        return {file.id: _reason(result) if isinstance(result, Exception) else result for file, result in pairs}


def _reason(error: Exception) -> str:
    cause = root_cause(error)  # the parser's array of fields is as long as a row may have fields
    return "a row has too many fields" if "out of bounds for length" in cause else cause
