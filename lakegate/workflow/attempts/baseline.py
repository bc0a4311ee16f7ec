"""A table's baseline: the values that its last published file versions measured, from main's log and their reports.

Nothing else is stored for it, so a check that a contract has gained has a baseline from its first audit on. A file that
was published only because its contract observes is no part of it, nor are those of its rows that enforcing would have
quarantined: a fault would else hide the next one, and the first day of enforcing would compare with faults.
"""

from collections.abc import Iterable, Iterator, Mapping

from lakegate.audit.model.plan import Plan, Trait
from lakegate.audit.model.report import FileReport, Verdict
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Record
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

Version = tuple[str, str]
"""A landing key and one of its version ids."""


def baseline(service: Service, plan: Plan, exclusions: Iterable[Version] = ()) -> dict[str, tuple[float, ...]]:
    """Return the values of each metric that the plan checks for drift, by metric id: those of the files published last,
    oldest first. File versions that are `exclusions`, or about to be, do not count.
    """
    files_by_metric = _files_wanted(plan)
    values_by_metric: dict[str, list[float]] = {metric: [] for metric in files_by_metric}
    for file in _published(service, plan.table, exclusions) if files_by_metric else ():
        for metric, value in _values_of(plan, file).items():
            if metric in files_by_metric and len(values_by_metric[metric]) < files_by_metric[metric]:
                values_by_metric[metric].append(value)
        if all(len(values_by_metric[metric]) == files for metric, files in files_by_metric.items()):
            break
    return {metric: tuple(reversed(values)) for metric, values in values_by_metric.items()}


def _files_wanted(plan: Plan) -> dict[str, int]:
    """Return the number of files whose values are wanted, by metric id."""
    files_by_metric: dict[str, int] = {}
    for check in plan.checks:
        if check.drift:
            files_by_metric[check.metric] = max(check.drift.files, files_by_metric.get(check.metric, 0))
    return files_by_metric


def _values_of(plan: Plan, file: FileReport) -> dict[str, float]:
    """Return the values of a file's metrics over the rows that it has in the table, or that it would have there if its
    contract enforced. A check on the file as it arrived covers quarantined rows too, so its value is left out. Every
    report has the number of rows, whatever the contract asks for.
    """
    table_rows = file.rows - file.would_quarantine
    rows = {metric.id: float(table_rows) for metric in plan.metrics if metric.has(Trait.SIZE)}
    of_all = [check for check in file.checks if check.rows == table_rows]
    return rows | {check.metric: check.measured for check in of_all if check.measured is not None}


def _published(service: Service, table: str, exclusions: Iterable[Version]) -> Iterator[FileReport]:
    """Yield the reports of the table's published file versions, newest first, as far as their reports are kept."""
    excluded_versions = set(exclusions)
    for decision in service.ledger.decisions(DECISIONS, table=table):
        if decision.record.decision is Decision.PUBLISHED:
            reports = _file_reports(service, decision.record)
            files = [file for file in decision.record.files if (file.key, file.version_id) not in excluded_versions]
            excluded_versions.update((file.key, version) for file in decision.record.files for version in file.replaces)
            file_reports = [reports[file.key] for file in reversed(files) if file.key in reports]
            yield from (file for file in file_reports if file.verdict is not Verdict.WOULD_FAIL)


def _file_reports(service: Service, record: Record) -> Mapping[str, FileReport]:
    """Return the file reports of the attempt that a note is of, by landing key; none if its report cannot be read."""
    try:
        report = read_report(service.store, Attempt(table=record.table, batch=record.batch, number=record.attempt))
    except Refused:
        return {}
    return {file.key: file for file in report.files} if report else {}
