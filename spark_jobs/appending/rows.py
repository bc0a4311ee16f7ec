"""Rows of staged files as the table will hold them, and the fault of a file that Spark cannot read to its end."""

from collections.abc import Iterable, Sequence
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
from spark_jobs.appending import decimals
from spark_jobs.formats.origin import origin
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.rows import parsed
from spark_jobs.jvm.failures import is_caused_by, root_cause

_KNOWN = Advice(vendor="write it with another compression and encoding: snappy, gzip and zstd are read")
_UNKNOWN_ENCODING = ("ClassNotFoundException", "UnsupportedOperationException")  # of a codec or an encoding


def rows_of(spark: SparkSession, plan: Plan, inspections: Iterable[Inspection]) -> DataFrame:
    """Return the files' rows: the plan's columns and the file version.

    Files with the same columns are read together, by column name.
    """
    if plan.files.kind.is_text:
        return reduce(DataFrame.union, (part.good() for part in parsed(spark, plan, inspections)))
    shapes: dict[frozenset[tuple[str, str]], list[str]] = {}
    for inspection in inspections:
        shape = frozenset((column.name, column.type) for column in inspection.columns)
        shapes.setdefault(shape, []).append(inspection.file.uri)
    return reduce(DataFrame.union, (_rows(spark, plan, dict(shape), uris) for shape, uris in shapes.items()))


def _rows(spark: SparkSession, plan: Plan, types: dict[str, str], uris: Sequence[str]) -> DataFrame:
    reads = [column for column in plan.columns if column.name in types]
    schema = ", ".join(f"{spark_identifier(column.name)} {types[column.name]}" for column in reads)
    found = {name: F.expr(decimals.checked(name, kind)) for name, kind in types.items()}
    columns = [found.get(each.name, F.lit(None)).cast(each.type).alias(each.name) for each in plan.columns]
    reader = spark.read.schema(schema or StructType([])).format(plan.files.kind)
    read = reader.options(**FORMATS[plan.files.kind].options).load(list(uris))
    return read.select(*columns, origin(read))


def unreadable(plan: Plan, inspection: Inspection, error: Exception) -> Inspection:
    """Return the file with the fault that the error of reading it shows."""
    cause, form = root_cause(error), FORMATS[plan.files.kind]
    if known := decimals.explain(cause) or form.explain(cause):
        return replace(inspection, faults=(known,))
    is_strange = is_caused_by(error, *_UNKNOWN_ENCODING)
    why = "Spark does not know how it is written" if is_strange else form.corrupt
    said = f"its rows cannot be read to the end, {why} ({raw(plan.columns, cause)})"
    return replace(inspection, faults=(Fault(said, _KNOWN if is_strange else WRITTEN_ANEW),))
