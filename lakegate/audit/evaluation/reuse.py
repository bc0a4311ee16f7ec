"""Reuse of audited data files by a later attempt: their verdicts of batch scope hold wherever the files are.

Only checks of table scope run again, against the table that the data files are appended to.
"""

from collections.abc import Sequence
from dataclasses import replace

from lakegate.audit.model.plan import Plan, Scope, Severity
from lakegate.audit.model.report import FAILED, CheckResult, FileReport, Verdict


def of_table_scope(plan: Plan) -> Plan:
    """Return the plan with its checks of table scope alone."""
    asked = {metric.id for metric in plan.metrics if metric.scope is Scope.TABLE}
    return replace(
        plan,
        metrics=tuple(metric for metric in plan.metrics if metric.id in asked),
        checks=tuple(check for check in plan.checks if check.metric in asked),
    )


def may_be_reused(plan: Plan, file: FileReport) -> bool:
    """Return True if only checks of table scope can reject the file, and no row of it is or may be quarantined."""
    asked = of_table_scope(plan).checks
    ids, quarantined = {check.id for check in asked}, any(check.severity is Severity.QUARANTINE for check in asked)
    wrong = (*FAILED, Verdict.WOULD_QUARANTINE)
    failed = any(check.verdict in wrong and check.check not in ids for check in file.checks)
    return not (file.faults or file.quarantined or quarantined or failed)


def combined(before: Sequence[CheckResult], now: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the earlier results in their order, each replaced by the new result of its check, if there is one."""
    found = {result.check: result for result in now}
    return tuple(found.get(result.check, result) for result in before)
