"""Rows that the append left out because they do not parse, from the staged files: counted, sampled, quarantined.

Only files with fewer appended rows than lines are read again.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.evaluation import samples
from lakegate.audit.evaluation.mask import MASK, raw
from lakegate.audit.model.plan import Plan, Trait
from lakegate.audit.model.report import CheckResult
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from spark_jobs.formats.text.lines import AT, BLOCK, TEXT, lines
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm.isolate import THREADS

LINE, REASON = "line", "why"
MOST_TEXT = 10_000  # characters of a quarantined row


def count(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], rows_by_file: Mapping[str, int]
) -> dict[str, int]:
    """Return how many rows do not parse, by file version; nothing if no check counts them.

    `rows_by_file` has the number of appended rows.
    """
    is_checked = any(metric.has(Trait.LINES) for metric in plan.metrics)
    short = [
        inspection for inspection in inspections if is_checked and rows_by_file.get(inspection.id, 0) != inspection.rows
    ]
    counts = [part.malformed().groupBy(FILE_COLUMN).count().collect() for part in parse_files(spark, plan, short)]
    return {file: rows for part in counts for file, rows in part}


def with_samples(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], checks: Mapping[str, tuple[CheckResult, ...]]
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the same results, with rows at the check that every row parses."""
    own_metrics = {metric.id for metric in plan.metrics if metric.has(Trait.LINES)}
    inspections_to_sample = [
        inspection
        for inspection in inspections
        if any(check.metric in own_metrics and check.failing_rows for check in checks[inspection.id])
    ]
    if not inspections_to_sample:
        return dict(checks)
    limit, size = samples.rows_per_sample(len(inspections_to_sample)), samples.BYTES // len(inspections_to_sample)
    with ThreadPoolExecutor(THREADS) as pool:
        rows = pool.map(
            lambda inspection: samples.within_bytes(sample(spark, plan, inspection, limit), size), inspections_to_sample
        )
        samples_by_file = dict(zip([inspection.file.id for inspection in inspections_to_sample], rows, strict=True))
    return {
        file: tuple(
            replace(check, sample=samples_by_file[file])
            if check.metric in own_metrics and file in samples_by_file
            else check
            for check in results
        )
        for file, results in checks.items()
    }


def malformed_rows(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> DataFrame:
    """Return the rows of these files that do not parse: file, line (or row, if fields may hold line ends), text and
    why.

    A task has rows of one file only.
    """
    return reduce(DataFrame.union, (_malformed_rows(spark, plan, inspection) for inspection in inspections))


def _malformed_rows(spark: SparkSession, plan: Plan, inspection: Inspection) -> DataFrame:
    [part] = parse_files(spark, plan, [inspection])
    rows = part.malformed()
    blocks = {row[0] for row in rows.select(BLOCK).distinct().collect()}
    before = {0: 0} if plan.files.multiline else _lines_before(spark, plan, inspection, blocks)
    pairs = [F.lit(part).cast("bigint") for pair in before.items() for part in pair]
    line = (F.create_map(*pairs)[F.col(BLOCK).cast("bigint")] + F.col(AT) + 1).alias(LINE)
    return rows.select(FILE_COLUMN, line, _shown_text(plan, MOST_TEXT), REASON)


def _shown_text(plan: Plan, limit: int) -> Column:
    """Return the row's text, cut to `limit`; masked if any column is, because the text may hold any column's value."""
    text = F.lit(MASK) if raw(plan.columns, "") == MASK else F.substring(TEXT, 1, limit)
    return text.alias(TEXT)


def sample(
    spark: SparkSession, plan: Plan, inspection: Inspection, limit: int = samples.ROWS
) -> tuple[dict[str, Any], ...]:
    """Return the first rows that do not parse: where, why, and the text."""
    [part] = parse_files(spark, plan, [inspection])
    first_rows = part.malformed().orderBy(BLOCK, AT).limit(limit)
    rows = first_rows.select(BLOCK, AT, REASON, _shown_text(plan, samples.TEXT)).collect()
    if plan.files.multiline:
        return tuple({"row": row[AT] + 1, "why": row[REASON], "text": row[TEXT]} for row in rows)
    before = _lines_before(spark, plan, inspection, {row[BLOCK] for row in rows})
    return tuple({"line": before[row[BLOCK]] + row[AT] + 1, "why": row[REASON], "text": row[TEXT]} for row in rows)


def _lines_before(spark: SparkSession, plan: Plan, inspection: Inspection, blocks: set[int]) -> dict[int, int]:
    """Return how many lines the file has before each of these blocks; only a large file has more than one."""
    if blocks <= {0}:
        return {0: 0}
    block_counts = lines(spark, plan.files, [inspection.file.uri]).groupBy(BLOCK).count().collect()
    return {block: sum(row["count"] for row in block_counts if row[BLOCK] < block) for block in blocks}
