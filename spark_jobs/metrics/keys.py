"""Keys: those of the batch that repeat, that the table has already, and that refer to nothing.

One cheap query shows that no key is at fault; only a batch at fault pays for further ones. A null among a key's columns
makes it no key.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.data_files.key_ranges import MOST_RANGES, KeyRanges, Range, is_ordered, key_ranges
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField, bound_value, exact
from lakegate.audit.evaluation.duplicates import OwnRepeats, Pattern, Repeats
from lakegate.audit.evaluation.table_scope import Orphans
from lakegate.audit.evaluation.verdicts import Dependent
from lakegate.audit.model.plan import Metric, Plan, Reference, Scope
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.tables.base import Base, Candidates

Read = Callable[[Iterable[str]], DataFrame]
"""Returns the rows of file versions of the batch, by id."""
_BROADCAST = 1_000_000  # keys that fit in the memory of each executor
_FAULTY = 100_000  # the same for keys at fault, which are joined to their rows
# SQL of a value as its bound is kept, for types whose bounds are numbers.
_AS_BOUND = {
    "date": "unix_date({})",
    "timestamptz": "unix_micros({})",
    "timestamp": "unix_micros(cast({} as timestamp))",  # the session's zone is UTC
}
# More candidates than this, in all and per row of the batch, take longer than a search for clusters of its keys.
_MOST_ROWS, _MANY_FOR_EACH = 10_000_000, 5
_SPARSE = 32  # values per key, beyond which bitmaps are no fewer than keys
_PARENT = "_lakegate_parent"  # the file of a row that is referred to
# SQL of a value as a 64-bit integer, for types that are integers underneath.
_WHOLE = {"int": "bigint({})", "long": "{}", "date": "bigint(unix_date({}))", "timestamptz": "unix_micros({})"}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The batch as the audit found it: data files by file version, their columns, a way to read them."""

    files: Mapping[str, Sequence[DataFileStatistics]]
    columns: Mapping[str, IcebergField]
    read: Read

    def rows(self) -> int:
        return sum(data.rows for files in self.files.values() for data in files)


def existing_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, files: Sequence[str]) -> DataFrame | None:
    """Return the keys of these files that the table has at the base, by the columns' names; None if there are none."""
    candidates = table_candidates(plan, metric, batch, base, files)
    if candidates is None:
        return None
    return _with_names(
        _existing_keys(_key_rows(batch.read(files), metric.columns), batch.rows(), candidates), metric.columns
    )


def orphans(
    plan: Plan, metric: Metric, batch: Batch, base: Base, files: Sequence[str], good: Sequence[str], *columns: str
) -> DataFrame:
    """Return the keys of these files' rows that refer to nothing, by the columns' names, each with its file and the
    columns in `columns`.

    If the table refers to itself, a row may refer to its own file, and to `good` files that landed before it.
    """
    candidates = _referenced_candidates(metric, batch, base, files)
    missing_keys = _drop_existing(_key_rows(batch.read(files), metric.columns, *columns), batch.rows(), candidates)
    if is_own(plan, metric):
        missing_keys = _drop_with_parent(missing_keys, _parent_keys(metric, batch), list(batch.files), good)
    return _with_names(missing_keys, metric.columns, FILE_COLUMN, *columns)


def is_own(plan: Plan, metric: Metric) -> bool:
    """Return True if the metric compares rows of the table with others of the same table."""
    return metric.refers_to is not None and metric.refers_to.table == plan.table


