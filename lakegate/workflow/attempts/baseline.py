"""What a table's last published file versions measured, read from main's log and their reports.

Nothing is kept for it besides, so a check that came with yesterday's contract begins with what was measured since.
"""

from collections.abc import Iterable, Iterator, Mapping

from lakegate.audit.model.plan import MetricKind, Plan
from lakegate.audit.model.report import FileReport
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Note
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

Version = tuple[str, str]
"""A landing key and one of its version ids."""


def baseline(service: Service, plan: Plan, replaced: Iterable[Version] = ()) -> dict[str, tuple[float, ...]]:
    """By id, the metrics whose drift the plan checks: their values in the files published last, oldest first. File
    versions that are `replaced`, or about to be, do not count.
    """
    wanted = _wanted(plan)
    found: dict[str, list[float]] = {metric: [] for metric in wanted}
    for file in _published(service, plan.table, replaced) if wanted else ():
        for metric, value in _measured(plan, file).items():
            if metric in wanted and len(found[metric]) < wanted[metric]:
                found[metric].append(value)
        if all(len(found[metric]) == files for metric, files in wanted.items()):
            break
    return {metric: tuple(reversed(values)) for metric, values in found.items()}


def _wanted(plan: Plan) -> dict[str, int]:
    """How many files back each metric is asked for."""
    wanted: dict[str, int] = {}
    for check in plan.checks:
        if check.drift:
            wanted[check.metric] = max(check.drift.files, wanted.get(check.metric, 0))
    return wanted


def _measured(plan: Plan, file: FileReport) -> dict[str, float]:
    """A file's metrics that have a value, of the rows that it has in the table: a check on rows that were quarantined
    tells of the file as it arrived. Every report knows its rows, whatever its contract asked for.
    """
    rows = {metric.id: float(file.rows) for metric in plan.metrics if metric.kind is MetricKind.ROWS}
    of_all = [check for check in file.checks if check.rows == file.rows]
    return rows | {check.metric: check.measured for check in of_all if check.measured is not None}


def _published(service: Service, table: str, replaced: Iterable[Version]) -> Iterator[FileReport]:
    """The table's published file versions, the last one first; those whose report is gone are left out."""
    gone = set(replaced)
    for decided in service.ledger.decisions(DECISIONS, table=table):
        if decided.note.decision is Decision.PUBLISHED:
            files = _reported(service, decided.note)
            its = [file for file in decided.note.files if (file.key, file.version_id) not in gone]
            gone.update((file.key, version) for file in decided.note.files for version in file.replaces)
            yield from (files[file.key] for file in reversed(its) if file.key in files)


def _reported(service: Service, note: Note) -> Mapping[str, FileReport]:
    try:
        report = read_report(service.store, Attempt(table=note.table, batch=note.batch, number=note.attempt))
    except Refused:
        return {}
    return {file.key: file for file in report.files} if report else {}
