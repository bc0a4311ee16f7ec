"""Aggregates in DuckDB's SQL, with a proof that Spark's number is so near that no verdict depends on it.

Engines add doubles in different orders. Where values cancel each other, that changes more of a sum or a mean than its
last digits, and the number is left to Spark, with an error.
"""

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from lakegate.duckdb.numbers import DOUBLE, FLOAT, call_function, type_of

_SIZE = "sum(abs(CAST(_lakegate_x AS DOUBLE)))"
_IN_STEPS = (
    f"bool_and(CAST(_lakegate_x AS DOUBLE) * 1024 = trunc(CAST(_lakegate_x AS DOUBLE) * 1024)) AND {_SIZE} < 8e12"
)
_WHOLE = f"{_SIZE} < 9e15"
_SETTLED_MEAN = "spark_settled(_lakegate_it, avg(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x), {exact})"
_SETTLED_SUM = "spark_settled(_lakegate_it, sum(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x), {exact})"
_SPREAD = """spark_spread(
    _lakegate_it, max(abs(CAST(_lakegate_x AS DOUBLE))), count(_lakegate_x),
    stddev_pop(CAST(_lakegate_x AS DOUBLE)), min(_lakegate_x) = max(_lakegate_x)
)"""
_PERCENTILE = "spark_percentile(array_agg(CAST(_lakegate_x AS DOUBLE)) FILTER (WHERE _lakegate_x IS NOT NULL), {part})"


def mean(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """Return AVG, for which Spark adds doubles."""
    exact = _IN_STEPS if type_of(node.this) in (FLOAT, DOUBLE) else _WHOLE
    return _fill_template(node, _SETTLED_MEAN.format(exact=exact), condition)


def total(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """Return SUM. That of whole numbers wraps around in Spark, and has more than 64 bits in DuckDB."""
    if type_of(node.this) in (FLOAT, DOUBLE):
        return _fill_template(node, _SETTLED_SUM.format(exact=_IN_STEPS), condition)
    return call_function("spark_sum", _with_filter(node.copy(), condition))


def spread(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """Return a deviation or variance, of which little is left beside values that are large and alike."""
    return _fill_template(node, _SPREAD, condition)


def percentile(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """Return a quantile between two values, as Spark reckons it: in doubles, or a decimal's would have no more places
    than the column.
    """
    part = node.args.get("quantile")
    return _fill_template(node, _PERCENTILE.format(part=part.sql() if part else "0.5"), condition)


def _fill_template(node: exp.Expr, template: str, condition: exp.Expr | None) -> exp.Expr:
    tree = sqlglot.parse_one(template, read="duckdb")
    for column in list(tree.find_all(exp.Column)):
        if column.name == "_lakegate_x":
            column.replace(node.this.copy())
    if condition is not None:
        for aggregate in list(tree.find_all(exp.AggFunc)):
            _restrict(aggregate, condition)
    for column in [candidate for candidate in tree.find_all(exp.Column) if candidate.name == "_lakegate_it"]:
        column.replace(_with_filter(node.copy(), condition))
    return tree


def _restrict(aggregate: exp.Expr, condition: exp.Expr) -> None:
    if isinstance(aggregate.parent, exp.Filter):
        clause = aggregate.parent.expression
        clause.set("this", exp.and_(clause.this, condition.copy(), copy=False))
    else:
        aggregate.replace(_with_filter(aggregate.copy(), condition))


def _with_filter(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    return node if condition is None else exp.Filter(this=node, expression=exp.Where(this=condition.copy()))


def aggregate(node: exp.Expr) -> exp.Expr:
    """Return an aggregate; one with a FILTER waits for it."""
    return node.copy() if isinstance(node.parent, exp.Filter) else AGGREGATES[type(node)](node, None)


def with_filter(node: exp.Expr) -> exp.Expr:
    """Return an aggregate with its FILTER."""
    build = AGGREGATES.get(type(node.this))
    return build(node.this, node.expression.this) if build else node.copy()


def _count(node: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """Return a count that is zero where DuckDB has none: if there is no row, or the condition is null in all."""
    return exp.Coalesce(this=_with_filter(node.copy(), condition), expressions=[exp.Literal.number(0)])


AGGREGATES: Mapping[type[exp.Expr], Callable[[exp.Expr, exp.Expr | None], exp.Expr]] = {
    exp.Avg: mean,
    exp.Sum: total,
    **dict.fromkeys((exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop), spread),
    **dict.fromkeys((exp.Median, exp.Quantile), percentile),
    exp.CountIf: _count,
}
