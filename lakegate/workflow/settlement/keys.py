"""Files that failed late: they were good until failing rows had left the batch, and others were compared with them.

What was found of those others may be otherwise without them. It reads reports and decides nothing.
"""

from lakegate.audit.plan import Metric, Others, Plan
from lakegate.audit.quarantine import BUDGET
from lakegate.audit.report import FileReport, Report, Verdict


def late(plan: Plan, report: Report) -> frozenset[str]:
    """The file versions, by id, that failed once rows had left: their own, or others' of the same table."""
    moved = any(entry.quarantined for entry in report.files)
    counted = plan.comparing(Others.NEEDED)
    failed = [entry for entry in report.files if entry.verdict is Verdict.FAIL and not entry.faults]
    return frozenset(it.id for it in failed if it.quarantined or (moved and _fails_only_by(it, counted)))


def freed(plan: Plan, report: Report) -> frozenset[str]:
    """The rejected file versions, by id, of which only keys failed that others have in the same table, where a file
    failed late: a key of a rejected file is free.
    """
    tardy = late(plan, report)
    keys = plan.comparing(Others.REPEATED) if tardy else frozenset[str]()
    return frozenset(it.id for it in report.files if it.id not in tardy and _fails_only(it, keys))


def may_differ_without(plan: Plan, report: Report) -> frozenset[str]:
    """The files that failed late, by id, if what was found of others may hang on them: by a key that repeats one, or a
    reference to their rows.
    """
    keys = plan.comparing(Others.REPEATED)
    found = (failing(entry) | quarantining(entry) for entry in report.files)
    hangs = any(_refers_to_own(plan, it) for it in plan.metrics) or any(metrics & keys for metrics in found)
    return late(plan, report) if hangs else frozenset()


def failing(entry: FileReport) -> set[str]:
    """The metrics that fail a file, by id."""
    return _metrics(entry, Verdict.FAIL)


def quarantining(entry: FileReport) -> set[str]:
    """The metrics of which rows are put aside, or would be within the budget."""
    return _metrics(entry, Verdict.QUARANTINE)


def _metrics(entry: FileReport, verdict: Verdict) -> set[str]:
    return {check.metric for check in entry.checks if check.verdict is verdict and check.check != BUDGET}


def _fails_only_by(entry: FileReport, metrics: frozenset[str]) -> bool:
    """Not so where none fails: it is over its budget then, and was before any row had left."""
    return set() < failing(entry) <= metrics


def _fails_only(entry: FileReport, metrics: frozenset[str]) -> bool:
    """Whether these are all that fails a file, or what brings it over its budget."""
    found = failing(entry)
    return entry.verdict is Verdict.FAIL and found <= metrics and bool((found | quarantining(entry)) & metrics)


def _refers_to_own(plan: Plan, metric: Metric) -> bool:
    return metric.refers_to is not None and metric.refers_to.table == plan.table
