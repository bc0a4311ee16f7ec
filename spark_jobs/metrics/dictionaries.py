"""Proofs from parquet dictionaries of text columns: if no value in a whole dictionary fails a rule, no row does.

Parquet writes a column's distinct values in front of their indices while they are few. A rule asked of a thousand zones
is a proof for ten million rows, without reading the column. It proves zero and counts nothing; a dictionary that is not
whole or cannot be read proves nothing.
"""

import json
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.model.plan import Metric, Trait
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.gateway import jvm
from spark_jobs.metrics.keys import Read

# With fewer rows, one pass over them costs less than opening each file.
_ROWS = 1_000_000
_ROWS_PER_VALUE = 5
# The driver asks them alone; with more values, the executors' pass over the rows is faster.
_MOST_VALUES = 500_000
_THREADS = 8
_NOT_IN_VARIABLES = set(".`")  # cannot be in the name of a lambda's variable in Spark

Values = Mapping[str, set[str | None]]
"""By column, every value that a file version may hold; or by metric, those that fail it."""


def prove(
    metrics: Sequence[Metric],
    files: Mapping[str, Sequence[DataFileStatistics]],
    columns: Mapping[str, IcebergField],
    read: Read,
) -> dict[str, set[str]]:
    """Return the metrics that each file version's dictionaries prove to be zero, in the session that reads rows."""
    text_metrics = [metric for metric in metrics if _is_of_one_text(metric, columns)]
    if not text_metrics or sum(data.rows for data_files in files.values() for data in data_files) < _ROWS:
        return {}
    spark = read([*files][:1]).sparkSession
    ids = {columns[metric.columns[0]].id: metric.columns[0] for metric in text_metrics}
    with ThreadPoolExecutor(_THREADS) as pool:
        values_by_file = dict(
            zip(files, pool.map(lambda data: _values_of(spark, data, ids), files.values()), strict=True)
        )
        failing_values = _failing_values(spark, text_metrics, list(values_by_file.values()), pool)
    return {
        file: {metric.id for metric in text_metrics if _is_zero(metric, values, failing_values)}
        for file, values in values_by_file.items()
    }


def _is_of_one_text(metric: Metric, columns: Mapping[str, IcebergField]) -> bool:
    if not (metric.has(Trait.SINGLE) and metric.sql) or len(metric.columns) != 1:
        return False
    [name] = metric.columns
    return name in columns and columns[name].type == "string" and not set(name) & _NOT_IN_VARIABLES


def _is_zero(metric: Metric, values: Values, failing_values: Values) -> bool:
    """Return True if all values of the metric's column are known, and none fails it."""
    [name] = metric.columns
    return name in values and metric.id in failing_values and values[name].isdisjoint(failing_values[metric.id])


def _failing_values(
    spark: SparkSession, metrics: Sequence[Metric], read: Sequence[Values], pool: ThreadPoolExecutor
) -> Values:
    """Return the values that fail each metric. A value of many files is asked once; too many values are not asked."""
    values_by_column = {
        name: set().union(*(values.get(name, ()) for values in read)) for name in {m.columns[0] for m in metrics}
    }
    small_sets = {name: values for name, values in values_by_column.items() if 0 < len(values) <= _MOST_VALUES}
    of = {name: [metric for metric in metrics if metric.columns == (name,)] for name in small_sets}
    results = pool.map(lambda name: _failing_of(spark, name, small_sets[name], of[name]), small_sets)
    return {metric: values for result in results for metric, values in result.items()}


def _failing_of(spark: SparkSession, name: str, values: Collection[str | None], metrics: Sequence[Metric]) -> Values:
    """Return which of a column's values fail each metric. The query has one literal row, so Spark's planner computes it
    without a job.
    """
    texts = F.from_json(F.lit(json.dumps(list(values))), "array<string>").alias("texts")
    # The predicate names its column, so the lambda's variable has that name.
    filters = [F.expr(f"filter(texts, {spark_identifier(name)} -> {metric.sql})") for metric in metrics]
    try:
        [row] = spark.sql("VALUES (1)").select(texts).select(*filters).collect()
    except FAILURES:
        return {}  # the predicate needs more than the value
    return {metric.id: set(matches) for metric, matches in zip(metrics, row, strict=True) if matches is not None}


def _values_of(spark: SparkSession, files: Sequence[DataFileStatistics], names: Mapping[int, str]) -> Values:
    """Return the values of a file version, by column, if its dictionaries are whole and their values repeat."""
    values_by_column: dict[str, set[str | None]] = {name: {None} for name in names.values()}
    limit = sum(data.rows for data in files) // _ROWS_PER_VALUE
    try:
        for data in files:
            texts_by_column = _dictionaries(spark, data.path, names, limit)
            values_by_column = {
                name: values_by_column[name] | texts
                for name, texts in texts_by_column.items()
                if name in values_by_column
            }
    except (*FAILURES, UnicodeDecodeError):
        return {}  # the rows are read instead
    return {name: values for name, values in values_by_column.items() if len(values) <= limit}


def _dictionaries(spark: SparkSession, path: str, names: Mapping[int, str], limit: int) -> dict[str, set[str]]:
    """Return the values of a data file's whole dictionaries, by column, for those with at most `limit`."""
    parquet = jvm(spark).org.apache.parquet.hadoop
    source = parquet.util.HadoopInputFile.fromPath(hadoop.path(spark, path), hadoop.configuration(spark))
    with closing(parquet.ParquetFileReader.open(source)) as reader:
        return {name: texts for name, pages in _pages(reader, names) if (texts := _texts_of(pages, limit)) is not None}


def _pages(reader: Any, names: Mapping[int, str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the dictionary pages of each column. `names` are by Iceberg's field ids: parquet may spell a column's name
    differently.
    """
    groups = list(reader.getRowGroups())
    for at, column in enumerate(reader.getFileMetaData().getSchema().getColumns()):
        name = names.get(column.getPrimitiveType().getId().intValue())
        if name is not None and all(_is_whole(group.getColumns()[at]) for group in groups):
            yield name, [reader.getDictionaryReader(group).readDictionaryPage(column) for group in groups]


def _is_whole(chunk: Any) -> bool:
    """Return True if all pages of the column chunk refer to its dictionary."""
    stats = chunk.getEncodingStats()
    return stats is not None and stats.hasDictionaryPages() and not stats.hasNonDictionaryEncodedPages()


def _texts_of(pages: Sequence[Any], limit: int) -> set[str] | None:
    """Return the texts of dictionaries; None if there are more than `limit`."""
    if sum(page.getDictionarySize() for page in pages) > limit:
        return None
    return {text for page in pages for text in _texts_in(page)}


def _texts_in(page: Any) -> Iterator[str]:
    """Yield the texts of a dictionary page, each behind its length."""
    body, at = bytes(page.getBytes().toByteArray()), 0
    while at < len(body):
        [length] = struct.unpack_from("<I", body, at)
        yield body[at + 4 : at + 4 + length].decode()
        at += 4 + length
