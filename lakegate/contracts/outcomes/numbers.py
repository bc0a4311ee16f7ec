"""Numbers that arithmetic and aggregates may give, by their types: floats are off a little, and whole numbers may begin
again from below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.columns.types import Type
from lakegate.contracts.outcomes.relations import BITS, is_sure
from lakegate.contracts.outcomes.values import (
    ANY,
    COUNTS,
    ENDLESS,
    INFINITE,
    NAN,
    NO_VALUES,
    Exact,
    Values,
    common_step,
    constant,
    is_multiple,
    number_between,
    places_of,
)
from lakegate.duckdb.numbers import DOUBLE, FLOAT, type_of

if TYPE_CHECKING:
    from lakegate.contracts.outcomes.expressions import Outcomes

_EXPONENT = 400  # of a number, beyond which no arithmetic is done
_MOST_SUMMANDS = 2**53  # as many numbers up to this do not begin again from below
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPREADS = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
_AMONG_THEM = (exp.Min, exp.Max, exp.Avg, exp.Median, exp.Quantile)
_FAINT = Fraction(1, 10**30)  # a product of doubles may be 0 instead
_FLOAT_ERROR = Fraction(1, 2**20)  # more than arithmetic of floats is off, as a part of its operands


def sum_of(outcomes: Outcomes, node: exp.Binary) -> Values:
    a, b = outcomes.of(node.this), outcomes.of(node.expression)
    null = a.null or b.null
    if not (a.exist and b.exist):
        return NO_VALUES
    if isinstance(node.expression, exp.Interval) or not (a.are_finite and b.are_finite):
        return ANY
    if isinstance(node, exp.Sub):
        if outcomes.key(node.this) == outcomes.key(node.expression):
            return Values(0, 0, null=null)
        if _is_part(outcomes, node.expression, node.this):
            return Values(0, a.high, null=null)
        b = Values(-b.high, -b.low, null=b.null, step=b.step)
    return _number_between(node, [a.low + b.low, a.high + b.high], null=null, step=common_step([a, b]))


def _number_between(node: exp.Expr, ends: Sequence[Exact], *, null: bool, step: Exact | None) -> Values:
    """Return the result of arithmetic by its type: floats are off a little, and whole numbers may begin again."""
    kind, low, high = type_of(node), min(ends), max(ends)
    if is_sure(kind, low, high):
        return Values(low, high, null=null, step=step)
    if kind in BITS:
        return Values(-(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1, null=null, step=1)
    if kind in (FLOAT, DOUBLE):
        error = max(-low, high) * _FLOAT_ERROR
        return number_between([_shift_end(low, -error), _shift_end(high, error)], null=null)
    return ANY if kind else number_between(ends, null=null, step=step)


def times(outcomes: Outcomes, node: exp.Mul) -> Values:
    a, b = outcomes.of(node.this), outcomes.of(node.expression)
    if not (a.exist and b.exist):
        return NO_VALUES
    if outcomes.is_over_rows(node) and min(a.low, b.low) >= 0:
        return Values(a.low * b.low, min(a.high * b.high, ENDLESS), null=a.null or b.null)
    if not (a.are_finite and b.are_finite):
        is_square = outcomes.key(node.this) == outcomes.key(node.expression) and type_of(node) == DOUBLE
        return Values(0, NAN, null=a.null) if is_square else ANY
    ends, null = [x * y for x in (a.low, a.high) for y in (b.low, b.high)], a.null or b.null
    steps = [common_step([values]) for values in (a, b)]
    step = steps[0] * steps[1] if steps[0] and steps[1] else None
    if outcomes.key(node.this) == outcomes.key(node.expression):
        ends = [end for end in ends if end >= 0] if a.low * a.high > 0 else [0, *(x for x in ends if x >= 0)]
    return _number_between(node, ends, null=null, step=step)


def quotient(outcomes: Outcomes, node: exp.Div) -> Values:
    a, b = outcomes.of(node.this), outcomes.of(node.expression)
    if b.point is not None and a.exist and a.are_finite and not outcomes.is_over_rows(node):
        return _share(node, a, b.point)
    if not (a.exist and b.exist) or min(a.low, b.low) < 0 or not (outcomes.is_over_rows(node) or a.are_finite):
        return ANY
    factor, part = _factor_of(node.this)
    greatest = _of_each(outcomes, part, node.expression)
    return Values(0, ENDLESS if greatest is None else factor * greatest)


def _share(node: exp.Div, of: Values, by: Exact) -> Values:
    """Return the quotient by a number that is written out. A decimal's is rounded to six places or more."""
    if not by:
        return NO_VALUES
    kind, (low, high) = type_of(node), sorted((Fraction(of.low) / by, Fraction(of.high) / by))
    error = Fraction(1, 10**6) if kind and kind.is_decimal else 0
    outcome = _number_between(node, [low - error, high + error], null=True, step=None)
    return replace(outcome, low=max(outcome.low, 0)) if low >= 0 else outcome


