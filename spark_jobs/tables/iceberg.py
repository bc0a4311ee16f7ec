"""Iceberg tables through its own Java API: metadata and manifests at a commit, as plain values."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.data_files import manifests
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from spark_jobs.jvm.failures import FAILURES, class_names
from spark_jobs.jvm.gateway import empty_array, jvm, session_state

_BOUNDED = 200  # values of an `in`
# Opening another file costs as much as a whole split may hold.
_FILE_PER_TASK = dict.fromkeys(("split-size", "file-open-cost"), str(128 * 1024 * 1024))


def load(spark: SparkSession, catalog: str, table: str) -> Any | None:
    """The table as a catalog of the session has it, or None where there is none."""
    manager = session_state(spark).catalogManager()
    iceberg_catalog = manager.catalog(catalog).icebergCatalog()
    identifier = jvm(spark).org.apache.iceberg.catalog.TableIdentifier.parse(table)
    try:
        return iceberg_catalog.loadTable(identifier)
    except FAILURES as error:
        if any(name.endswith(("NoSuchTableException", "NoSuchNamespaceException")) for name in class_names(error)):
            return None
        raise


def fields(spark: SparkSession, table: Any) -> dict[str, IcebergField]:
    """The table's columns by name."""
    schema = json.loads(jvm(spark).org.apache.iceberg.SchemaParser.toJson(table.schema()))
    kinds = [(column, column["type"]) for column in schema["fields"]]
    columns = [
        IcebergField(id=column["id"], name=column["name"], type=kind if isinstance(kind, str) else "nested")
        for column, kind in kinds
    ]
    return {column.name: column for column in columns}


def _same_rows(one: Any | None, other: Any) -> bool:
    """Whether two states of a table are the same snapshot, or both have none."""
    snapshots = [table.currentSnapshot() if table is not None else None for table in (one, other)]
    first, second = (None if snapshot is None else snapshot.snapshotId() for snapshot in snapshots)
    return bool(first == second)


def compare(spark: SparkSession, before: Any | None, after: Any) -> Difference:
    """What `after` has beyond `before`."""
    if _same_rows(before, after):
        return Difference(added=DataFiles(), lost=DataFiles(), deletes=False)
    found = manifests.compare(TableState(spark, before), TableState(spark, after))
    return Difference(added=_described(found.added), lost=_described(found.removed), deletes=bool(found.deletes))


def _described(files: Mapping[str, tuple[DataFileStatistics, Any]]) -> DataFiles:
    return DataFiles(
        statistics={path: told for path, (told, _) in files.items()},
        entries={path: entry for path, (_, entry) in files.items()},
    )


def read(
    spark: SparkSession, name_in_spark: str, table: Any, entries: Mapping[str, Any], *, per_file: bool = False
) -> DataFrame:
    """Exactly these data files of the table, by Iceberg's own reader: no manifest is read, however many there are.

    `per_file`: no task reads rows of two of them.
    """
    java = jvm(spark)
    tasks = java.java.util.ArrayList()
    schema = java.org.apache.iceberg.SchemaParser.toJson(table.schema())
    everything = java.org.apache.iceberg.expressions.ResidualEvaluator.unpartitioned(
        java.org.apache.iceberg.expressions.Expressions.alwaysTrue()
    )
    no_deletes = empty_array(spark, java.org.apache.iceberg.DeleteFile)
    for entry in entries.values():
        spec = java.org.apache.iceberg.PartitionSpecParser.toJson(table.specs()[entry.specId()])
        tasks.add(java.org.apache.iceberg.BaseFileScanTask(entry, no_deletes, schema, spec, everything))
    return read_tasks(spark, name_in_spark, table, tasks, _FILE_PER_TASK if per_file else None)


def plan_tasks(spark: SparkSession, table: Any, where: str, without: Collection[str] = ()) -> Any:
    """What Iceberg would read of the table for an expression in its JSON: a list of its own tasks. They leave out data
    files that bounds rule out, and those that it is to do without, and say of the others which of their parts to skip.
    """
    expression = jvm(spark).org.apache.iceberg.expressions.ExpressionParser.fromJson(where, table.schema())
    tasks = jvm(spark).java.util.ArrayList()
    planned = table.newScan().filter(expression).planFiles()
    try:
        found = planned.iterator()
        while found.hasNext():
            task = found.next()
            if not without or task.file().location() not in without:
                tasks.add(task)
    finally:
        planned.close()
    return tasks


