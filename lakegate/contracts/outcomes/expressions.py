"""Outcomes of an expression: the values that it may have, whatever the row. What no row can change is no check.

What is compared more than once is put in pieces at what it is compared with, and the whole is judged in each piece, as
far as a budget goes. It parses nothing, and knows neither queries nor checks.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import product
from typing import Any

from sqlglot import exp

from lakegate.contracts.columns.types import TEMPORAL, Type, physical
from lakegate.contracts.outcomes.lengths import CASED, CUT, JOINED, is_beginning, length_of
from lakegate.contracts.outcomes.relations import BITS, is_part, is_same, is_sure, signs_between
from lakegate.contracts.outcomes.values import (
    ANY,
    COUNTS,
    ENDLESS,
    INFINITE,
    NAN,
    NOTHING,
    TINY,
    Exact,
    Values,
    common_step,
    constant,
    holds,
    hull,
    is_multiple,
    number_between,
    of_type,
    pieces,
    places_of,
    truth,
)
from lakegate.duckdb.numbers import DATE, DOUBLE, FLOAT, annotate, type_of

_BUDGET = 8_000  # nodes that are judged for one question
_EXPONENT = 400  # of a number, beyond which no arithmetic is done
_SUMMED = 2**53  # as many numbers up to this do not begin again from below
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SIGNS: Mapping[type[exp.Expr], Collection[int]] = {  # of a difference, for which a comparison is true
    **dict.fromkeys((exp.EQ, exp.NullSafeEQ), (0,)),
    **dict.fromkeys((exp.NEQ, exp.NullSafeNEQ), (-1, 1)),
    exp.GT: (1,),
    exp.GTE: (0, 1),
    exp.LT: (-1,),
    exp.LTE: (-1, 0),
}
_BOUNDS: Mapping[type[exp.Expr], tuple[int, int]] = {
    exp.StrPosition: (0, 2**31 - 1),
    **dict.fromkeys((exp.Day, exp.DayOfMonth), (1, 31)),
    exp.Quarter: (1, 4),
    exp.Month: (1, 12),
    exp.DayOfWeek: (1, 7),
    exp.DayOfYear: (1, 366),
    exp.WeekOfYear: (1, 53),
    exp.Hour: (0, 23),
    exp.Minute: (0, 59),
    exp.Second: (0, 59),
}
_ROUNDS = (exp.Ceil, exp.Floor, exp.Round)
_SPREADS = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
_AMONG_THEM = (exp.Min, exp.Max, exp.Avg, exp.Median, exp.Quantile)
_TEXTS = (*JOINED, *CUT, *CASED, exp.Replace)
_AGAIN = (  # done a second time they change nothing
    *(exp.Abs, exp.Sign, exp.Ceil, exp.Floor, exp.Mod, exp.Greatest, exp.Least, exp.Coalesce, exp.Nullif),
    *(exp.Trim, exp.Left, exp.Right, *CASED),
)
_NUMBER = re.compile(r"-?([0-9.]+(E-?[0-9]+)?|Infinity)|NaN")  # as Spark writes it
_FAINT = Fraction(1, 10**30)  # a product of doubles may be 0 instead
_OFF = Fraction(1, 2**20)  # more than arithmetic of floats is off, as a part of its operands
_CHANGED: Mapping[type[exp.Expr], Callable[[str], str]] = {exp.Lower: str.lower, exp.Upper: str.upper}
ATOMS = (*_SIGNS, exp.Between, exp.In, exp.Like, exp.StartsWith, exp.EndsWith, exp.Contains)
"""Comparisons."""


class Outcomes:
    """The outcomes of some trees over the same columns, by their types or, of a query's own, by their values."""

    def __init__(self, trees: Sequence[exp.Expr], columns: Mapping[str, Type | Values], texts: Collection[str]) -> None:
        self.columns = columns
        self.texts = {text: place for place, text in enumerate(sorted(texts, key=_in_bytes), start=1)}
        self._over_rows: set[Any] = set()
        self.inputs: dict[Any, Values] = {}
        self.assumptions: dict[Any, Values] = {}
        self._world: dict[Any, Values] = {}
        self._cuts: dict[Any, set[Exact]] = {}
        self._bases: dict[Any, Values] = {}
        self._ids: dict[int, int] = {}
        self._known: dict[Any, int] = {}
        self._memory: dict[int, Values] = {}
        self._unchanged: dict[int, exp.Expr] = {}
        self._uses: Counter[Any] = Counter()
        kinds = {name.lower(): _number_type(known) for name, known in columns.items() if isinstance(known, Type)}
        for tree in trees:
            if kinds:  # else its numbers are a bound of any size
                annotate(tree, kinds)
            self._number(tree)

    def _number(self, tree: exp.Expr) -> None:
        """Give each node a number, which is the same for those that are alike."""
        for node in reversed(list(tree.walk())):  # a node comes after its parent
            if self._is_unchanged(node):
                self._unchanged[id(node)], self._ids[id(node)] = node.this, self._ids[id(node.this)]
                continue
            parts = [(word, self._plain(value)) for word, value in node.args.items() if value not in (None, False)]
            key = self._ids[id(node)] = self._known.setdefault((type(node), tuple(parts)), len(self._known))
            if isinstance(node, exp.AggFunc) or any(map(self._is_over_rows, node.iter_expressions())):
                self._over_rows.add(key)

    def _is_unchanged(self, node: exp.Expr) -> bool:
        """Return True for parentheses, for a cast to the type that the value has, and for what is done once more."""
        if isinstance(node, exp.Paren):
            return True
        again = isinstance(node, _AGAIN) or (isinstance(node, exp.Substring) and is_beginning(node))
        inner = self.inner(node.this) if again or isinstance(node, exp.Cast | exp.Round) else None
        if isinstance(node, exp.Round) and type_of(node) not in (FLOAT, DOUBLE):
            return False
        if isinstance(node, exp.Cast):
            to, known = physical(node.args["to"].sql(dialect="spark")), self.columns.get(self.inner(node.this).name)
            if isinstance(inner, exp.Column):
                return isinstance(known, Type) and not (known.grows or known.widens) and to.name == known.name
            return to.kind == "string" and self._is_text(node.this)
        if type(node) is not type(inner):
            return False
        own = ("this",) if inner.args.get("position") else ("this", "position")
        words = [{word: value for word, value in each.args.items() if value} for each in (node, inner)]
        return all(words[0].get(word) == words[1].get(word) for word in {*words[0], *words[1]}.difference(own))

    def _is_text(self, node: exp.Expr) -> bool:
        inner = self.inner(node)
        known = self.columns.get(inner.name) if isinstance(inner, exp.Column) else None
        if isinstance(inner, exp.Coalesce | exp.Nullif | exp.Greatest | exp.Least):
            return self._is_text(inner.this)
        return isinstance(inner, _TEXTS) or (isinstance(known, Type) and known.kind == "string")

    def inner(self, node: exp.Expr) -> exp.Expr:
        """Return the node within all that changes nothing."""
        while id(node) in self._unchanged:
            node = self._unchanged[id(node)]
        return node

    def _is_over_rows(self, node: exp.Expr) -> bool:
        """Return True if there is an aggregate in it, whose 64 bits are enough."""
        return self._ids[id(node)] in self._over_rows

    def _plain(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(self._plain, value))
        return self._ids[id(value)] if isinstance(value, exp.Expr) else str(value)

    def assume(self, node: exp.Expr, outcome: Values) -> None:
        """Take a node, and all that are alike, for these values."""
        self.assumptions[self._ids[id(node)]] = outcome
        self._memory.clear()

    def key(self, node: exp.Expr) -> int:
        """Return the number of a node, which is that of all that are alike."""
        return self._ids[id(node)]

    def known_length(self, node: exp.Expr) -> Values | None:
        """Return the lengths of a text that are known of the piece of now."""
        key = self._known.get((exp.Length, (("this", self.key(node)),)))
        known = self._world.get(key)
        return known if known is not None and known.exist else None

    def possible(self, node: exp.Expr, where: Sequence[exp.Expr] = ()) -> Values:
        """Return the values that a node may have where all conditions are true."""
        self._world, self._cuts, self._bases, self._uses = {}, {}, {}, Counter()
        self._memory.clear()
        widest, outcome = self.of(node), list[Values]()
        for each in where:
            self.of(each)
        parts = [part for each in (node, *where) for part in each.walk() if id(part) not in self._unchanged]
        counts = Counter(self._ids[id(part)] for part in parts)
        for world in self._worlds(counts):
            self._world = world
            self._memory.clear()
            if all(self.of(each).include(1) for each in where):
                outcome = [hull([*outcome, self.of(node)])]
                if outcome == [widest]:
                    break
        self._world = {}
        self._memory.clear()
        return outcome[0] if outcome else replace(NOTHING, null=False)

    def _worlds(self, counts: Counter[Any]) -> Iterator[dict[Any, Values]]:
        """Yield a piece for each expression that is there more than once, in all ways that the budget allows."""
        axes: dict[Any, list[Values]] = {}
        left = max(_BUDGET // counts.total(), 1)
        keys = [key for key, uses in self._uses.items() if max(uses, counts[key]) > 1]
        axes_by_key = {key: pieces(self._bases[key], self._cuts[key]) for key in keys}
        for key, parts in sorted(axes_by_key.items(), key=lambda each: len(each[1])):
            if parts and len(parts) <= left:
                axes[key], left = parts, left // len(parts)
        for world in product(*axes.values()):
            yield dict(zip(axes, world, strict=True))

    def of(self, node: exp.Expr) -> Values:
        """Return the values of a node in the pieces of now."""
        node = self.inner(node)
        if id(node) not in self._memory:
            self._memory[id(node)] = self._record(self._ids[id(node)], self._judged(node))
        return self._memory[id(node)]

    def _judged(self, node: exp.Expr) -> Values:
        key = self._ids[id(node)]
        for known in (self._world, self.assumptions):
            if key in known:
                return known[key]
        judge = _JUDGES.get(type(node))
        return judge(self, node) if judge else ANY

    def _record(self, key: Any, outcome: Values) -> Values:
        if not self._world:
            self._bases[key] = outcome
        return outcome

    def _cut(self, node: exp.Expr, *others: Values) -> None:
        """Note that a node is compared with others, so that they may cut its values."""
        if not isinstance(node, exp.Literal):
            self._cut_at(self._ids[id(node)], others)

    def _cut_at(self, key: Any, others: Sequence[Values]) -> None:
        if not self._world:
            self._uses[key] += max(len(others), 1)
            self._cuts.setdefault(key, set()).update(each.low for each in others if each.point is not None)

    def _parts(self, node: exp.Expr) -> list[Values]:
        """Return the values of every expression right below."""
        return [self.of(each) for each in node.iter_expressions() if not isinstance(each, exp.DataType)]

    def column(self, node: exp.Column) -> Values:
        known = self.columns.get(node.name)
        outcome = known if isinstance(known, Values) else of_type(known, tuple(self.texts)) if known else ANY
        self._record(self._ids[id(node)], outcome)
        if isinstance(known, Type) and known.kind == "boolean":
            self._cut(node, constant(0))
        return outcome

    def literal(self, node: exp.Literal) -> Values:
        if node.is_string:
            return constant(self.texts[node.name]) if node.name in self.texts else ANY
        return _number(node.name) or ANY

    def cast(self, node: exp.Expr) -> Values:
        of, inner = physical(node.args["to"].sql(dialect="spark")), node.this.unnest()
        given = self.of(node.this)
        if of.name == "double" and given.exist and given.are_finite and self._is_number(inner):
            return Values(Fraction(float(given.low)), Fraction(float(given.high)), null=given.null)
        sign = -1 if isinstance(inner, exp.Neg) else 1
        written = inner.this.unnest() if isinstance(inner, exp.Neg) else inner
        if isinstance(written, exp.Literal) and of.kind not in ("string", "boolean", "binary"):
            value = _moment(of, written.name) if of.kind in TEMPORAL else _number(written.name, of.has_nan)
            return constant(sign * value.low) if value else of_type(of)
        if type_of(inner) not in (None, FLOAT, DOUBLE) and holds(of, given):
            return given
        if of.kind == "string":
            return replace(self.text(node), null=given.null)
        return hull([of_type(of, tuple(self.texts))], null=True)

    def _is_number(self, node: exp.Expr) -> bool:
        known = self.columns.get(node.name) if isinstance(node, exp.Column) else None
        counts = isinstance(node, exp.Count | exp.CountIf | exp.Filter)
        return counts or (isinstance(known, Type) and known.kind in ("whole", "decimal"))

    def compare(self, node: exp.Expr) -> Values:
        return self._compare(type(node), node.this, node.expression)

    def _compare(self, by: type[exp.Expr], one: exp.Expr, other: exp.Expr) -> Values:
        one, other = self._bare(one), self._bare(other)
        a, b = self.of(one), self.of(other)
        self._cut(one, b)
        self._cut(other, a)
        signs, same = self._order(one, a, other, b), self._ids[id(one)] == self._ids[id(other)]
        true = any(sign in _SIGNS[by] for sign in signs)
        false = any(sign not in _SIGNS[by] for sign in signs)
        if by not in (exp.NullSafeEQ, exp.NullSafeNEQ):
            return truth(true=true, false=false, null=a.null or b.null)
        both, either = a.null and b.null, not same and ((a.null and b.exist) or (b.null and a.exist))
        equal, differ = (both, either) if by is exp.NullSafeEQ else (either, both)
        return truth(true=true or equal, false=false or differ, null=False)

    def _bare(self, node: exp.Expr) -> exp.Expr:
        """Return the operand of functions that change nothing but its type, which no comparison minds."""
        while is_same(self, node := node.unnest()):
            node = node.this
        return node

    def _order(self, one: exp.Expr, a: Values, other: exp.Expr, b: Values) -> Collection[int]:
        """Return the signs that the difference of two values may have."""
        if not (a.exist and b.exist):
            return ()
        key = self._ids[id(one)], self._ids[id(other)]
        if key[0] == key[1]:
            return (0,)
        sign = -1 if key[0] > key[1] else 1
        pair = min(key), max(key)
        outcome = [-1] * (a.low < b.high) + [1] * (a.high > b.low)
        outcome += [0] * (max(a.low, b.low) <= min(a.high, b.high) and not self._never_equal(one, a, other, b))
        outcome = [each for each in outcome if each in signs_between(self, one, other)]
        if pair in self._world:
            return {int(sign * self._world[pair].low)} & {*outcome}
        if not self._world and outcome and a.point is None and b.point is None:
            signs = [sign * each for each in outcome]
            self._record(pair, Values(min(signs), max(signs), null=False, step=1))
            self._cut_at(pair, [constant(0)])
        return outcome

    def _never_equal(self, one: exp.Expr, a: Values, other: exp.Expr, b: Values) -> bool:
        """Return True if no value of one is among the other's: between two multiples, a capital among small letters, or
        a text of another length.
        """
        for node, of, text, value in ((one, a, other, b), (other, b, one, a)):
            if value.point is not None and not of.include(value.point):
                return True
            if isinstance(text, exp.Literal) and text.is_string:
                length, letters = length_of(self, node), _CHANGED.get(type(node), str)
                is_other = text.name.isascii() and letters(text.name) != text.name
                return is_other or not length.include(len(text.name)) or not self._may_be_written(node, text.name)
        return False

    def _may_be_written(self, node: exp.Expr, text: str) -> bool:
        """Return False if a text is no number, and only numbers are written so."""
        is_of_number = isinstance(node, exp.Cast) and type_of(node.this.unnest()) not in (None, DATE)
        return not is_of_number or _NUMBER.fullmatch(text) is not None

    def between(self, node: exp.Between) -> Values:
        low = self._compare(exp.GTE, node.this, node.args["low"])
        return _both(low, self._compare(exp.LTE, node.this, node.args["high"]))

    def among(self, node: exp.In) -> Values:
        outcome = [self._compare(exp.EQ, node.this, each) for each in node.expressions]
        true, null = any(each.include(1) for each in outcome), any(each.null for each in outcome)
        certain = any(each.point == 1 and not each.null for each in outcome)
        false = all(each.include(0) for each in outcome)
        return truth(true=true, false=false, null=null and not certain)

    def state(self, node: exp.Is) -> Values:
        outcome = self.of(node.this)
        is_null = isinstance(node.expression, exp.Null)
        self._cut(node.this, *([] if is_null else [constant(0)]))
        if is_null:
            return truth(true=outcome.null, false=outcome.exist, null=False)
        wanted = int(node.expression.this)
        return truth(true=outcome.include(wanted), false=outcome.null or outcome.include(1 - wanted), null=False)

    def negation(self, node: exp.Not) -> Values:
        return _opposite(self.of(node.this))

    def like(self, node: exp.Expr) -> Values:
        """Return the truth of LIKE and its like, which only a pattern of everything decides."""
        text = self.of(node.this)
        every = _is_of_every_text(node) or is_part(self, node.expression, node.this, type(node))
        key = type(node), self._ids[id(node.this)], self._ids[id(node.expression)]
        null = any(each.null for each in self._parts(node))
        usual = truth(true=text.exist, false=text.exist and not every, null=null)
        outcome = self._world.get(key) or self._record(key, usual)
        self._cut_at(key, [constant(0)])
        return _opposite(outcome) if node.args.get("negate") else outcome

    def escaped(self, node: exp.Escape) -> Values:
        return self.of(node.this)

    def is_nan(self, node: exp.IsNan) -> Values:
        outcome = self.of(node.this)
        self._cut(node, constant(0))
        nan = outcome.high >= NAN and outcome.exist
        return truth(true=nan, false=outcome.null or outcome.low < NAN, null=False)

    def case(self, node: exp.Case) -> Values:
        branches, subject = [], node.args.get("this")
        for each in node.args["ifs"]:
            when = self._compare(exp.EQ, subject, each.this) if subject is not None else self.of(each.this)
            branches.append((when, each.args["true"]))
        return self._chosen(branches, node.args.get("default"))

    def condition(self, node: exp.If) -> Values:
        return self._chosen([(self.of(node.this), node.args["true"])], node.args.get("false"))

    def _chosen(self, branches: Sequence[tuple[Values, exp.Expr]], default: exp.Expr | None) -> Values:
        outcome = []
        for when, then in branches:
            if when.include(1):
                outcome.append(self.of(then))
            if when.point == 1 and not when.null:
                return hull(outcome)
        return hull([*outcome, self.of(default) if default is not None else NOTHING])

    def first(self, node: exp.Coalesce) -> Values:
        outcome: list[Values] = []
        for each in (node.this, *node.expressions):
            self._cut(each)
            outcome.append(self.of(each))
            if not outcome[-1].null:
                break
        return hull(outcome, null=all(each.null for each in outcome))

    def largest(self, node: exp.Expr) -> Values:
        """Return the values of GREATEST or LEAST, which pass over nulls."""
        outcomes = [self.of(each) for each in (node.this, *node.expressions)]
        whole = hull(outcomes, null=all(each.null for each in outcomes))
        always = [each for each in outcomes if not each.null]
        low, high = whole.low, whole.high
        if always and isinstance(node, exp.Greatest):
            low = max(each.low for each in always)
        elif always:
            high = min(each.high for each in always)
        return Values(low, high, null=whole.null, step=whole.step)

    def nullif(self, node: exp.Nullif) -> Values:
        outcome, same = self.of(node.this), self._compare(exp.EQ, node.this, node.expression)
        self._cut(node.this, self.of(node.expression))  # it is of two kinds: null there, and all others
        if same.point == 1 or not outcome.exist:
            return NOTHING
        return hull([outcome], null=outcome.null or same.include(1))

    def sum_of(self, node: exp.Binary) -> Values:
        a, b = self.of(node.this), self.of(node.expression)
        null = a.null or b.null
        if not (a.exist and b.exist):
            return NOTHING
        if isinstance(node.expression, exp.Interval) or not (a.are_finite and b.are_finite):
            return ANY
        if isinstance(node, exp.Sub):
            if self._ids[id(node.this)] == self._ids[id(node.expression)]:
                return Values(0, 0, null=null)
            if self._is_part(node.expression, node.this):
                return Values(0, a.high, null=null)
            b = Values(-b.high, -b.low, null=b.null, step=b.step)
        return self._number_between(node, [a.low + b.low, a.high + b.high], null=null, step=common_step([a, b]))

    def _number_between(self, node: exp.Expr, ends: Sequence[Exact], *, null: bool, step: Exact | None) -> Values:
        """Return the result of arithmetic by its type: floats are off a little, and whole numbers may begin again."""
        kind, low, high = type_of(node), min(ends), max(ends)
        if is_sure(kind, low, high):
            return Values(low, high, null=null, step=step)
        if kind in BITS:
            return Values(-(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1, null=null, step=1)
        if kind in (FLOAT, DOUBLE):
            off = max(-low, high) * _OFF
            return number_between([_off(low, -off), _off(high, off)], null=null)
        return ANY if kind else number_between(ends, null=null, step=step)

    def times(self, node: exp.Mul) -> Values:
        a, b = self.of(node.this), self.of(node.expression)
        if not (a.exist and b.exist):
            return NOTHING
        if self._is_over_rows(node) and min(a.low, b.low) >= 0:
            return Values(a.low * b.low, min(a.high * b.high, ENDLESS), null=a.null or b.null)
        if not (a.are_finite and b.are_finite):
            is_square = self.key(node.this) == self.key(node.expression) and type_of(node) == DOUBLE
            return Values(0, NAN, null=a.null) if is_square else ANY
        ends, null = [x * y for x in (a.low, a.high) for y in (b.low, b.high)], a.null or b.null
        steps = [common_step([each]) for each in (a, b)]
        step = steps[0] * steps[1] if steps[0] and steps[1] else None
        if self.key(node.this) == self.key(node.expression):
            ends = [each for each in ends if each >= 0] if a.low * a.high > 0 else [0, *(x for x in ends if x >= 0)]
        return self._number_between(node, ends, null=null, step=step)

    def quotient(self, node: exp.Div) -> Values:
        a, b = self.of(node.this), self.of(node.expression)
        if b.point is not None and a.exist and a.are_finite and not self._is_over_rows(node):
            return self._share(node, a, b.point)
        if not (a.exist and b.exist) or min(a.low, b.low) < 0 or not (self._is_over_rows(node) or a.are_finite):
            return ANY
        factor, part = _factor_of(node.this)
        most = self._of_each(part, node.expression)
        return Values(0, ENDLESS if most is None else factor * most)

    def _share(self, node: exp.Div, of: Values, by: Exact) -> Values:
        """Return the quotient by a number that is written out. A decimal's is rounded to six places or more."""
        if not by:
            return NOTHING
        kind, (low, high) = type_of(node), sorted((Fraction(of.low) / by, Fraction(of.high) / by))
        off = Fraction(1, 10**6) if kind and kind.is_decimal else 0
        outcome = self._number_between(node, [low - off, high + off], null=True, step=None)
        return replace(outcome, low=max(outcome.low, 0)) if low >= 0 else outcome

    def _of_each(self, part: exp.Expr, of: exp.Expr) -> Exact | None:
        """Return how much of the first there is at most for each that the second counts."""
        part, of = _uncast(part), _uncast(of)
        if isinstance(part, exp.Sum) and isinstance(of, exp.Count) and isinstance(of.this, exp.Star | exp.Literal):
            each = self.inputs[self._ids[id(part)]]
            return each.high if each.exist and each.low >= 0 and each.are_finite else None
        return 1 if self._is_part(part, of) else None

    def _is_part(self, part: exp.Expr, of: exp.Expr) -> bool:
        """Return True if one counts some of what the other counts."""
        part, of = _uncast(part), _uncast(of)
        counts = isinstance(part, exp.Count | exp.CountIf | exp.Filter) and isinstance(of, exp.Count)
        if not counts or not isinstance(part.this if isinstance(part, exp.Filter) else part, exp.Count | exp.CountIf):
            return False
        if isinstance(of.this, exp.Star | exp.Literal):
            return True
        inner = part.this
        values = inner.expressions if isinstance(inner, exp.Distinct) else [inner]
        return len(values) == 1 and self._ids[id(values[0])] == self._ids[id(of.this)]

    def remainder(self, node: exp.Mod) -> Values:
        a, by = self.of(node.this), self.of(node.expression)
        if by.point == 0 or not (a.exist and by.exist):
            return NOTHING
        if not (a.are_finite and by.are_finite):
            return ANY
        if by.point is None:
            most = min(max(-a.low, a.high), max(-by.low, by.high))
            return Values(0 if a.low >= 0 else -most, most if a.high > 0 else 0)
        if is_multiple(a.step, by.point):
            return Values(0, 0, null=a.null)
        most = max(by.point, -by.point)
        step = a.step if a.step and is_multiple(most, a.step) else None
        most -= step or 0
        return Values(0 if a.low >= 0 else -most, most if a.high > 0 else 0, null=a.null, step=step)

    def negative(self, node: exp.Neg) -> Values:
        outcome = self.of(node.this)
        if not outcome.exist or not outcome.are_finite:
            return ANY if outcome.exist else NOTHING
        if isinstance(node.this.unnest(), exp.Literal):
            return constant(-outcome.low)
        return self._number_between(node, [-outcome.low, -outcome.high], null=outcome.null, step=outcome.step)

    def not_negative(self, node: exp.Expr) -> Values:
        outcome = self.of(node.this)
        return Values(0, max(outcome.high, NAN if not outcome.are_finite else ENDLESS), null=outcome.null)

    def days_between(self, node: exp.DateDiff) -> Values:
        null = any(each.null for each in self._parts(node))
        return Values(0, 0, null=null) if self.key(node.this) == self.key(node.expression) else ANY

    def absolute(self, node: exp.Abs) -> Values:
        outcome = self.of(node.this)
        if not outcome.exist or not outcome.are_finite:
            return self.not_negative(node)
        low, high = max(outcome.low, -outcome.high, 0), max(-outcome.low, outcome.high)
        return Values(low, high, null=outcome.null, step=outcome.step)

    def sign(self, node: exp.Sign) -> Values:
        outcome = self.of(node.this)
        low, step = -1 if outcome.low < 0 else 0, 1 if outcome.high < NAN else None
        return Values(low, 1 if step else NAN, null=outcome.null, step=step)

    def rounded(self, node: exp.Expr) -> Values:
        """Return the multiples of a place that may be rounded to. Before the point, a whole number may begin again."""
        outcome, places, kind = self.of(node.this), places_of(node.args.get("decimals")), type_of(node.this.unnest())
        if places is None or not outcome.exist:
            return ANY if outcome.exist else NOTHING
        is_double = kind in (FLOAT, DOUBLE) and isinstance(node, exp.Round)
        if kind is None or is_double or not outcome.are_finite:
            return Values(0 if outcome.low >= 0 else -ENDLESS, ENDLESS, null=outcome.null)
        unit = Fraction(1, 10**places)
        if is_multiple(outcome.step, unit):
            return outcome
        low = (-(-outcome.low // unit) if isinstance(node, exp.Ceil) else outcome.low // unit) * unit
        high = (outcome.high // unit if isinstance(node, exp.Floor) else -(-outcome.high // unit)) * unit
        return Values(low, high, null=outcome.null, step=unit)

    def length(self, node: exp.Length) -> Values:
        null = self.of(node.this).null
        return replace(length_of(self, node.this), null=null)

    def text(self, node: exp.Expr) -> Values:
        """Return the places of a text, which is behind the empty one if it has a letter."""
        first = self.texts.get("", 0)
        low = first + TINY if first and length_of(self, node).low else first
        return Values(low, len(self.texts) + 1, null=any(each.null for each in self._parts(node)))

    def anonymous(self, node: exp.Anonymous) -> Values:
        is_size = node.name in ("ARRAY_SIZE", "OCTET_LENGTH")
        return Values(0, 2**31 - 1, null=any(each.null for each in self._parts(node)), step=1) if is_size else ANY

    def bounds(self, node: exp.Expr) -> Values:
        low, high = _BOUNDS[type(node)]
        return Values(low, high, null=any(each.null for each in self._parts(node)), step=1)

    def both(self, node: exp.And) -> Values:
        return _both(self.of(node.this), self.of(node.expression))

    def either(self, node: exp.Or) -> Values:
        return _opposite(_both(_opposite(self.of(node.this)), _opposite(self.of(node.expression))))

    def aggregate(self, node: exp.Expr, where: Sequence[exp.Expr], *, fewest: int = 0) -> Values:
        """Return the results of an aggregate over the rows for which all conditions are true."""
        if isinstance(node, exp.Filter):
            return self.aggregate(node.this, [*where, node.expression.this])
        if isinstance(node.this, exp.Star):
            reached = self.possible(where[0], where).exist if where else True
            return Values(fewest, COUNTS.high, null=False, step=1) if reached else constant(0)
        inner = node.this
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) > 1:
                return COUNTS
            inner = inner.expressions[0]
        each = self.inputs[self._ids[id(node)]] = self.possible(inner, where)
        return _aggregate_of(node, each)


def _is_of_every_text(node: exp.Expr) -> bool:
    """Return True if a pattern that is written out lets every text through."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal):
        return False
    return bool(pattern.name) and not pattern.name.strip("%") if isinstance(node, exp.Like) else not pattern.name


def _number_type(of: Type) -> str:
    """Return the name of a column's type, in which it may be computed with; none if files may widen it beyond."""
    if of.kind == "whole" and of.grows:
        return "bigint"
    return "double" if of.widens else "" if of.grows else of.name


def _off(end: Exact, off: Exact) -> Exact:
    """Return an end as far off as a result of floats may be; what is near 0 may be 0."""
    moved = end + off
    return moved if max(end, -end) > _FAINT else min(moved, 0) if off < 0 else max(moved, 0)


def _in_bytes(text: str) -> bytes:
    """Return the key by which engines order texts."""
    return text.encode("utf-8", "surrogatepass")


def _both(one: Values, other: Values) -> Values:
    """Return the truth of AND."""
    either = [(one, other), (other, one)]
    return truth(
        true=one.include(1) and other.include(1),
        false=any(a.include(0) and (b.exist or b.null) for a, b in either),
        null=any(a.null and (b.include(1) or b.null) for a, b in either),
    )


def _opposite(outcome: Values) -> Values:
    return truth(true=outcome.include(0), false=outcome.include(1), null=outcome.null)


def _aggregate_of(node: exp.Expr, of: Values) -> Values:
    """Return the results of an aggregate over so many rows as may be, each with one of these values."""
    if isinstance(node, exp.Count | exp.CountIf):
        return _count_of(node, of)
    if not of.exist:
        return NOTHING
    if isinstance(node, _AMONG_THEM):
        return replace(of, null=True, step=of.step if isinstance(node, exp.Min | exp.Max) else None)
    if isinstance(node, _SPREADS):
        return Values(0, ENDLESS)
    if isinstance(node, exp.Sum) and of.low >= -_SUMMED and of.high <= _SUMMED:
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
            if isinstance(factor.unnest(), exp.Literal) and (number := _number(factor.unnest().name)):
                return number.low, rest
    return 1, node


def _number(text: str, floating: bool = False) -> Values | None:  # noqa: FBT001, FBT002
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


def _moment(of: Type, text: str) -> Values | None:
    """Return a date or a timestamp that is written out, in microseconds; None if it is none."""
    try:
        value = of.parse(text)
    except ValueError:
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return constant((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


_Judge = Callable[[Outcomes, Any], Values]
_JUDGES: Mapping[type[exp.Expr], _Judge] = {
    exp.Column: Outcomes.column,
    exp.Literal: Outcomes.literal,
    exp.Boolean: lambda _, node: constant(int(node.this)),
    exp.Null: lambda _, __: NOTHING,
    exp.Paren: lambda outcomes, node: outcomes.of(node.this),
    **dict.fromkeys((exp.Cast, exp.TryCast), Outcomes.cast),
    **dict.fromkeys(_SIGNS, Outcomes.compare),
    **dict.fromkeys((exp.Like, exp.StartsWith, exp.EndsWith, exp.Contains, exp.RegexpLike), Outcomes.like),
    exp.Anonymous: Outcomes.anonymous,
    exp.Escape: Outcomes.escaped,
    exp.Between: Outcomes.between,
    exp.In: Outcomes.among,
    exp.Is: Outcomes.state,
    exp.And: Outcomes.both,
    exp.Or: Outcomes.either,
    exp.Not: Outcomes.negation,
    exp.IsNan: Outcomes.is_nan,
    exp.Case: Outcomes.case,
    exp.If: Outcomes.condition,
    exp.Coalesce: Outcomes.first,
    **dict.fromkeys((exp.Greatest, exp.Least), Outcomes.largest),
    exp.Nullif: Outcomes.nullif,
    **dict.fromkeys((exp.Add, exp.Sub), Outcomes.sum_of),
    exp.Mul: Outcomes.times,
    exp.Div: Outcomes.quotient,
    exp.Mod: Outcomes.remainder,
    exp.Neg: Outcomes.negative,
    exp.Abs: Outcomes.absolute,
    exp.DateDiff: Outcomes.days_between,
    exp.Length: Outcomes.length,
    **dict.fromkeys((exp.Sqrt, exp.Exp), Outcomes.not_negative),
    exp.Sign: Outcomes.sign,
    **dict.fromkeys(_ROUNDS, Outcomes.rounded),
    **dict.fromkeys(_TEXTS, Outcomes.text),
    **dict.fromkeys(_BOUNDS, Outcomes.bounds),
}
