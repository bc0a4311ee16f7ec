"""Statistics of a column over a whole file, as metrics: exact, without nulls. It does not know which may be asked for.

If a number is NaN, mean, sum and deviation are NaN, which is no number to the audit. Quantiles, minimum and maximum are
made null here.
"""

from collections.abc import Sequence
from decimal import Decimal

import sqlglot
from sqlglot import exp

from lakegate.audit.model.plan import Metric
from lakegate.audit.schema.types import Atom, digits
from lakegate.contracts.columns.fields import Field, column
from lakegate.contracts.columns.types import Comparable
from lakegate.contracts.metrics.metric import aggregate_metric

_HUNDRED = exp.Literal.number(100)
_DIGITS_OF_SUM = 28
"""Digits of numbers of which Spark's 38 digits hold the sum of ten thousand million."""
_LOWER = 20
# A column of more digits is added up in two parts, whole multiples of a unit and the rest of each value. The sum is
# exact if 37 digits hold it; if they do not, the first part is so large that it may be rounded.
_IN_PARTS = """
    COALESCE(
      CAST(TRY_CAST(TRY_CAST({above} AS DECIMAL(18, 0)) * {unit} AS {sum}) + TRY_CAST({rest} AS {sum}) AS DOUBLE),
      CAST({above} AS DOUBLE) * {times} + CAST({rest} AS DOUBLE)
    )
"""


def mean(field: Field) -> Metric:
    if (places := _wide_places(field)) is not None:
        return _value(field, exp.Div(this=_in_parts(field, places), expression=exp.Count(this=column(field.name))))
    return _value(field, exp.Avg(this=column(field.name)))


def standard_deviation(field: Field) -> Metric:
    """Return the standard deviation of a sample: divided by one less than there are values."""
    return _value(field, exp.StddevSamp(this=column(field.name)))


def total(field: Field) -> Metric:
    """Return the sum. Whole numbers, which files may widen, are summed in more digits than 64 bits have: beyond those
    Spark begins again from below.
    """
    if (places := _wide_places(field)) is not None:
        return _value(field, _in_parts(field, places))
    number: exp.Expr = column(field.name)
    if field.type.kind == "whole":
        number = exp.cast(number, "decimal(19,0)", dialect="spark")
    return _value(field, exp.Sum(this=number))


def quantile(field: Field, at: float) -> Metric:
    """Return the value below which that part of the values is, between two values in proportion."""
    number = exp.Literal.number(repr(float(at)))
    return _value(field, _without_nan(field, exp.Quantile(this=column(field.name), quantile=number)), is_alone=True)


def median(field: Field) -> Metric:
    return quantile(field, 0.5)


def least(field: Field) -> Metric:
    return _value(field, _without_nan(field, exp.Min(this=column(field.name))), side="lower")


def greatest(field: Field) -> Metric:
    return _value(field, _without_nan(field, exp.Max(this=column(field.name))), side="upper")


def distinct(field: Field) -> Metric:
    return _value(field, _distinct(field), is_alone=True)


def distinct_percent(field: Field) -> Metric:
    """Return how many of the values, in percent, would be left without those that repeat."""
    return _value(field, _percent(_distinct(field), exp.Count(this=column(field.name))), is_alone=True)


def count_of_values(field: Field, values: Sequence[Comparable]) -> Metric:
    return _value(field, _value_count(field, values))


def having_percent(field: Field, values: Sequence[Comparable]) -> Metric:
    """Return the share in percent of all rows, those with a null too."""
    return _value(field, _percent(_value_count(field, values), exp.Count(this=exp.Star())))


def _wide_places(field: Field) -> int | None:
    """Return the places behind the point of a decimal with so many digits that Spark's own sum may not hold it on the
    way, else None.
    """
    type_digits = digits(Atom(field.type.name))
    return type_digits[1] if type_digits and type_digits[0] > _DIGITS_OF_SUM else None


def _in_parts(field: Field, places: int) -> exp.Expr:
    """Return the sum of decimals that may be too large for Spark's own on the way, which would be null from there
    on.
    """
    power = _LOWER - places
    kind = f"DECIMAL({power + 1}, 0)" if power >= 0 else f"DECIMAL({-power}, {-power})"
    unit = f"CAST({Decimal(1).scaleb(power):f} AS {kind})"
    sql = _IN_PARTS.format(
        above=f"SUM(CAST((number - number % {unit}) / {unit} AS DECIMAL(18, 0)))",
        rest=f"SUM(number % {unit})",
        unit=unit,
        times=f"1E{power}",
        sum=f"DECIMAL(37, {min(places, 37)})",
    )
    tree = sqlglot.parse_one(sql, read="spark")
    for placeholder in list(tree.find_all(exp.Column)):
        placeholder.replace(column(field.name))
    return tree


def _value_count(field: Field, values: Sequence[Comparable]) -> exp.Expr:
    literals = [field.type.literal(value) for value in sorted(set(values))]
    return exp.CountIf(this=exp.In(this=column(field.name), expressions=literals))


def _distinct(field: Field) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[column(field.name)]))


def _percent(part: exp.Expr, of: exp.Expr) -> exp.Expr:
    return exp.Div(this=exp.Mul(this=_HUNDRED.copy(), expression=part), expression=of, typed=False, safe=True)


def _without_nan(field: Field, number: exp.Expr) -> exp.Expr:
    if not field.type.has_nan:
        return number
    has_no_nan = exp.EQ(this=exp.CountIf(this=exp.IsNan(this=column(field.name))), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=has_no_nan, true=number)])


def _value(field: Field, aggregate: exp.Expr, *, is_alone: bool = False, side: str = "") -> Metric:
    return aggregate_metric((field.name,), aggregate.sql(dialect="spark"), is_alone=is_alone, side=side)
