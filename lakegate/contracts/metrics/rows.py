"""Metrics that count the rows with a wrong value, and the age of the newest one. It knows no word that asks for them.

Every predicate is built as a syntax tree, never by pasting text, because a column may be named anything. It is true for
a failing row and never null: a null is the business of `required`, and NaN is outside every range.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from lakegate.audit.model.plan import NOW, Metric, MetricKind, Proof, Reference, Scope
from lakegate.contracts.columns.fields import Field, column
from lakegate.contracts.columns.types import Comparable, iso
from lakegate.contracts.metrics.metric import aggregate_metric, failing_rows, with_id


@dataclass(frozen=True, kw_only=True)
class BoundWord:
    """One of ODCS's four bounds: how a row fails it, and which end of the column's range proves that none does."""

    sign: str
    fails: type[exp.Binary]
    lower: bool
    exclusive: bool


_ZERO, _UNIT = exp.Literal.number(0), exp.Literal.number(1)
_DAY = exp.Literal.number(86_400_000_000)  # in microseconds
# A quotient may be off a whole number by the last digits of the two numbers that it is made of.
_NEAR = {"double": exp.Literal.number("1E-15"), "float": exp.Literal.number("2E-7")}
BOUNDS = {
    "minimum": BoundWord(sign="≥", fails=exp.LT, lower=True, exclusive=False),
    "exclusiveMinimum": BoundWord(sign=">", fails=exp.LTE, lower=True, exclusive=True),
    "maximum": BoundWord(sign="≤", fails=exp.GT, lower=False, exclusive=False),
    "exclusiveMaximum": BoundWord(sign="<", fails=exp.GTE, lower=False, exclusive=True),
}


def nulls(field: Field) -> Metric:
    """Count the rows with a null, where there could be a value: a field of an object that is not there is none."""
    if not field.steps:
        return with_id(Metric(id="", kind=MetricKind.NULLS, columns=(field.name,)))
    null: exp.Expr = exp.Is(this=field.value, expression=exp.null())
    if (parent_value := field.value_inside) is not None:
        null = exp.And(this=exp.Not(this=exp.Is(this=parent_value, expression=exp.null())), expression=null)
    return failing_rows(field, null)


def duplicates(fields: Iterable[Field]) -> Metric:
    return with_id(Metric(id="", kind=MetricKind.DUPLICATES, columns=tuple(field.name for field in fields)))


def orphans(fields: Iterable[Field], target: Reference) -> Metric:
    """Count the rows with a key that the target does not have."""
    columns = tuple(field.name for field in fields)
    return with_id(Metric(id="", kind=MetricKind.ORPHANS, columns=columns, scope=Scope.TABLE, refers_to=target))


def beyond_limit(field: Field, bound_word: BoundWord, limit: Comparable) -> Metric:
    """Count the rows beyond the limit."""
    condition: exp.Expr = bound_word.fails(this=field.value, expression=field.type.literal(limit))
    if field.type.has_nan:
        condition = exp.Or(this=exp.IsNan(this=field.value), expression=condition)
    proof = Proof(
        column=field.name,
        minimum=iso(limit) if bound_word.lower else None,
        maximum=None if bound_word.lower else iso(limit),
        exclusive_minimum=bound_word.lower and bound_word.exclusive,
        exclusive_maximum=not bound_word.lower and bound_word.exclusive,
    )
    return failing_rows(field, condition, proof)


def not_among(field: Field, values: Iterable[Comparable]) -> Metric:
    """Count the rows that hold none of the values."""
    ordered_values = sorted(set(values))
    literals = [field.type.literal(value) for value in ordered_values]
    proof = Proof(column=field.name, values=tuple(iso(value) for value in ordered_values))
    return failing_rows(field, exp.Not(this=exp.In(this=field.value, expressions=literals)), proof)


def among(field: Field, values: Iterable[Comparable | None]) -> Metric:
    """Count the rows that hold one of the values, null among them if it is one."""
    values = set(values)
    ordered_values: list[Comparable] = sorted(value for value in values if value is not None)
    literals = [field.type.literal(value) for value in ordered_values]
    condition: exp.Expr = exp.In(this=field.value, expressions=literals) if literals else exp.false()
    if None in values:
        condition = exp.Or(this=exp.Is(this=field.value, expression=exp.null()), expression=condition)
    proof = Proof(column=field.name, without=tuple(iso(value) for value in ordered_values), nulls=None not in values)
    return failing_rows(field, condition, proof)


def no_multiple(field: Field, of: Comparable) -> Metric:
    """Count the rows with a number that is no multiple. A floating-point number near one to 15 digits, in 32 bits to
    six, counts as a multiple.
    """
    number = field.value
    if not field.type.has_nan:
        return failing_rows(
            field, exp.NEQ(this=exp.Mod(this=number, expression=field.type.literal(of)), expression=_ZERO)
        )
    times = exp.Div(this=number, expression=field.type.literal(of), typed=False, safe=True)
    error = exp.Abs(this=exp.Paren(this=exp.Sub(this=times, expression=exp.Round(this=times.copy()))))
    largest = exp.Greatest(this=exp.Abs(this=times.copy()), expressions=[_UNIT])
    tolerance = exp.Mul(this=_NEAR[field.type.name].copy(), expression=largest)
    is_far = exp.Not(this=exp.Paren(this=exp.LTE(this=error, expression=tolerance)))
    return failing_rows(field, exp.Or(this=exp.IsNan(this=field.value), expression=is_far))


def in_future(field: Field) -> Metric:
    """Count the rows later than the moment of the audit, in UTC; a date is later if it begins later."""
    now: exp.Expr = exp.CurrentTimestamp()
    if field.type.kind != "instant":
        now = exp.cast(now, field.type.name, dialect="spark")
    is_later = exp.GT(this=field.value, expression=now)
    return failing_rows(field, is_later, Proof(column=field.name, maximum=NOW))


def age(field: Field, seconds: int) -> Metric:
    """Return the age of the newest value when it is measured, in units of so many seconds. Dates begin at midnight, in
    UTC.
    """
    difference = exp.Sub(this=_microseconds(exp.CurrentTimestamp()), expression=_of_newest(field))
    unit = exp.Literal.number(seconds * 1_000_000)
    units = exp.Div(this=exp.cast(difference, "double", dialect="spark"), expression=unit, typed=False, safe=True)
    return aggregate_metric((field.name,), units.sql(dialect="spark"))


def _of_newest(field: Field) -> exp.Expr:
    """Return the microseconds of the newest value, in decimals: at the ends of its type they are beyond 64 bits."""
    newest = exp.Max(this=field.value)
    if field.type.kind != "date":
        return _microseconds(exp.cast(newest, "timestamp", dialect="spark"))
    days = exp.cast(exp.Anonymous(this="unix_date", expressions=[newest]), "decimal(10,0)", dialect="spark")
    return exp.Mul(this=days, expression=_DAY.copy())


def _microseconds(moment: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Anonymous(this="unix_micros", expressions=[moment]), "decimal(19,0)", dialect="spark")


def breaking(rule: exp.Expr, columns: tuple[str, ...]) -> Metric:
    """Count the rows that the rule is false for; as in SQL's own CHECK, a rule that is null holds."""
    is_broken = exp.Coalesce(this=exp.Not(this=exp.Paren(this=rule)), expressions=[exp.false()])
    return with_id(Metric(id="", kind=MetricKind.FAILING, columns=columns, sql=is_broken.sql(dialect="spark")))


def all_null(fields: Iterable[Field]) -> Metric:
    """Count the rows that are null in all of the columns."""
    names = [field.name for field in fields]
    empty = exp.and_(*(exp.Is(this=column(name), expression=exp.Null()) for name in names))
    return with_id(Metric(id="", kind=MetricKind.FAILING, columns=tuple(names), sql=empty.sql(dialect="spark")))
