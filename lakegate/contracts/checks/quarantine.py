"""Quarantine in a contract: which checks may quarantine rows, and how many rows of a file may go. It moves none."""

from collections.abc import Sequence

from lakegate.audit.advice import setting as setting_lines
from lakegate.audit.evaluation.verdicts import holds
from lakegate.audit.model.plan import Budget, Check, Metric, Severity
from lakegate.contracts.checks.check import Checked
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import setting

SETTING = "quarantineBudget"
_HUNDRED = 100


def budget_of(table: Item, checks: Sequence[Checked]) -> Budget | None:
    """Return the table's budget; note a fault if a check asks for quarantine and cannot have it, or if none asks."""
    asking = [(check, metric) for check, metric in checks if check.severity is Severity.QUARANTINE]
    said = setting(table, SETTING)
    for check, metric in asking:
        if why := _unable(check, metric):
            table.document.tell(check.line, f"{check.name} cannot quarantine: {why}")
    if asking and said is None:
        needs = f"a check that quarantines needs the table's {SETTING}, such as {{rows: 100}} or {{percent: 1}}"
        table.document.tell(asking[0][0].line, needs, setting_lines(SETTING, "{percent: 1}"))
    if said and not asking:
        said.fault(f"{SETTING} without a check of severity quarantine")
    return _budget(said) if said else None


def _unable(check: Check, metric: Metric) -> str:
    if not metric.kind.counts_rows or check.drift:
        return "only checks that count failing rows can"
    return "" if holds(check, 0) else "it would not hold without failing rows either"


def _budget(said: Item) -> Budget | None:
    match said.plain("value"):
        case {"rows": int(rows), **others} if not others and not isinstance(rows, bool) and rows > 0:
            return Budget(rows=rows)
        case {"percent": int() | float() as percent, **others} if not others and not isinstance(percent, bool):
            if 0 < percent <= _HUNDRED:
                return Budget(percent=float(percent))
    said.fault(f"{SETTING} is {{rows: 100}}, a number above 0, or {{percent: 1}}, up to 100, of each file")
    return None
