"""Data files in the place of others: one commit takes off exactly these and adds what was written for them.

Spark's own overwrite goes by a filter: it refuses a table where some data file holds rows that fit it beside others.
"""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jvm.gateway import jvm


def overwrite(spark: SparkSession, name_in_spark: str, table: Any, entries: Iterable[Any], rows: DataFrame) -> None:
    """Put the rows, in new data files, in the place of these of the table as it was loaded. It fails where somebody has
    changed that since: nothing is then known of what the rows were made from.

    Iceberg cleans up after a commit that it takes for failed. Where that was made all the same and only its answer was
    another, the table would name what is gone: so nothing is deleted, and what is left over is named by nobody.
    """
    written = _write_data_files(spark, name_in_spark, table, rows)
    commit = table.newOverwrite().validateFromSnapshot(table.currentSnapshot().snapshotId())
    commit.validateNoConflictingData().validateNoConflictingDeletes().deleteWith(_keep_files(spark))
    for entry in entries:
        commit.deleteFile(entry)
    for entry in written:
        commit.addFile(entry)
    commit.commit()


def _write_data_files(spark: SparkSession, name_in_spark: str, table: Any, rows: DataFrame) -> list[Any]:
    """The rows as data files of the table that no commit names."""
    java = jvm(spark)
    name, coordinator = f"rows-{java.java.util.UUID.randomUUID()}", java.org.apache.iceberg.spark.FileRewriteCoordinator
    try:
        rows.writeTo(name_in_spark).option("rewritten-file-scan-task-set-id", name).append()
        return list(coordinator.get().fetchNewFiles(table, name))
    finally:
        coordinator.get().clearRewrite(table, name)


def _keep_files(spark: SparkSession) -> Any:
    """Something of Java's own that takes paths and does nothing."""
    return jvm(spark).java.util.stream.Stream.builder()
