"""Limit of the bytes of text that a file's rows amount to: a value stored once in a file may be in a billion rows.

It reads the lengths of texts, and nothing if every row is within its share of the limit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Fault
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import Array, Map, Struct, Type, parse, spark_identifier
from spark_jobs.formats.registry import FORMATS
from spark_jobs.jvm.failures import mentions
from spark_jobs.jvm.spark_sql import literal, sum_sql

_BEYOND_SHARE = "lakegate: a row has more bytes of text than its share of what its file may have"


def fail_beyond_share(plan: Plan, inspections: Sequence[Inspection], rows: DataFrame) -> DataFrame:
    """Return the files' rows, whose reading fails at a row beyond its share: the limit divided by the rows of the
    largest file.

    If no row is beyond it, no file is beyond the limit.
    """
    size = _row_size_sql(plan)
    if not size:
        return rows
    share = plan.files.limits.uncompressed // max(1, *(inspection.rows for inspection in inspections))
    return rows.where(F.expr(f"CASE WHEN {size} > {share} THEN raise_error({literal(_BEYOND_SHARE)}) ELSE true END"))


def is_beyond_share(error: Exception) -> bool:
    """Return True if the error is of a row beyond its share."""
    return mentions(error, _BEYOND_SHARE)


def too_large(plan: Plan, rows: DataFrame) -> Mapping[str, tuple[Fault, ...]]:
    """Return the faults of files with more text than the limit, by file version."""
    size = _row_size_sql(plan)
    if not size:
        return {}
    sums = rows.groupBy(FILE_COLUMN).agg(F.sum(F.expr(size))).collect()
    faults_of = {file: beyond_limits(plan.files.limits, uncompressed=int(total or 0)) for file, total in sums}
    return {file: faults for file, faults in faults_of.items() if faults}


def _row_size_sql(plan: Plan) -> str:
    """Return the SQL of the bytes of text in a row; "" if the format stores every value that it has."""
    columns: Iterable[tuple[str, Type]] = (
        (spark_identifier(column.name), parse(column.type)) for column in plan.columns
    )
    parts = [sql for name, kind in columns for sql in _bytes_sql(name, kind)]
    return sum_sql(parts) if FORMATS[plan.files.kind].repeats else ""


def _bytes_sql(value: str, kind: Type) -> Iterator[str]:
    """Yield the SQL of the bytes of each text in a value."""
    if isinstance(kind, Struct):
        for name, part in kind.fields.items():
            yield from _bytes_sql(f"{value}.{spark_identifier(name)}", part)
    elif isinstance(kind, Array):
        yield from _sum_sql(value, kind.element)
    elif isinstance(kind, Map):
        yield from _sum_sql(f"map_keys({value})", kind.key)
        yield from _sum_sql(f"map_values({value})", kind.value)
    elif kind.name in ("string", "binary"):
        yield f"CAST(COALESCE(OCTET_LENGTH({value}), 0) AS DOUBLE)"


def _sum_sql(values: str, kind: Type) -> Iterator[str]:
    item = f"it{values.count('(')}"  # lambdas within each other need names of their own
    for size in _bytes_sql(item, kind):
        yield f"COALESCE(AGGREGATE({values}, 0D, (so_far, {item}) -> so_far + {size}), 0D)"
