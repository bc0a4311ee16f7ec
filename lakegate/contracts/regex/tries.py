"""Bounds in SQL on how often a pattern is tried with a text: the sum for a file's texts is known before any is matched.

It knows no pattern, only bounds of the tries by a text's length. Most patterns need none: they take a few tries for
each letter of a text.
"""

import math
from collections.abc import Sequence

from sqlglot import exp

from lakegate.contracts.regex.cost import Polynomial, is_quick
from lakegate.contracts.regex.portable import Portable


def tries_with(text: exp.Expr, pattern: Portable) -> exp.Expr | None:
    """Return how often the pattern is tried at most; None if that is a few times for each letter, whatever the text."""
    if is_quick(pattern.tries, pattern.longest):
        return None
    bounds = [_at(text, bound) for bound in pattern.tries if all(map(math.isfinite, bound))]
    least = exp.Least(this=bounds[0], expressions=bounds[1:]) if bounds[1:] else bounds[0]
    if pattern.longest is None:
        return least
    too_long = exp.GT(this=exp.Length(this=text.copy()), expression=exp.Literal.number(pattern.longest))
    return exp.Case(ifs=[exp.If(this=too_long, true=exp.Literal.number(0))], default=least)


def polynomial(length: exp.Expr, factors: Sequence[float]) -> exp.Expr:
    """Return a polynomial's value at a length; the factors are those of its powers, from 0."""
    *rest, last = (exp.Literal.number(f"{factor:.2E}") for factor in factors)
    value: exp.Expr = last
    for factor in reversed(rest):
        value = exp.Paren(this=exp.Add(this=factor, expression=exp.Mul(this=length.copy(), expression=value)))
    return value


def _at(text: exp.Expr, bound: Polynomial) -> exp.Expr:
    length = exp.cast(exp.Length(this=text.copy()), "double", dialect="spark")
    return polynomial(length, [factor / math.factorial(k) for k, factor in enumerate(bound)])
