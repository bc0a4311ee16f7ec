"""Faults of staged files that show only in their rows: they cannot be read to the end, or not be written.

It reads files and writes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.advice import Fault
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from spark_jobs.appending import not_null, partition_counts, path_lengths, text_sizes
from spark_jobs.appending.rows import rows_of, unreadable
from spark_jobs.jvm.isolate import per_file

_FindFaults = Callable[[Plan, DataFrame], Mapping[str, tuple[Fault, ...]]]
_THREADS = 4
_UNWRITABLE = ((path_lengths.is_path_error, path_lengths.too_long), (not_null.is_null_error, not_null.find_nulls))


def find_faulty(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], error: Exception | None = None
) -> list[Inspection]:
    """Return the same files, with a fault on each that cannot be read to its end or has values that cannot be written.

    After the `error` of an append, only faults that lead to it are looked for.
    """
    fit = check_sizes(spark, plan, inspections) if error is None else list(inspections)
    by_id = {file.id: file for file in find_corrupt(spark, plan, [file for file in fit if not file.faults])}
    files = [by_id.get(file.id, file) for file in fit]
    for leads_to, find in _UNWRITABLE:
        if error is None or leads_to(error):
            files = _with_faults(spark, plan, files, find)
    # Too many partitions exhaust memory or file handles, and the errors of that do not name them. So they are counted
    # only if nothing else explains the error.
    if error is None or not any(file.faults for file in files):
        files = _with_faults(spark, plan, files, partition_counts.too_many)
    return files


def check_sizes(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Return the same files, with a fault on each whose texts exceed the limit. A file that cannot be read has none."""
    results = per_file(inspections, lambda file: text_sizes.too_large(plan, rows_of(spark, plan, [file])), _THREADS)
    return [
        file if isinstance(faults, Exception) else replace(file, faults=faults.get(file.id, file.faults))
        for file, faults in zip(inspections, results, strict=True)
    ]


def find_corrupt(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Return the same files, with a fault on each that cannot be read to its end."""
    errors = per_file(
        inspections, lambda file: rows_of(spark, plan, [file]).write.format("noop").mode("overwrite").save(), _THREADS
    )
    pairs = zip(inspections, errors, strict=True)
    return [unreadable(spark, plan, file, error) if error else file for file, error in pairs]


def _with_faults(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], find: _FindFaults
) -> list[Inspection]:
    readable = [file for file in inspections if not file.faults]
    faults = find(plan, rows_of(spark, plan, readable)) if readable else {}
    return [replace(file, faults=faults.get(file.id, file.faults)) for file in inspections]
