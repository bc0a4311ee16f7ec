"""A first look at each staged file, by its footer: does it open, does it fit the plan and the table? It reads no rows.

One file's trouble is that file's fault and never the job's.
"""

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.fit import Agreement, FileColumn, Fit, agree, faults
from lakegate.audit.job import JobFile
from lakegate.audit.plan import Plan
from lakegate.audit.types import Struct
from spark_jobs import hadoop
from spark_jobs.iceberg import sql_type
from spark_jobs.java import FAILURES, jvm, names, root, state
from spark_jobs.look import EMPTY, GONE, THREADS, Look
from spark_jobs.staged_text import look_at_text

ENCRYPTED, NO_ROWS = "it is encrypted", "it has no rows"
TRUNCATED = "it is truncated: it begins as a parquet file and does not end as one"
_MAGIC, _ENCRYPTED_MAGIC = b"PAR1", b"PARE"
_SMALLEST = 12  # magic, footer length, magic
_ILLEGAL = re.compile(
    r"(?:Illegal Parquet type|Parquet type not yet supported|Unrecognized Parquet type): (.+?)\.?\s*$"
)


def look_at_all(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Look]:
    """A look at every file, in their order."""
    if plan.files.kind.is_text:
        return look_at_text(spark, plan, files)
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda file: _look(spark, file), files))


def fit_all(plan: Plan, there: Struct | None, looks: Sequence[Look]) -> tuple[Agreement, list[Look]]:
    """What the table becomes by these files, and the files with what does not fit. `there` are the columns that it has
    at the attempt's base.
    """
    fitting = [look for look in looks if not look.faults and look.rows]
    agreed = agree(plan, there, [look.columns for look in fitting])
    fits = {look.file.id: fit for look, fit in zip(fitting, agreed.fits, strict=True)}
    return agreed, [_fitted(plan, look, fits.get(look.file.id)) for look in looks]


def _fitted(plan: Plan, look: Look, fit: Fit | None) -> Look:
    if fit is not None:
        return replace(look, columns=fit.reads, faults=fit.faults, evolves=fit.evolves, discards=fit.discards)
    return look if look.faults else replace(look, faults=(*faults(plan, look.columns), NO_ROWS))


def _look(spark: SparkSession, file: JobFile) -> Look:
    if file.size == 0:
        return Look(file=file, faults=(EMPTY,))
    try:
        rows, columns, encrypted = _footer(spark, file.uri)
    except FAILURES:
        if reason := _reason(spark, file.uri):
            return Look(file=file, faults=(reason,))
        try:  # once more, so that a network's hiccup is not taken for a broken file
            rows, columns, encrypted = _footer(spark, file.uri)
        except FAILURES as error:
            return Look(file=file, faults=(f"its footer cannot be read: {root(error)}",))
    if encrypted:
        return Look(file=file, faults=(ENCRYPTED,))
    return Look(file=file, rows=rows, columns=columns)


def _footer(spark: SparkSession, uri: str) -> tuple[int, tuple[FileColumn, ...], bool]:
    """Rows, columns, and whether it has encrypted columns."""
    conf, parquet = hadoop.configuration(spark), jvm(spark).org.apache.parquet.hadoop
    source = parquet.util.HadoopInputFile.fromPath(hadoop.path(spark, uri), conf)
    reader = parquet.ParquetFileReader.open(source)
    try:
        about = reader.getFooter().getFileMetaData()
        encrypted = about.getEncryptionType().toString() != "UNENCRYPTED"
        return int(reader.getRecordCount()), _columns(spark, about.getSchema()), encrypted
    finally:
        reader.close()


def _columns(spark: SparkSession, schema: Any) -> tuple[FileColumn, ...]:
    """The columns as Spark would read them; where it refuses the schema, one by one."""
    converter = _converter(spark)
    try:
        return _converted(converter, schema)
    except FAILURES:
        fields = [schema.getType(number) for number in range(schema.getFieldCount())]
        return tuple(_column(spark, converter, field) for field in fields)


def _column(spark: SparkSession, converter: Any, field: Any) -> FileColumn:
    alone = jvm(spark).java.util.Collections.singletonList(field)
    try:
        [column] = _converted(converter, jvm(spark).org.apache.parquet.schema.MessageType("one", alone))
    except FAILURES as error:
        found = _ILLEGAL.search(root(error))
        return FileColumn(name=field.getName(), unreadable=found[1] if found else "of a type that Spark does not read")
    return column


def _converter(spark: SparkSession) -> Any:
    package = jvm(spark).org.apache.spark.sql.execution.datasources.parquet
    return package.ParquetToSparkSchemaConverter(state(spark).conf())


def _converted(converter: Any, schema: Any) -> tuple[FileColumn, ...]:
    fields = json.loads(converter.convert(schema).json())["fields"]
    return tuple(FileColumn(name=field["name"], type=str(sql_type(field["type"]))) for field in fields)


def _reason(spark: SparkSession, uri: str) -> str:
    """Why a file does not open, told from its first and last bytes; nothing if those are a parquet file's."""
    try:
        length = hadoop.size(spark, uri)
    except FAILURES as error:
        if any(name.endswith("FileNotFoundException") for name in names(error)):
            return GONE
        raise
    if length == 0:
        return EMPTY
    start = hadoop.read_part(spark, uri, 0, min(len(_MAGIC), length))
    end = hadoop.read_part(spark, uri, max(length - len(_MAGIC), 0), None)
    if end == _ENCRYPTED_MAGIC:
        return ENCRYPTED
    if start != _MAGIC:
        return "it is not a parquet file"
    return TRUNCATED if end != _MAGIC or length < _SMALLEST else ""
