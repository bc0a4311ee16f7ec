"""Metrics of arrays: how many items they have, and whether one is there twice. A null array is for `required`."""

from sqlglot import exp

from lakegate.audit.model.plan import Metric
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.metrics.metric import failing_rows


def fewer(field: Field, items: int) -> Metric:
    """Count the rows with an array of fewer items."""
    return failing_rows(field, exp.LT(this=_size(field.value), expression=exp.Literal.number(items)))


def with_more_items(field: Field, items: int) -> Metric:
    """Count the rows with an array of more items."""
    return failing_rows(field, exp.GT(this=_size(field.value), expression=exp.Literal.number(items)))


def with_repeats(field: Field) -> Metric:
    """Count the rows with an array that has an item twice."""
    distinct = exp.Anonymous(this="ARRAY_DISTINCT", expressions=[_alike(field)])
    return failing_rows(field, exp.LT(this=_size(distinct), expression=_size(field.value)))


def _alike(field: Field) -> exp.Expr:
    """Return the array with 0.0 in place of -0.0, which Spark would take for two items in an array of such numbers
    alone.
    """
    if field.type.name not in ("array<float>", "array<double>"):
        return field.value
    item = exp.to_identifier("item")
    sum_with_zero = exp.Add(this=exp.Column(this=item), expression=exp.Literal.number(0))
    return exp.Anonymous(
        this="TRANSFORM", expressions=[field.value, exp.Lambda(this=sum_with_zero, expressions=[item])]
    )


def _size(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="ARRAY_SIZE", expressions=[array])  # unlike SIZE, null of a null