def in_expression(column: str, values: Collection[str]) -> str:
    """An expression in Iceberg's JSON: the column is one of these. Of more than so many at once, Iceberg asks no bounds
    any more and reads the whole table.
    """
    ordered = sorted(values)
    parts = [ordered[start : start + _BOUNDED] for start in range(0, len(ordered), _BOUNDED)] or [[]]
    found: Iterable[dict[str, Any]] = ({"type": "in", "term": column, "values": part} for part in parts)
    return json.dumps(reduce(lambda left, right: {"type": "or", "left": left, "right": right}, found))


def rows_in(tasks: Any) -> int:
    """How many rows these tasks would read at most."""
    return sum(int(task.file().recordCount()) for task in tasks)


def rows(spark: SparkSession, table: Any) -> int | None:
    """How many rows the table has, or None where its manifests don't tell because rows are deleted."""
    state = TableState(spark, table)
    if manifests.has_deletes(state):
        return None
    return sum(manifest.rows for manifest in manifests.listed(state).values() if not manifest.holds_deletes)


def has_deletes(spark: SparkSession, table: Any) -> bool:
    """Whether rows of the table are deleted by files of their own."""
    return manifests.has_deletes(TableState(spark, table))


def read_tasks(
    spark: SparkSession, name_in_spark: str, table: Any, tasks: Any, more: Mapping[str, str] | None = None
) -> DataFrame:
    """What these tasks read, by Iceberg's own reader; `more` are options of its."""
    java = jvm(spark)
    name = f"tasks-{java.java.util.UUID.randomUUID()}"
    java.org.apache.iceberg.spark.ScanTaskSetManager.get().stageTasks(table, name, tasks)
    options = {"scan-task-set-id": name, **(more or {})}
    return spark.read.format("iceberg").options(**options).load(name_in_spark)


@dataclass(frozen=True)
class ListedManifest:
    """A manifest as Iceberg has it. Each property is a call to Java."""

    own: Any

    @cached_property
    def path(self) -> str:
        return str(self.own.path())

    @cached_property
    def holds_deletes(self) -> bool:
        return str(self.own.content().toString()) != "DATA"

    @cached_property
    def is_live(self) -> bool:
        return bool(self.own.hasAddedFiles() or self.own.hasExistingFiles())

    @property
    def oldest(self) -> int:
        return int(self.own.minSequenceNumber())

    @property
    def rows(self) -> int:
        return int(self.own.addedRowsCount()) + int(self.own.existingRowsCount())


@dataclass(frozen=True)
class TableState:
    """A table as it was loaded, or none. A data file is its statistics, and its entry in Java."""

    spark: SparkSession
    own: Any | None

    @property
    def table(self) -> str:
        return str(self.own.name()) if self.own is not None else ""

    def manifests(self) -> Iterable[ListedManifest]:
        snapshot = self.own.currentSnapshot() if self.own is not None else None
        if self.own is None or snapshot is None:
            return ()
        return map(ListedManifest, snapshot.allManifests(self.own.io()))

    def data_files(self, listed: Sequence[ListedManifest]) -> Iterator[tuple[str, tuple[DataFileStatistics, Any]]]:
        for told, entry in self._files(listed):
            statistics = DataFileStatistics.from_entry(json.loads(told))
            yield statistics.path, (statistics, entry)

    def delete_files(self, listed: Sequence[ListedManifest]) -> Iterator[tuple[str, int]]:
        """Name them by all that Iceberg says of them: several may be in one file of the storage."""
        for told, entry in self._files(listed):
            yield told, int(entry.dataSequenceNumber())

    def _files(self, listed: Sequence[ListedManifest]) -> Iterator[tuple[str, Any]]:
        """The live files with Iceberg's JSON of each. The reader uses one object for all, hence the copies."""
        java = jvm(self.spark).org.apache.iceberg
        for manifest in listed:
            read = java.ManifestFiles.readDeleteManifest if manifest.holds_deletes else java.ManifestFiles.read
            reader = read(manifest.own, self.own.io(), self.own.specs())  # type: ignore[union-attr]
            try:
                found = reader.iterator()
                while found.hasNext():
                    entry = found.next().copy()
                    spec = self.own.specs()[entry.specId()]  # type: ignore[union-attr]
                    yield java.ContentFileParser.toJson(entry, spec), entry
            finally:
                reader.close()
