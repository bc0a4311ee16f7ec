"""How many partitions the rows of a file are of: a task keeps a data file open for each that it has met.

One with too many takes the memory, or the file handles, of whoever writes it, and the error says nothing of whose it
is.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.partitions import IDENTITY, Partition, partition
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm.session import LAKE

MOST = 1_000
"""Of one file. So many data files at once, each with a buffer for every column, fit in an executor's memory, and below
the handles that a process has; three years of days are about as many.
"""


def too_many(plan: Plan, rows: DataFrame) -> dict[str, tuple[str, ...]]:
    """By file version, what is wrong with those whose rows are of more partitions than can be relied on."""
    names = ", ".join(display_name(each.column) for each in map(partition, plan.partitions))
    return {
        file: (f"its values of the partition columns {names} make {number:,} partitions, and the most is {MOST:,}",)
        for file, number in count_partitions(plan, rows).items()
        if number > MOST
    }


def count_partitions(plan: Plan, rows: DataFrame) -> dict[str, int]:
    """By file version, how many partitions its rows are of; nothing where the table has none."""
    values = [F.expr(_partition_sql(each)) for each in map(partition, plan.partitions)]
    if not values:
        return {}
    return dict(rows.select(FILE_COLUMN, F.struct(*values)).distinct().groupBy(FILE_COLUMN).count().collect())


def _partition_sql(of: Partition) -> str:
    """The SQL of what Iceberg makes of a row, by Iceberg's own functions."""
    return spark_identifier(of.column) if of.transform == IDENTITY else f"{LAKE}.system.{of}"
