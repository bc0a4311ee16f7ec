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
from lakegate.contracts.outcomes.lengths import CASED, CUT, JOINED, is_beginning, is_end, length_of, letters
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
SAME = Distance(0, 0)
_UP, _DOWN = (0, ENDLESS), (-ENDLESS, 0)


def signs_between(outcomes: "Outcomes", one: exp.Expr, other: exp.Expr) -> Collection[int]:
    """Return the signs that the difference of two expressions may have by what they have in common."""
    signs = _signs(distances(outcomes, one), distances(outcomes, other))
    if _is_float(one) or _is_float(other):  # two numbers that differ may be one in 64 bits
        signs = signs | {0}
    elif not _signs(_lengths(outcomes, one), _lengths(outcomes, other)) & {0}:
        signs = signs - {0}
    return signs


def is_part(outcomes: "Outcomes", part: exp.Expr, whole: exp.Expr, of: type[exp.Expr]) -> bool:
    """Return True if a text has another in every row: at its beginning, at its end or anywhere."""
    is_right, places = _PARTS.get(of, (bool, slice(None)))
    keys, parts, wholes = {outcomes.key(part)}, [part.unnest()], [whole.unnest()]
    for each in parts:
        if isinstance(each, exp.Nullif) or (isinstance(each, CUT) and is_right(each)):
            parts.append(each.this.unnest())
            keys.add(outcomes.key(each.this))
    for each in wholes:
        if isinstance(each, JOINED):
            wholes += [inner.unnest() for inner in list(each.iter_expressions())[places]]
    firsts = [each.this for each in wholes if isinstance(each, exp.Coalesce | exp.Nullif)]
    return any(outcomes.key(each) in keys for each in (*wholes, *firsts))


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
    return judge(outcomes, node).get(outcomes.key(node.this)) == SAME


