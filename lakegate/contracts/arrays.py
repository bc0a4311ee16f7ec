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
    distinct = exp.Anonymous(this="ARRAY_DISTINCT", expressions=[field.value])
    return failing(field, exp.LT(this=_size(distinct), expression=_size(field.value)))


def _size(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="ARRAY_SIZE", expressions=[array])  # unlike SIZE, null of a null
