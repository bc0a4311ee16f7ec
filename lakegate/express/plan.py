"""Plans that need Spark: what this engine cannot say exactly as Spark does, told by the plan alone.

It imports neither DuckDB nor Arrow, because it is asked when a lane is chosen. What depends on a file, a table or a
value shows later, and is handed over then.
"""

from collections.abc import Collection, Iterator

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.plan import Metric, Plan, Scope
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.partitions import partition
from lakegate.audit.schema.types import Atom, canonical, parse

_PARTITION_TYPES = ("int", "bigint", "date", "timestamp", "timestamp_ntz", "string", "boolean")
"""Types by which rows are parted here. Of floats several spellings are one value, and a partition's path has one."""
_NO_KEYS = {"float", "double", "binary"}


def spark_only(plan: Plan) -> str:
    """Return why the plan needs Spark, as one plain sentence; "" if nothing in it does."""
    return next(_reasons(plan), "")


def _reasons(plan: Plan) -> Iterator[str]:
    if plan.files.kind is not FileKind.PARQUET:
        yield f"Only Spark reads files of format {plan.files.kind}."
    kinds = {column.name: parse(column.type) for column in plan.columns}
    for name, kind in kinds.items():
        if not isinstance(kind, Atom):
            yield f"Column {display_name(name)} is nested, and only Spark writes nested columns."
    for part in map(partition, plan.partitions):
        if canonical(str(kinds.get(part.column, ""))) not in _PARTITION_TYPES:
            yield f"Only Spark partitions by a column of the type that {display_name(part.column)} has."
    for metric in plan.metrics:
        yield from _of_metric(plan, metric)


def asks_spark(plan: Plan, metric: Metric) -> str:
    """Return why a metric of the plan needs Spark, as one plain sentence; "" if it does not."""
    return next(_of_metric(plan, metric), "")


def _of_metric(plan: Plan, metric: Metric) -> Iterator[str]:
    kinds = {column.name: canonical(column.type) for column in plan.columns}
    floats = [name for name, kind in kinds.items() if kind == "float"]
    if metric.refers_to and metric.refers_to.table == plan.table:
        yield "The table refers to itself, and only Spark looks for its keys among earlier files."
    if metric.scope is Scope.TABLE and {kinds[name] for name in metric.columns} & _NO_KEYS:
        yield "Only Spark compares keys of floats or bytes with those of tables on main."
    if floats and metric.sql and (expression := _digits_asked_for(metric.sql, floats)):
        yield f"Only Spark has the decimal digits of a 32-bit float, which {expression} asks for."


def _digits_asked_for(sql: str, floats: Collection[str]) -> str | None:
    """Return what asks for digits. The import is here, because few plans have such columns, and whoever chooses a lane
    would pay for it at each start.
    """
    from lakegate.duckdb.dialect import digits_of_floats  # noqa: PLC0415

    return digits_of_floats(sql, floats)
