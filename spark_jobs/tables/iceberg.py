"""Iceberg tables through Iceberg's Java API: metadata, differences of two states, and reads of given data files."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.data_files import manifests
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from spark_jobs.jvm.failures import FAILURES, is_caused_by
from spark_jobs.jvm.gateway import empty_array, jvm, session_state

_MOST_VALUES = 200  # values of an `in`, beyond which Iceberg asks no bounds
# Opening a file costs as much as a whole split holds.
_FILE_PER_TASK = dict.fromkeys(("split-size", "file-open-cost"), str(128 * 1024 * 1024))


def load(spark: SparkSession, catalog: str, table: str) -> Any | None:
    """Return the table of a catalog of the session; None if there is none."""
    manager = session_state(spark).catalogManager()
    iceberg_catalog = manager.catalog(catalog).icebergCatalog()
    identifier = jvm(spark).org.apache.iceberg.catalog.TableIdentifier.parse(table)
    try:
        return iceberg_catalog.loadTable(identifier)
    except FAILURES as error:
        if is_caused_by(error, "NoSuchTableException", "NoSuchNamespaceException"):
            return None
        raise


def fields(spark: SparkSession, table: Any) -> dict[str, IcebergField]:
    """Return the table's columns by name."""
    schema = json.loads(jvm(spark).org.apache.iceberg.SchemaParser.toJson(table.schema()))
    kinds = [(column, column["type"]) for column in schema["fields"]]
    columns = [
        IcebergField(id=column["id"], name=column["name"], type=kind if isinstance(kind, str) else "nested")
        for column, kind in kinds
    ]
    return {column.name: column for column in columns}


def _same_rows(before: Any | None, after: Any) -> bool:
    """Return True if two states of a table are the same snapshot, or both have none."""
    snapshots = [table.currentSnapshot() if table is not None else None for table in (before, after)]
    first, second = (None if snapshot is None else snapshot.snapshotId() for snapshot in snapshots)
    return bool(first == second)


def compare(spark: SparkSession, before: Any | None, after: Any) -> Difference:
    """Return the data files that `after` has and `before` lacks, and the reverse."""
    if _same_rows(before, after):
        return Difference(new_files=DataFiles(), lost_files=DataFiles(), deletes=False)
    difference = manifests.compare(TableState(spark, before), TableState(spark, after))
    return Difference(
        new_files=_describe(difference.new_files),
        lost_files=_describe(difference.lost_files),
        deletes=bool(difference.deletes),
    )


def _describe(files: Mapping[str, tuple[DataFileStatistics, Any]]) -> DataFiles:
    return DataFiles(
        statistics={path: statistics for path, (statistics, _) in files.items()},
        entries={path: entry for path, (_, entry) in files.items()},
    )


def read(spark: SparkSession, table: Any, entries: Mapping[str, Any], *, per_file: bool = False) -> DataFrame:
    """Return the rows of exactly these data files, by Iceberg's reader, without reading a manifest.

    With `per_file`, no task reads rows of two data files.
    """
    java = jvm(spark)
    tasks = java.java.util.ArrayList()
    schema = java.org.apache.iceberg.SchemaParser.toJson(table.schema())
    no_filter = java.org.apache.iceberg.expressions.ResidualEvaluator.unpartitioned(
        java.org.apache.iceberg.expressions.Expressions.alwaysTrue()
    )
    no_deletes = empty_array(spark, java.org.apache.iceberg.DeleteFile)
    for entry in entries.values():
        spec = java.org.apache.iceberg.PartitionSpecParser.toJson(table.specs()[entry.specId()])
        tasks.add(java.org.apache.iceberg.BaseFileScanTask(entry, no_deletes, schema, spec, no_filter))
    return read_tasks(spark, table, tasks, _FILE_PER_TASK if per_file else None)


def plan_tasks(spark: SparkSession, table: Any, condition: str, without: Collection[str] = ()) -> Any:
    """Return Iceberg's tasks, a Java list, for rows that match an expression in its JSON.

    Data files in `without` and those that bounds rule out are left out. A task says which parts of its file to skip.
    """
    expression = jvm(spark).org.apache.iceberg.expressions.ExpressionParser.fromJson(condition, table.schema())
    tasks = jvm(spark).java.util.ArrayList()
    plan = table.newScan().filter(expression).planFiles()
    try:
        iterator = plan.iterator()
        while iterator.hasNext():
            task = iterator.next()
            if not without or task.file().location() not in without:
                tasks.add(task)
    finally:
        plan.close()
    return tasks


def in_expression(column: str, values: Collection[str]) -> str:
    """Return the expression, in Iceberg's JSON, that a column has one of these values.

    Iceberg ignores bounds for larger sets and would read the whole table, so the values are split.
    """
    in_order = sorted(values)
    parts = [in_order[start : start + _MOST_VALUES] for start in range(0, len(in_order), _MOST_VALUES)] or [[]]
    expressions: Iterable[dict[str, Any]] = ({"type": "in", "term": column, "values": part} for part in parts)
    return json.dumps(reduce(lambda first, right: {"type": "or", "left": first, "right": right}, expressions))


