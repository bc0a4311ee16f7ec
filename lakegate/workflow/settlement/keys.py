"""Files that passed the first evaluation but failed the second, after failing rows were quarantined.

Verdicts of files that were compared with them may no longer hold: a key that a rejected file has is free for others. It
reads reports and decides nothing.
"""

from lakegate.audit.evaluation.quarantine import BUDGET
from lakegate.audit.model.plan import Metric, Plan, Relation
from lakegate.audit.model.report import FileReport, Report, Verdict


def failed_after_quarantine(plan: Plan, report: Report) -> frozenset[str]:
    """Return the file versions, by id, that failed once rows were quarantined: their own, or those of other files."""
    has_quarantine = any(entry.quarantined for entry in report.files)
    metrics = plan.comparing(Relation.SUPPORT)
    fails = [entry for entry in report.files if entry.verdict is Verdict.FAIL and not entry.faults]
    return frozenset(
        entry.id for entry in fails if entry.quarantined or (has_quarantine and _fails_only_by(entry, metrics))
    )


def with_released_keys(plan: Plan, report: Report) -> frozenset[str]:
    """Return the file versions, by id, that failed only for keys that files which failed after quarantine may have: a
    key of a rejected file is free. Empty if no file failed after quarantine.
    """
    failed_late = failed_after_quarantine(plan, report)
    keys = plan.comparing(Relation.CONFLICT) if failed_late else frozenset[str]()
    return frozenset(entry.id for entry in report.files if entry.id not in failed_late and _fails_only(entry, keys))


def failed_and_compared(plan: Plan, report: Report) -> frozenset[str]:
    """Return the files that failed after quarantine, by id, if verdicts of other files may depend on them: by a
    repeated key, or by a reference to their rows.
    """
    keys = plan.comparing(Relation.CONFLICT)
    metrics_by_file = (failing_metrics(entry) | quarantined_metrics(entry) for entry in report.files)
    hangs = any(_refers_to_own(plan, metric) for metric in plan.metrics) or any(
        metrics & keys for metrics in metrics_by_file
    )
    return failed_after_quarantine(plan, report) if hangs else frozenset()


def failing_metrics(entry: FileReport) -> set[str]:
    """Return the metrics that fail a file, or would if its contract enforced, by id."""
    return _metrics(entry, Verdict.FAIL, Verdict.WOULD_FAIL)


def quarantined_metrics(entry: FileReport) -> set[str]:
    """Return the metrics, by id, whose failing rows are quarantined, or would be within the budget or if the contract
    enforced.
    """
    return _metrics(entry, Verdict.QUARANTINE, Verdict.WOULD_QUARANTINE)


def _metrics(entry: FileReport, *verdicts: Verdict) -> set[str]:
    return {check.metric for check in entry.checks if check.verdict in verdicts and check.check != BUDGET}


def _fails_only_by(entry: FileReport, metrics: frozenset[str]) -> bool:
    """Return True if some metric fails the file, and only these do. A file without a failing metric is over its budget,
    and was so before any row was quarantined.
    """
    return set() < failing_metrics(entry) <= metrics


def _fails_only(entry: FileReport, metrics: frozenset[str]) -> bool:
    """Return True if only these metrics fail the file, or bring it over its budget."""
    fails = failing_metrics(entry)
    return entry.verdict is Verdict.FAIL and fails <= metrics and bool((fails | quarantined_metrics(entry)) & metrics)


def _refers_to_own(plan: Plan, metric: Metric) -> bool:
    return metric.refers_to is not None and metric.refers_to.table == plan.table
