"""Metrics: the SQL predicates that say what is wrong with a row. It does not know which word asks for which.

Every predicate is built as a syntax tree, never by pasting text, because a column may be named anything. It is true for
a failing row and never null: a null is the business of `required`, and NaN is outside every range.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from sqlglot import exp

from lakegate.audit.codec import to_plain
from lakegate.audit.plan import NOW, Metric, MetricKind, Proof, Reference, Scope
from lakegate.contracts.types import Comparable, Type, iso

T = TypeVar("T")


class Into(StrEnum):
    """A step into a nested column."""

    FIELD = "field"  # of a struct, by its name
    ITEMS = "items"  # any item of an array
    KEYS = "keys"  # any key of a map
    VALUES = "values"  # any value of a map


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step into a nested column."""

    into: Into
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column as checks see it, or the part of one that `steps` lead to. `label` is its name in the contract
    (`address.zip`, `tags[]`), `name` the column's.
    """

    label: str
    name: str
    type: Type
    steps: tuple[Step, ...] = ()

    @property
    def own_name(self) -> str:
        """Name among its like: of a part of an object, the property's."""
        return self.steps[-1].name if self.steps else self.name

    @property
    def value(self) -> exp.Expr:
        """Value in a row; in an array or a map, the value that `anywhere` gives a name to."""
        return self._reached()[0]

    @property
    def inside(self) -> exp.Expr | None:
        """Object that it is a field of, if it is one."""
        *before, last = self.steps or (None,)
        if last is None or last.into is not Into.FIELD:
            return None
        return replace(self, steps=tuple(before)).value

    def anywhere(self, wrong: exp.Expr) -> exp.Expr:
        """Return the condition that something is wrong in a row, from the one for a single value; in an array or a map,
        that any value is wrong.
        """
        for depth, values in reversed(list(enumerate(self._reached()[1]))):
            any_value = exp.Lambda(this=wrong, expressions=[_each(depth).this])
            wrong = exp.Anonymous(this="EXISTS", expressions=[values, any_value])
        return wrong

    def summed(self, number: exp.Expr) -> exp.Expr:
        """Return the sum of a number over all values in a row; a value for which it is null adds nothing."""
        for depth, values in reversed(list(enumerate(self._reached()[1]))):
            so_far = column(f"_lakegate_sum_{depth}")
            added = exp.Add(this=so_far, expression=exp.Coalesce(this=number, expressions=[_ZERO.copy()]))
            add = exp.Lambda(this=added, expressions=[so_far.this, _each(depth).this])
            none = exp.cast(_ZERO.copy(), "double", dialect="spark")
            number = exp.Anonymous(this="AGGREGATE", expressions=[values, none, add])
        return exp.Coalesce(this=number, expressions=[_ZERO.copy()])

    def _reached(self) -> tuple[exp.Expr, list[exp.Expr]]:
        """Return the value, and the arrays on the way to it, outermost first."""
        here: exp.Expr = column(self.name)
        arrays: list[exp.Expr] = []
        for step in self.steps:
            if step.into is Into.FIELD:  # not a dot, which may mean a table's column
                here = exp.Bracket(this=here, expressions=[exp.Literal.string(step.name)])
                continue
            function = {Into.KEYS: "MAP_KEYS", Into.VALUES: "MAP_VALUES"}.get(step.into)
            arrays.append(exp.Anonymous(this=function, expressions=[here]) if function else here)
            here = _each(len(arrays) - 1)
        return here, arrays


class Fields(tuple[Field, ...]):  # noqa: SLOT001 - it keeps what it has put in order
    """Columns that many callers look up by name: they are put in order once, however many ask."""

    @cached_property
    def by_label(self) -> Mapping[str, Field]:
        """Columns by their names in the contract."""
        return {field.label: field for field in self}

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """Columns by either name; the name in the contract goes first."""
        return {**{field.name: field for field in self}, **self.by_label}

    def once(self, made: "Callable[[Fields], T]") -> T:
        """Return the function's result for these columns, made once."""
        known: dict[Any, Any] = self._made
        if made not in known:
            known[made] = made(self)
        found: T = known[made]
        return found

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}


