"""From metrics to verdicts: every check of the plan on each file version, in landing order. It computes no metric."""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakegate.audit.evaluation.advice import advise
from lakegate.audit.evaluation.drift import Past, before, drift_of
from lakegate.audit.evaluation.quarantine import Distinct, budget_check, leaving_checks
from lakegate.audit.model.plan import Check, Comparison, MetricKind, Operator, Plan, Scope, Severity, Trait, Unit
from lakegate.audit.model.report import WORST_FIRST, CheckResult, Source, Verdict

_HOLDS: dict[Operator, Callable[..., bool]] = {
    Operator.MUST_BE: operator.eq,
    Operator.MUST_NOT_BE: operator.ne,
    Operator.GREATER_THAN: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
    Operator.LESS_THAN: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.IN_RANGE: lambda value, low, high: low <= value <= high,
    Operator.OUT_OF_RANGE: lambda value, low, high: not low <= value <= high,
}
_EXPECTATIONS = {
    Operator.MUST_BE: "exactly {}",
    Operator.MUST_NOT_BE: "anything but {}",
    Operator.GREATER_THAN: "more than {}",
    Operator.GREATER_OR_EQUAL: "at least {}",
    Operator.LESS_THAN: "less than {}",
    Operator.LESS_OR_EQUAL: "at most {}",
    Operator.IN_RANGE: "{} to {}",
    Operator.OUT_OF_RANGE: "less than {} or more than {}",
}
_DRIFT_UNITS = {
    Comparison.DIFFERENCE: "off their mean",
    Comparison.RATE: "off their mean",
    Comparison.Z_SCORE: "standard deviations off their mean",
}
_NO_PAST: Past = {}
_PROBLEMS = {
    Severity.ERROR: Verdict.FAIL,
    Severity.QUARANTINE: Verdict.QUARANTINE,
    Severity.WARNING: Verdict.WARN,
}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A metric of one file version and its source. `value` is None if there is nothing to measure.

    `rows` is the number it is out of, if not the file's rows in the table.
    """

    value: float | None
    source: Source
    rows: int | None = None


Dependent = Callable[[str, Sequence[str]], Measurement]
"""A metric that depends on other files: computed for a file version, given the good ones before it."""


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """Metrics of one file version that do not depend on other files, by metric id."""

    file: str
    rows: int
    metrics: Mapping[str, Measurement] = field(default_factory=dict)


def holds(check: Check, value: float) -> bool:
    return _HOLDS[check.operator](value, *check.threshold)


def expected(check: Check) -> str:
    """Return the check's expectation for a person: `none`, `at most 5%`, `1,000 to 2,000`."""
    unit = "%" if check.unit is Unit.PERCENT else ""
    counts = check.unit is not Unit.NUMBER and not check.drift
    if check.operator is Operator.MUST_BE and not any(check.threshold) and counts:
        return "none"
    numbers = [f"{threshold:,.15g}{unit}" for threshold in check.threshold]
    text = _EXPECTATIONS[check.operator].format(*numbers)
    return f"{text} {_DRIFT_UNITS[check.drift.comparison]}" if check.drift else text


def evaluate(
    plan: Plan,
    files: Sequence[Measurements],
    dependents: Mapping[str, Dependent],
    past: Past = _NO_PAST,
    distinct: Distinct | None = None,
) -> dict[str, tuple[CheckResult, ...]]:
    """Evaluate every check on every file. `dependents` are the metrics, by id, that are resolved here file by file.

    `distinct` is called if rows for quarantine fail more than one check; without it they count more than once.
    """
    results: dict[str, tuple[CheckResult, ...]] = {}
    for file in files:
        earlier = good(results)
        values = {metric: measure(file.file, earlier) for metric, measure in dependents.items()}
        metrics = {**file.metrics, **values}
        checks = tuple(result_of(plan, check, metrics[check.metric], file.rows, past) for check in plan.checks)
        if any(map(leaving_checks, results.values())):
            checks = _with_held(checks, _counts_of_table(plan))
        results[file.file] = _with_quarantine(plan, file, checks, earlier, distinct)
    return results


def _with_quarantine(
    plan: Plan,
    file: Measurements,
    checks: tuple[CheckResult, ...],
    earlier: Sequence[str],
    distinct: Distinct | None,
) -> tuple[CheckResult, ...]:
    """Return the checks, with the budget's check if rows are to go to quarantine."""
    waiting_checks = _with_waiting(plan, checks)
    ids = leaving_checks(waiting_checks)
    if not ids:
        return checks
    rows_by_check = {check.check: check.failing_rows for check in checks if check.check in ids}
    budget = _budget(plan, file, rows_by_check, earlier, distinct)
    return (*(waiting_checks if budget.verdict is Verdict.PASS else checks), budget)


