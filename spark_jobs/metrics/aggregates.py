"""Metrics of each file by itself, from its rows: one pass over all files for most, and a pass of their own for heavy
ones.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.plan import ROWS_VIEW, Metric
from lakegate.audit.model.report import Source
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.failures import FAILURES, is_caused_by
from spark_jobs.metrics.kinds import Way, number, way_of

Numbers = dict[str, dict[str, float | None]]
"""File version → metric → its number, or None where there is none."""
_THREADS = 4
_VALUE_ERRORS = (".ArithmeticException", ".DateTimeException", ".SparkArithmeticException", ".SparkDateTimeException")
"""Exceptions that the values of a row cause, whatever the machine."""
_VIEW = Lock()


def compute(metrics: Sequence[Metric], files: Sequence[str], read: Callable[[Iterable[str]], DataFrame]) -> Numbers:
    """Return these metrics of these files."""
    pass_metrics = [metric for metric in metrics if source_of(metric) is Source.AGGREGATE]
    single_metrics: dict[tuple[str, ...], list[Metric]] = {}
    for metric in metrics:
        if metric.alone:
            single_metrics.setdefault(metric.columns, []).append(metric)
    queries = [metric for metric in metrics if way_of(metric) is Way.QUERY]
    jobs = [
        *([partial(_compute, pass_metrics, files, read)] if pass_metrics else []),
        *(partial(_compute, of_columns, files, read) for of_columns in single_metrics.values()),
        *(partial(_compute, [metric], [file], read) for metric in queries for file in files),
    ]
    with ThreadPoolExecutor(_THREADS) as pool:
        return _merge(pool.map(lambda job: job(), jobs))


def source_of(metric: Metric) -> Source:
    """Return the source of a metric that statistics do not answer."""
    return Source.QUERY if metric.alone or way_of(metric) is Way.QUERY else Source.AGGREGATE


def _compute(metrics: Sequence[Metric], files: Sequence[str], read: Callable[[Iterable[str]], DataFrame]) -> Numbers:
    """Compute all metrics of all files at once.

    A value may fail the query, for example a date so far off that nothing can be added to it. Then halve the files, and
    at last the metrics, so that only that metric of that file has no number.
    """
    try:
        if way_of(metrics[0]) is Way.QUERY:
            return _query(read(files), metrics[0], files[0])
        return _aggregate(read(files), metrics)
    except FAILURES as error:
        if not is_caused_by(error, *_VALUE_ERRORS):
            raise
        if len(files) == len(metrics) == 1:
            return {files[0]: {metrics[0].id: None}}
    if half := len(files) // 2:
        return _merge(_compute(metrics, half_of_files, read) for half_of_files in (files[:half], files[half:]))
    half = len(metrics) // 2
    return _merge(_compute(half_of_metrics, files, read) for half_of_metrics in (metrics[:half], metrics[half:]))


def _aggregate(rows: DataFrame, metrics: Sequence[Metric]) -> Numbers:
    """Return the metrics by file version, in one pass over the columns concerned."""
    aggregates = [number(metric).alias(str(at)) for at, metric in enumerate(metrics)]
    rows_of_files = rows.groupBy(FILE_COLUMN).agg(*aggregates).collect()
    return {row[0]: {metric.id: _finite(row[at + 1]) for at, metric in enumerate(metrics)} for row in rows_of_files}


def _query(rows: DataFrame, metric: Metric, file: str) -> Numbers:
    """Run a query over one file's rows. Spark resolves the view's name at once, so the name is free afterwards."""
    with _VIEW:
        rows.createOrReplaceTempView(ROWS_VIEW)
        result = rows.sparkSession.sql(metric.sql)
    [row] = result.toDF("number").select(F.col("number").cast("double")).collect()
    return {file: {metric.id: _finite(row[0])}}


def _finite(number: float | None) -> float | None:
    """Return None for NaN and the infinities: no contract can compare with them, and JSON cannot spell them."""
    return number if number is not None and math.isfinite(number) else None


def _merge(numbers: Iterable[Mapping[str, Mapping[str, float | None]]]) -> Numbers:
    merged_numbers: Numbers = {}
    for part in numbers:
        for file, values in part.items():
            merged_numbers.setdefault(file, {}).update(values)
    return merged_numbers