def _each(depth: int) -> exp.Column:
    """Return the name of an item of an array within so many others; no column may have such a name."""
    return column(f"_lakegate_{depth}")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One of ODCS's four bounds: how a row fails it, and which end of the column's range proves that none does."""

    sign: str
    fails: type[exp.Binary]
    lower: bool
    exclusive: bool


_ZERO, _ONE = exp.Literal.number(0), exp.Literal.number(1)
_DAY = exp.Literal.number(86_400_000_000)  # in microseconds
# A quotient may be off a whole number by the last digits of the two numbers that it is made of.
_NEAR = {"double": exp.Literal.number("1E-15"), "float": exp.Literal.number("2E-7")}

BOUNDS = {
    "minimum": Bound(sign="≥", fails=exp.LT, lower=True, exclusive=False),
    "exclusiveMinimum": Bound(sign=">", fails=exp.LTE, lower=True, exclusive=True),
    "maximum": Bound(sign="≤", fails=exp.GT, lower=False, exclusive=False),
    "exclusiveMaximum": Bound(sign="<", fails=exp.GTE, lower=False, exclusive=True),
}


def rows() -> Metric:
    return _identified(kind=MetricKind.ROWS)


def unparsed() -> Metric:
    return _identified(kind=MetricKind.UNPARSED)


def nulls(field: Field) -> Metric:
    """Count the rows with a null, where there could be a value: a field of an object that is not there is none."""
    if not field.steps:
        return _identified(kind=MetricKind.NULLS, columns=(field.name,))
    null: exp.Expr = exp.Is(this=field.value, expression=exp.null())
    if (inside := field.inside) is not None:
        null = exp.And(this=exp.Not(this=exp.Is(this=inside, expression=exp.null())), expression=null)
    return failing(field, null)


def duplicates(fields: Iterable[Field]) -> Metric:
    return _identified(kind=MetricKind.DUPLICATES, columns=tuple(field.name for field in fields))


def scoped(metric: Metric, scope: Scope) -> Metric:
    """Return the same metric of the batch alone, or of the whole table."""
    return _named(replace(metric, scope=scope))


def orphans(fields: Iterable[Field], target: Reference) -> Metric:
    """Count the rows with a key that the target does not have."""
    columns = tuple(field.name for field in fields)
    return _identified(kind=MetricKind.ORPHANS, columns=columns, scope=Scope.TABLE, refers_to=target)


def outside(field: Field, bound: Bound, limit: Comparable) -> Metric:
    """Count the rows beyond the limit."""
    beyond: exp.Expr = bound.fails(this=field.value, expression=field.type.literal(limit))
    if field.type.has_nan:
        beyond = exp.Or(this=exp.IsNan(this=field.value), expression=beyond)
    proof = Proof(
        column=field.name,
        minimum=iso(limit) if bound.lower else None,
        maximum=None if bound.lower else iso(limit),
        exclusive_minimum=bound.lower and bound.exclusive,
        exclusive_maximum=not bound.lower and bound.exclusive,
    )
    return failing(field, beyond, proof)


def not_among(field: Field, values: Iterable[Comparable]) -> Metric:
    """Count the rows that hold none of the values."""
    known = sorted(set(values))
    literals = [field.type.literal(value) for value in known]
    proof = Proof(column=field.name, values=tuple(iso(value) for value in known))
    return failing(field, exp.Not(this=exp.In(this=field.value, expressions=literals)), proof)


def among(field: Field, values: Iterable[Comparable | None]) -> Metric:
    """Count the rows that hold one of the values, null among them if it is one."""
    values = set(values)
    known: list[Comparable] = sorted(value for value in values if value is not None)
    literals = [field.type.literal(value) for value in known]
    held: exp.Expr = exp.In(this=field.value, expressions=literals) if literals else exp.false()
    if None in values:
        held = exp.Or(this=exp.Is(this=field.value, expression=exp.null()), expression=held)
    proof = Proof(column=field.name, without=tuple(iso(value) for value in known), nulls=None not in values)
    return failing(field, held, proof)


def either(metrics: Sequence[Metric]) -> Metric:
    """Count the rows that fail any of the predicates on the same column. A single metric is returned as it is."""
    if len(metrics) == 1:
        return metrics[0]
    wrong = exp.or_(*(metric.sql for metric in metrics), dialect="spark").sql(dialect="spark")
    tries = " + ".join(metric.tries for metric in metrics if metric.tries)
    return replace(_identified(kind=MetricKind.FAILING, columns=metrics[0].columns, sql=wrong), tries=tries)


def no_multiple(field: Field, of: Comparable) -> Metric:
    """Count the rows with a number that is no multiple. A floating-point number near one to 15 digits, in 32 bits to
    six, counts as a multiple.
    """
    number = field.value
    if not field.type.has_nan:
        return failing(field, exp.NEQ(this=exp.Mod(this=number, expression=field.type.literal(of)), expression=_ZERO))
    times = exp.Div(this=number, expression=field.type.literal(of), typed=False, safe=True)
    off = exp.Abs(this=exp.Paren(this=exp.Sub(this=times, expression=exp.Round(this=times.copy()))))
    largest = exp.Greatest(this=exp.Abs(this=times.copy()), expressions=[_ONE])
    allowed = exp.Mul(this=_NEAR[field.type.name].copy(), expression=largest)
    none = exp.Not(this=exp.Paren(this=exp.LTE(this=off, expression=allowed)))
    return failing(field, exp.Or(this=exp.IsNan(this=field.value), expression=none))


def in_future(field: Field) -> Metric:
    """Count the rows later than the moment of the audit, in UTC; a date is later if it begins later."""
    now: exp.Expr = exp.CurrentTimestamp()
    if field.type.kind != "instant":
        now = exp.cast(now, field.type.name, dialect="spark")
    later = exp.GT(this=field.value, expression=now)
    return failing(field, later, Proof(column=field.name, maximum=NOW))


def age(field: Field, seconds: int) -> Metric:
    """Return the age of the newest value when it is measured, in units of so many seconds. Dates begin at midnight, in
    UTC.
    """
    since = exp.Sub(this=_microseconds(exp.CurrentTimestamp()), expression=_of_newest(field))
    unit = exp.Literal.number(seconds * 1_000_000)
    return _value(
        field, exp.Div(this=exp.cast(since, "double", dialect="spark"), expression=unit, typed=False, safe=True)
    )


def _of_newest(field: Field) -> exp.Expr:
    """Return the microseconds of the newest value, in decimals: at the ends of its type they are beyond 64 bits."""
    newest = exp.Max(this=field.value)
    if field.type.kind != "date":
        return _microseconds(exp.cast(newest, "timestamp", dialect="spark"))
    days = exp.cast(exp.Anonymous(this="unix_date", expressions=[newest]), "decimal(10,0)", dialect="spark")
    return exp.Mul(this=days, expression=_DAY.copy())


def _microseconds(moment: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Anonymous(this="unix_micros", expressions=[moment]), "decimal(19,0)", dialect="spark")


def breaking(rule: exp.Expr, columns: tuple[str, ...], tries: str = "") -> Metric:
    """Count the rows that the rule is false for; as in SQL's own CHECK, a rule that is null holds."""
    broken = exp.Coalesce(this=exp.Not(this=exp.Paren(this=rule)), expressions=[exp.false()])
    made = _identified(kind=MetricKind.FAILING, columns=columns, sql=broken.sql(dialect="spark"))
    return replace(made, tries=tries)