def rows_in(tasks: Any) -> int:
    """Return the most rows that these tasks can read."""
    return sum(int(task.file().recordCount()) for task in tasks)


def rows(spark: SparkSession, table: Any) -> int | None:
    """Return how many rows the table has; None if delete files hide some, because manifests do not count those."""
    state = TableState(spark, table)
    if manifests.has_deletes(state):
        return None
    return sum(manifest.rows for manifest in manifests.by_path(state).values() if not manifest.holds_deletes)


def has_deletes(spark: SparkSession, table: Any) -> bool:
    """Return True if the table has delete files."""
    return manifests.has_deletes(TableState(spark, table))


def read_tasks(
    spark: SparkSession, table: Any, tasks: Any, further_options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the rows of these tasks, by Iceberg's reader; `further_options` has options for it."""
    name = stage_table(spark, table)
    jvm(spark).org.apache.iceberg.spark.ScanTaskSetManager.get().stageTasks(table, name, tasks)
    options = {"scan-task-set-id": name, **(further_options or {})}
    return spark.read.format("iceberg").options(**options).load(name)


def stage_table(spark: SparkSession, table: Any) -> str:
    """Return a name by which Iceberg's source finds the loaded table, for reads of given tasks and for data files
    without a commit. By the table's own name, on Spark 4, it would read the whole table, or commit.
    """
    session_state(spark)  # the source asks this thread for its session, and puts a catalog of such tables into it
    name = f"staged-{jvm(spark).java.util.UUID.randomUUID()}"
    _loaded_tables(spark).add(name, table)
    return name


def _loaded_tables(spark: SparkSession) -> Any:
    """Return Iceberg's own cache. Py4J may take another `get` of that class for the static one."""
    java = jvm(spark)
    loader = java.org.apache.iceberg.spark.ScanTaskSetManager.get().getClass().getClassLoader()
    cache = loader.loadClass("org.apache.iceberg.spark.SparkTableCache")
    method = cache.getMethod("get", empty_array(spark, java.java.lang.Class))
    return method.invoke(None, empty_array(spark, java.java.lang.Object))


@dataclass(frozen=True)
class ListedManifest:
    """A manifest as a snapshot lists it. Each property is a call to Java."""

    manifest: Any

    @cached_property
    def path(self) -> str:
        return str(self.manifest.path())

    @cached_property
    def holds_deletes(self) -> bool:
        return str(self.manifest.content().toString()) != "DATA"

    @cached_property
    def is_live(self) -> bool:
        return bool(self.manifest.hasAddedFiles() or self.manifest.hasExistingFiles())

    @property
    def oldest(self) -> int:
        return int(self.manifest.minSequenceNumber())

    @property
    def rows(self) -> int:
        return int(self.manifest.addedRowsCount()) + int(self.manifest.existingRowsCount())


@dataclass(frozen=True)
class TableState:
    """A loaded table, or none. A data file is a pair: its statistics, and Iceberg's object of it."""

    spark: SparkSession
    handle: Any | None

    @property
    def table(self) -> str:
        return str(self.handle.name()) if self.handle is not None else ""

    def manifests(self) -> Iterable[ListedManifest]:
        snapshot = self.handle.currentSnapshot() if self.handle is not None else None
        if self.handle is None or snapshot is None:
            return ()
        return map(ListedManifest, snapshot.allManifests(self.handle.io()))

    def data_files(self, listing: Sequence[ListedManifest]) -> Iterator[tuple[str, tuple[DataFileStatistics, Any]]]:
        for content, entry in self._files(listing):
            statistics = DataFileStatistics.from_entry(json.loads(content))
            yield statistics.path, (statistics, entry)

    def delete_files(self, listing: Sequence[ListedManifest]) -> Iterator[tuple[str, int]]:
        """Yield delete files by Iceberg's JSON of each, with their sequence numbers: one object may hold several."""
        for content, entry in self._files(listing):
            yield content, int(entry.dataSequenceNumber())

    def _files(self, listing: Sequence[ListedManifest]) -> Iterator[tuple[str, Any]]:
        """Yield copies of the live files, each with Iceberg's JSON of it: the reader reuses one object for all."""
        java = jvm(self.spark).org.apache.iceberg
        for manifest in listing:
            read = java.ManifestFiles.readDeleteManifest if manifest.holds_deletes else java.ManifestFiles.read
            reader = read(manifest.manifest, self.handle.io(), self.handle.specs())  # type: ignore[union-attr]
            try:
                iterator = reader.iterator()
                while iterator.hasNext():
                    entry = iterator.next().copy()
                    spec = self.handle.specs()[entry.specId()]  # type: ignore[union-attr]
                    yield java.ContentFileParser.toJson(entry, spec), entry
            finally:
                reader.close()
