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
class Landed:
    """Files of a batch by id: all in the `order` in which they landed, the `good` ones, and those whose rows are
    `wanted`.
    """

    order: Sequence[str]
    good: Sequence[str]
    wanted: Sequence[str]


Find = Callable[[Plan, Metric, Batch, Base, Landed], DataFrame]


def repeated_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, landed: Landed) -> DataFrame:
    """Return the keys of each file that were there before, in the file itself, in an earlier good one or in the table,
    with the number of their rows.
    """
    if metric.scope is Scope.BATCH:
        return _repeated_in_file(metric, batch, landed)
    order = {file: number for number, file in enumerate(landed.order)}
    before = [file for file in landed.good if order[file] < max(order[mine] for mine in landed.wanted)]
    keys = [spark_identifier(name) for name in metric.columns]
    rows = with_key(batch.read(dict.fromkeys([*before, *landed.wanted])), metric.columns)
    twice = rows.groupBy(*keys).agg(F.count("*").alias(ROWS_OF_KEY)).where(F.col(ROWS_OF_KEY) > 1).select(*keys)
    known = existing_keys(plan, metric, batch, base, landed.wanted)
    known = twice.limit(0) if known is None else known
    there = rows.join(twice.union(known), on=list(metric.columns), how="left_semi")
    per_file = there.groupBy(FILE_COLUMN, *keys).agg(F.count("*").alias(ROWS_OF_KEY))
    placed = per_file.withColumn("_lakegate_at", by_file(order))
    earlier = F.min(F.when(F.col(FILE_COLUMN).isin(before), F.col("_lakegate_at"))).over(Window.partitionBy(*keys))
    marked = known.withColumn("_lakegate_taken", F.lit(True))  # noqa: FBT003 - a literal
    again = placed.withColumn("_lakegate_first", earlier).join(marked, on=list(metric.columns), how="left")
    faulty = again.where(f"{ROWS_OF_KEY} > 1 or _lakegate_first < _lakegate_at or _lakegate_taken")
    return faulty.where(F.col(FILE_COLUMN).isin(list(landed.wanted))).select(FILE_COLUMN, *keys, ROWS_OF_KEY)


def _repeated_in_file(metric: Metric, batch: Batch, landed: Landed) -> DataFrame:
    """Return the keys that a file itself has twice, with the number of their rows."""
    rows = with_key(batch.read(landed.wanted), metric.columns)
    there = rows.groupBy(FILE_COLUMN, *map(spark_identifier, metric.columns)).agg(F.count("*").alias(ROWS_OF_KEY))
    return there.where(F.col(ROWS_OF_KEY) > 1)


def orphaned_keys(plan: Plan, metric: Metric, batch: Batch, base: Base, landed: Landed) -> DataFrame:
    """Return the keys of each file that refer to nothing, with the number of their rows."""
    rows = orphans(plan, metric, batch, base, landed.wanted, landed.good)
    return rows.groupBy(FILE_COLUMN, *map(spark_identifier, metric.columns)).agg(F.count("*").alias(ROWS_OF_KEY))


def repeating_rows(plan: Plan, metric: Metric, batch: Batch, base: Base, landed: Landed) -> DataFrame:
    """Return the places of rows that repeat an earlier one: of their file or, with scope table, of any."""
    files, order = landed.wanted, landed.good
    scope = [FILE_COLUMN] if metric.scope is Scope.BATCH else []
    among = files if scope else order[: max(map(order.index, files)) + 1]
    at = by_file({file: at for at, file in enumerate(among)})
    first = Window.partitionBy(*map(spark_identifier, metric.columns), *scope).orderBy(at, *PLACE)
    rows = with_key(with_places(batch.read(among)), metric.columns)
    numbered = rows.withColumn(_NUMBER, F.row_number().over(first))
    places = numbered.where((F.col(_NUMBER) > 1) & F.col(FILE_COLUMN).isin(list(files))).select(*PLACE)
    known = existing_keys(plan, metric, batch, base, files)
    if known is None:
        return places
    mine = with_key(with_places(batch.read(files)), metric.columns)
    there = mine.join(known, on=list(metric.columns), how="left_semi").select(*PLACE)
    return places.union(there).distinct()


def orphaned_rows(plan: Plan, metric: Metric, batch: Batch, base: Base, landed: Landed) -> DataFrame:
    """Return the places of rows that refer to nothing."""
    placed = replace(batch, read=lambda ids: with_places(batch.read(ids)))
    return orphans(plan, metric, placed, base, landed.wanted, landed.good, *PLACE).select(*PLACE)


def with_places(rows: DataFrame) -> DataFrame:
    return rows.select("*", *PLACE)


def by_file(values: Mapping[str, int | str]) -> Column:
    """Return a constant of each file version as a column of its rows."""
    return F.element_at(F.create_map(*map(F.lit, chain.from_iterable(values.items()))), F.col(FILE_COLUMN))
