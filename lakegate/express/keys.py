"""Checks of table scope where nothing is wrong: no key repeats in the batch or the table, and all that refer are there.

One that is at fault is handed over: Spark says which rows have it, and against which file it counts.
"""

# ruff: noqa: S608 - columns are quoted

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakegate.audit.completeness import PerFile
from lakegate.audit.data_files.difference import DataFiles
from lakegate.audit.data_files.key_ranges import KeyRanges, comparable, key_ranges
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.duplicates import Repeats
from lakegate.audit.evaluation.table_scope import Orphans, TableRows
from lakegate.audit.evaluation.verdicts import Dependent
from lakegate.audit.model.plan import Metric, MetricKind, Plan, Reference
from lakegate.audit.model.report import DataFile
from lakegate.audit.schema.types import canonical
from lakegate.counts import count
from lakegate.duckdb.metrics import name_list, whole
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.reading import Reader
from lakegate.express.tables import ExpressTable

_WHOLE = ("int", "long")


class AtFault(HandedOver):
    """A key is at fault: which file that counts against is another question."""


_BATCH_KEYS, _TABLE_KEYS = "_lakegate_mine", "_lakegate_theirs"


@dataclass(frozen=True, kw_only=True)
class Base:
    """Tables at the attempt's base, by name. The plan's own counts without the data files that are `replaced_files`,
    and `reading` makes the reader of data files.
    """

    load: Callable[[str], ExpressTable | None]
    fetch: Callable[[str], bytes]
    limits: Limits
    replaced_files: Sequence[DataFile] = ()
    reading: Callable[..., Reader] = Reader

    def data(self, plan: Plan, name: str) -> DataFiles:
        """Return the data files of a table, none if it is not there. Raise HandedOver if delete files hide rows."""
        if (table := self.load(name)) is None:
            return DataFiles()
        if table.has_deletes():
            raise HandedOver("A table that the rows are compared with has delete files.")
        replaced_paths = {data.path for data in self.replaced_files} if name == plan.table else set()
        return table.changes_since(None).new_files.but(replaced_paths)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The batch's data files by file version, their columns, and a way to read some columns of all rows."""

    files: PerFile
    columns: Mapping[str, IcebergField]
    read: Callable[[Sequence[str]], pa.Table]

    @property
    def data(self) -> list[DataFileStatistics]:
        return [data for files in self.files.values() for data in files]


