"""Quarantine: the budget of a file's failing rows, and the file's checks once they are gone. It moves no row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lakegate.audit.evaluation.advice import advise_budget
from lakegate.audit.model.names import name_beside
from lakegate.audit.model.plan import Budget, Plan, Severity
from lakegate.audit.model.report import CheckResult, Source, Verdict

NAMESPACE = "_quarantine"
BUDGET = "quarantine-budget"
"""An id for the check that a file's failing rows are within their budget. No plan has a metric for it."""
_PERCENT = 100

Distinct = Callable[[str, Sequence[str], Sequence[str]], int]
"""A count of a file version's rows that fail any of these checks (by id), given the good files before it."""
Results = Mapping[str, tuple[CheckResult, ...]]


def quarantine_of(table: str, *, distinct: bool = False) -> str:
    """Return the table that the failing rows of a table go to: `_quarantine.nyc_flights` for `nyc.flights`,
    unless it has the `distinct` name.
    """
    return f"{NAMESPACE}.{name_beside(table, distinct=distinct)}"


def leaving_checks(checks: Sequence[CheckResult]) -> list[str]:
    """Return the checks, by id, whose failing rows are to leave; none if the file is rejected and keeps its rows."""
    is_rejected = any(check.verdict is Verdict.FAIL for check in checks)
    return [] if is_rejected else [check.check for check in checks if check.verdict is Verdict.QUARANTINE]


def without_budget(plan: Plan) -> Plan:
    """Return the plan that judges the remaining rows: no more of them may go to quarantine."""
    strict = {Severity.QUARANTINE: Severity.ERROR}
    return replace(
        plan, checks=tuple(replace(check, severity=strict.get(check.severity, check.severity)) for check in plan.checks)
    )


def budget_check(budget: Budget | None, failing_rows: int, rows: int, *, at_least: bool = False) -> CheckResult:
    """Return the check that a file's failing rows are within the budget. Without a budget none may go, and never all.

    `at_least` marks a count that is a minimum: it exceeds the budget already, so the rest was not counted.
    """
    budget = budget or Budget(rows=0)
    # Compare shares, not row numbers: a share rounds to the percentage that the contract states.
    share = failing_rows if budget.percent is None else _PERCENT * failing_rows / max(rows, 1)
    limit = budget.rows or 0 if budget.percent is None else budget.percent
    verdict = Verdict.PASS if share <= limit and failing_rows < rows else Verdict.FAIL
    limit_text = f"{budget.rows:,}" if budget.percent is None else f"{budget.percent:.15g}%"
    return CheckResult(
        check=BUDGET,
        name="rows for quarantine" + (", counted as far as the budget goes" if at_least else ""),
        columns=(),
        severity=Severity.ERROR,
        verdict=verdict,
        value=failing_rows,
        expected=f"at most {limit_text}, and not all",
        failing_rows=failing_rows if verdict is Verdict.FAIL else 0,
        rows=rows,
        source=Source.QUERY,
        advice=advise_budget(budget, failing_rows) if verdict is Verdict.FAIL else None,
    )


def afterwards(before: Results, after: Results) -> dict[str, tuple[CheckResult, ...]]:
    """Return every check once failing rows have left. A check that those rows failed, also with a warning, keeps its
    result; any other gets the result of the remaining rows, by the unforgiving plan. Files absent from `after` were
    rejected before, and none of their rows moved.
    """
    return {file: _afterwards(checks, after[file]) if file in after else checks for file, checks in before.items()}


def _afterwards(before: Sequence[CheckResult], after: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    now = {check.check: check for check in after}
    return tuple(_final_result(check, now.get(check.check, check)) for check in before)


def _final_result(before: CheckResult, now: CheckResult) -> CheckResult:
    # No check on a number about all rows has warned because of rows that leave: it waited for those that stay.
    lost_cause = before.verdict in (Verdict.QUARANTINE, Verdict.WARN) and now.verdict is Verdict.PASS
    return before if lost_cause or before.check == BUDGET else replace(now, severity=before.severity)
