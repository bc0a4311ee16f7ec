"""Reuse of audited data files by a later attempt: their verdicts of batch scope hold wherever the files are.

Only checks of table scope run again, against the table that the data files are appended to.
"""

from collections.abc import Sequence
from dataclasses import replace

from lakegate.audit.model.plan import Plan, Scope, Severity
from lakegate.audit.model.report import FAILING_VERDICTS, CheckResult, FileReport, Verdict


def of_table_scope(plan: Plan) -> Plan:
    """Return the plan with its checks of table scope alone."""
    metric_ids = {metric.id for metric in plan.metrics if metric.scope is Scope.TABLE}
    return replace(
        plan,
        metrics=tuple(metric for metric in plan.metrics if metric.id in metric_ids),
        checks=tuple(check for check in plan.checks if check.metric in metric_ids),
    )


def may_be_reused(plan: Plan, file: FileReport) -> bool:
    """Return True if only checks of table scope can reject the file, and no row of it is or may be quarantined."""
    table_checks = of_table_scope(plan).checks
    ids, may_quarantine = (
        {check.id for check in table_checks},
        any(check.severity is Severity.QUARANTINE for check in table_checks),
    )
    wrong = (*FAILING_VERDICTS, Verdict.WOULD_QUARANTINE)
    fails_otherwise = any(check.verdict in wrong and check.check not in ids for check in file.checks)
    return not (file.faults or file.quarantined or may_quarantine or fails_otherwise)


def with_new_results(before: Sequence[CheckResult], now: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the earlier results in their order, each replaced by the new result of its check, if there is one."""
    new_results = {result.check: result for result in now}
    return tuple(new_results.get(result.check, result) for result in before)
