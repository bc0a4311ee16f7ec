"""Observation: verdicts of enforcing, of files that are published all the same.

Rows that do not parse are in no table, so the checks that rows parse are enforced. A file that these reject has
the verdict of enforcing.
"""

from collections.abc import Sequence
from dataclasses import replace

from lakegate.audit.evaluation.quarantine import BUDGET, Results, budget_check, leaving_checks
from lakegate.audit.evaluation.verdicts import malformed_checks
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import CheckResult, Verdict

_WOULD = {Verdict.FAIL: Verdict.WOULD_FAIL, Verdict.QUARANTINE: Verdict.WOULD_QUARANTINE}


def as_observed(plan: Plan, results: Results) -> dict[str, tuple[CheckResult, ...]]:
    """Return the results of each file under enforcing, as an observing contract has them."""
    return {file: _observe_checks(plan, checks) for file, checks in results.items()}


def _observe_checks(plan: Plan, checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    enforced_checks = malformed_checks(plan)
    enforced_results = [check for check in checks if check.check in enforced_checks]
    if any(check.verdict is Verdict.FAIL for check in enforced_results):
        return tuple(checks)
    budget = _own_budget(plan, enforced_results)
    if budget and budget.verdict is Verdict.FAIL:
        return (*(check for check in checks if check.check != BUDGET), budget)
    results = tuple(check if check.check in enforced_checks else _observe_check(check) for check in checks)
    return results if budget is None or any(check.check == BUDGET for check in results) else (*results, budget)


def _observe_check(check: CheckResult) -> CheckResult:
    return replace(check, verdict=_WOULD.get(check.verdict, check.verdict))


def _own_budget(plan: Plan, enforced_results: Sequence[CheckResult]) -> CheckResult | None:
    """Return the check of the budget for the rows that do not parse alone, if they are to leave."""
    rows = rows_leaving(enforced_results)
    return budget_check(plan.budget, rows, enforced_results[0].rows) if rows else None


def rows_leaving(checks: Sequence[CheckResult]) -> int:
    """Return how many rows go to quarantine although the contract observes: those that do not parse."""
    ids = leaving_checks(checks)
    return sum(check.failing_rows for check in checks if check.check in ids)


def rows_observed(checks: Sequence[CheckResult]) -> int:
    """Return how many of a published file's rows enforcing would quarantine."""
    verdicts = {check.verdict for check in checks}
    if Verdict.WOULD_QUARANTINE not in verdicts or verdicts & {Verdict.FAIL, Verdict.WOULD_FAIL}:
        return 0
    rows = next(int(check.value or 0) for check in checks if check.check == BUDGET)
    return rows - rows_leaving(checks)


def rows_aside(checks: Sequence[CheckResult]) -> int:
    """Return how many of a file's rows would go to quarantine, those that do not parse among them."""
    verdicts = {check.verdict for check in checks}
    if not verdicts & {Verdict.QUARANTINE, Verdict.WOULD_QUARANTINE} or verdicts & {Verdict.FAIL, Verdict.WOULD_FAIL}:
        return 0
    return next(int(check.value or 0) for check in checks if check.check == BUDGET)
