"""Outcomes of an expression: the values that it may have, whatever the row. What no row can change is no check.

What is compared more than once is put in pieces at what it is compared with, and the whole is judged in each piece, as
far as a budget goes. It parses nothing, and knows neither queries nor checks.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from sqlglot import exp

from lakegate.contracts.columns.types import TEMPORAL, Type, physical
from lakegate.contracts.outcomes import numbers, truths
from lakegate.contracts.outcomes.lengths import CASE_TYPES, CUT_TYPES, JOIN_TYPES, is_beginning, length_of
from lakegate.contracts.outcomes.numbers import aggregate_of, written_moment, written_number
from lakegate.contracts.outcomes.truths import compare_operands
from lakegate.contracts.outcomes.values import (
    ANY,
    COUNTS,
    NO_VALUES,
    TINY,
    Exact,
    Values,
    constant,
    holds,
    hull,
    of_type,
    pieces,
)
from lakegate.duckdb.numbers import DOUBLE, FLOAT, annotate, type_of

_BUDGET = 8_000  # nodes that are judged for one question
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
_TEXTS = (*JOIN_TYPES, *CUT_TYPES, *CASE_TYPES, exp.Replace)
_IDEMPOTENT = (  # done a second time they change nothing
    *(exp.Abs, exp.Sign, exp.Ceil, exp.Floor, exp.Mod, exp.Greatest, exp.Least, exp.Coalesce, exp.Nullif),
    *(exp.Trim, exp.Left, exp.Right, *CASE_TYPES),
)


class Outcomes:
    """The outcomes of some trees over the same columns, by their types or, of a query's own, by their values."""

    def __init__(self, trees: Sequence[exp.Expr], columns: Mapping[str, Type | Values], texts: Collection[str]) -> None:
        self.columns = columns
        texts_in_order = sorted(texts, key=lambda text: text.encode("utf-8", "surrogatepass"))  # as engines order them
        self.texts = {text: place for place, text in enumerate(texts_in_order, start=1)}
        self._over_rows: set[Any] = set()
        self.inputs: dict[Any, Values] = {}
        self.assumptions: dict[Any, Values] = {}
        self.world: dict[Any, Values] = {}
        self._cuts: dict[Any, set[Exact]] = {}
        self._bases: dict[Any, Values] = {}
        self._ids: dict[int, int] = {}
        self._numbers: dict[Any, int] = {}
        self._memory: dict[int, Values] = {}
        self._operands: dict[int, exp.Expr] = {}
        self._uses: Counter[Any] = Counter()
        kinds = {
            name.lower(): _number_type(column_type)
            for name, column_type in columns.items()
            if isinstance(column_type, Type)
        }
        for tree in trees:
            if kinds:  # else its numbers are a bound of any size
                annotate(tree, kinds)
            self._number(tree)

    def _number(self, tree: exp.Expr) -> None:
        """Give each node a number, which is the same for those that are alike."""
        for node in reversed(list(tree.walk())):  # a node comes after its parent
            if self._is_unchanged(node):
                self._operands[id(node)], self._ids[id(node)] = node.this, self.key(node.this)
                continue
            parts = [(word, self._plain(value)) for word, value in node.args.items() if value not in (None, False)]
            key = self._ids[id(node)] = self._numbers.setdefault((type(node), tuple(parts)), len(self._numbers))
            if isinstance(node, exp.AggFunc) or any(map(self.is_over_rows, node.iter_expressions())):
                self._over_rows.add(key)

    def _is_unchanged(self, node: exp.Expr) -> bool:
        """Return True for parentheses, for a cast to the type that the value has, and for what is done once more."""
        if isinstance(node, exp.Paren):
            return True
        is_idempotent = isinstance(node, _IDEMPOTENT) or (isinstance(node, exp.Substring) and is_beginning(node))
        inner = self.inner(node.this) if is_idempotent or isinstance(node, exp.Cast | exp.Round) else None
        if isinstance(node, exp.Round) and type_of(node) not in (FLOAT, DOUBLE):
            return False
        if isinstance(node, exp.Cast):
            to, column_type = (
                physical(node.args["to"].sql(dialect="spark")),
                self.columns.get(self.inner(node.this).name),
            )
            if isinstance(inner, exp.Column):
                return (
                    isinstance(column_type, Type)
                    and not (column_type.grows or column_type.widens)
                    and to.name == column_type.name
                )
            return to.kind == "string" and self._is_text(node.this)
        if type(node) is not type(inner):
            return False
        own_words = ("this",) if inner.args.get("position") else ("this", "position")
        words = [{word: value for word, value in part.args.items() if value} for part in (node, inner)]
        return all(words[0].get(word) == words[1].get(word) for word in {*words[0], *words[1]}.difference(own_words))

    def _is_text(self, node: exp.Expr) -> bool:
        inner = self.inner(node)
        column_type = self.columns.get(inner.name) if isinstance(inner, exp.Column) else None
        if isinstance(inner, exp.Coalesce | exp.Nullif | exp.Greatest | exp.Least):
            return self._is_text(inner.this)
        return isinstance(inner, _TEXTS) or (isinstance(column_type, Type) and column_type.kind == "string")

    def inner(self, node: exp.Expr) -> exp.Expr:
        """Return the node within all that changes nothing."""
        while id(node) in self._operands:
            node = self._operands[id(node)]
        return node

    def is_over_rows(self, node: exp.Expr) -> bool:
        """Return True if there is an aggregate in it, whose 64 bits are enough."""
        return self.key(node) in self._over_rows

    def _plain(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(self._plain, value))
        return self.key(value) if isinstance(value, exp.Expr) else str(value)

    def assume(self, node: exp.Expr, outcome: Values) -> None:
        """Take a node, and all that are alike, for these values."""
        self.assumptions[self.key(node)] = outcome
        self._memory.clear()

    def key(self, node: exp.Expr) -> int:
        """Return the number of a node, which is that of all that are alike."""
        return self._ids[id(node)]

    def known_length(self, node: exp.Expr) -> Values | None:
        """Return the lengths of a text that are known of the piece of now."""
        key = self._numbers.get((exp.Length, (("this", self.key(node)),)))
        lengths = self.world.get(key)
        return lengths if lengths is not None and lengths.exist else None

    def possible(self, node: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> Values:
        """Return the values that a node may have where all conditions are true."""
        self.world, self._cuts, self._bases, self._uses = {}, {}, {}, Counter()
        self._memory.clear()
        widest, outcome = self.of(node), list[Values]()
        for condition in conditions:
            self.of(condition)
        parts = [part for tree in (node, *conditions) for part in tree.walk() if id(part) not in self._operands]
        counts = Counter(self.key(part) for part in parts)
        for world in self._worlds(counts):
            self.world = world
            self._memory.clear()
            if all(self.of(condition).include(1) for condition in conditions):
                outcome = [hull([*outcome, self.of(node)])]
                if outcome == [widest]:
                    break
        self.world = {}
        self._memory.clear()
        return outcome[0] if outcome else replace(NO_VALUES, null=False)

    def _worlds(self, counts: Counter[Any]) -> Iterator[dict[Any, Values]]:
        """Yield a piece for each expression that is there more than once, in all ways that the budget allows."""
        axes: dict[Any, list[Values]] = {}
        budget = max(_BUDGET // counts.total(), 1)
        keys = [key for key, uses in self._uses.items() if max(uses, counts[key]) > 1]
        axes_by_key = {key: pieces(self._bases[key], self._cuts[key]) for key in keys}
        for key, parts in sorted(axes_by_key.items(), key=lambda pair: len(pair[1])):
            if parts and len(parts) <= budget:
                axes[key], budget = parts, budget // len(parts)
        for world in product(*axes.values()):
            yield dict(zip(axes, world, strict=True))

    def of(self, node: exp.Expr) -> Values:
        """Return the values of a node in the pieces of now."""
        node = self.inner(node)
        if id(node) not in self._memory:
            self._memory[id(node)] = self.record(self.key(node), self._judge_node(node))
        return self._memory[id(node)]

    def _judge_node(self, node: exp.Expr) -> Values:
        key = self.key(node)
        for values_by_key in (self.world, self.assumptions):
            if key in values_by_key:
                return values_by_key[key]
        judge = _JUDGES.get(type(node))
        return judge(self, node) if judge else ANY

    def record(self, key: Any, outcome: Values) -> Values:
        if not self.world:
            self._bases[key] = outcome
        return outcome

    def cut_values(self, node: exp.Expr, *other_values: Values) -> None:
        """Note that a node is compared with others, so that they may cut its values."""
        if not isinstance(node, exp.Literal):
            self.cut_at(self.key(node), other_values)

    def cut_at(self, key: Any, other_values: Sequence[Values]) -> None:
        if not self.world:
            self._uses[key] += max(len(other_values), 1)
            self._cuts.setdefault(key, set()).update(values.low for values in other_values if values.point is not None)

    def parts(self, node: exp.Expr) -> list[Values]:
        """Return the values of every expression right below."""
        return [self.of(part) for part in node.iter_expressions() if not isinstance(part, exp.DataType)]

    def column(self, node: exp.Column) -> Values:
        column_values = self.columns.get(node.name)
        outcome = (
            column_values
            if isinstance(column_values, Values)
            else of_type(column_values, tuple(self.texts))
            if column_values
            else ANY
        )
        self.record(self.key(node), outcome)
        if isinstance(column_values, Type) and column_values.kind == "boolean":
            self.cut_values(node, constant(0))
        return outcome

    def literal(self, node: exp.Literal) -> Values:
        if node.is_string:
            return constant(self.texts[node.name]) if node.name in self.texts else ANY
        return written_number(node.name) or ANY

    def cast(self, node: exp.Expr) -> Values:
        of, inner = physical(node.args["to"].sql(dialect="spark")), node.this.unnest()
        operand = self.of(node.this)
        if of.name == "double" and operand.exist and operand.are_finite and self._is_number(inner):
            return Values(Fraction(float(operand.low)), Fraction(float(operand.high)), null=operand.null)
        sign = -1 if isinstance(inner, exp.Neg) else 1
        literal = inner.this.unnest() if isinstance(inner, exp.Neg) else inner
        if isinstance(literal, exp.Literal) and of.kind not in ("string", "boolean", "binary"):
            is_time, text = of.kind in TEMPORAL, literal.name
            value = written_moment(of, text) if is_time else written_number(text, floating=of.has_nan)
            return constant(sign * value.low) if value else of_type(of)
        if type_of(inner) not in (None, FLOAT, DOUBLE) and holds(of, operand):
            return operand
        if of.kind == "string":
            return replace(self.text(node), null=operand.null)
        return hull([of_type(of, tuple(self.texts))], null=True)

    def _is_number(self, node: exp.Expr) -> bool:
        column_type = self.columns.get(node.name) if isinstance(node, exp.Column) else None
        counts = isinstance(node, exp.Count | exp.CountIf | exp.Filter)
        return counts or (isinstance(column_type, Type) and column_type.kind in ("whole", "decimal"))

    def case(self, node: exp.Case) -> Values:
        branches, subject = [], node.args.get("this")
        for branch in node.args["ifs"]:
            condition = (
                compare_operands(self, exp.EQ, subject, branch.this) if subject is not None else self.of(branch.this)
            )
            branches.append((condition, branch.args["true"]))
        return self._values_of_branches(branches, node.args.get("default"))

    def condition(self, node: exp.If) -> Values:
        return self._values_of_branches([(self.of(node.this), node.args["true"])], node.args.get("false"))

    def _values_of_branches(self, branches: Sequence[tuple[Values, exp.Expr]], default: exp.Expr | None) -> Values:
        outcome = []
        for condition, branch in branches:
            if condition.include(1):
                outcome.append(self.of(branch))
            if condition.point == 1 and not condition.null:
                return hull(outcome)
        return hull([*outcome, self.of(default) if default is not None else NO_VALUES])

    def first(self, node: exp.Coalesce) -> Values:
        outcome: list[Values] = []
        for operand in (node.this, *node.expressions):
            self.cut_values(operand)
            outcome.append(self.of(operand))
            if not outcome[-1].null:
                break
        return hull(outcome, null=all(value.null for value in outcome))

    def largest(self, node: exp.Expr) -> Values:
        """Return the values of GREATEST or LEAST, which pass over nulls."""
        outcomes = [self.of(operand) for operand in (node.this, *node.expressions)]
        whole = hull(outcomes, null=all(values.null for values in outcomes))
        never_null = [values for values in outcomes if not values.null]
        low, high = whole.low, whole.high
        if never_null and isinstance(node, exp.Greatest):
            low = max(values.low for values in never_null)
        elif never_null:
            high = min(values.high for values in never_null)
        return Values(low, high, null=whole.null, step=whole.step)

    def nullif(self, node: exp.Nullif) -> Values:
        outcome, equality = self.of(node.this), compare_operands(self, exp.EQ, node.this, node.expression)
        self.cut_values(node.this, self.of(node.expression))  # it is of two kinds: null there, and all others
        if equality.point == 1 or not outcome.exist:
            return NO_VALUES
        return hull([outcome], null=outcome.null or equality.include(1))

    def length(self, node: exp.Length) -> Values:
        return replace(length_of(self, node.this), null=self.of(node.this).null)

    def text(self, node: exp.Expr) -> Values:
        """Return the places of a text, which is behind the empty one if it has a letter."""
        first = self.texts.get("", 0)
        low = first + TINY if first and length_of(self, node).low else first
        return Values(low, len(self.texts) + 1, null=any(values.null for values in self.parts(node)))

    def anonymous(self, node: exp.Anonymous) -> Values:
        is_size = node.name in ("ARRAY_SIZE", "OCTET_LENGTH")
        return Values(0, 2**31 - 1, null=any(values.null for values in self.parts(node)), step=1) if is_size else ANY

    def bounds(self, node: exp.Expr) -> Values:
        low, high = _BOUNDS[type(node)]
        return Values(low, high, null=any(values.null for values in self.parts(node)), step=1)

    def aggregate(self, node: exp.Expr, conditions: Sequence[exp.Expr], *, fewest: int = 0) -> Values:
        """Return the results of an aggregate over the rows for which all conditions are true."""
        if isinstance(node, exp.Filter):
            return self.aggregate(node.this, [*conditions, node.expression.this])
        if isinstance(node.this, exp.Star):
            has_rows = self.possible(conditions[0], conditions).exist if conditions else True
            return Values(fewest, COUNTS.high, null=False, step=1) if has_rows else constant(0)
        inner = node.this
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) > 1:
                return COUNTS
            inner = inner.expressions[0]
        values = self.inputs[self.key(node)] = self.possible(inner, conditions)
        return aggregate_of(node, values)


def _number_type(of: Type) -> str:
    """Return the name of a column's type, in which it may be computed with; none if files may widen it beyond."""
    if of.kind == "whole" and of.grows:
        return "bigint"
    return "double" if of.widens else "" if of.grows else of.name


_Judge = Callable[[Outcomes, Any], Values]
_JUDGES: Mapping[type[exp.Expr], _Judge] = {
    exp.Column: Outcomes.column,
    exp.Literal: Outcomes.literal,
    exp.Boolean: lambda _, node: constant(int(node.this)),
    exp.Null: lambda _, __: NO_VALUES,
    **dict.fromkeys((exp.Paren, exp.Escape), lambda outcomes, node: outcomes.of(node.this)),
    **dict.fromkeys((exp.Cast, exp.TryCast), Outcomes.cast),
    **dict.fromkeys(truths.SIGNS, truths.compare),
    **dict.fromkeys((exp.Like, exp.StartsWith, exp.EndsWith, exp.Contains, exp.RegexpLike), truths.like),
    exp.Anonymous: Outcomes.anonymous,
    exp.Between: truths.in_range,
    exp.In: truths.among,
    exp.Is: truths.state,
    exp.And: truths.conjunction,
    exp.Or: truths.disjunction,
    exp.Not: truths.negation,
    exp.IsNan: truths.is_nan,
    exp.Case: Outcomes.case,
    exp.If: Outcomes.condition,
    exp.Coalesce: Outcomes.first,
    **dict.fromkeys((exp.Greatest, exp.Least), Outcomes.largest),
    exp.Nullif: Outcomes.nullif,
    **dict.fromkeys((exp.Add, exp.Sub), numbers.sum_of),
    exp.Mul: numbers.times,
    exp.Div: numbers.quotient,
    exp.Mod: numbers.remainder,
    exp.Neg: numbers.negative,
    exp.Abs: numbers.absolute,
    exp.DateDiff: numbers.days_between,
    exp.Length: Outcomes.length,
    **dict.fromkeys((exp.Sqrt, exp.Exp), numbers.not_negative),
    exp.Sign: numbers.sign,
    **dict.fromkeys(_ROUNDS, numbers.rounding),
    **dict.fromkeys(_TEXTS, Outcomes.text),
    **dict.fromkeys(_BOUNDS, Outcomes.bounds),
}
