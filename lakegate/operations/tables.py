"""A table's past: what was decided of its batches, and what their audits measured. It draws nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakegate.audit.model.plan import Unit
from lakegate.audit.model.report import WORST_FIRST, CheckResult, FileReport, Report, Verdict
from lakegate.landing.attempts import Attempt
from lakegate.ports import LogEntry
from lakegate.workflow.attempts.reports import readable_reports
from lakegate.workflow.overview.log import with_superseded
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class Number:
    """A check in the files of one audit: its worst verdict, the rows that fail it, and its `least` and `most` value.
    `low` and `high` are where the values begin and end that pass; None: nowhere.
    """

    check: str
    name: str
    verdict: Verdict
    unit: Unit
    failing_rows: int = 0
    rows: int = 0
    least: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class TableAudit:
    """One attempt's audit: how many of its files came to which verdict, its rows, and its checks' numbers. Its
    audits table has the table's `distinct` name, or the plain one.
    """

    batch: str
    attempt: int
    at: datetime
    verdicts: dict[str, int]
    rows: int
    quarantined: int
    numbers: tuple[Number, ...]
    distinct: bool = False


@dataclass(frozen=True, kw_only=True)
class TableView:
    """A table's decisions, newest first, and the audits that they rest on, oldest first."""

    table: str
    decisions: tuple[LogEntry, ...]
    audits: tuple[TableAudit, ...]


def view_table(service: Service, table: str, limit: int) -> TableView:
    """Return the view of a table's last decisions, at most `limit`. An audit whose report cannot be read
    is left out.
    """
    decisions = with_superseded(service, service.ledger.decisions(limit, table=table))
    records = (decision.record for decision in reversed(decisions))
    attempts = dict.fromkeys(
        Attempt(table=record.table, batch=record.batch, number=record.attempt) for record in records if record.attempt
    )
    audits = tuple(map(audit_of, readable_reports(service.store, attempts)))
    return TableView(table=table, decisions=decisions, audits=audits)


def audit_of(report: Report) -> TableAudit:
    results_by_check: dict[str, list[CheckResult]] = {}
    for file in report.files:
        for check in file.checks:
            results_by_check.setdefault(check.check, []).append(check)
    return TableAudit(
        batch=report.batch,
        attempt=report.attempt,
        at=report.finished_at,
        verdicts=_verdicts(report.files),
        rows=report.rows,
        quarantined=sum(file.quarantined_rows for file in report.files),
        numbers=tuple(_number(checks) for checks in results_by_check.values()),
        distinct=report.distinct,
    )


def _verdicts(files: Iterable[FileReport]) -> dict[str, int]:
    verdicts = [file.verdict for file in files]
    return {str(verdict): verdicts.count(verdict) for verdict in WORST_FIRST if verdict in verdicts}


def _number(checks: Sequence[CheckResult]) -> Number:
    """Return one check's number in all files. Its bounds are the last file's: an audit has one contract."""
    values = [check.value for check in checks if check.value is not None]
    last = checks[-1]
    return Number(
        check=last.check,
        name=last.name,
        verdict=min((check.verdict for check in checks), key=WORST_FIRST.index),
        unit=last.unit,
        failing_rows=sum(check.failing_rows for check in checks),
        rows=sum(check.rows for check in checks),
        least=min(values, default=None),
        most=max(values, default=None),
        low=last.low,
        high=last.high,
    )
