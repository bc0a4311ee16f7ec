"""How often patterns may be tried with the texts of each file: one that keeps them busy for hours is rejected before.

It shows no text to a pattern: the plan says how to count by the texts' lengths.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.fit import quoted as shown
from lakegate.audit.limits import beyond
from lakegate.audit.plan import Metric, Plan
from spark_jobs.apart import each
from spark_jobs.append import rows_of, unread
from spark_jobs.java import FAILURES
from spark_jobs.look import THREADS, Look


def within(spark: SparkSession, plan: Plan, looks: Sequence[Look]) -> list[Look]:
    """The same files; those whose texts may keep the plan's patterns busy for too long with that fault."""
    asked, good = [metric for metric in plan.metrics if metric.tries], [look for look in looks if not look.faults]
    if not asked or not good:
        return list(looks)
    told = {look.file.id: look for look in _told(spark, plan, asked, good)}
    return [told.get(look.file.id, look) for look in looks]


def _told(spark: SparkSession, plan: Plan, asked: Sequence[Metric], looks: Sequence[Look]) -> list[Look]:
    """Of all files at once; where one of them cannot be read, of each by itself."""
    try:
        found = _counted(spark, plan, asked, looks)
    except FAILURES:
        apart = each(looks, lambda look: _counted(spark, plan, asked, [look]), THREADS)
        return [
            unread(plan, look, it) if isinstance(it, Exception) else _judged(plan, asked, look, it)
            for look, it in zip(looks, apart, strict=True)
        ]
    return [_judged(plan, asked, look, found) for look in looks]


def _counted(
    spark: SparkSession, plan: Plan, asked: Sequence[Metric], looks: Sequence[Look]
) -> dict[str, tuple[float, ...]]:
    """By file version, the tries of each metric."""
    sums = [F.sum(F.expr(metric.tries)).cast("double").alias(f"n{at}") for at, metric in enumerate(asked)]
    return {row[0]: tuple(row[1:]) for row in rows_of(spark, plan, looks).groupBy(FILE_COLUMN).agg(*sums).collect()}


def _judged(plan: Plan, asked: Sequence[Metric], look: Look, found: dict[str, tuple[float, ...]]) -> Look:
    counted = found.get(look.file.id, ())
    if not (wrong := beyond(plan.files.limits, tries=int(sum(counted)))):
        return look
    most = asked[max(range(len(counted)), key=counted.__getitem__)]
    why = (
        f"most of them column {shown(most.columns[0])}'s: tie its pattern to the start with ^, say how many repetitions"
    )
    return replace(look, faults=(*wrong, f"{why} there may be, or let each end where the next one cannot begin"))