def all_null(fields: Iterable[Field]) -> Metric:
    """Count the rows that are null in all of the columns."""
    named = [field.name for field in fields]
    empty = exp.and_(*(exp.Is(this=column(name), expression=exp.Null()) for name in named))
    return _identified(kind=MetricKind.FAILING, columns=tuple(named), sql=empty.sql(dialect="spark"))


def value(columns: tuple[str, ...], aggregate: str, *, alone: bool = False, bound: str = "") -> Metric:
    """Return the number that an aggregate in Spark's SQL gives."""
    return _named(Metric(id="", kind=MetricKind.VALUE, columns=columns, sql=aggregate, alone=alone, bound=bound))


def queried(columns: tuple[str, ...], query: str) -> Metric:
    """Return the number that a query over each file version's rows gives."""
    return _identified(kind=MetricKind.QUERY, columns=columns, sql=query)


def column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def failing(
    field: Field,
    wrong: exp.Expr,
    proof: Proof | None = None,
    passes: exp.Expr | None = None,
    tries: exp.Expr | None = None,
) -> Metric:
    """Count the wrong rows. `passes` is a cheaper condition that is true of no wrong row; `tries` is how often a
    pattern may be tried with one value.
    """
    certain = exp.Coalesce(this=field.anywhere(wrong), expressions=[exp.false()])
    made = Metric(
        id="",
        kind=MetricKind.FAILING,
        columns=(field.name,),
        sql=certain.sql(dialect="spark"),
        tries=field.summed(tries).sql(dialect="spark") if tries else "",
    )
    if field.steps:  # statistics are of columns, not of parts of an array; and `passes` is of one value
        return _named(made)
    return _named(replace(made, proof=proof, passes=passes.sql(dialect="spark") if passes else ""))


def _value(field: Field, aggregate: exp.Expr) -> Metric:
    return _identified(kind=MetricKind.VALUE, columns=(field.name,), sql=aggregate.sql(dialect="spark"))


def _identified(
    *,
    kind: MetricKind,
    columns: tuple[str, ...] = (),
    sql: str = "",
    proof: Proof | None = None,
    scope: Scope = Scope.BATCH,
    refers_to: Reference | None = None,
) -> Metric:
    """Return the metric under the id that follows from it."""
    return _named(Metric(id="", kind=kind, columns=columns, sql=sql, proof=proof, scope=scope, refers_to=refers_to))


def _named(metric: Metric) -> Metric:
    """Return the metric under an id of what it is, and not of how it is found faster."""
    said = to_plain(replace(metric, id=""))
    del said["passes"]
    said.pop("tries", None)
    return replace(metric, id=f"{metric.kind.value}-{fingerprint(said)}")


def fingerprint(value: object, length: int = 12) -> str:
    text = json.dumps(to_plain(value), sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:length]