def distances(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far an expression is from all that it is near to, itself among them."""
    node = outcomes.inner(node)
    judge = _DISTANCES.get(type(node))
    return {**(judge(outcomes, node) if judge else {}), outcomes.key(node): SAME}


def _signs(one: Distances, other: Distances) -> set[int]:
    signs = {-1, 0, 1}
    for key in one.keys() & other.keys():
        a, b = one[key], other[key]
        if a.strict or b.strict:  # else it may be null, and neither of the two
            low, high = a.low - b.high, a.high - b.low
            signs &= {*[-1] * (low < 0), *[0] * (low <= 0 <= high), *[1] * (high > 0)}
    return signs


def _lengths(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how much longer a text is than all that it is made of."""
    node = outcomes.inner(node)
    own = {("length", outcomes.key(node)): SAME}
    if isinstance(node, JOINED):
        parts = list(node.iter_expressions())
        sizes = [length_of(outcomes, part) for part in parts]
        low, high = sum(size.low for size in sizes), sum(size.high for size in sizes)
        each = (
            _moved(_lengths(outcomes, part), low - size.low, high - size.high)
            for part, size in zip(parts, sizes, strict=True)
        )
        return {**{key: distance for found in each for key, distance in found.items()}, **own}
    if isinstance(node, exp.Coalesce | exp.Nullif):
        first = {("length", outcomes.key(node.this)): SAME}
        return {**_moved(first, 0, 0, strict=isinstance(node, exp.Nullif)), **own}
    if isinstance(node, (*CUT, *CASED)):
        return {**_moved(_lengths(outcomes, node.this), *(_DOWN if isinstance(node, CUT) else _UP)), **own}
    return own


def _moved(found: Distances, low: Exact, high: Exact, *, strict: bool = True) -> Distances:
    return {key: distance.further(low, high, strict=strict) for key, distance in found.items()}


def _is_float(node: exp.Expr) -> bool:
    return type_of(node.unnest()) in (FLOAT, DOUBLE)


def _is_exact(node: exp.Expr) -> bool:
    kind = type_of(node.unnest())
    return kind is not None and kind not in (FLOAT, DOUBLE) and kind.digits <= _SURE


def _rounded(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    places = places_of(node.args.get("decimals"))
    if places is None or not _is_exact(node.this):
        return {}
    unit, step = Fraction(1, 10**places), outcomes.of(node.this).step
    off = 0 if is_multiple(step, unit) else unit - step if step and is_multiple(unit, step) else unit
    below, above = (0 if isinstance(node, exp.Ceil) else off), (0 if isinstance(node, exp.Floor) else off)
    return _moved(distances(outcomes, node.this), -below, above)


def _cast(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    kind, given = physical(node.args["to"].sql(dialect="spark")), type_of(node.this.unnest())
    known = given is not None and (holds(kind, outcomes.of(node.this)) if _is_exact(node.this) else False)
    return distances(outcomes, node.this) if known or (given is not None and kind.name == "double") else {}


def _sum(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a sum is from each of its operands, if it cannot begin again from below."""
    if isinstance(node.expression, exp.Interval) or type_of(node) is None:
        return {}
    sign = -1 if isinstance(node, exp.Sub) else 1
    added = _away(outcomes, node, outcomes.of(node.expression), sign)
    found = _moved(distances(outcomes, node.this), *added) if added else {}
    other = _away(outcomes, node, outcomes.of(node.this), 1) if sign > 0 else None
    return {**(_moved(distances(outcomes, node.expression), *other) if other else {}), **found}


def _away(outcomes: "Outcomes", node: exp.Expr, by: Values, sign: int) -> tuple[Exact, Exact] | None:
    if not by.exist or not by.are_finite:
        return None
    low, high = sorted((sign * by.low, sign * by.high))
    if _is_float(node):
        return _UP if low > 0 else _DOWN if high < 0 else (0, 0) if low == high == 0 else None
    a, b = outcomes.of(node.this), outcomes.of(node.expression)
    least, most = (a.low + b.low, a.high + b.high) if isinstance(node, exp.Add) else (a.low - b.high, a.high - b.low)
    return (low, high) if _is_exact(node) and is_sure(type_of(node), least, most) else None


def _by_one(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return the distances of a product or a quotient by 1 from the other operand: none."""
    orders = [(node.this, node.expression), (node.expression, node.this)][: 2 if isinstance(node, exp.Mul) else 1]
    for inner, by in orders:
        if outcomes.of(by).point == 1 and type_of(node) is not None and (_is_exact(inner) or _is_float(inner)):
            return distances(outcomes, inner)
    return {}


def _largest(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    bounds = _UP if isinstance(node, exp.Greatest) else _DOWN
    several = [_moved(_certain(outcomes, each), *bounds, strict=False) for each in branches(node)]
    return {key: distance for each in several for key, distance in each.items()}


def _first(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    return _moved(_certain(outcomes, node.this), 0, 0, strict=False)


def _certain(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return the distances of an operand that is passed over if it is null, which it may be where what it is near to is
    not.
    """
    return {outcomes.key(node): SAME} if outcomes.of(node).null else distances(outcomes, node)


def _chosen(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    several = [distances(outcomes, each) for each in branches(node)]
    common = set.intersection(*(set(each) for each in several)) if several else set()
    return {key: _hull([each[key] for each in several]) for key in common}


def _hull(several: Collection[Distance]) -> Distance:
    low, high = min(each.low for each in several), max(each.high for each in several)
    return Distance(low, high, all(each.strict for each in several))


def _joined(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a text is behind the one that it begins with."""
    first, *rest = node.iter_expressions()
    more = TINY if any(length_of(outcomes, each).low for each in rest) else 0
    return _moved(distances(outcomes, first), more, ENDLESS)


def _beginning(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    """Return how far a piece is before its text: not at all if it is as long as the text may be."""
    most = letters(node)
    if most is not None and most >= length_of(outcomes, node.this).high and (is_beginning(node) or is_end(node)):
        return distances(outcomes, node.this)
    return _moved(distances(outcomes, node.this), *_DOWN) if is_beginning(node) else {}


def _day(outcomes: "Outcomes", node: exp.Expr) -> Distances:
    inner = node.this.unnest()
    known = outcomes.columns.get(inner.name) if isinstance(inner, exp.Column) else None
    if not isinstance(known, Type) or known.kind not in TEMPORAL:
        return {}
    if isinstance(node, exp.LastDay):
        return _moved(distances(outcomes, inner), 0 if known.kind == "date" else -_DAY, 31 * _DAY)
    is_day = isinstance(node, exp.TsOrDsToDate) and known.kind == "date"
    return _moved(distances(outcomes, inner), *((0, 0) if is_day else _DOWN))


_PARTS: Mapping[type[exp.Expr], tuple[Callable[[exp.Expr], bool], slice]] = {
    exp.StartsWith: (is_beginning, slice(1)),
    exp.EndsWith: (is_end, slice(-1, None)),
}
_ROUNDS = (exp.Ceil, exp.Floor, exp.Round)
_Judge = Callable[["Outcomes", Any], Distances]
_DISTANCES: Mapping[type[exp.Expr], _Judge] = {
    **dict.fromkeys(_ROUNDS, _rounded),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Add, exp.Sub), _sum),
    **dict.fromkeys((exp.Mul, exp.Div), _by_one),
    exp.Abs: lambda outcomes, node: _moved(distances(outcomes, node.this), *_UP),
    **dict.fromkeys((exp.Greatest, exp.Least), _largest),
    exp.Coalesce: _first,
    exp.Nullif: lambda outcomes, node: distances(outcomes, node.this),
    **dict.fromkeys((exp.If, exp.Case), _chosen),
    exp.Length: lambda outcomes, node: _lengths(outcomes, node.this),
    **dict.fromkeys(CUT, _beginning),
    **dict.fromkeys(JOINED, _joined),
    **dict.fromkeys((exp.LastDay, exp.DateTrunc, exp.TimestampTrunc, exp.TsOrDsToDate), _day),
}
