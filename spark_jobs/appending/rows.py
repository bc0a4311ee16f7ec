"""Rows of staged files as the table will hold them, and the fault of a file that Spark cannot read to its end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.types import StructType

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import WRITTEN_ANEW, Inspection
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.appending import decimals, utf8
from spark_jobs.formats.origin import origin
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm.failures import FAILURES, is_caused_by, root_cause

_CODECS = Advice(vendor="write it with another compression or encoding: none, snappy, gzip, zstd and lz4 are read")
_UNKNOWN_ENCODING = ("ClassNotFoundException", "UnsupportedOperationException")  # of a codec or an encoding


def rows_of(spark: SparkSession, plan: Plan, inspections: Iterable[Inspection]) -> DataFrame:
    """Return the files' rows: the plan's columns and the file version.

    Files with the same columns are read together, by column name.
    """
    if plan.files.kind.is_text:
        return reduce(DataFrame.union, (part.good() for part in parse_files(spark, plan, inspections)))
    shapes: dict[frozenset[tuple[str, str]], list[str]] = {}
    for inspection in inspections:
        shape = frozenset((column.name, column.type) for column in inspection.columns)
        shapes.setdefault(shape, []).append(inspection.file.uri)
    return reduce(DataFrame.union, (_rows(spark, plan, dict(shape), uris) for shape, uris in shapes.items()))


def _rows(spark: SparkSession, plan: Plan, types: dict[str, str], uris: Sequence[str]) -> DataFrame:
    read = _read(spark, plan, types, uris)
    values = {name: F.expr(decimals.checked_sql(name, kind)) for name, kind in types.items()}
    columns = [values.get(column.name, F.lit(None)).cast(column.type).alias(column.name) for column in plan.columns]
    return utf8.fail_at_broken(_read_types(plan, types), read).select(*columns, origin(read))


def _read(spark: SparkSession, plan: Plan, types: Mapping[str, str], uris: Sequence[str]) -> DataFrame:
    """Return the rows as they are in the files."""
    schema = ", ".join(f"{spark_identifier(name)} {kind}" for name, kind in _read_types(plan, types).items())
    reader = spark.read.schema(schema or StructType([])).format(plan.files.kind)
    return reader.options(**FORMATS[plan.files.kind].options).load(list(uris))


def _read_types(plan: Plan, types: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the plan's columns that are read, in the plan's order."""
    return {column.name: types[column.name] for column in plan.columns if column.name in types}


def unreadable(spark: SparkSession, plan: Plan, inspection: Inspection, error: Exception) -> Inspection:
    """Return the file with the fault that the error of reading it shows."""
    if utf8.is_broken(error):
        types = _read_types(plan, {column.name: column.type for column in inspection.columns})
        try:
            return replace(inspection, faults=utf8.faults(types, _read(spark, plan, types, [inspection.file.uri])))
        except FAILURES as worse:
            error = worse
    cause, form = root_cause(error), FORMATS[plan.files.kind]
    if fault := decimals.explain(cause) or form.explain(cause):
        return replace(inspection, faults=(fault,))
    is_strange = is_caused_by(error, *_UNKNOWN_ENCODING)
    reason = "Spark does not know how it is written" if is_strange else form.corrupt
    message = f"its rows cannot be read to the end, {reason} ({raw(plan.columns, cause)})"
    return replace(inspection, faults=(Fault(message, _CODECS if is_strange else WRITTEN_ANEW),))