def with_key(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows that have a key."""
    return rows.where(reduce(Column.__and__, [F.col(spark_identifier(column)).isNotNull() for column in columns]))


def repeats(plan: Plan, metric: Metric, batch: Batch, base: Base) -> Dependent:
    """Return how often keys repeat: in their own file or, with scope table, in any file and in the table."""
    if not (ids := _with_rows(batch)):
        return Repeats()
    rows = _key_rows(batch.read(ids), metric.columns)
    if metric.scope is Scope.BATCH:
        return _repeats_per_file(metric, batch, rows)
    return _repeats(metric, batch, rows, table_candidates(plan, metric, batch, base, list(batch.files)))


def references(plan: Plan, metric: Metric, batch: Batch, base: Base) -> Orphans:
    """Return how many rows of each file refer to nothing."""
    if not (ids := _with_rows(batch)):
        return Orphans()
    return _count_orphans(plan, metric, batch, base, _key_rows(batch.read(ids), metric.columns))


def _with_rows(batch: Batch) -> list[str]:
    return [file for file, data in batch.files.items() if data]


def _names(columns: Sequence[object]) -> list[str]:
    """Return names for a key's columns that need no quoting and that no other column has."""
    return [f"_lakegate_key{number}" for number in range(len(columns))]


def _by_name(columns: Sequence[IcebergField]) -> list[tuple[str, IcebergField]]:
    return list(zip(_names(columns), columns, strict=True))


def _key_rows(rows: DataFrame, columns: Sequence[str], *further: str) -> DataFrame:
    """Return the keys of rows that have one, each with its file and the columns in `further`."""
    return with_key(rows, columns).select(*_keys(columns), FILE_COLUMN, *further)


def _keys(columns: Sequence[str]) -> list[Column]:
    return [F.col(spark_identifier(column)).alias(name) for name, column in zip(_names(columns), columns, strict=True)]


def _with_names(rows: DataFrame, columns: Sequence[str], *further: str) -> DataFrame:
    keys = zip(_names(columns), columns, strict=True)
    return rows.select(*(F.col(name).alias(column) for name, column in keys), *further)


def table_candidates(plan: Plan, metric: Metric, batch: Batch, base: Base, files: Iterable[str]) -> Candidates | None:
    """Return the table's rows at the base that may repeat a key of these files; None if none are compared."""
    if metric.scope is Scope.BATCH:
        return None
    return _candidates(metric, Reference(table=plan.table, columns=metric.columns), batch, base, files)


def _referenced_candidates(metric: Metric, batch: Batch, base: Base, files: Iterable[str]) -> Candidates | None:
    return _candidates(metric, metric.refers_to, batch, base, files) if metric.refers_to else None


def _candidates(metric: Metric, target: Reference, batch: Batch, base: Base, files: Iterable[str]) -> Candidates | None:
    ids, columns = list(files), [batch.columns[name] for name in metric.columns]
    candidates = base.candidates(
        target, columns, key_ranges((data for file in ids for data in batch.files[file]), columns)
    )
    if candidates and candidates.rows > max(_MOST_ROWS, _MANY_FOR_EACH * batch.rows()):
        candidates = base.candidates(
            target, columns, _cluster_ranges(_key_rows(batch.read(ids), metric.columns), columns)
        )
    return candidates and Candidates(rows=candidates.rows, table=candidates.table.select(*_keys(target.columns)))


def _cluster_ranges(rows: DataFrame, columns: Sequence[IcebergField]) -> list[KeyRanges]:
    """Return the ranges of the keys' clusters, closer than the bounds of data files, without the gaps between them."""
    numbers = [F.expr(_AS_BOUND.get(column.type, "{}").format(name)) for name, column in _by_name(columns)]
    ends = [end for number in numbers for end in (F.min(number), F.max(number))]
    spans_of = (
        rows.repartitionByRange(MOST_RANGES, *_names(columns)).groupBy(F.spark_partition_id()).agg(*ends).collect()
    )
    ranges = [list(zip(row[1::2], row[2::2], strict=True)) for row in spans_of]
    return [tuple(_range(column, *ends) for ends, column in zip(spans, columns, strict=True)) for spans in ranges]


def _range(column: IcebergField, low: Any, high: Any) -> Range:
    """Return the least and the greatest value as a range; None if the column has no order that bounds follow."""
    if not is_ordered(column):
        return None
    try:
        return (exact(low), exact(high)) if column.type == "string" else (low, high)
    except ValueError:
        return None


def _repeats_per_file(metric: Metric, batch: Batch, rows: DataFrame) -> OwnRepeats:
    """Return the repeats within each file."""
    if _is_surely_unique(rows, _dense_key(metric, batch), per_file=True):
        return OwnRepeats()
    repeats = rows.groupBy(FILE_COLUMN, *_names(metric.columns)).agg((F.count("*") - 1).alias("more")).where("more > 0")
    repeat_counts = repeats.groupBy(FILE_COLUMN).agg(F.sum("more")).collect()
    return OwnRepeats(rows=dict(repeat_counts))


def _repeats(metric: Metric, batch: Batch, rows: DataFrame, candidates: Candidates | None) -> Repeats:
    """Return the repeats in the batch and in the table."""
    names = _names(metric.columns)
    faulty = []
    if not _is_surely_unique(rows, _dense_key(metric, batch)):
        repeats = rows.groupBy(*names).agg(F.count("*").alias("rows")).where("rows > 1")
        faulty.append(repeats.select(*names, F.lit(False).alias("taken")))  # noqa: FBT003 - a literal
    if candidates is not None:
        faulty.append(_existing_keys(rows, batch.rows(), candidates).select(*names, F.lit(True).alias("taken")))  # noqa: FBT003
    if not faulty:
        return Repeats()
    keys = reduce(DataFrame.union, faulty).groupBy(*names).agg(F.max("taken").alias("taken")).cache()
    try:
        number = keys.count()
        keys_to_join = F.broadcast(keys) if number <= _FAULTY else keys
        return _patterns(rows.join(keys_to_join, on=names), names) if number else Repeats()
    finally:
        keys.unpersist()


def _is_surely_unique(rows: DataFrame, number: str, *, per_file: bool = False) -> bool:
    """Return True if a query far cheaper than grouping by key shows that no key is there twice (in one file, with
    `per_file`).

    Dense integer keys (`number` is their SQL) are packed into 64-bit bitmaps: one group per 64 keys instead of one per
    key. A group repeats a key iff it has fewer set bits than rows. Other keys are grouped by a hash, and the file is
    hashed into the same number; a collision only causes the slower exact check.
    """
    if number:
        bits = F.expr(f"bit_or(shiftleft(1L, int({number} & 63)))").alias("bits")
        word = F.expr(f"shiftright({number}, 6)")
        of_file = word.bitwiseXOR(F.xxhash64(FILE_COLUMN)) if per_file else word
        words = rows.groupBy(of_file.alias("word")).agg(bits, F.count("*").alias("rows"))
        return words.where("bit_count(bits) <> rows").isEmpty()
    names = [name for name in rows.columns if per_file or name != FILE_COLUMN]
    # A shuffle first keeps Spark from partial aggregation, which is wasted on hashes that hardly repeat.
    hashes = rows.select(F.xxhash64(*names).alias("hash")).repartition("hash")
    return hashes.groupBy("hash").agg(F.count("*").alias("rows")).where("rows > 1").isEmpty()


def _dense_key(metric: Metric, batch: Batch) -> str:
    """Return the SQL of the key as an integer if it is one and bounds show its values close together; else ""."""
    column = batch.columns[metric.columns[0]]
    if len(metric.columns) > 1 or column.type not in _WHOLE:
        return ""
    data = [file for files in batch.files.values() for file in files if column.id in file.lower]
    if not data:
        return ""
    least = min(bound_value(column.type, file.lower[column.id]) for file in data)
    greatest = max(bound_value(column.type, file.upper[column.id]) for file in data)
    is_dense = greatest - least < _SPARSE * batch.rows()
    return _WHOLE[column.type].format(_names(metric.columns)[0]) if is_dense else ""


def _existing_keys(rows: DataFrame, number: int, candidates: Candidates) -> DataFrame:
    """Return the keys of `rows` that the candidates have, each once; `number` is the most rows there are."""
    names = candidates.table.columns
    own_keys = rows.select(*names)
    if number <= _BROADCAST:
        return candidates.table.join(F.broadcast(own_keys), on=names, how="left_semi").distinct()
    table_keys = F.broadcast(candidates.table) if candidates.rows <= _BROADCAST else candidates.table
    return own_keys.join(table_keys, on=names, how="left_semi").distinct()


def _patterns(rows: DataFrame, names: Sequence[str]) -> Repeats:
    """Return the repeats by the pattern in which files have a key. All `rows` have a key at fault."""
    per_file = rows.groupBy(*names, FILE_COLUMN, "taken").agg(F.count("*").alias("rows"))
    counts = F.sort_array(F.collect_list(F.struct(FILE_COLUMN, "rows"))).alias("counts")
    per_key = per_file.groupBy(*names, "taken").agg(counts)
    patterns_found = per_key.groupBy("counts", "taken").agg(F.count("*").alias("keys")).collect()
    patterns = (Pattern(counts=dict(row["counts"]), keys=row["keys"], in_table=row["taken"]) for row in patterns_found)
    return Repeats(patterns=tuple(patterns))


def _count_orphans(plan: Plan, metric: Metric, batch: Batch, base: Base, rows: DataFrame) -> Orphans:
    candidates = _referenced_candidates(metric, batch, base, list(batch.files))
    missing_keys = _drop_existing(rows, batch.rows(), candidates)
    if is_own(plan, metric):
        return _orphans_of_batch(missing_keys, _parent_keys(metric, batch))
    counts = missing_keys.groupBy(FILE_COLUMN).count().collect()
    return Orphans(rows={row[0]: row[1] for row in counts})


def _parent_keys(metric: Metric, batch: Batch) -> DataFrame:
    """Return the keys by which the batch's rows can be referred to, each once per file that has it."""
    columns = metric.refers_to.columns if metric.refers_to else ()
    rows = with_key(batch.read(_with_rows(batch)), columns)
    return rows.select(*_keys(columns), F.col(FILE_COLUMN).alias(_PARENT)).distinct()


def _orphans_of_batch(missing_keys: DataFrame, parents: DataFrame) -> Orphans:
    """Return orphans of a table that refers to itself: rows without a parent on main (`missing_keys`) or in their own
    file, with the files of the batch that have one.
    """
    names = [name for name in parents.columns if name != _PARENT]
    files_by_key = parents.groupBy(*names).agg(F.sort_array(F.collect_set(_PARENT)).alias("files"))
    in_own = F.array_contains("files", F.col(FILE_COLUMN))
    elsewhere_or_none = missing_keys.join(files_by_key, on=names, how="left").where(in_own.isNull() | ~in_own)
    rows: dict[str, int] = {}
    in_other_files: dict[str, dict[frozenset[str], int]] = {}
    for file, files, number in elsewhere_or_none.groupBy(FILE_COLUMN, "files").count().collect():
        if files is None:
            rows[file] = number
        else:
            in_other_files.setdefault(file, {})[frozenset(files)] = number
    return Orphans(rows=rows, in_other_files=in_other_files)


def _drop_with_parent(rows: DataFrame, parents: DataFrame, order: Sequence[str], good: Sequence[str]) -> DataFrame:
    """Return the rows without a parent in their own file or in a good one that landed before it."""
    names = [name for name in parents.columns if name != _PARENT]
    parent_rows = parents.withColumnsRenamed({name: f"{name}_parent" for name in names})
    places = F.create_map(*(F.lit(part) for pair in ((file, at) for at, file in enumerate(order)) for part in pair))
    before = F.col(_PARENT).isin(list(good)) & (places[F.col(_PARENT)] < places[F.col(FILE_COLUMN)])
    is_same_key = reduce(Column.__and__, [F.col(name) == F.col(f"{name}_parent") for name in names])
    is_parent = (F.col(_PARENT) == F.col(FILE_COLUMN)) | before
    return rows.join(parent_rows, on=is_same_key & is_parent, how="left_anti")


def _drop_existing(rows: DataFrame, number: int, candidates: Candidates | None) -> DataFrame:
    """Return the rows whose keys the candidates lack; `number` is the most rows there are."""
    if candidates is None:
        return rows
    table_keys = candidates.table
    if candidates.rows <= _BROADCAST:
        table_keys = F.broadcast(table_keys)
    elif number <= _BROADCAST:  # the batch is smaller, and so are the keys that it finds there
        table_keys = F.broadcast(_existing_keys(rows, number, candidates))
    return rows.join(table_keys, on=table_keys.columns, how="left_anti")
