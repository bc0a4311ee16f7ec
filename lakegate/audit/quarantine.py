"""Quarantine: how many failing rows a file may give up, and what is said of it once they are gone. It moves no row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lakegate.audit.plan import Budget, Plan, Severity
from lakegate.audit.report import CheckResult, Source, Verdict

NAMESPACE = "_quarantine"
BUDGET = "quarantine-budget"
"""The id of the check that a file's failing rows are within their budget. No plan has a metric for it."""
_PERCENT = 100

Distinct = Callable[[str, Sequence[str], Sequence[str]], int]
"""How many rows of a file version fail any of these checks (by id), given the good files before it."""
Results = Mapping[str, tuple[CheckResult, ...]]


def quarantine_of(table: str) -> str:
    """The table that the failing rows of a table go to: `_quarantine.nyc_flights` of `nyc.flights`."""
    return f"{NAMESPACE}.{table.replace('.', '_')}"


def leaving(checks: Sequence[CheckResult]) -> list[str]:
    """The checks, by id, whose failing rows are to go; none where the file is rejected, and keeps them all."""
    failed = any(check.verdict is Verdict.FAIL for check in checks)
    return [] if failed else [check.check for check in checks if check.verdict is Verdict.QUARANTINE]


def unforgiving(plan: Plan) -> Plan:
    """The plan by which what is left is judged: no more rows may go."""
    strict = {Severity.QUARANTINE: Severity.ERROR}
    return replace(plan, checks=tuple(replace(it, severity=strict.get(it.severity, it.severity)) for it in plan.checks))


def within(budget: Budget | None, failing: int, rows: int, *, at_least: bool = False) -> CheckResult:
    """The check that so many failing rows of a file's may go. Without a budget none may, and never all of them.

    `at_least`: there may be more of them, that were not counted because so many are too many already.
    """
    budget = budget or Budget(rows=0)
    # The share, and not the number that it allows, is what rounds to the percentage that somebody wrote.
    share = failing if budget.percent is None else _PERCENT * failing / max(rows, 1)
    allowed = budget.rows or 0 if budget.percent is None else budget.percent
    verdict = Verdict.PASS if share <= allowed and failing < rows else Verdict.FAIL
    said = f"{budget.rows:,}" if budget.percent is None else f"{budget.percent:.15g}%"
    return CheckResult(
        check=BUDGET,
        name="rows for quarantine" + (", counted as far as the budget goes" if at_least else ""),
        columns=(),
        severity=Severity.ERROR,
        verdict=verdict,
        value=failing,
        expected=f"at most {said}, and not all",
        failing_rows=failing if verdict is Verdict.FAIL else 0,
        rows=rows,
        source=Source.QUERY,
    )


def afterwards(before: Results, after: Results) -> dict[str, tuple[CheckResult, ...]]:
    """Every check once failing rows have left: as it was of what they failed, a warning too, and else as it is of what
    is left, by the unforgiving plan. Files that `after` does not have were rejected before, and nothing of theirs was
    moved.
    """
    return {file: _afterwards(checks, after[file]) if file in after else checks for file, checks in before.items()}


def _afterwards(before: Sequence[CheckResult], after: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    now = {check.check: check for check in after}
    return tuple(_settled(check, now.get(check.check, check)) for check in before)


def _settled(before: CheckResult, now: CheckResult) -> CheckResult:
    # Of rows that leave, no number about all rows has warned: it has waited for those that stay.
    left = before.verdict in (Verdict.QUARANTINE, Verdict.WARN) and now.verdict is Verdict.PASS
    return before if left or before.check == BUDGET else replace(now, severity=before.severity)