def _of_each(outcomes: Outcomes, part: exp.Expr, of: exp.Expr) -> Exact | None:
    """Return how much of the first there is at most for each that the second counts."""
    part, of = _uncast(part), _uncast(of)
    if isinstance(part, exp.Sum) and isinstance(of, exp.Count) and isinstance(of.this, exp.Star | exp.Literal):
        summand = outcomes.inputs[outcomes.key(part)]
        return summand.high if summand.exist and summand.low >= 0 and summand.are_finite else None
    return 1 if _is_part(outcomes, part, of) else None


def _is_part(outcomes: Outcomes, part: exp.Expr, of: exp.Expr) -> bool:
    """Return True if one counts some of what the other counts."""
    part, of = _uncast(part), _uncast(of)
    counts = isinstance(part, exp.Count | exp.CountIf | exp.Filter) and isinstance(of, exp.Count)
    if not counts or not isinstance(part.this if isinstance(part, exp.Filter) else part, exp.Count | exp.CountIf):
        return False
    if isinstance(of.this, exp.Star | exp.Literal):
        return True
    inner = part.this
    values = inner.expressions if isinstance(inner, exp.Distinct) else [inner]
    return len(values) == 1 and outcomes.key(values[0]) == outcomes.key(of.this)


def remainder(outcomes: Outcomes, node: exp.Mod) -> Values:
    a, by = outcomes.of(node.this), outcomes.of(node.expression)
    if by.point == 0 or not (a.exist and by.exist):
        return NO_VALUES
    if not (a.are_finite and by.are_finite):
        return ANY
    if by.point is None:
        greatest = min(max(-a.low, a.high), max(-by.low, by.high))
        return Values(0 if a.low >= 0 else -greatest, greatest if a.high > 0 else 0)
    if is_multiple(a.step, by.point):
        return Values(0, 0, null=a.null)
    greatest = max(by.point, -by.point)
    step = a.step if a.step and is_multiple(greatest, a.step) else None
    greatest -= step or 0
    return Values(0 if a.low >= 0 else -greatest, greatest if a.high > 0 else 0, null=a.null, step=step)


def negative(outcomes: Outcomes, node: exp.Neg) -> Values:
    outcome = outcomes.of(node.this)
    if not outcome.exist or not outcome.are_finite:
        return ANY if outcome.exist else NO_VALUES
    if isinstance(node.this.unnest(), exp.Literal):
        return constant(-outcome.low)
    return _number_between(node, [-outcome.low, -outcome.high], null=outcome.null, step=outcome.step)


def not_negative(outcomes: Outcomes, node: exp.Expr) -> Values:
    outcome = outcomes.of(node.this)
    return Values(0, max(outcome.high, NAN if not outcome.are_finite else ENDLESS), null=outcome.null)


def days_between(outcomes: Outcomes, node: exp.DateDiff) -> Values:
    null = any(values.null for values in outcomes.parts(node))
    return Values(0, 0, null=null) if outcomes.key(node.this) == outcomes.key(node.expression) else ANY


def absolute(outcomes: Outcomes, node: exp.Abs) -> Values:
    outcome = outcomes.of(node.this)
    if not outcome.exist or not outcome.are_finite:
        return not_negative(outcomes, node)
    low, high = max(outcome.low, -outcome.high, 0), max(-outcome.low, outcome.high)
    return Values(low, high, null=outcome.null, step=outcome.step)


