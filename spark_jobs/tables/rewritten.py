"""Rows that the batch replaces, and that somebody has written into other data files since, among rows of other file
versions: they are taken out of the branch's table.

What is left of such a data file is written anew, and one commit puts that in its place. No delete file is written,
whatever the table's mode of deletes is: a data file that a rebase appends would be younger, and have the rows again.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.completeness import RowCounts
from lakegate.audit.data_files.difference import DataFiles
from lakegate.audit.model.job import Job
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import iceberg
from spark_jobs.tables.ddl import table_name
from spark_jobs.tables.overwrite import overwrite

_DATA_FILE = "_file"


def is_of(ids: Collection[str]) -> Column:
    """Whether a row is of one of these file versions. One that somebody wrote himself is of none."""
    return F.coalesce(F.col(FILE_COLUMN).isin(*ids), F.lit(False))  # noqa: FBT003 - a value


def remove_rows(spark: SparkSession, job: Job, table: Any, files: Mapping[str, Any]) -> None:
    """Put, in place of these data files, by path, what they hold but for rows that the job replaces."""
    name = table_name(LAKE, job.plan.table)
    left = iceberg.read(spark, name, table, files).where(~is_of(job.rewritten))
    overwrite(spark, name, table, files.values(), left)


def _tasks(spark: SparkSession, table: Any, ids: Collection[str]) -> Any:
    """What Iceberg would read for rows of these file versions: nothing where bounds say that there are none."""
    return iceberg.plan_tasks(spark, table, iceberg.in_expression(FILE_COLUMN, ids))


def _rows(spark: SparkSession, name: str, table: Any, tasks: Any, ids: Collection[str]) -> DataFrame | None:
    return None if tasks.isEmpty() else iceberg.read_tasks(spark, name, table, tasks).where(is_of(ids))


def data_files_with(spark: SparkSession, name: str, table: Any, ids: Collection[str]) -> dict[str, Any]:
    """The data files that have rows of these file versions, by path."""
    tasks = _tasks(spark, table, ids)
    rows = _rows(spark, name, table, tasks, ids)
    found = [] if rows is None else rows.select(_DATA_FILE).distinct().collect()
    files = {task.file().location(): task.file() for task in tasks}
    return {path: files[path] for (path,) in found}


def row_counts(spark: SparkSession, name: str, table: Any, files: DataFiles, ids: Collection[str]) -> RowCounts:
    """What data files of a table hold: by path and file version what the batch replaces, and the rest."""
    if not files.entries:
        return RowCounts()
    rows = iceberg.read(spark, name, table, files.entries)
    path = F.when(is_of(ids), F.col(_DATA_FILE)).alias(_DATA_FILE)
    counted = rows.groupBy(path, FILE_COLUMN).count().collect()
    replaced: dict[str, dict[str, int]] = {path: {} for path in files.entries}
    for at, file, number in counted:
        if at is not None:
            replaced[at][file] = number
    return RowCounts(replaced=replaced, others={file: number for at, file, number in counted if at is None})
