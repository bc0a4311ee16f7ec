"""Limit of the partitions that one file's rows fall into: a task keeps a data file open for each partition it meets.

Too many exhaust the memory or the file handles of the task, and the error does not name the file.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.partitions import IDENTITY, Partition, partition
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm.session import LAKE

LIMIT = 1_000
"""Of one file. This many open data files, each with a buffer per column, fit in an executor's memory and in the handles
of a process; three years of days are about as many.
"""


_FEWER = Advice(
    vendor="send files of fewer partitions each: a month or a year at a time",
    contract="partition the table more coarsely, before it is made, at the column in the contract",
    lines=setting("partitionTransform", "months"),
)


def too_many(plan: Plan, rows: DataFrame) -> dict[str, tuple[Fault, ...]]:
    """Return the faults of files with rows in too many partitions, by file version."""
    names = ", ".join(display_name(part.column) for part in map(partition, plan.partitions))
    of = f"its values of the partition columns {names}"
    return {
        file: (Fault(f"{of} make {number:,} partitions, and the most is {LIMIT:,}", _FEWER),)
        for file, number in count_partitions(plan, rows).items()
        if number > LIMIT
    }


def count_partitions(plan: Plan, rows: DataFrame) -> dict[str, int]:
    """Return the number of partitions by file version; nothing if the table is not partitioned."""
    values = [F.expr(_partition_sql(part)) for part in map(partition, plan.partitions)]
    if not values:
        return {}
    return dict(rows.select(FILE_COLUMN, F.struct(*values)).distinct().groupBy(FILE_COLUMN).count().collect())


def _partition_sql(of: Partition) -> str:
    """Return the SQL of a row's partition value, by Iceberg's own functions."""
    return spark_identifier(of.column) if of.transform == IDENTITY else f"{LAKE}.system.{of}"
