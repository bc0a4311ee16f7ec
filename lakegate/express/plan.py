"""Plans that need Spark: what an engine of Arrow and DuckDB cannot say exactly as Spark does, told by the plan alone.

It opens no DuckDB. What depends on a file, a table or a value shows later, and is handed over then.
"""

from collections.abc import Iterator

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.plan import Plan, Scope


def spark_only(plan: Plan) -> str:
    """Return why the plan needs Spark, as one plain sentence without a full stop; "" if it may not."""
    return next(_reasons(plan), "")


def _reasons(plan: Plan) -> Iterator[str]:
    if plan.files.kind is not FileKind.PARQUET:
        yield f"its files are {plan.files.kind}, and only parquet goes without Spark"
    if any(metric.scope is Scope.TABLE for metric in plan.metrics):
        yield "a check compares its rows with those of tables on main"
