"""Checks that a trial asks, and those that it does not, each with the reason. It reads no file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec

from lakegate.audit.model.plan import Check, Plan, Scope, Severity, Trait
from lakegate.express.plan import asks_spark

PARTITIONS = "pip install 'lakegate[wap]'"


@dataclass(frozen=True, kw_only=True)
class Omission:
    """A check that was not asked, or not of all rows that the service asks it of."""

    check: str
    why: str


def askable(plan: Plan) -> tuple[Plan, dict[str, str]]:
    """Return the plan of what can be asked of files alone, and the other checks, by id, each with the reason."""
    reasons = {check.id: reason for check in plan.checks if (reason := _reason(plan, check))}
    plan_to_ask = without(plan, reasons)
    by_order = any(_goes_by_order(plan_to_ask, check) for check in plan_to_ask.checks)
    return plan_to_ask if by_order else replace(plan_to_ask, partitions=()), reasons


def _goes_by_order(plan: Plan, check: Check) -> bool:
    """Return True if the first row of several stays, which in a table with partitions is the first of a partition."""
    repeats = plan.metric(check.metric).has(Trait.REPEATS)
    return bool(plan.partitions) and repeats and check.severity is Severity.QUARANTINE


def without(plan: Plan, checks: Collection[str]) -> Plan:
    """Return the plan without these checks, by id, and without the metrics that nothing else needs."""
    checks_left = tuple(check for check in plan.checks if check.id not in checks)
    metric_ids = {check.metric for check in checks_left}
    return replace(
        plan, checks=checks_left, metrics=tuple(metric for metric in plan.metrics if metric.id in metric_ids)
    )


def _reason(plan: Plan, check: Check) -> str:
    """Return why files alone do not decide the check; "" if they do."""
    metric = plan.metric(check.metric)
    if check.drift:
        return "it compares a file with those that were published before it"
    if metric.refers_to:
        return f"it looks for keys in {metric.refers_to.table} on main"
    if metric.has(Trait.SIZE) and metric.scope is Scope.TABLE:
        return "it counts the rows of the table on main, too"
    if _goes_by_order(plan, check) and not find_spec("pyiceberg_core"):
        return f"which of several rows stays depends on the table's partitions; to have it asked: {PARTITIONS}"
    return asks_spark(plan, metric)


def omissions(plan: Plan, reasons: Mapping[str, str]) -> tuple[Omission, ...]:
    """Return the checks with reasons, and those that were asked of too few rows."""
    reasons_by_id = {check.id: reasons.get(check.id) or _half_asked(plan, check) for check in plan.checks}
    return tuple(
        Omission(check=check.name, why=reasons_by_id[check.id]) for check in plan.checks if reasons_by_id[check.id]
    )


def _half_asked(plan: Plan, check: Check) -> str:
    if plan.metric(check.metric).scope is Scope.BATCH:
        return ""
    return "it was asked of these files together, and not of the rows on main"
