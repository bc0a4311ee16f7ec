"""Values that a column should hold so that its checks' numbers about all rows come out at their limits."""

from collections.abc import Iterator, Sequence
from math import isfinite

from lakegate.audit.evaluation.drift import Past, before, scale
from lakegate.audit.model.plan import Check, Drift, MetricKind, Plan


def aims(check: Check, past: Past) -> list[float]:
    """Return the metric's values at the check's limits, and half-way between them; none if nothing is compared."""
    values = before(check, past)
    if check.drift and not values:
        return []
    limits = [_drifting(check.drift, limit, values) if check.drift else limit for limit in check.threshold]
    return [aim for aim in (*limits, sum(limits) / len(limits)) if isfinite(aim)]


def aims_of_values(plan: Plan, column: str, past: Past, many: int) -> Iterator[tuple[str, float]]:
    """Yield, for each number about the column alone, its SQL and what one of `many` values may have to be: the number
    itself, or its part of a sum.
    """
    for check in plan.checks:
        metric = plan.metric(check.metric)
        if metric.kind is MetricKind.VALUE and metric.columns == (column,):
            yield from ((metric.sql, value) for aim in aims(check, past) for value in (aim, aim / max(many, 1)))


def _drifting(drift: Drift, limit: float, values: Sequence[float]) -> float:
    """Return the value that has drifted by the limit from what was before."""
    average, one = scale(drift.comparison, values)
    return average + limit * one
