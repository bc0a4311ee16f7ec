"""Checks of table scope: no key repeats in the batch or the table, and all that refer to another table are there.

Where one is at fault, Spark says which rows have it, and against which file it counts. So an attempt is handed over
then. A run is published as a whole or not at all, so there it is enough to count the rows (`faulty_keys`).
"""

# ruff: noqa: S608 - columns are quoted

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

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
from lakegate.express import faulty_keys
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.reading import Reader
from lakegate.express.tables import ExpressTable

_WHOLE = ("int", "long")


class _AtFault(HandedOver):
    """A key is at fault. `count` returns the metric from the keys of each file's rows and those of the table."""

    def __init__(self, count: Callable[[Mapping[str, pa.Table], pa.Table], Dependent]) -> None:
        super().__init__("A key repeats, or refers to nothing, and only Spark says against which file that counts.")
        self.count = count


_BATCH_KEYS, _TABLE_KEYS = "_lakegate_mine", "_lakegate_theirs"


@dataclass(frozen=True, kw_only=True)
class Base:
    """Tables at the attempt's base, by name. The plan's own counts without the data files that are `replaced_files`.
    `reader` returns the reader of some columns of a table. `counts_keys`: keys at fault are counted.
    """

    load: Callable[[str], ExpressTable | None]
    reader: Callable[[ExpressTable, Collection[str]], Reader]
    limits: Limits
    replaced_files: Sequence[DataFile] = ()
    counts_keys: bool = False

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
    """The batch's data files by file version, their columns, and a way to read some columns of one's rows."""

    files: PerFile
    columns: Mapping[str, IcebergField]
    read: Callable[[str, Sequence[str]], pa.Table]

    @property
    def data(self) -> list[DataFileStatistics]:
        return [data for files in self.files.values() for data in files]

    def keys(self, names: Sequence[str]) -> pa.Table:
        return pa.concat_tables([self.read(file, names) for file in self.files])


def resolve(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Dependent:
    """Return the metric for the whole batch. Raise HandedOver if a key is at fault and not to be counted, or the tables
    are too large.
    """
    try:
        return KINDS[metric.kind](plan, metric, batch, base, duckdb)
    except _AtFault as fault:
        if not base.counts_keys:
            raise
        keys_by_file = {file: batch.read(file, metric.columns) for file in batch.files}
        return fault.count(keys_by_file, _table_keys(plan, metric, batch, base, batch.keys(metric.columns)))


def _rows(plan: Plan, _: Metric, batch: Batch, base: Base, __: DuckDB) -> TableRows:
    before = sum(data.rows for data in base.data(plan, plan.table).statistics.values())
    return TableRows(
        before=before, rows={file: sum(data.rows for data in files) for file, files in batch.files.items()}
    )


def _repeats(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Repeats:
    batch_keys = batch.keys(metric.columns)
    if duckdb.numbers([metric], batch_keys)[metric.id]:
        raise _AtFault(faulty_keys.repeats)
    keys = {_BATCH_KEYS: batch_keys, _TABLE_KEYS: _table_keys(plan, metric, batch, base, batch_keys)}
    if keys[_TABLE_KEYS].num_rows and duckdb.count(_among(metric.columns, is_there=True), keys):
        raise _AtFault(faulty_keys.repeats)
    return Repeats()


def _orphans(plan: Plan, metric: Metric, batch: Batch, base: Base, duckdb: DuckDB) -> Orphans:
    if metric.refers_to is None or metric.refers_to.table == plan.table:
        raise HandedOver("The table refers to itself, and only Spark looks for its keys among earlier files.")
    batch_keys = batch.keys(metric.columns)
    keys = {_BATCH_KEYS: batch_keys, _TABLE_KEYS: _table_keys(plan, metric, batch, base, batch_keys)}
    if duckdb.count(_among(metric.columns, is_there=False), keys):
        raise _AtFault(faulty_keys.orphans)
    return Orphans()


KINDS: Mapping[MetricKind, Callable[[Plan, Metric, Batch, Base, DuckDB], Dependent]] = {
    MetricKind.ROWS: _rows,
    MetricKind.DUPLICATES: _repeats,
    MetricKind.ORPHANS: _orphans,
}


def _among(columns: Sequence[str], *, is_there: bool) -> str:
    """Return the query that counts the batch's keys that are, or are not, among the others. A null makes it no key."""
    keys, is_key = name_list(columns), whole(columns)
    among = f"({keys}) {'IN' if is_there else 'NOT IN'} (SELECT {keys} FROM {_TABLE_KEYS} WHERE {is_key})"
    return f"SELECT count(*) FROM {_BATCH_KEYS} WHERE {is_key} AND {among}"


def _table_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, batch_keys: pa.Table) -> pa.Table:
    """Return keys of the table that the batch is compared with, by the batch's names: those that it may share."""
    target = metric.refers_to or Reference(table=plan.table, columns=metric.columns)
    table = base.load(target.table)
    fields = table.fields() if table else {}
    if table is None or not set(target.columns) <= fields.keys():  # the column may be new with the batch
        return batch_keys.slice(0, 0)
    batch_fields = [batch.columns[name] for name in metric.columns]
    table_fields = [fields[name] for name in target.columns]
    _check_types(plan, batch_fields, table_fields)
    near = _near(base.data(plan, target.table), key_ranges(batch.data, batch_fields), table_fields)
    _check_size(near, base.limits)
    rows = base.reader(table, target.columns).rows(near.statistics.values(), target.columns)
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