def resolve(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Dependent:
    """Return the metric for the whole batch. Raise HandedOver if a key is at fault, or the tables are too large."""
    if metric.kind is MetricKind.ROWS:
        before = sum(data.rows for data in base.data(plan, plan.table).statistics.values())
        return TableRows(
            before=before,
            rows={file: sum(statistics.rows for statistics in data) for file, data in batch.files.items()},
        )
    if metric.kind is MetricKind.DUPLICATES:
        return _repeats(plan, metric, batch, base, duckdb)
    return _orphans(plan, metric, batch, base, duckdb)


def _repeats(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Repeats:
    batch_keys = batch.read(metric.columns)
    if duckdb.numbers([metric], batch_keys)[metric.id]:
        raise AtFault(_AT_FAULT)
    table_keys = keys_of(plan, metric, Reference(table=plan.table, columns=metric.columns), batch, base)
    if table_keys is not None and duckdb.count(
        _among(metric.columns, is_there=True), {_BATCH_KEYS: batch_keys, _TABLE_KEYS: table_keys}
    ):
        raise AtFault(_AT_FAULT)
    return Repeats()


def _orphans(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Orphans:
    if metric.refers_to is None or metric.refers_to.table == plan.table:
        raise HandedOver("The table refers to itself, and only Spark looks for its keys among earlier files.")
    batch_keys, table_keys = batch.read(metric.columns), keys_of(plan, metric, metric.refers_to, batch, base)
    other_keys = batch_keys.schema.empty_table() if table_keys is None else table_keys
    if duckdb.count(_among(metric.columns, is_there=False), {_BATCH_KEYS: batch_keys, _TABLE_KEYS: other_keys}):
        raise AtFault(_AT_FAULT)
    return Orphans()


_AT_FAULT = "A key repeats, or refers to nothing, and only Spark says against which file that counts."


def _among(columns: Sequence[str], *, is_there: bool) -> str:
    """Return the query that counts the batch's keys that are, or are not, among the others. A null makes it no key."""
    keys, is_key = name_list(columns), whole(columns)
    among = f"({keys}) {'IN' if is_there else 'NOT IN'} (SELECT {keys} FROM {_TABLE_KEYS} WHERE {is_key})"
    return f"SELECT count(*) FROM {_BATCH_KEYS} WHERE {is_key} AND {among}"


def keys_of(plan: Plan, metric: Metric, target: Reference, batch: Batch, base: Base) -> pa.Table | None:
    """Return the target's keys that the batch may share, by the batch's names and types; None if there are none."""
    table = base.load(target.table)
    if table is None:
        return None
    fields = table.fields()
    if not set(target.columns) <= fields.keys():
        return None  # the column is new with the batch, so no row has a key
    batch_fields = [batch.columns[name] for name in metric.columns]
    table_fields = [fields[name] for name in target.columns]
    _check_types(plan, batch_fields, table_fields)
    near = _near(base.data(plan, target.table), key_ranges(batch.data, batch_fields), table_fields)
    _check_size(near, base.limits)
    types = schema_to_pyarrow(table.table.schema().select(*target.columns), include_field_ids=False)
    rows = base.reading(base.fetch, fields, types, table.names()).rows(near.statistics.values(), target.columns)
    return rows.rename_columns(list(metric.columns))


def _check_types(plan: Plan, batch_fields: Sequence[IcebergField], table_fields: Sequence[IcebergField]) -> None:
    """Raise HandedOver if values of the columns are not compared as they are."""
    kinds = {column.name: canonical(column.type) for column in plan.columns}
    for field, other in zip(batch_fields, table_fields, strict=True):
        is_same_type = field.type == other.type or {field.type, other.type} <= set(_WHOLE)
        if (
            not is_same_type
            or not comparable(kinds[field.name], other.type)
            or field.type in ("float", "double", "binary")
        ):
            raise HandedOver("Keys of different types, or of floats or bytes, are compared by Spark alone.")


def _near(data: DataFiles, ranges: Sequence[KeyRanges], columns: Sequence[IcebergField]) -> DataFiles:
    """Return the data files that may hold a key within the batch's ranges."""
    far = {
        path
        for path, statistics in data.statistics.items()
        if not _may_share(ranges, key_ranges([statistics], columns))
    }
    return data.but(far)


def _may_share(batch_ranges: Sequence[KeyRanges], file_ranges: Sequence[KeyRanges]) -> bool:
    return any(_overlap(left, other) for left in batch_ranges for other in file_ranges)


def _overlap(left: KeyRanges, other: KeyRanges) -> bool:
    pairs = [
        (range_, other_range)
        for range_, other_range in zip(left, other, strict=True)
        if range_ is not None and other_range is not None
    ]
    return all(range_[0] <= other_range[1] and other_range[0] <= range_[1] for range_, other_range in pairs)


def _check_size(near: DataFiles, limits: Limits) -> None:
    rows = sum(data.rows for data in near.statistics.values())
    size = sum(entry.file_size_in_bytes for entry in near.entries.values())
    if rows > limits.rows or size > limits.bytes or len(near.entries) > limits.compared_files:
        size_text = f"{count(rows, 'row')} in {count(len(near.entries), 'data file')}"
        raise HandedOver(
            f"The rows are compared with {size_text} of a table, and the express engine reads {limits.rows:,} in "
            f"{limits.compared_files:,}."
        )
