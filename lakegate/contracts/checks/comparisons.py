"""Comparisons that every number meets, or none: no file could change what they say."""

import math
from fractions import Fraction

from lakegate.audit.model.plan import Operator
from lakegate.contracts.outcomes.values import ENDLESS, Exact, Values

_FAR_END = 10 * ENDLESS
_GREATEST_NAMED = 2**62  # a number beyond is no end that a person thinks of


def refusal(operator: Operator, threshold: tuple[float, ...], values: Values) -> str | None:
    """Return why no file can change the verdict, and what to write; None if one may."""
    if not values.exist:
        return "there is never a number to compare: ask for one that a file has"
    low: Exact = _exact(threshold[0])
    high: Exact = _exact(threshold[-1])
    match operator:
        case Operator.MUST_BE | Operator.IN_RANGE:
            is_always_met, is_never_met = _are_within(values, low, high), _are_outside(values, low, high)
        case Operator.MUST_NOT_BE | Operator.OUT_OF_RANGE:
            is_always_met, is_never_met = _are_outside(values, low, high), _are_within(values, low, high)
        case Operator.GREATER_THAN:
            is_always_met, is_never_met = values.low > low, values.high <= low
        case Operator.GREATER_OR_EQUAL:
            is_always_met, is_never_met = values.low >= low, values.high < low
        case Operator.LESS_THAN:
            is_always_met, is_never_met = values.high < low, values.low >= low
        case Operator.LESS_OR_EQUAL:
            is_always_met, is_never_met = values.high <= low, values.low > low
    if is_always_met:
        return f"every number meets it, {_because(values)}: write a bound that a file may miss, or take the check out"
    return f"no number meets it, {_because(values)}: write a bound that a file may meet" if is_never_met else None


def _are_within(values: Values, low: Exact, high: Exact) -> bool:
    return low <= values.low and values.high <= high


def _are_outside(values: Values, low: Exact, high: Exact) -> bool:
    """Return True if no value is from the one to the other, nor any whole number if all are whole."""
    if values.step == 1:
        low, high = math.ceil(low), math.floor(high)
    return high < low or values.high < low or values.low > high


def _because(values: Values) -> str:
    low, high = (
        f"{float(end):.15g}" if -_GREATEST_NAMED < end < _GREATEST_NAMED else "" for end in (values.low, values.high)
    )
    whole = "a whole number " if values.step == 1 else ""
    if low and low == high:
        return f"because it is always {low}"
    if low and high:
        return f"because it is {whole}from {low} to {high}"
    if low or high:
        return f"because it is {whole}never {f'below {low}' if low else f'above {high}'}"
    return f"because it is {whole}".rstrip() if whole else "whatever it is"


def _exact(number: float) -> Exact:
    """Return the number; infinities are beyond all others."""
    if math.isfinite(number):
        return Fraction(number)
    return -_FAR_END if number < 0 else _FAR_END
