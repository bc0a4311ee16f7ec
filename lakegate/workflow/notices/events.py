"""Events: one for each commit on main that publishes or rejects files, and for each channel.

They are made of main's log, so they say what is there, whoever decided it and however often a worker died meanwhile.
They are in the outbox before people are notified, because an attempt that people were notified of is looked at no more.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice

import structlog

from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import CheckResult, FileReport, Report, Verdict
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import DecidedFile, Event, EventCheck, EventColumn, EventFile, EventKind, LogEntry
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.notices.outbox import AddressedEvent, prepare, send
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import AttemptEnd

log = structlog.get_logger()
PREFIX = "events/"  # of their names in the outbox; no table, and so no message, begins like it
FILES = 100  # that an event names
CHECKS = 2_000  # of these together, and the same number of the table's columns: a table may have very many
COLUMNS = 20  # of one check
TEXT = 500  # characters of each text in it
KINDS = {Decision.PUBLISHED: EventKind.PUBLISHED, Decision.REJECTED: EventKind.REJECTED}
ReportByVersion = Mapping[tuple[str, str], FileReport]  # by key and version id


def channel_of(name: str) -> str:
    """Return the channel of an event, by its name in the outbox; "" for a message."""
    return name.split("/")[1] if name.startswith(PREFIX) else ""


def report_decisions(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion] = (), end: AttemptEnd | None = None
) -> None:
    """Notify every channel of each decision on the attempt's files in main's log, unless it was notified."""
    send_events(service, record_events(service, attempt, claims, end))


def record_events(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion] = (), end: AttemptEnd | None = None
) -> dict[str, AddressedEvent]:
    """Put an event of each decision on the attempt's files in the outbox, for each channel that was not notified.
    Return those by their names there.
    """
    if not service.channels:
        return {}
    events = {
        f"{PREFIX}{event.channel}/{event.event.id}": event for event in _addressed_events(service, attempt, claims, end)
    }
    return {name: event for name, event in events.items() if prepare(service, name, event)}


def send_events(service: Service, events: Mapping[str, AddressedEvent]) -> None:
    """Send these events. One that fails in any way keeps nobody from going on: the sweep sends it."""
    for name, event in events.items():
        try:
            send(service, name, event)
        except Exception as error:  # noqa: BLE001 (people and other channels are still to be notified)
            log.warning("event_not_sent", message=name, error=str(error), kind=type(error).__name__)


def _addressed_events(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], end: AttemptEnd | None
) -> Iterator[AddressedEvent]:
    """Yield the event of each decision for each channel, oldest first."""
    decisions = [
        decision
        for decision in service.ledger.decisions(DECISIONS, batch=attempt.batch)
        if decision.record.attempt == attempt.number and decision.record.decision in KINDS
    ]
    if not decisions:
        return
    report, plan = end.report if end else None, _plan(service, attempt)
    reports = end.reports_by_id if end else {}
    by_version = {(file.key, file.version_id): reports[file.id] for file in claims if file.id in reports}
    for decision in reversed(decisions):
        event = event_of(decision, plan, report, by_version)
        yield from (AddressedEvent(channel=name, event=event) for name in service.channels)


def _plan(service: Service, attempt: Attempt) -> Plan | None:
    """Return the plan that the attempt's job has, or without a job the contract's of now."""
    if job := readable_job_of(service.store, attempt):
        return job.plan
    with suppress(Misconfigured):
        return contract_of(service.store, attempt.table).plan
    return None


def event_of(decision: LogEntry, plan: Plan | None, report: Report | None, reports: ReportByVersion) -> Event:
    """Return the event of a decision."""
    record = decision.record
    attempt = Attempt(table=record.table, batch=record.batch, number=record.attempt)
    columns, files = _columns(plan, report), record.files[:FILES]
    branch = attempt.branch if record.decision is Decision.REJECTED and record.attempt else ""
    return Event(
        id=f"{record.batch}-a{record.attempt}-{record.decision}-{decision.commit[:16]}",
        kind=KINDS[record.decision],
        table=record.table,
        batch=record.batch,
        attempt=record.attempt,
        commit=decision.commit,
        at=decision.at,
        files=tuple(_file(file, reports.get((file.key, file.version_id)), CHECKS // len(files)) for file in files),
        more=record.rest + max(0, len(record.files) - FILES),
        rows=sum(file.rows for file in record.files),
        quarantined_rows=sum(file.quarantined for file in record.files),
        replaced_rows=sum(file.replaced for file in record.files),
        contract_id=plan.contract_id if plan else "",
        contract_version=plan.contract_version if plan else "",
        contract_hash=plan.contract_hash if plan else "",
        columns=tuple(columns[:CHECKS]),
        more_columns=max(0, len(columns) - CHECKS),
        began=report.started_at if report else None,
        lane=record.lane,
        branch=branch,
        by=record.by,
        why=record.reason,
    )


def _columns(plan: Plan | None, report: Report | None) -> list[EventColumn]:
    """Return the contract's columns, and those that the table has beside them."""
    contract_columns = plan.columns if plan else ()
    column_names = {column.name for column in contract_columns}
    columns = [
        EventColumn(name=column.name, type=column.type[:TEXT], doc=column.doc[:TEXT]) for column in contract_columns
    ]
    return columns + [EventColumn(name=name) for name in (report.columns if report else ()) if name not in column_names]


def _file(file: DecidedFile, report: FileReport | None, limit: int) -> EventFile:
    """Return a file with so many of its checks, the failed ones first."""
    checks = report.checks if report else ()
    failing_checks = [check for check in checks if check.verdict is not Verdict.PASS]
    passing_checks = (check for check in checks if check.verdict is Verdict.PASS)
    return EventFile(
        key=file.key,
        version_id=file.version_id,
        rows=file.rows,
        quarantined_rows=file.quarantined,
        replaced_rows=file.replaced,
        verdict=report.verdict if report else "",
        reasons=file.reasons,
        checks=tuple(_check(check) for check in islice(chain(failing_checks, passing_checks), limit)),
        more_checks=max(0, len(checks) - limit),
    )


def _check(check: CheckResult) -> EventCheck:
    return EventCheck(
        name=check.name[:TEXT],
        columns=check.columns[:COLUMNS],
        severity=check.severity,
        verdict=check.verdict,
        expected=check.expected[:TEXT],
        found=check.result[:TEXT],
        failing_rows=check.failing_rows,
    )