def _budget(
    plan: Plan, file: Measurements, rows_by_check: Mapping[str, int], earlier: Sequence[str], distinct: Distinct | None
) -> CheckResult:
    """Return the check of the budget, given how many rows fail each of these checks (by id).

    Rows that do not parse are not in the table, so they count in addition to the other failing rows and to the file's
    rows.
    """
    malformed = malformed_checks(plan) & rows_by_check.keys()
    left_out = sum(rows_by_check[check] for check in malformed)
    rows_failing = {check: rows for check, rows in rows_by_check.items() if check not in malformed}
    rows = file.rows + left_out
    # Rows that fail any of several checks are at least as many as fail one: if those exceed the budget, counting stops.
    least = budget_check(
        plan.budget, left_out + max(rows_failing.values(), default=0), rows, at_least=len(rows_failing) > 1
    )
    if len(rows_failing) < 2 or least.verdict is Verdict.FAIL:  # noqa: PLR2004 - of one check, it is all of them
        return least
    total = distinct(file.file, earlier, list(rows_failing)) if distinct else sum(rows_failing.values())
    return budget_check(plan.budget, left_out + total, rows)


def malformed_checks(plan: Plan) -> set[str]:
    """Return the checks, by id, that require rows to parse."""
    return {check.id for check in plan.checks if plan.metric(check.metric).has(Trait.LINES)}


def _with_waiting(plan: Plan, checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the checks, with those on a number about all rows held as passed: they are measured again on the rows that
    are left.
    """
    numbers = {rule.id for rule in plan.checks if rule.drift or not plan.metric(rule.metric).kind.counts_rows}
    return _with_held(checks, numbers)


def _counts_of_table(plan: Plan) -> set[str]:
    """Return the checks, by id, on the table's row count: earlier files are counted again once rows left."""
    metrics = {metric.id for metric in plan.metrics if metric.has(Trait.SIZE) and metric.scope is Scope.TABLE}
    return {check.id for check in plan.checks if check.metric in metrics}


def _with_held(checks: Sequence[CheckResult], ids: Collection[str]) -> tuple[CheckResult, ...]:
    """Return the checks, with these held as passed."""
    return tuple(replace(check, verdict=Verdict.PASS, advice=None) if check.check in ids else check for check in checks)


def good(results: Mapping[str, Sequence[CheckResult]]) -> list[str]:
    """Return the files that no check fails."""
    return [file for file, checks in results.items() if verdict(checks) is not Verdict.FAIL]


def verdict(checks: Sequence[CheckResult]) -> Verdict:
    """Return the worst verdict of the checks."""
    verdicts = {check.verdict for check in checks}
    return next((worst for worst in WORST_FIRST if worst in verdicts), Verdict.PASS)


def result_of(plan: Plan, check: Check, measurement: Measurement, rows: int, past: Past = _NO_PAST) -> CheckResult:
    """Return one check's result by its metric, of a file with so many rows."""
    kind, measurement = plan.metric(check.metric).kind, replace(measurement, value=_plain(measurement.value))
    value = _value(check, kind, measurement.value, rows, past)
    is_first = check.drift is not None and not before(check, past)
    outcome = Verdict.PASS if is_first else _verdict(check, value)
    counts_rows = kind.counts_rows and check.drift is None
    remark = " (too few published files to compare with)" if is_first else ""
    if kind.counts_rows and measurement.value is None:
        remark = " (a row of the file has a value that it can't be computed with)"
    failing_rows = int(measurement.value or 0) if counts_rows and outcome is not Verdict.PASS else 0
    low, high = _bounds(check)
    return CheckResult(
        check=check.id,
        name=check.name,
        columns=check.columns,
        severity=check.severity,
        verdict=outcome,
        value=value,
        expected=expected(check) + remark,
        failing_rows=failing_rows,
        rows=rows if measurement.rows is None else measurement.rows,
        source=measurement.source,
        metric=check.metric,
        measured=measurement.value,
        low=low,
        high=high,
        advice=None if outcome is Verdict.PASS else advise(plan, check, failing_rows, expected(check)),
        unit=Unit.PERCENT if check.drift and check.drift.comparison is Comparison.RATE else check.unit,
    )


def _plain(value: float | None) -> float | None:
    """Return the number, a zero without its sign: engines differ in it, and no check asks for it."""
    return value + 0.0 if isinstance(value, float) else value


def _bounds(check: Check) -> tuple[float | None, float | None]:
    """Return where the values begin and end that pass. There is no such place if those that pass surround others."""
    first, *_, last = *check.threshold, *check.threshold
    match check.operator:
        case Operator.MUST_BE | Operator.IN_RANGE:
            return first, last
        case Operator.GREATER_THAN | Operator.GREATER_OR_EQUAL:
            return first, None
        case Operator.LESS_THAN | Operator.LESS_OR_EQUAL:
            return None, first
        case _:
            return None, None


def _value(check: Check, kind: MetricKind, value: float | None, rows: int, past: Past) -> float | None:
    """Return the metric in the check's unit, or its drift."""
    if value is None:
        return None
    if check.drift:
        return drift_of(check.drift, value, before(check, past))
    if check.unit is not Unit.PERCENT or not kind.counts_rows:
        return value
    return 100 * value / rows if rows else 0.0


def _verdict(check: Check, value: float | None) -> Verdict:
    """Return the check's verdict. Without a number the check does not hold: nothing shows that it does, nor which rows
    to quarantine.
    """
    if value is not None and holds(check, value):
        return Verdict.PASS
    return _PROBLEMS[Severity.ERROR if value is None and check.severity is Severity.QUARANTINE else check.severity]
