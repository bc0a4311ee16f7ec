"""Truths that a comparison may have: of two expressions, of one and a list, of a text and a pattern, and of AND and OR.

What is compared more than once may cut its values, which each comparison records at the outcomes that it is of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.outcomes.lengths import length_of
from lakegate.contracts.outcomes.relations import is_part, is_same, signs_between
from lakegate.contracts.outcomes.values import NAN, Values, constant, truth
from lakegate.duckdb.numbers import DATE, type_of

if TYPE_CHECKING:
    from lakegate.contracts.outcomes.expressions import Outcomes

SIGNS: Mapping[type[exp.Expr], Collection[int]] = {  # of a difference, for which a comparison is true
    **dict.fromkeys((exp.EQ, exp.NullSafeEQ), (0,)),
    **dict.fromkeys((exp.NEQ, exp.NullSafeNEQ), (-1, 1)),
    exp.GT: (1,),
    exp.GTE: (0, 1),
    exp.LT: (-1,),
    exp.LTE: (-1, 0),
}
ATOMS = (*SIGNS, exp.Between, exp.In, exp.Like, exp.StartsWith, exp.EndsWith, exp.Contains)
"""Comparisons."""
_NUMBER = re.compile(r"-?([0-9.]+(E-?[0-9]+)?|Infinity)|NaN")  # as Spark writes it
_CASE_FUNCTIONS: Mapping[type[exp.Expr], Callable[[str], str]] = {exp.Lower: str.lower, exp.Upper: str.upper}


def compare(outcomes: Outcomes, node: exp.Expr) -> Values:
    return compare_operands(outcomes, type(node), node.this, node.expression)


def compare_operands(outcomes: Outcomes, by: type[exp.Expr], first: exp.Expr, other: exp.Expr) -> Values:
    first, other = _bare(outcomes, first), _bare(outcomes, other)
    a, b = outcomes.of(first), outcomes.of(other)
    outcomes.cut_values(first, b)
    outcomes.cut_values(other, a)
    signs, are_same = _order(outcomes, first, a, other, b), outcomes.key(first) == outcomes.key(other)
    true = any(sign in SIGNS[by] for sign in signs)
    false = any(sign not in SIGNS[by] for sign in signs)
    if by not in (exp.NullSafeEQ, exp.NullSafeNEQ):
        return truth(true=true, false=false, null=a.null or b.null)
    are_both_null, is_one_null = a.null and b.null, not are_same and ((a.null and b.exist) or (b.null and a.exist))
    equal, differ = (are_both_null, is_one_null) if by is exp.NullSafeEQ else (is_one_null, are_both_null)
    return truth(true=true or equal, false=false or differ, null=False)


def _bare(outcomes: Outcomes, node: exp.Expr) -> exp.Expr:
    """Return the operand of functions that change nothing but its type, which no comparison minds."""
    while is_same(outcomes, node := node.unnest()):
        node = node.this
    return node


def _order(outcomes: Outcomes, first: exp.Expr, a: Values, other: exp.Expr, b: Values) -> Collection[int]:
    """Return the signs that the difference of two values may have."""
    if not (a.exist and b.exist):
        return ()
    key = outcomes.key(first), outcomes.key(other)
    if key[0] == key[1]:
        return (0,)
    sign = -1 if key[0] > key[1] else 1
    pair = min(key), max(key)
    outcome = [-1] * (a.low < b.high) + [1] * (a.high > b.low)
    outcome += [0] * (max(a.low, b.low) <= min(a.high, b.high) and not _never_equal(outcomes, first, a, other, b))
    outcome = [difference for difference in outcome if difference in signs_between(outcomes, first, other)]
    if pair in outcomes.world:
        return {int(sign * outcomes.world[pair].low)} & {*outcome}
    if not outcomes.world and outcome and a.point is None and b.point is None:
        signs = [sign * difference for difference in outcome]
        outcomes.record(pair, Values(min(signs), max(signs), null=False, step=1))
        outcomes.cut_at(pair, [constant(0)])
    return outcome


def _never_equal(outcomes: Outcomes, first: exp.Expr, a: Values, other: exp.Expr, b: Values) -> bool:
    """Return True if no value of one is among the other's: between two multiples, a capital among small letters, a
    text of another length, or one that is no number.
    """
    for node, of, text, value in ((first, a, other, b), (other, b, first, a)):
        if value.point is not None and not of.include(value.point):
            return True
        if isinstance(text, exp.Literal) and text.is_string:
            length, letters = length_of(outcomes, node), _CASE_FUNCTIONS.get(type(node), str)
            is_other = text.name.isascii() and letters(text.name) != text.name
            is_number = isinstance(node, exp.Cast) and type_of(node.this.unnest()) not in (None, DATE)
            is_other = is_other or (is_number and not _NUMBER.fullmatch(text.name))
            return is_other or not length.include(len(text.name))
    return False


def in_range(outcomes: Outcomes, node: exp.Between) -> Values:
    low = compare_operands(outcomes, exp.GTE, node.this, node.args["low"])
    return _and(low, compare_operands(outcomes, exp.LTE, node.this, node.args["high"]))


def among(outcomes: Outcomes, node: exp.In) -> Values:
    outcome = [compare_operands(outcomes, exp.EQ, node.this, item) for item in node.expressions]
    true, null = any(value.include(1) for value in outcome), any(value.null for value in outcome)
    certain = any(value.point == 1 and not value.null for value in outcome)
    false = all(value.include(0) for value in outcome)
    return truth(true=true, false=false, null=null and not certain)


def state(outcomes: Outcomes, node: exp.Is) -> Values:
    outcome = outcomes.of(node.this)
    is_null = isinstance(node.expression, exp.Null)
    outcomes.cut_values(node.this, *([] if is_null else [constant(0)]))
    if is_null:
        return truth(true=outcome.null, false=outcome.exist, null=False)
    expected_truth = int(node.expression.this)
    return truth(
        true=outcome.include(expected_truth), false=outcome.null or outcome.include(1 - expected_truth), null=False
    )


def negation(outcomes: Outcomes, node: exp.Not) -> Values:
    return _opposite(outcomes.of(node.this))


def like(outcomes: Outcomes, node: exp.Expr) -> Values:
    """Return the truth of LIKE and its like, which only a pattern of everything decides."""
    text = outcomes.of(node.this)
    takes_every_text = _is_of_every_text(node) or is_part(outcomes, node.expression, node.this, type(node))
    key = type(node), outcomes.key(node.this), outcomes.key(node.expression)
    null = any(part.null for part in outcomes.parts(node))
    usual = truth(true=text.exist, false=text.exist and not takes_every_text, null=null)
    outcome = outcomes.world.get(key) or outcomes.record(key, usual)
    outcomes.cut_at(key, [constant(0)])
    return _opposite(outcome) if node.args.get("negate") else outcome


def is_nan(outcomes: Outcomes, node: exp.IsNan) -> Values:
    outcome = outcomes.of(node.this)
    outcomes.cut_values(node, constant(0))
    nan = outcome.high >= NAN and outcome.exist
    return truth(true=nan, false=outcome.null or outcome.low < NAN, null=False)


def conjunction(outcomes: Outcomes, node: exp.And) -> Values:
    return _and(outcomes.of(node.this), outcomes.of(node.expression))


def disjunction(outcomes: Outcomes, node: exp.Or) -> Values:
    return _opposite(_and(_opposite(outcomes.of(node.this)), _opposite(outcomes.of(node.expression))))


def _is_of_every_text(node: exp.Expr) -> bool:
    """Return True if a pattern that is written out lets every text through."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal):
        return False
    return bool(pattern.name) and not pattern.name.strip("%") if isinstance(node, exp.Like) else not pattern.name


def _and(first: Values, other: Values) -> Values:
    """Return the truth of AND."""
    orders = [(first, other), (other, first)]
    return truth(
        true=first.include(1) and other.include(1),
        false=any(a.include(0) and (b.exist or b.null) for a, b in orders),
        null=any(a.null and (b.include(1) or b.null) for a, b in orders),
    )


def _opposite(outcome: Values) -> Values:
    return truth(true=outcome.include(0), false=outcome.include(1), null=outcome.null)
