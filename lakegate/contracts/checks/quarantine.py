"""Quarantine in a contract: which checks may quarantine rows, and how many rows of a file may go. It moves none."""

from collections.abc import Sequence

from lakegate.audit.advice import setting as setting_lines
from lakegate.audit.evaluation.verdicts import holds
from lakegate.audit.model.plan import Budget, Check, Metric, Severity
from lakegate.contracts.checks.check import CheckWithMetric
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import setting

SETTING = "quarantineBudget"
_HUNDRED = 100


def budget_of(table: Item, checks: Sequence[CheckWithMetric]) -> Budget | None:
    """Return the table's budget; note a fault if a check asks for quarantine and cannot have it, or if none asks."""
    asking = [(check, metric) for check, metric in checks if check.severity is Severity.QUARANTINE]
    entry = setting(table, SETTING)
    for check, metric in asking:
        if reason := _unable(check, metric):
            table.document.report(check.line, f"{check.name} cannot quarantine: {reason}")
    if asking and entry is None:
        needs = f"a check that quarantines needs the table's {SETTING}, such as {{rows: 100}} or {{percent: 1}}"
        table.document.report(asking[0][0].line, needs, setting_lines(SETTING, "{percent: 1}"))
    if entry and not asking:
        entry.fault(f"{SETTING} without a check of severity quarantine")
    return _budget(entry) if entry else None


def _unable(check: Check, metric: Metric) -> str:
    if not metric.kind.counts_rows or check.drift:
        return "only checks that count failing rows can"
    return "" if holds(check, 0) else "it would not hold without failing rows either"


def _budget(entry: Item) -> Budget | None:
    match entry.plain("value"):
        case {"rows": int(rows), **rest} if not rest and not isinstance(rows, bool) and rows > 0:
            return Budget(rows=rows)
        case {"percent": int() | float() as percent, **rest} if not rest and not isinstance(percent, bool):
            if 0 < percent <= _HUNDRED:
                return Budget(percent=float(percent))
    entry.fault(f"{SETTING} is {{rows: 100}}, a number above 0, or {{percent: 1}}, up to 100, of each file")
    return None
