"""Events: one for each commit on main that publishes or rejects files, and for each channel.

They are made of main's log, so they tell what is there, whoever decided it and however often a worker died meanwhile.
They are in the outbox before people are told, because an attempt that people were told of is looked at no more.
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
from lakegate.ports import Decided, DecidedFile, Event, EventCheck, EventColumn, EventFile, EventKind
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.notices.outbox import Addressed, prepare, send
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import Ended

log = structlog.get_logger()
PREFIX = "events/"  # of their names in the outbox; no table, and so no message, begins like it
FILES = 100  # that an event names
CHECKS = 2_000  # of these together, and the same number of the table's columns: a table may have very many
COLUMNS = 20  # of one check
TEXT = 500  # characters of each text in it
KINDS = {Decision.PUBLISHED: EventKind.PUBLISHED, Decision.REJECTED: EventKind.REJECTED}
Reported = Mapping[tuple[str, str], FileReport]  # by key and version id


def channel_of(name: str) -> str:
    """Return the channel of an event, by its name in the outbox; "" for a message."""
    return name.split("/")[1] if name.startswith(PREFIX) else ""


def tell_decided(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion] = (), ended: Ended | None = None
) -> None:
    """Tell every channel of each decision on the attempt's files in main's log, unless it was told."""
    send_noted(service, note_decided(service, attempt, claims, ended))


def note_decided(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion] = (), ended: Ended | None = None
) -> dict[str, Addressed]:
    """Put an event of each decision on the attempt's files in the outbox, for each channel that was not told. Return
    those by their names there.
    """
    if not service.channels:
        return {}
    found = {f"{PREFIX}{its.channel}/{its.event.id}": its for its in _addressed(service, attempt, claims, ended)}
    return {name: its for name, its in found.items() if prepare(service, name, its)}


def send_noted(service: Service, noted: Mapping[str, Addressed]) -> None:
    """Send these events. One that fails in any way keeps nobody from going on: the sweep sends it."""
    for name, its in noted.items():
        try:
            send(service, name, its)
        except Exception as error:  # noqa: BLE001 (people and other channels are still to be told)
            log.warning("event_not_sent", message=name, error=str(error), kind=type(error).__name__)


def _addressed(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], ended: Ended | None
) -> Iterator[Addressed]:
    """Yield the event of each decision for each channel, oldest first."""
    decisions = [
        decided
        for decided in service.ledger.decisions(DECISIONS, batch=attempt.batch)
        if decided.note.attempt == attempt.number and decided.note.decision in KINDS
    ]
    if not decisions:
        return
    report, plan = ended.report if ended else None, _plan(service, attempt)
    reported = ended.reported if ended else {}
    by_version = {(file.key, file.version_id): reported[file.id] for file in claims if file.id in reported}
    for decided in reversed(decisions):
        event = event_of(decided, plan, report, by_version)
        yield from (Addressed(channel=name, event=event) for name in service.channels)


def _plan(service: Service, attempt: Attempt) -> Plan | None:
    """Return the plan that the attempt's job has, or without a job the contract's of now."""
    if job := readable_job_of(service.store, attempt):
        return job.plan
    with suppress(Misconfigured):
        return contract_of(service.store, attempt.table).plan
    return None


def event_of(decided: Decided, plan: Plan | None, report: Report | None, reported: Reported) -> Event:
    """Return the event of a decision."""
    note = decided.note
    attempt = Attempt(table=note.table, batch=note.batch, number=note.attempt)
    columns, files = _columns(plan, report), note.files[:FILES]
    kept = attempt.branch if note.decision is Decision.REJECTED and note.attempt else ""
    return Event(
        id=f"{note.batch}-a{note.attempt}-{note.decision}-{decided.commit[:16]}",
        kind=KINDS[note.decision],
        table=note.table,
        batch=note.batch,
        attempt=note.attempt,
        commit=decided.commit,
        at=decided.at,
        files=tuple(_file(file, reported.get((file.key, file.version_id)), CHECKS // len(files)) for file in files),
        more=note.more + max(0, len(note.files) - FILES),
        rows=sum(file.rows for file in note.files),
        quarantined_rows=sum(file.quarantined for file in note.files),
        replaced_rows=sum(file.replaced for file in note.files),
        contract_id=plan.contract_id if plan else "",
        contract_version=plan.contract_version if plan else "",
        contract_hash=plan.contract_hash if plan else "",
        columns=tuple(columns[:CHECKS]),
        more_columns=max(0, len(columns) - CHECKS),
        began=report.started_at if report else None,
        lane=note.lane,
        branch=kept,
        by=note.by,
        why=note.why,
    )


def _columns(plan: Plan | None, report: Report | None) -> list[EventColumn]:
    """Return the contract's columns, and those that the table has beside them."""
    own = plan.columns if plan else ()
    known = {column.name for column in own}
    columns = [EventColumn(name=it.name, type=it.type[:TEXT], doc=it.doc[:TEXT]) for it in own]
    return columns + [EventColumn(name=name) for name in (report.columns if report else ()) if name not in known]


def _file(file: DecidedFile, report: FileReport | None, most: int) -> EventFile:
    """Return a file with so many of its checks, the failed ones first."""
    checks = report.checks if report else ()
    failed = [check for check in checks if check.verdict is not Verdict.PASS]
    passed = (check for check in checks if check.verdict is Verdict.PASS)
    return EventFile(
        key=file.key,
        version_id=file.version_id,
        rows=file.rows,
        quarantined_rows=file.quarantined,
        replaced_rows=file.replaced,
        verdict=report.verdict if report else "",
        reasons=file.reasons,
        checks=tuple(_check(check) for check in islice(chain(failed, passed), most)),
        more_checks=max(0, len(checks) - most),
    )


def _check(check: CheckResult) -> EventCheck:
    return EventCheck(
        name=check.name[:TEXT],
        columns=check.columns[:COLUMNS],
        severity=check.severity,
        verdict=check.verdict,
        expected=check.expected[:TEXT],
        found=check.found[:TEXT],
        failing_rows=check.failing_rows,
    )
