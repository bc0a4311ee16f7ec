"""Relations between two expressions of the same thing: how far one is from it, and so from the other, in every row.

A floor is below its number by less than one, and a piece of a text is no longer than the text. Of texts, only the sign
of a distance means anything. It judges no expression by itself.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lakegate.contracts.columns.types import TEMPORAL, Type, physical
from lakegate.contracts.outcomes.lengths import (
    CASE_TYPES,
    CUT_TYPES,
    JOIN_TYPES,
    is_beginning,
    is_end,
    length_of,
    letters,
)
from lakegate.contracts.outcomes.values import ENDLESS, INFINITE, TINY, Exact, Values, holds, is_multiple, places_of
from lakegate.duckdb.numbers import BIGINT, DOUBLE, FLOAT, INT, Number, branches, type_of

if TYPE_CHECKING:
    from lakegate.contracts.outcomes.expressions import Outcomes

_DAY = 86_400_000_000
_WIDEST = 38  # digits of a decimal, of which some may be lost
_SURE = 28  # digits of a decimal that is compared with any other number as it is


BITS: Mapping[Number | None, int] = {INT: 32, BIGINT: 64}
"""Bits of whole numbers, at whose ends arithmetic begins again from the other."""


@dataclass(frozen=True)
class Distance:
    """The distance of an expression from another, where neither is null; `strict` if it is null where that is."""

    low: Exact
    high: Exact
    strict: bool = True

    def further(self, low: Exact, high: Exact, *, strict: bool = True) -> "Distance":
        return Distance(max(self.low + low, -ENDLESS), min(self.high + high, ENDLESS), self.strict and strict)


Distances = Mapping[Any, Distance]
"""Distances by the keys of what they are from."""
SAME_PLACE = Distance(0, 0)
_UP, _DOWN = (0, ENDLESS), (-ENDLESS, 0)


def signs_between(outcomes: "Outcomes", first: exp.Expr, other: exp.Expr) -> Collection[int]:
    """Return the signs that the difference of two expressions may have by what they have in common."""
    signs = _signs(distances(outcomes, first), distances(outcomes, other))
    if _is_float(first) or _is_float(other):  # two numbers that differ may be one in 64 bits
        signs = signs | {0}
    elif not _signs(_lengths(outcomes, first), _lengths(outcomes, other)) & {0}:
        signs = signs - {0}
    return signs


def is_part(outcomes: "Outcomes", part: exp.Expr, whole: exp.Expr, of: type[exp.Expr]) -> bool:
    """Return True if a text has another in every row: at its beginning, at its end or anywhere."""
    is_right, places = _PARTS.get(of, (bool, slice(None)))
    keys, parts, wholes = {outcomes.key(part)}, [part.unnest()], [whole.unnest()]
    for text in parts:
        if isinstance(text, exp.Nullif) or (isinstance(text, CUT_TYPES) and is_right(text)):
            parts.append(text.this.unnest())
            keys.add(outcomes.key(text.this))
    for text in wholes:
        if isinstance(text, JOIN_TYPES):
            wholes += [inner.unnest() for inner in list(text.iter_expressions())[places]]
    firsts = [part.this for part in wholes if isinstance(part, exp.Coalesce | exp.Nullif)]
    return any(outcomes.key(part) in keys for part in (*wholes, *firsts))


def is_sure(kind: Number | None, low: Exact, high: Exact) -> bool:
    """Return True if arithmetic of that type gives the very numbers between these."""
    if kind is not None and kind.is_decimal:
        return kind.digits < _WIDEST and low > -INFINITE and high < INFINITE
    return kind in BITS and low >= -(2 ** (BITS[kind] - 1)) and high < 2 ** (BITS[kind] - 1)


def is_same(outcomes: "Outcomes", node: exp.Expr) -> bool:
    """Return True if a function gives the very number that it is given, in another type at most, and null for null."""
    judge = _DISTANCES.get(type(node))
    if judge is None or not isinstance(node, (*_ROUNDS, exp.Cast, exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return False
    if _is_float(node) and not _is_float(node.this):  # two whole numbers may be one in 64 bits
        return False
    if isinstance(node, exp.Binary) and outcomes.of(node.expression).null:
        return False
    return judge(outcomes, node).get(outcomes.key(node.this)) == SAME_PLACE


def distances(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far an expression is from all that it is near to, itself among them."""
    node = outcomes.inner(node)
    judge = _DISTANCES.get(type(node))
    return {**(judge(outcomes, node) if judge else {}), outcomes.key(node): SAME_PLACE}