def sign(outcomes: Outcomes, node: exp.Sign) -> Values:
    outcome = outcomes.of(node.this)
    low, step = -1 if outcome.low < 0 else 0, 1 if outcome.high < NAN else None
    return Values(low, 1 if step else NAN, null=outcome.null, step=step)


def rounding(outcomes: Outcomes, node: exp.Expr) -> Values:
    """Return the multiples of a place that may be rounded to. Before the point, a whole number may begin again."""
    outcome, places, kind = outcomes.of(node.this), places_of(node.args.get("decimals")), type_of(node.this.unnest())
    if places is None or not outcome.exist:
        return ANY if outcome.exist else NO_VALUES
    is_double = kind in (FLOAT, DOUBLE) and isinstance(node, exp.Round)
    if kind is None or is_double or not outcome.are_finite:
        return Values(0 if outcome.low >= 0 else -ENDLESS, ENDLESS, null=outcome.null)
    unit = Fraction(1, 10**places)
    if is_multiple(outcome.step, unit):
        return outcome
    low = (-(-outcome.low // unit) if isinstance(node, exp.Ceil) else outcome.low // unit) * unit
    high = (outcome.high // unit if isinstance(node, exp.Floor) else -(-outcome.high // unit)) * unit
    return Values(low, high, null=outcome.null, step=unit)


def _shift_end(end: Exact, error: Exact) -> Exact:
    """Return an end as far off as a result of floats may be; what is near 0 may be 0."""
    end_with_error = end + error
    return (
        end_with_error if max(end, -end) > _FAINT else min(end_with_error, 0) if error < 0 else max(end_with_error, 0)
    )


def aggregate_of(node: exp.Expr, of: Values) -> Values:
    """Return the results of an aggregate over so many rows as may be, each with one of these values."""
    if isinstance(node, exp.Count | exp.CountIf):
        return _count_of(node, of)
    if not of.exist:
        return NO_VALUES
    if isinstance(node, _AMONG_THEM):
        return replace(of, null=True, step=of.step if isinstance(node, exp.Min | exp.Max) else None)
    if isinstance(node, _SPREADS):
        return Values(0, ENDLESS)
    if isinstance(node, exp.Sum) and of.low >= -_MOST_SUMMANDS and of.high <= _MOST_SUMMANDS:
        return Values(-ENDLESS if of.low < 0 else 0, ENDLESS if of.high > 0 else 0)
    return ANY


def _count_of(node: exp.Expr, of: Values) -> Values:
    if not (of.exist if isinstance(node, exp.Count) else of.include(1)):
        return constant(0)
    if not isinstance(node.this, exp.Distinct) or (of.step is None and of.point is None):
        return COUNTS
    different = (of.high - of.low) / Fraction(of.step or 1) + 1
    return Values(0, min(different, COUNTS.high), null=False, step=1)


def _uncast(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return node


def _factor_of(node: exp.Expr) -> tuple[Exact, exp.Expr]:
    """Return the number that an expression is so many times as much as another, and that one."""
    node = _uncast(node)
    if isinstance(node, exp.Mul):
        for factor, rest in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(factor.unnest(), exp.Literal) and (number := written_number(factor.unnest().name)):
                return number.low, rest
    return 1, node


def written_number(text: str, *, floating: bool = False) -> Values | None:
    """Return a number that is written out; None if it is none, or beyond all arithmetic."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_nan() or number.is_infinite():
        return constant(NAN if number.is_nan() else INFINITE if number > 0 else -INFINITE)
    if number and abs(number.adjusted()) > _EXPONENT:
        return None
    if floating and math.isinf(float(number)):
        return constant(INFINITE if number > 0 else -INFINITE)
    return constant(Fraction(float(number)) if floating else Fraction(number))


def written_moment(of: Type, text: str) -> Values | None:
    """Return a date or a timestamp that is written out, in microseconds; None if it is none."""
    try:
        value = of.parse(text)
    except ValueError:
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
    difference = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return constant((difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds)
