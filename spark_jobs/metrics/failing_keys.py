"""Rows that fail by their key: the keys of each file for the report, and the places of the rows for quarantine.

`keys` counts such rows; this module finds them in the files that have some.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.plan import Metric, Plan, Scope
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.metrics.keys import Batch, existing_keys, orphans, with_key
from spark_jobs.tables.base import Base

ROWS_OF_KEY = "_lakegate_again"  # how many rows of a file have a key; no contract's column may have this name
PLACE = ("_file", "_pos")  # Iceberg's own columns: the data file of a row, and the row's position there
_NUMBER = "_lakegate_number"


@dataclass(frozen=True, kw_only=True)
class KeySearch:
    """Files of a batch by id: all in the `order` in which they landed, the `good` ones, and those whose rows are
    `files`.
    """

    order: Sequence[str]
    good: Sequence[str]
    files: Sequence[str]


Find = Callable[[Plan, Metric, Batch, Base, KeySearch], DataFrame]


def repeated_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, search: KeySearch) -> DataFrame:
    """Return the keys of each file that were there before, in the file itself, in an earlier good one or in the table,
    with the number of their rows.
    """
    if metric.scope is Scope.BATCH:
        return _repeated_in_file(metric, batch, search)
    order = {file: number for number, file in enumerate(search.order)}
    before = [file for file in search.good if order[file] < max(order[file] for file in search.files)]
    keys = [spark_identifier(name) for name in metric.columns]
    rows = with_key(batch.read(dict.fromkeys([*before, *search.files])), metric.columns)
    repeats = rows.groupBy(*keys).agg(F.count("*").alias(ROWS_OF_KEY)).where(F.col(ROWS_OF_KEY) > 1).select(*keys)
    table_keys = existing_keys(plan, metric, batch, base, search.files)
    table_keys = repeats.limit(0) if table_keys is None else table_keys
    keys_in_rows = rows.join(repeats.union(table_keys), on=list(metric.columns), how="left_semi")
    per_file = keys_in_rows.groupBy(FILE_COLUMN, *keys).agg(F.count("*").alias(ROWS_OF_KEY))
    keys_with_place = per_file.withColumn("_lakegate_at", by_file(order))
    earlier = F.min(F.when(F.col(FILE_COLUMN).isin(before), F.col("_lakegate_at"))).over(Window.partitionBy(*keys))
    marks = table_keys.withColumn("_lakegate_taken", F.lit(True))  # noqa: FBT003 - a literal
    keys_with_first = keys_with_place.withColumn("_lakegate_first", earlier).join(
        marks, on=list(metric.columns), how="left"
    )
    faulty = keys_with_first.where(f"{ROWS_OF_KEY} > 1 or _lakegate_first < _lakegate_at or _lakegate_taken")
    return faulty.where(F.col(FILE_COLUMN).isin(list(search.files))).select(FILE_COLUMN, *keys, ROWS_OF_KEY)


def _repeated_in_file(metric: Metric, batch: Batch, search: KeySearch) -> DataFrame:
    """Return the keys that a file itself has twice, with the number of their rows."""
    rows = with_key(batch.read(search.files), metric.columns)
    keys = rows.groupBy(FILE_COLUMN, *map(spark_identifier, metric.columns)).agg(F.count("*").alias(ROWS_OF_KEY))
    return keys.where(F.col(ROWS_OF_KEY) > 1)


def orphaned_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, search: KeySearch) -> DataFrame:
    """Return the keys of each file that refer to nothing, with the number of their rows."""
    rows = orphans(plan, metric, batch, base, search.files, search.good)
    return rows.groupBy(FILE_COLUMN, *map(spark_identifier, metric.columns)).agg(F.count("*").alias(ROWS_OF_KEY))


def repeating_rows(plan: Plan, metric: Metric, batch: Batch, base: Base, search: KeySearch) -> DataFrame:
    """Return the places of rows that repeat an earlier one: of their file or, with scope table, of any."""
    files, order = search.files, search.good
    scope = [FILE_COLUMN] if metric.scope is Scope.BATCH else []
    among = files if scope else order[: max(map(order.index, files)) + 1]
    at = by_file({file: at for at, file in enumerate(among)})
    first = Window.partitionBy(*map(spark_identifier, metric.columns), *scope).orderBy(at, *PLACE)
    rows = with_key(with_places(batch.read(among)), metric.columns)
    rows_with_number = rows.withColumn(_NUMBER, F.row_number().over(first))
    places = rows_with_number.where((F.col(_NUMBER) > 1) & F.col(FILE_COLUMN).isin(list(files))).select(*PLACE)
    table_keys = existing_keys(plan, metric, batch, base, files)
    if table_keys is None:
        return places
    own_rows = with_key(with_places(batch.read(files)), metric.columns)
    in_table = own_rows.join(table_keys, on=list(metric.columns), how="left_semi").select(*PLACE)
    return places.union(in_table).distinct()


def orphaned_rows(plan: Plan, metric: Metric, batch: Batch, base: Base, search: KeySearch) -> DataFrame:
    """Return the places of rows that refer to nothing."""
    batch_with_places = replace(batch, read=lambda ids: with_places(batch.read(ids)))
    return orphans(plan, metric, batch_with_places, base, search.files, search.good, *PLACE).select(*PLACE)


def with_places(rows: DataFrame) -> DataFrame:
    return rows.select("*", *PLACE)


def by_file(values: Mapping[str, int | str]) -> Column:
    """Return a constant of each file version as a column of its rows."""
    return F.element_at(F.create_map(*map(F.lit, chain.from_iterable(values.items()))), F.col(FILE_COLUMN))
