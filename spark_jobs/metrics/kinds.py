"""Each kind of metric on Spark, one row a kind: its measurement, and a way to find the rows that fail it.

It runs nothing. `lakegate.audit.data_files.statistics` says which kinds need no rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.evaluation.table_scope import TableRows
from lakegate.audit.evaluation.verdicts import Dependent
from lakegate.audit.model.plan import Metric, MetricKind, Plan, Scope
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.metrics import failing_keys, keys
from spark_jobs.metrics.failing_keys import Find
from spark_jobs.metrics.keys import Batch
from spark_jobs.tables.base import Base


class Way(StrEnum):
    """A way to measure a metric."""

    PASS = "in one pass over the rows, with others unless it is too heavy"
    QUERY = "by a query of its own, of each file"
    BATCH = "from the whole batch and what tables hold, then resolved file by file"
    FILE = "from the staged file: the rows that it counts never get to the table"


@dataclass(frozen=True, kw_only=True)
class ByKey:
    """A way to find the rows that fail by their key.

    `at_fault` returns the keys of each file with the number of their rows, for the report, which shows rows of one key
    `together` or takes them from the whole file. `places` returns where the rows are, for quarantine.
    """

    at_fault: Find
    places: Find
    together: bool = False


@dataclass(frozen=True, kw_only=True)
class SparkKind:
    """One kind of metric.

    `number` is its aggregate, by default the count of failing rows. `fails` is true of a row that fails by itself;
    `by_key` finds rows that fail by their key. `resolve` answers for the whole batch.
    """

    way: Way
    number: Callable[[Metric], Column] | None = None
    fails: Callable[[Metric], Column] | None = None
    by_key: ByKey | None = None
    resolve: Callable[[Plan, Metric, Batch, Base], Dependent] | None = None

    @property
    def finds_rows(self) -> bool:
        return bool(self.fails or self.by_key)


def way_of(metric: Metric) -> Way:
    return Way.BATCH if metric.scope is Scope.TABLE else KINDS[metric.kind].way


def number(metric: Metric) -> Column:
    """Return the metric as an aggregate over rows."""
    aggregate = KINDS[metric.kind].number
    return aggregate(metric) if aggregate else F.count_if(failing_condition(metric))


def failing_condition(metric: Metric) -> Column:
    """Return a condition that is true of a row that counts."""
    if (fails := KINDS[metric.kind].fails) is None:
        raise NotImplementedError(f"no row fails a metric of kind {metric.kind} by itself")
    return fails(metric)


def resolve(plan: Plan, metric: Metric, batch: Batch, base: Base) -> Dependent:
    """Return the metric for the whole batch, to be resolved file by file."""
    if (resolve_kind := KINDS[metric.kind].resolve) is None:
        raise NotImplementedError(f"a metric of kind {metric.kind} is not resolved from the whole batch")
    return resolve_kind(plan, metric, batch, base)


def _is_null(metric: Metric) -> Column:
    return F.col(spark_identifier(metric.columns[0])).isNull()


def _breaks_rule(metric: Metric) -> Column:
    if metric.passes:  # a cheap condition; the predicate decides unless it is true
        return F.when(F.expr(metric.passes), False).otherwise(F.expr(metric.sql))  # noqa: FBT003 - a value
    return F.expr(metric.sql)


def _value(metric: Metric) -> Column:
    return F.expr(metric.sql).cast("double")


def _rows_of_table(plan: Plan, _: Metric, batch: Batch, base: Base) -> TableRows:
    rows = {file: sum(data.rows for data in files) for file, files in batch.files.items()}
    return TableRows(before=base.rows(plan.table), rows=rows)


KINDS: Mapping[MetricKind, SparkKind] = {
    MetricKind.ROWS: SparkKind(way=Way.PASS, number=lambda _: F.count("*"), resolve=_rows_of_table),
    MetricKind.NULLS: SparkKind(way=Way.PASS, fails=_is_null),
    MetricKind.FAILING: SparkKind(way=Way.PASS, fails=_breaks_rule),
    MetricKind.DUPLICATES: SparkKind(
        way=Way.BATCH,
        resolve=keys.repeats,
        by_key=ByKey(at_fault=failing_keys.repeated_keys, places=failing_keys.repeating_rows, together=True),
    ),
    MetricKind.ORPHANS: SparkKind(
        way=Way.BATCH,
        resolve=keys.references,
        by_key=ByKey(at_fault=failing_keys.orphaned_keys, places=failing_keys.orphaned_rows),
    ),
    MetricKind.MALFORMED: SparkKind(way=Way.FILE),  # `malformed` counts, shows and quarantines them
    MetricKind.VALUE: SparkKind(way=Way.PASS, number=_value),
    MetricKind.QUERY: SparkKind(way=Way.QUERY),  # `aggregates` runs it on a view of the file's rows
}
