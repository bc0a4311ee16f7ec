"""Iceberg tables through Iceberg's Java API: metadata, differences of two states, and reads of given data files."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from math import inf
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.errors import JobError
from spark_jobs.jvm.failures import FAILURES, class_names
from spark_jobs.jvm.gateway import empty_array, jvm, session_state

_BOUNDED = 200  # values of an `in`, beyond which Iceberg asks no bounds
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
        if any(name.endswith(("NoSuchTableException", "NoSuchNamespaceException")) for name in class_names(error)):
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


def same_rows(one: Any | None, other: Any) -> bool:
    """Return True if two states of a table are the same snapshot, or both have none."""
    snapshots = [table.currentSnapshot() if table is not None else None for table in (one, other)]
    first, second = (None if snapshot is None else snapshot.snapshotId() for snapshot in snapshots)
    return bool(first == second)


def compare(spark: SparkSession, before: Any | None, after: Any) -> Difference:
    """Return the difference of two states. Manifests that both have are not opened, so the table's size does not
    matter.
    """
    old, new = _manifests(before), _manifests(after)
    came, went = new.keys() - old.keys(), old.keys() - new.keys()
    fresh = _data_files(spark, after, [new[path] for path in came if _holds_data(new[path])])
    gone = _data_files(spark, before, [old[path] for path in went if _holds_data(old[path])])
    brought = _delete_files(spark, after, [new[path] for path in came if _deletes_rows(new[path])])
    dropped = _delete_files(spark, before, [old[path] for path in went if _deletes_rows(old[path])])
    return Difference(
        added=fresh.but(gone.entries.keys()),
        lost=gone.but(fresh.entries.keys()),
        deletes=_hides_rows(dropped, brought, new.values()),
    )


def read(
    spark: SparkSession, name_in_spark: str, table: Any, entries: Mapping[str, Any], *, per_file: bool = False
) -> DataFrame:
    """Return the rows of exactly these data files, by Iceberg's reader, without reading a manifest.

    With `per_file`, no task reads rows of two data files.
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
    """Return Iceberg's tasks, a Java list, for rows that match an expression in its JSON.

    Data files in `without` and those that bounds rule out are left out. A task says which parts of its file to skip.
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
    """Return the expression, in Iceberg's JSON, that a column has one of these values.

    Iceberg ignores bounds for larger sets and would read the whole table, so the values are split.
    """
    ordered = sorted(values)
    parts = [ordered[start : start + _BOUNDED] for start in range(0, len(ordered), _BOUNDED)] or [[]]
    found: Iterable[dict[str, Any]] = ({"type": "in", "term": column, "values": part} for part in parts)
    return json.dumps(reduce(lambda left, right: {"type": "or", "left": left, "right": right}, found))


def rows_in(tasks: Any) -> int:
    """Return the most rows that these tasks can read."""
    return sum(int(task.file().recordCount()) for task in tasks)


def rows(table: Any) -> int | None:
    """Return how many rows the table has; None if delete files hide some, because manifests do not count those."""
    if has_deletes(table):
        return None
    manifests = [manifest for manifest in _manifests(table).values() if _holds_data(manifest)]
    return sum(int(manifest.addedRowsCount()) + int(manifest.existingRowsCount()) for manifest in manifests)


def has_deletes(table: Any) -> bool:
    """Return True if the table has delete files."""
    return any(map(_deletes_rows, _manifests(table).values()))


def read_tasks(
    spark: SparkSession, name_in_spark: str, table: Any, tasks: Any, more: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the rows of these tasks, by Iceberg's reader; `more` has options for it."""
    java = jvm(spark)
    name = f"tasks-{java.java.util.UUID.randomUUID()}"
    java.org.apache.iceberg.spark.ScanTaskSetManager.get().stageTasks(table, name, tasks)
    options = {"scan-task-set-id": name, **(more or {})}
    return spark.read.format("iceberg").options(**options).load(name_in_spark)


def _manifests(table: Any | None) -> dict[str, Any]:
    """Return the table's manifests by path. JobError if one is listed twice: its rows would be read twice.

    Iceberg can list a manifest twice when it repeats a commit whose first attempt was made after all.
    """
    snapshot = table.currentSnapshot() if table is not None else None
    found: dict[str, Any] = {}
    if table is None or snapshot is None:
        return found
    for manifest in snapshot.allManifests(table.io()):
        _refuse_twice(found, manifest.path(), table, "lists the manifest")
        found[manifest.path()] = manifest
    return found


def _holds_data(manifest: Any) -> bool:
    return str(manifest.content().toString()) == "DATA"


def _deletes_rows(manifest: Any) -> bool:
    """Return True if a manifest names delete files. One that only records their removal does not."""
    return not _holds_data(manifest) and _has_files(manifest)


def _has_files(manifest: Any) -> bool:
    return bool(manifest.hasAddedFiles() or manifest.hasExistingFiles())


def _hides_rows(went: Mapping[str, int], came: Mapping[str, int], after: Iterable[Any]) -> bool:
    """Return True if delete files came, or if some went that may have hidden rows of the table.

    Manifests of `after` are read only if some went.
    """
    gone = went.keys() - came.keys()
    oldest = _oldest(after) if gone else inf
    return bool(came.keys() - went.keys()) or any(went[file] >= oldest for file in gone)


def _oldest(manifests: Iterable[Any]) -> float:
    """Return the least sequence number of live data files. Delete files with a lesser one hide nothing, and Iceberg
    drops them with the next commit that removes data files.
    """
    live = [manifest for manifest in manifests if _holds_data(manifest) and _has_files(manifest)]
    return min((int(manifest.minSequenceNumber()) for manifest in live), default=inf)


def _refuse_twice(found: Collection[str], path: str, table: Any, what: str) -> None:
    if path in found:
        raise JobError(f"table {table.name()} {what} {path} twice: whoever reads it finds its rows twice")


def _data_files(spark: SparkSession, table: Any | None, manifests: list[Any]) -> DataFiles:
    """Return the live data files of these manifests. JobError if one is there twice."""
    statistics: dict[str, DataFileStatistics] = {}
    entries: dict[str, Any] = {}
    for manifest in manifests:
        for entry in _live_files(spark, table, manifest):
            spec = table.specs()[entry.specId()]  # type: ignore[union-attr]
            content = json.loads(jvm(spark).org.apache.iceberg.ContentFileParser.toJson(entry, spec))
            _refuse_twice(entries, content["file-path"], table, "has the data file")
            statistics[content["file-path"]] = DataFileStatistics.from_entry(content)
            entries[content["file-path"]] = entry
    return DataFiles(statistics=statistics, entries=entries)


def _delete_files(spark: SparkSession, table: Any | None, manifests: list[Any]) -> dict[str, int]:
    """Return the sequence numbers of live delete files, by Iceberg's JSON of each: one object may hold several."""
    to_json, found = jvm(spark).org.apache.iceberg.ContentFileParser.toJson, dict[str, int]()
    for manifest in manifests:
        for entry in _live_files(spark, table, manifest):
            found[to_json(entry, table.specs()[entry.specId()])] = int(entry.dataSequenceNumber())  # type: ignore[union-attr]
    return found


def _live_files(spark: SparkSession, table: Any, manifest: Any) -> Iterator[Any]:
    """Yield copies of a manifest's live files: the reader reuses one object for all."""
    files = jvm(spark).org.apache.iceberg.ManifestFiles
    read = files.read if _holds_data(manifest) else files.readDeleteManifest
    reader = read(manifest, table.io(), table.specs())
    try:
        rows = reader.iterator()
        while rows.hasNext():
            yield rows.next().copy()
    finally:
        reader.close()
