"""Values that an expression may have, as far as they decide a comparison: the least, the greatest, and null.

Truths are 0 and 1, texts their places among the texts that are written out, dates and timestamps microseconds. To take
more values for possible than there are is safe, and fewer are never taken.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from lakegate.audit.schema.types import Atom, digits
from lakegate.contracts.columns.types import Type

Exact = int | Fraction

INFINITE = 10**400  # beyond every double
NAN = 10**401  # Spark's order has it behind infinity
ENDLESS = 10**500
TINY = Fraction(1, INFINITE)  # less than the distance between two doubles
_WRAPS = 2**31  # sums of 32 bits begin again from below
_DAY = 86_400_000_000
_WIDEST = 38  # digits of a decimal


@dataclass(frozen=True)
class Values:
    """The values from `low` to `high`, multiples of `step` if it is known; none if `low` is above `high`."""

    low: Exact
    high: Exact
    null: bool = True
    step: Exact | None = None

    @property
    def exist(self) -> bool:
        """True if any value but null is possible."""
        return self.low <= self.high

    @property
    def point(self) -> Exact | None:
        """The one value that is possible beside null."""
        return self.low if self.low == self.high else None

    @property
    def are_finite(self) -> bool:
        return self.low > -INFINITE and self.high < INFINITE

    def include(self, value: Exact) -> bool:
        return self.low <= value <= self.high and (self.step is None or Fraction(value) / self.step % 1 == 0)


NO_VALUES = Values(1, 0)
ANY = Values(-ENDLESS, ENDLESS)
FLOATS = Values(-INFINITE, NAN)
COUNTS = Values(0, 2**63 - 1, null=False, step=1)


def constant(value: Exact) -> Values:
    return Values(value, value, null=False)


def truth(*, true: bool, false: bool, null: bool) -> Values:
    """Return the truths that are possible."""
    return Values(0 if false else 1, 1 if true else 0, null=null, step=1)


def hull(all_values: Collection[Values], *, null: bool | None = None) -> Values:
    """Return the values that any of these has."""
    real = [values for values in all_values if values.exist]
    null = any(values.null for values in all_values) if null is None else null
    if not real:
        return replace(NO_VALUES, null=null)
    step = common_step(real)
    return Values(min(values.low for values in real), max(values.high for values in real), null=null, step=step)


def common_step(all_values: Collection[Values]) -> Exact | None:
    """Return the greatest number of which all values are multiples; None if there is none."""
    numbers = [values.step if values.point is None else values.point for values in all_values]
    steps = [Fraction(number) for number in numbers if number is not None]
    if len(steps) < len(all_values):
        return None
    under = math.lcm(*(step.denominator for step in steps))
    over = math.gcd(*(int(step * under) for step in steps))
    return Fraction(over, under) if over else None


def number_between(ends: Sequence[Exact], *, null: bool, step: Exact | None = None) -> Values:
    """Return the result of arithmetic; any number if it may begin again from below."""
    low, high = min(ends), max(ends)
    return Values(low, high, null=null, step=step) if low >= -_WRAPS and high < _WRAPS else ANY


def is_multiple(of: Exact | None, step: Exact) -> bool:
    return of is not None and Fraction(of) / Fraction(step) % 1 == 0


def holds(kind: Type, values: Values) -> bool:
    """Return True if a type has each of these numbers as it is."""
    if kind.kind not in ("whole", "decimal"):
        return False
    type_values = of_type(kind)
    is_finer = type_values.step is not None and is_multiple(values.step, type_values.step)
    return type_values.low <= values.low and values.high <= type_values.high and is_finer


def places_of(node: exp.Expr | None) -> int | None:
    """Return the places that are rounded to, none if nothing is said; None if they depend on the row."""
    if node is None:
        return 0
    return int(node.name) if isinstance(node, exp.Literal) and re.fullmatch("[0-9]{1,2}", node.name) else None


def pieces(of: Values, cuts: Collection[Exact]) -> list[Values]:
    """Return the values in pieces, each of them at a cut or between two, and null as one of its own."""
    inner_cuts = sorted({point for point in cuts if of.low <= point <= of.high})
    lows = [of.low, *(_next_multiple(point, of.step or TINY) for point in inner_cuts)]
    highs = [*(-_next_multiple(-point, of.step or TINY) for point in inner_cuts), of.high]
    gaps = [Values(low, high, null=False, step=of.step) for low, high in zip(lows, highs, strict=True)]
    parts = [*(gap for gap in gaps if gap.exist), *(constant(point) for point in inner_cuts if of.include(point))]
    return [*parts, NO_VALUES] if of.null else parts


def _next_multiple(point: Exact, step: Exact) -> Exact:
    """Return the next multiple of the step above the cut."""
    return (Fraction(point) // step + 1) * step


def of_type(of: Type, texts: Sequence[str] = ()) -> Values:
    """Return the values of a column; texts are known by their places among these, which are in order."""
    match of.kind:
        case "whole" | "decimal":
            return _of_digits(of)
        case "float":
            return FLOATS
        case "boolean":
            return Values(0, 1, step=1)
        case "string":
            return Values(1 if texts[:1] == ("",) else 0, len(texts) + 1)  # others are between them, any number
        case "date" | "instant" | "clock":
            return Values(-ENDLESS, ENDLESS, step=_DAY if of.kind == "date" else 1)
    return ANY


def _of_digits(of: Type) -> Values:
    """Return the values of a column of whole numbers or of decimals."""
    if (parts := digits(Atom(of.name))) is not None:
        step = Fraction(1, 10 ** parts[1])
        greatest = (10 ** (_WIDEST if of.grows else parts[0]) - 1) * step
        return Values(-greatest, greatest, step=step)
    bits = 32 if of.name == "int" and not of.grows else 64
    return Values(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, step=1)
