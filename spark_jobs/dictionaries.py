"""What the dictionaries of a data file's texts prove: all values of the column, each once, so none of the rows fails.

Parquet writes a column's distinct values in front of their numbers while they are few. A predicate asked of the
thousand zones is a proof for ten million rows, and the column itself is not read. It proves, it never counts; where a
dictionary isn't whole, or can't be read, it says nothing.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from lakegate.audit.plan import Metric, MetricKind
from lakegate.audit.statistics import DataFileStatistics, Field
from lakegate.audit.types import quoted
from spark_jobs import hadoop
from spark_jobs.java import FAILURES, jvm

# Below, one pass over the rows costs less than going from file to file.
_ROWS = 1_000_000
_ROWS_PER_VALUE = 10
_THREADS = 8
_UNSPEAKABLE = set(".`")  # what no variable's name may hold in Spark

Values = Mapping[str, list[str | None]]
"""By column, every value that a data file may hold."""


def prove(
    metrics: Sequence[Metric],
    files: Mapping[str, Sequence[DataFileStatistics]],
    columns: Mapping[str, Field],
) -> dict[str, set[str]]:
    """By file version, the metrics that its data files' dictionaries prove to be zero."""
    asked = [metric for metric in metrics if _is_of_one_text(metric, columns)]
    if not asked or sum(data.rows for listed in files.values() for data in listed) < _ROWS:
        return {}
    spark = SparkSession.active()
    names = list(dict.fromkeys(metric.columns[0] for metric in asked))
    ids = {columns[name].id: name for name in names}
    every = [(file, data) for file, listed in files.items() for data in listed]
    with ThreadPoolExecutor(_THREADS) as pool:
        read = list(pool.map(lambda pair: _values(spark, pair[1].path, ids), every))
    fine = _ask(spark, asked, names, read)
    proved = {file: {metric.id for metric in asked} for file in files}
    for (file, _), good in zip(every, fine, strict=True):
        proved[file] &= good
    return proved


def _is_of_one_text(metric: Metric, columns: Mapping[str, Field]) -> bool:
    if metric.kind is not MetricKind.FAILING or len(metric.columns) != 1:
        return False
    [name] = metric.columns
    return name in columns and columns[name].type == "string" and not set(name) & _UNSPEAKABLE


def _ask(spark: SparkSession, asked: Sequence[Metric], names: Sequence[str], read: Sequence[Values]) -> list[set[str]]:
    """For each data file, the metrics that no value of it fails."""
    known = [metric for metric in asked if any(metric.columns[0] in values for values in read)]
    shape = StructType([StructField(f"v{at}", ArrayType(StringType())) for at, _ in enumerate(names)])
    # The predicate speaks of its column: within `exists`, of each value under the column's name.
    failing = [
        F.expr(f"exists(v{names.index(metric.columns[0])}, {quoted(metric.columns[0])} -> {metric.sql})")
        for metric in known
    ]
    try:
        lists = spark.createDataFrame([Row(*(values.get(name) for name in names)) for values in read], shape)
        told = lists.select(*failing).collect() if known else [() for _ in read]
    except FAILURES:
        return [set() for _ in read]  # a predicate that cannot be asked of a value alone
    return [{metric.id for metric, fails in zip(known, row, strict=True) if fails is False} for row in told]


def _values(spark: SparkSession, path: str, names: Mapping[int, str]) -> Values:
    """What a data file's dictionaries hold, of the columns of which they hold everything."""
    try:
        parquet = jvm(spark).org.apache.parquet.hadoop
        source = parquet.util.HadoopInputFile.fromPath(hadoop.path(spark, path), hadoop.configuration(spark))
        reader = parquet.ParquetFileReader.open(source)
        try:
            return dict(_dictionaries(reader, names))
        finally:
            reader.close()
    except FAILURES:
        return {}  # the rows will tell


def _dictionaries(reader: Any, names: Mapping[int, str]) -> Iterator[tuple[str, list[str | None]]]:
    """`names` are by Iceberg's field ids: parquet knows a column whose name is no identifier by another one."""
    groups = list(reader.getRowGroups())
    chunks = [{chunk.getPath().toDotString(): chunk for chunk in group.getColumns()} for group in groups]
    for column in reader.getFileMetaData().getSchema().getColumns():
        path = ".".join(column.getPath())
        name = names.get(column.getPrimitiveType().getId().intValue())
        if name is not None and all(_is_whole(found[path]) for found in chunks):
            pages = [reader.getDictionaryReader(group).readDictionaryPage(column) for group in groups]
            if sum(page.getDictionarySize() for page in pages) * _ROWS_PER_VALUE <= reader.getRecordCount():
                yield name, [None, *{text for page in pages for text in _page(page)}]


def _is_whole(chunk: Any) -> bool:
    """Whether all pages of the column chunk are made of numbers in its dictionary."""
    told = chunk.getEncodingStats()
    return told is not None and told.hasDictionaryPages() and not told.hasNonDictionaryEncodedPages()


def _page(page: Any) -> Iterator[str]:
    """The texts of a dictionary, each behind its length."""
    body, at = bytes(page.getBytes().toByteArray()), 0
    while at < len(body):
        [length] = struct.unpack_from("<I", body, at)
        yield body[at + 4 : at + 4 + length].decode()
        at += 4 + length
