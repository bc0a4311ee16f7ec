"""Old rows of replaced file versions that someone has since rewritten, for example by compaction, into data files with
rows of other file versions. They are removed from the branch's table.

What remains of such a data file is written anew, and one commit replaces the old one. No delete file is written,
whatever the table's delete mode is: a data file that a rebase appends would be younger than the delete, and bring the
rows back.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.completeness import RowCounts
from lakegate.audit.data_files.difference import DataFiles
from lakegate.audit.model.job import Job
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.tables import iceberg
from spark_jobs.tables.overwrite import overwrite

_DATA_FILE = "_file"


def is_of(ids: Collection[str]) -> Column:
    """Return the condition that a row is of one of these file versions. A row inserted by hand is of none."""
    return F.coalesce(F.col(FILE_COLUMN).isin(*ids), F.lit(False))  # noqa: FBT003 - a value


def remove_rows(spark: SparkSession, job: Job, table: Any, files: Mapping[str, Any]) -> None:
    """Replace these data files, by path, by their rows without those that the job replaces."""
    remaining_rows = iceberg.read(spark, table, files).where(~is_of(job.rewritten))
    overwrite(spark, table, files.values(), remaining_rows)


def _tasks(spark: SparkSession, table: Any, ids: Collection[str]) -> Any:
    """Return Iceberg's tasks for rows of these file versions; none if bounds rule them out."""
    return iceberg.plan_tasks(spark, table, iceberg.in_expression(FILE_COLUMN, ids))


def _rows(spark: SparkSession, table: Any, tasks: Any, ids: Collection[str]) -> DataFrame | None:
    return None if tasks.isEmpty() else iceberg.read_tasks(spark, table, tasks).where(is_of(ids))


def data_files_with(spark: SparkSession, table: Any, ids: Collection[str]) -> dict[str, Any]:
    """Return the data files that have rows of these file versions, by path."""
    tasks = _tasks(spark, table, ids)
    rows = _rows(spark, table, tasks, ids)
    paths = [] if rows is None else rows.select(_DATA_FILE).distinct().collect()
    files = {task.file().location(): task.file() for task in tasks}
    return {path: files[path] for (path,) in paths}


def row_counts(spark: SparkSession, table: Any, files: DataFiles, ids: Collection[str]) -> RowCounts:
    """Return the rows in these data files: by path and file version those that the batch replaces, and by file version
    the others.
    """
    if not files.entries:
        return RowCounts()
    rows = iceberg.read(spark, table, files.entries)
    path = F.when(is_of(ids), F.col(_DATA_FILE)).alias(_DATA_FILE)
    counts = rows.groupBy(path, FILE_COLUMN).count().collect()
    replaced_rows: dict[str, dict[str, int]] = {path: {} for path in files.entries}
    for at, file, number in counts:
        if at is not None:
            replaced_rows[at][file] = number
    return RowCounts(
        replaced_rows=replaced_rows, other_rows={file: number for at, file, number in counts if at is None}
    )
