"""Tables of lakegate's own beside a contract's: its quarantine, and its audits. It writes no row."""

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.data_files.difference import Difference
from lakegate.audit.definition import FIXED_PROPERTIES, refuse_strange
from lakegate.audit.errors import JobError
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.types import parse, storage_of
from spark_jobs.jvm.session import BASE, LAKE
from spark_jobs.tables import ddl, iceberg


def prepare(
    spark: SparkSession, job: Job, table: str, columns: Sequence[TableColumn], replaced_paths: Collection[str] = ()
) -> None:
    """Create or upgrade a table on the branch. The data files that are `replaced_paths`, by path, may have left it.
    Raise JobError if an earlier run has written there.
    """
    current, base = (iceberg.load(spark, catalog, table) for catalog in (LAKE, BASE))
    if current is not None and not _is_unchanged(iceberg.compare(spark, base, current), replaced_paths):
        raise JobError(
            f"batch {job.batch}: on branch {job.branch}, table {table} is not what it was at the base: an earlier run "
            f"of this job has written there. Run: lakegate retry {job.batch}"
        )
    if current is None:
        statements = ddl.create_table_sql(table, columns, FIXED_PROPERTIES)
    else:
        statements = _upgrade_sql(spark, table, columns, current)
    for statement in statements:
        spark.sql(statement)


def check(spark: SparkSession, table: str, columns: Sequence[TableColumn]) -> None:
    """Raise Unfit if the branch's table has other columns than lakegate gives it, or partitions."""
    current = iceberg.load(spark, LAKE, table)
    if current is None:
        return
    shape, types = ddl.shape(spark, current), {column.name: str(storage_of(parse(column.type))) for column in columns}
    strange = {name for name, kind in shape.columns.items() if types.get(name) != kind}
    refuse_strange(table, strange, is_partitioned=bool(shape.partitions))


def _upgrade_sql(spark: SparkSession, table: str, columns: Sequence[TableColumn], current: Any) -> list[str]:
    """Return the statements for a table of an earlier release, or one with settings that someone has changed."""
    names = iceberg.fields(spark, current)
    new = [column for column in columns if column.name not in names]
    return [
        *([ddl.add_columns_sql(table, new)] if new else []),
        *ddl.set_properties_sql(table, FIXED_PROPERTIES, dict(current.properties())),
    ]


def _is_unchanged(difference: Difference, replaced_paths: Collection[str]) -> bool:
    """Return True if nothing was added since the base, and only what the batch replaces went before the job."""
    return not difference.new_files.entries and not difference.lost_files.entries.keys() - set(replaced_paths)
