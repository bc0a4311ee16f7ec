"""Limit of how often patterns may be tried with a file's rows, checked before any row is written or shown to a pattern.

It reads the lengths of texts, and no text.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Metric, Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name
from spark_jobs.appending import text_sizes
from spark_jobs.appending.faults import check_sizes
from spark_jobs.appending.rows import rows_of, unreadable
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.isolate import THREADS, per_file


def check_tries(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Return the same files, with a fault on each with rows that patterns may be tried with too often."""
    tried = [metric for metric in plan.metrics if metric.tries]
    asked = [inspection for inspection in inspections if tried and not inspection.faults]
    checked = {each.id: each for each in _check(spark, plan, tried, asked)} if asked else {}
    return [checked.get(each.id, each) for each in inspections]


def _check(
    spark: SparkSession, plan: Plan, tried: Sequence[Metric], inspections: Sequence[Inspection]
) -> list[Inspection]:
    """Check all files at once; if one cannot be read, check each by itself.

    Tries are counted in every row that has a text, so files with too many bytes of text are found first.
    """
    try:
        found = _count_tries(tried, text_sizes.fail_beyond_share(plan, inspections, rows_of(spark, plan, inspections)))
    except FAILURES as error:
        if not text_sizes.is_beyond_share(error):
            return _check_per_file(spark, plan, tried, inspections)
        fit = check_sizes(spark, plan, inspections)
        checked = _check_per_file(spark, plan, tried, [each for each in fit if not each.faults])
        known = {each.id: each for each in checked}
        return [known.get(each.id, each) for each in fit]
    return [_with_fault(plan, tried, inspection, found) for inspection in inspections]


def _check_per_file(
    spark: SparkSession, plan: Plan, tried: Sequence[Metric], inspections: Sequence[Inspection]
) -> list[Inspection]:
    found = per_file(inspections, lambda inspection: _count_tries(tried, rows_of(spark, plan, [inspection])), THREADS)
    return [
        unreadable(spark, plan, each, it) if isinstance(it, Exception) else _with_fault(plan, tried, each, it)
        for each, it in zip(inspections, found, strict=True)
    ]


def _count_tries(tried: Sequence[Metric], rows: DataFrame) -> dict[str, tuple[float, ...]]:
    """Return the tries of each metric by file version."""
    sums = [F.sum(F.expr(metric.tries).cast("double")).alias(f"n{at}") for at, metric in enumerate(tried)]
    return {row[0]: tuple(row[1:]) for row in rows.groupBy(FILE_COLUMN).agg(*sums).collect()}


def _with_fault(
    plan: Plan, tried: Sequence[Metric], inspection: Inspection, found: dict[str, tuple[float, ...]]
) -> Inspection:
    counted = found.get(inspection.id, (0.0,) * len(tried))
    if not (wrong := beyond_limits(plan.files.limits, tries=int(sum(counted)))):
        return inspection
    most = tried[max(range(len(counted)), key=counted.__getitem__)]
    remedy = (
        "anchor its pattern with ^, limit its repetitions, or let each end where the next one cannot begin; in SQL, do "
        "not search one long text for another"
    )
    name = display_name(most.columns[0])
    advice = Advice(vendor=f"write shorter texts in {name}", contract=f"change the check of {name}: {remedy}")
    return replace(inspection, faults=(*wrong, Fault(f"column {name} has most of them", advice)))