def _signs(first: Distances, other: Distances) -> set[int]:
    signs = {-1, 0, 1}
    for key in first.keys() & other.keys():
        a, b = first[key], other[key]
        if a.strict or b.strict:  # else it may be null, and neither of the two
            low, high = a.low - b.high, a.high - b.low
            signs &= {*[-1] * (low < 0), *[0] * (low <= 0 <= high), *[1] * (high > 0)}
    return signs


def _lengths(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how much longer a text is than all that it is made of."""
    node = outcomes.inner(node)
    own_distance = {("length", outcomes.key(node)): SAME_PLACE}
    if isinstance(node, JOIN_TYPES):
        parts = list(node.iter_expressions())
        sizes = [length_of(outcomes, part) for part in parts]
        low, high = sum(size.low for size in sizes), sum(size.high for size in sizes)
        moves = (
            _move(_lengths(outcomes, part), low - size.low, high - size.high)
            for part, size in zip(parts, sizes, strict=True)
        )
        return {**{key: distance for by_key in moves for key, distance in by_key.items()}, **own_distance}
    if isinstance(node, exp.Coalesce | exp.Nullif):
        first = {("length", outcomes.key(node.this)): SAME_PLACE}
        return {**_move(first, 0, 0, strict=isinstance(node, exp.Nullif)), **own_distance}
    if isinstance(node, (*CUT_TYPES, *CASE_TYPES)):
        return {
            **_move(_lengths(outcomes, node.this), *(_DOWN if isinstance(node, CUT_TYPES) else _UP)),
            **own_distance,
        }
    return own_distance


def _move(by_key: Distances, low: Exact, high: Exact, *, strict: bool = True) -> Distances:
    return {key: distance.further(low, high, strict=strict) for key, distance in by_key.items()}


def _is_float(node: exp.Expr) -> bool:
    return type_of(node.unnest()) in (FLOAT, DOUBLE)


def _is_exact(node: exp.Expr) -> bool:
    kind = type_of(node.unnest())
    return kind is not None and kind not in (FLOAT, DOUBLE) and kind.digits <= _SURE


def _round_distances(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    places = places_of(node.args.get("decimals"))
    if places is None or not _is_exact(node.this):
        return {}
    unit, step = Fraction(1, 10**places), outcomes.of(node.this).step
    error = 0 if is_multiple(step, unit) else unit - step if step and is_multiple(unit, step) else unit
    down, up = (0 if isinstance(node, exp.Ceil) else error), (0 if isinstance(node, exp.Floor) else error)
    return _move(distances(outcomes, node.this), -down, up)


def _cast(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    kind, operand_type = physical(node.args["to"].sql(dialect="spark")), type_of(node.this.unnest())
    keeps_value = operand_type is not None and (holds(kind, outcomes.of(node.this)) if _is_exact(node.this) else False)
    return distances(outcomes, node.this) if keeps_value or (operand_type is not None and kind.name == "double") else {}


def _sum(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a sum is from each of its operands, if it cannot begin again from below."""
    if isinstance(node.expression, exp.Interval) or type_of(node) is None:
        return {}
    sign = -1 if isinstance(node, exp.Sub) else 1
    distance = _distance_of_step(outcomes, node, outcomes.of(node.expression), sign)
    by_key = _move(distances(outcomes, node.this), *distance) if distance else {}
    other = _distance_of_step(outcomes, node, outcomes.of(node.this), 1) if sign > 0 else None
    return {**(_move(distances(outcomes, node.expression), *other) if other else {}), **by_key}


def _distance_of_step(outcomes: "Outcomes", node: exp.Expr, by: Values, sign: int) -> tuple[Exact, Exact] | None:
    if not by.exist or not by.are_finite:
        return None
    low, high = sorted((sign * by.low, sign * by.high))
    if _is_float(node):
        return _UP if low > 0 else _DOWN if high < 0 else (0, 0) if low == high == 0 else None
    a, b = outcomes.of(node.this), outcomes.of(node.expression)
    least, greatest = (
        (a.low + b.low, a.high + b.high) if isinstance(node, exp.Add) else (a.low - b.high, a.high - b.low)
    )
    return (low, high) if _is_exact(node) and is_sure(type_of(node), least, greatest) else None


def _by_one(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return the distances of a product or a quotient by 1 from the other operand: none."""
    orders = [(node.this, node.expression), (node.expression, node.this)][: 2 if isinstance(node, exp.Mul) else 1]
    for inner, by in orders:
        if outcomes.of(by).point == 1 and type_of(node) is not None and (_is_exact(inner) or _is_float(inner)):
            return distances(outcomes, inner)
    return {}


def _largest(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    bounds = _UP if isinstance(node, exp.Greatest) else _DOWN
    all_distances = [_move(_certain(outcomes, branch), *bounds, strict=False) for branch in branches(node)]
    return {key: distance for by_key in all_distances for key, distance in by_key.items()}


def _first(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    return _move(_certain(outcomes, node.this), 0, 0, strict=False)


def _certain(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return the distances of an operand that is passed over if it is null, which it may be where what it is near to is
    not.
    """
    return {outcomes.key(node): SAME_PLACE} if outcomes.of(node).null else distances(outcomes, node)


def _branch_distances(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    all_distances = [distances(outcomes, branch) for branch in branches(node)]
    common = set.intersection(*(set(by_key) for by_key in all_distances)) if all_distances else set()
    return {key: _hull([by_key[key] for by_key in all_distances]) for key in common}


def _hull(all_distances: Collection[Distance]) -> Distance:
    low, high = min(distance.low for distance in all_distances), max(distance.high for distance in all_distances)
    return Distance(low, high, all(distance.strict for distance in all_distances))


def _join_distances(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a text is behind the one that it begins with."""
    first, *rest = node.iter_expressions()
    step = TINY if any(length_of(outcomes, part).low for part in rest) else 0
    return _move(distances(outcomes, first), step, ENDLESS)


def _beginning(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a piece is before its text: not at all if it is as long as the text may be."""
    length = letters(node)
    if length is not None and length >= length_of(outcomes, node.this).high and (is_beginning(node) or is_end(node)):
        return distances(outcomes, node.this)
    return _move(distances(outcomes, node.this), *_DOWN) if is_beginning(node) else {}


def _day(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    inner = node.this.unnest()
    column_type = outcomes.columns.get(inner.name) if isinstance(inner, exp.Column) else None
    if not isinstance(column_type, Type) or column_type.kind not in TEMPORAL:
        return {}
    if isinstance(node, exp.LastDay):
        return _move(distances(outcomes, inner), 0 if column_type.kind == "date" else -_DAY, 31 * _DAY)
    is_day = isinstance(node, exp.TsOrDsToDate) and column_type.kind == "date"
    return _move(distances(outcomes, inner), *((0, 0) if is_day else _DOWN))


_PARTS: Mapping[type[exp.Expr], tuple[Callable[[exp.Expr], bool], slice]] = {
    exp.StartsWith: (is_beginning, slice(1)),
    exp.EndsWith: (is_end, slice(-1, None)),
}
_ROUNDS = (exp.Ceil, exp.Floor, exp.Round)
_Judge = Callable[["Outcomes", Any], Distances]
_DISTANCES: Mapping[type[exp.Expr], _Judge] = {
    **dict.fromkeys(_ROUNDS, _round_distances),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Add, exp.Sub), _sum),
    **dict.fromkeys((exp.Mul, exp.Div), _by_one),
    exp.Abs: lambda outcomes, node: _move(distances(outcomes, node.this), *_UP),
    **dict.fromkeys((exp.Greatest, exp.Least), _largest),
    exp.Coalesce: _first,
    exp.Nullif: lambda outcomes, node: distances(outcomes, node.this),
    **dict.fromkeys((exp.If, exp.Case), _branch_distances),
    exp.Length: lambda outcomes, node: _lengths(outcomes, node.this),
    **dict.fromkeys(CUT_TYPES, _beginning),
    **dict.fromkeys(JOIN_TYPES, _join_distances),
    **dict.fromkeys((exp.LastDay, exp.DateTrunc, exp.TimestampTrunc, exp.TsOrDsToDate), _day),
}
