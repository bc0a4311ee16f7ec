"""Aggregates in DuckDB's SQL, with a proof that Spark's number is so near that no verdict depends on it.

Engines add doubles in different orders. Where values cancel each other, that changes more of a sum or a mean than its
last digits, and the number is left to Spark, with an error.
"""

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from lakegate.duckdb.numbers import DOUBLE, FLOAT, called, type_of

_SIZE = "sum(abs(CAST(_lakegate_x AS DOUBLE)))"
_IN_STEPS = (
    f"bool_and(CAST(_lakegate_x AS DOUBLE) * 1024 = trunc(CAST(_lakegate_x AS DOUBLE) * 1024)) AND {_SIZE} < 8e12"
)
_WHOLE = f"{_SIZE} < 9e15"
_SETTLED = "spark_settled(_lakegate_it, avg(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x), {exact})"
_SUMMED = "spark_settled(_lakegate_it, sum(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x), {exact})"
_SPREAD = """spark_spread(
    _lakegate_it, max(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x),
    stddev_pop(CAST(_lakegate_x AS DOUBLE)), min(_lakegate_x) = max(_lakegate_x)
)"""
_PERCENTILE = "spark_percentile(array_agg(CAST(_lakegate_x AS DOUBLE)) FILTER (WHERE _lakegate_x IS NOT NULL), {part})"


def mean(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """Return AVG, for which Spark adds doubles."""
    exact = _IN_STEPS if type_of(node.this) in (FLOAT, DOUBLE) else _WHOLE
    return _around(node, _SETTLED.format(exact=exact), where)


def total(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """Return SUM. That of whole numbers wraps around in Spark, and has more than 64 bits in DuckDB."""
    if type_of(node.this) in (FLOAT, DOUBLE):
        return _around(node, _SUMMED.format(exact=_IN_STEPS), where)
    return called("spark_sum", _filtered(node.copy(), where))


def spread(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """Return a deviation or variance, of which little is left beside values that are large and alike."""
    return _around(node, _SPREAD, where)


def percentile(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """Return a quantile between two values, as Spark reckons it: in doubles, or a decimal's would have no more places
    than the column.
    """
    part = node.args.get("quantile")
    return _around(node, _PERCENTILE.format(part=part.sql() if part else "0.5"), where)


def _around(node: exp.Expr, template: str, where: exp.Expr | None) -> exp.Expr:
    made = sqlglot.parse_one(template, read="duckdb")
    for column in list(made.find_all(exp.Column)):
        if column.name == "_lakegate_x":
            column.replace(node.this.copy())
    if where is not None:
        for aggregate in list(made.find_all(exp.AggFunc)):
            _restrict(aggregate, where)
    for column in [it for it in made.find_all(exp.Column) if it.name == "_lakegate_it"]:
        column.replace(_filtered(node.copy(), where))
    return made


def _restrict(aggregate: exp.Expr, where: exp.Expr) -> None:
    if isinstance(aggregate.parent, exp.Filter):
        own = aggregate.parent.expression
        own.set("this", exp.and_(own.this, where.copy(), copy=False))
    else:
        aggregate.replace(_filtered(aggregate.copy(), where))


def _filtered(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    return node if where is None else exp.Filter(this=node, expression=exp.Where(this=where.copy()))


def aggregate(node: exp.Expr) -> exp.Expr:
    """Return an aggregate; one with a FILTER waits for it."""
    return node.copy() if isinstance(node.parent, exp.Filter) else AGGREGATES[type(node)](node, None)


def filtered(node: exp.Expr) -> exp.Expr:
    """Return an aggregate with its FILTER."""
    made = AGGREGATES.get(type(node.this))
    return made(node.this, node.expression.this) if made else node.copy()


def _count(node: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """Return a count that is zero where DuckDB has none: if there is no row, or the condition is null in all."""
    return exp.Coalesce(this=_filtered(node.copy(), where), expressions=[exp.Literal.number(0)])


AGGREGATES: Mapping[type[exp.Expr], Callable[[exp.Expr, exp.Expr | None], exp.Expr]] = {
    exp.Avg: mean,
    exp.Sum: total,
    **dict.fromkeys((exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop), spread),
    **dict.fromkeys((exp.Median, exp.Quantile), percentile),
    exp.CountIf: _count,
}
