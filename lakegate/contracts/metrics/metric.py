"""Makers of metrics, each under an id that follows from what it is. It knows no predicate."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from sqlglot import exp

from lakegate.audit.model.codec import to_plain
from lakegate.audit.model.plan import Metric, MetricKind, Proof, Scope
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.outcomes.expressions import Outcomes
from lakegate.contracts.outcomes.values import of_type


def row_count() -> Metric:
    return with_id(Metric(id="", kind=MetricKind.ROWS))


def malformed() -> Metric:
    return with_id(Metric(id="", kind=MetricKind.MALFORMED))


def with_scope(metric: Metric, scope: Scope) -> Metric:
    """Return the same metric of the batch alone, or of the whole table."""
    return with_id(replace(metric, scope=scope))


def any_of(metrics: Sequence[Metric]) -> Metric:
    """Count the rows that fail any of the predicates on the same column. A single metric is returned as it is."""
    if len(metrics) == 1:
        return metrics[0]
    wrong = exp.or_(*(metric.sql for metric in metrics), dialect="spark").sql(dialect="spark")
    return with_id(Metric(id="", kind=MetricKind.FAILING, columns=metrics[0].columns, sql=wrong))


def aggregate_metric(columns: tuple[str, ...], aggregate: str, *, is_alone: bool = False, side: str = "") -> Metric:
    """Return the number that an aggregate in Spark's SQL gives."""
    return with_id(Metric(id="", kind=MetricKind.VALUE, columns=columns, sql=aggregate, alone=is_alone, bound=side))


def query_metric(columns: tuple[str, ...], query: str) -> Metric:
    """Return the number that a query over each file version's rows gives."""
    return with_id(Metric(id="", kind=MetricKind.QUERY, columns=columns, sql=query))


class NothingToCheck(ValueError):
    """A condition that no value can fail, or that none can pass; the message goes on after its name."""


def failing_rows(field: Field, wrong: exp.Expr, proof: Proof | None = None, passes: exp.Expr | None = None) -> Metric:
    """Count the wrong rows. `passes` is a cheaper condition that is true of no wrong row. Raise NothingToCheck if no
    value is wrong, or every one.
    """
    _refuse_decided(field, wrong)
    certain = exp.Coalesce(this=field.anywhere(wrong), expressions=[exp.false()])
    metric = Metric(
        id="",
        kind=MetricKind.FAILING,
        columns=(field.name,),
        sql=certain.sql(dialect="spark"),
    )
    if field.steps:  # statistics are of columns, not of parts of an array; and `passes` is of one value
        return with_id(metric)
    return with_id(replace(metric, proof=proof, passes=passes.sql(dialect="spark") if passes else ""))


def _refuse_decided(field: Field, wrong: exp.Expr) -> None:
    value, kind = field.value, field.type.name
    texts = {literal.name for literal in wrong.find_all(exp.Literal) if literal.is_string}
    outcomes = Outcomes([wrong, value], {}, texts)
    outcomes.assume(value, of_type(field.type, sorted(texts)))
    wrongs = outcomes.possible(wrong)
    if not wrongs.include(1):
        raise NothingToCheck(f"no {kind} can fail it, so that it checks nothing: write another value, or take it out")
    if not wrongs.include(0):
        raise NothingToCheck(f"no {kind} can pass it: write another value, or take it out")


def with_id(metric: Metric) -> Metric:
    """Return the metric under an id of what it is, and not of how it is found faster."""
    members = to_plain(replace(metric, id=""))
    del members["passes"]
    return replace(metric, id=f"{metric.kind.value}-{fingerprint(members)}")


def fingerprint(value: object, length: int = 12) -> str:
    text = json.dumps(to_plain(value), sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:length]
