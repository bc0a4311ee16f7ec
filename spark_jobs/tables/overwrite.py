"""One commit that replaces given data files by new ones.

Spark's own overwrite goes by a filter, and fails on a table with a data file that matches the filter only in part.
"""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jvm.gateway import jvm
from spark_jobs.tables.iceberg import stage_table


def overwrite(spark: SparkSession, table: Any, entries: Iterable[Any], rows: DataFrame) -> None:
    """Replace these data files of the loaded table by the rows, in new data files.

    It fails if the table has changed since it was loaded, because the rows were computed from that state. Iceberg
    deletes the new files of a commit that it believes failed; if the commit was made after all, the table would name
    deleted files. So nothing is deleted, and files left over are named by no table.
    """
    new_files = write_data_files(spark, table, rows)
    commit = table.newOverwrite().validateFromSnapshot(table.currentSnapshot().snapshotId())
    commit.validateNoConflictingData().validateNoConflictingDeletes().deleteWith(_keep_files(spark))
    for entry in entries:
        commit.deleteFile(entry)
    for entry in new_files:
        commit.addFile(entry)
    commit.commit()


def write_data_files(spark: SparkSession, table: Any, rows: DataFrame) -> list[Any]:
    """Write the rows as data files of the table, without a commit."""
    name, coordinator = stage_table(spark, table), jvm(spark).org.apache.iceberg.spark.FileRewriteCoordinator
    try:
        rows.write.format("iceberg").option("rewritten-file-scan-task-set-id", name).mode("append").save(name)
        return list(coordinator.get().fetchNewFiles(table, name))
    finally:
        coordinator.get().clearRewrite(table, name)


def _keep_files(spark: SparkSession) -> Any:
    """Return a Java consumer of paths that does nothing."""
    return jvm(spark).java.util.stream.Stream.builder()
