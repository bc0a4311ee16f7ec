"""Metrics of arrays: how many items they have, and whether one is there twice. A null array is for `required`."""

from sqlglot import exp

from lakegate.audit.plan import Metric
from lakegate.contracts.metrics import Field, failing


def fewer(field: Field, items: int) -> Metric:
    """How many rows have an array of fewer items."""
    return failing(field, exp.LT(this=_size(field.value), expression=exp.Literal.number(items)))


def more(field: Field, items: int) -> Metric:
    """How many rows have an array of more items."""
    return failing(field, exp.GT(this=_size(field.value), expression=exp.Literal.number(items)))


def repeating(field: Field) -> Metric:
    """How many rows have an array with an item twice."""
    distinct = exp.Anonymous(this="ARRAY_DISTINCT", expressions=[_alike(field)])
    return failing(field, exp.LT(this=_size(distinct), expression=_size(field.value)))


def _alike(field: Field) -> exp.Expr:
    """The array with one zero, for which Spark would else see two, 0.0 and -0.0, among its own items alone."""
    if field.type.name not in ("array<float>", "array<double>"):
        return field.value
    item = exp.to_identifier("item")
    added = exp.Add(this=exp.Column(this=item), expression=exp.Literal.number(0))
    return exp.Anonymous(this="TRANSFORM", expressions=[field.value, exp.Lambda(this=added, expressions=[item])])


def _size(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="ARRAY_SIZE", expressions=[array])  # unlike SIZE, null of a null
