"""The reader of facts: it looks at an attempt once, for the rules of settling. It writes nothing.

It reads in two stages. Claims and the end of the job come first. Everything else costs a request, and is read only if a
rule will ask for it. To publish one good file of batch scope, the reader needs no second stage.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import structlog

from lakegate.audit.model.job import Job
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import Report
from lakegate.errors import TRANSIENT, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.ports import MAIN, JobRun, JobState, Store
from lakegate.workflow.attempts.claims import files_claimed_on, files_open_to, list_open_attempts, not_claimed_later
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import (
    had_begun,
    readable_report,
    report_in_force,
    was_cut_off,
    why_handed_over,
)
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.backoff import Crash, crash, why_no_report
from lakegate.workflow.settlement.facts import AttemptEnd, Facts
from lakegate.workflow.settlement.keys import with_released_keys
from lakegate.workflow.settlement.references import (
    patient_until,
    tables_missing_rows,
    unresolved_references,
    with_failing_rows,
)

log = structlog.get_logger()
ReportOf = Callable[[Store, Attempt], Report | None]


def end_of(service: Service, attempt: Attempt, job: Job, report_of: ReportOf = report_in_force) -> AttemptEnd | None:
    """Return the end of the attempt's job, or None while it is under way. `report_of` returns a report that counts."""
    try:
        result = _report_or_run(service, attempt, job, report_of)
    except Refused as error:
        return AttemptEnd(reason=str(error))
    if result is None:
        return None
    if isinstance(result, Report):
        return AttemptEnd(report=result)
    if isinstance(result, str):
        return AttemptEnd(reason=result, handed_over=True)
    crash = crash_of(service, attempt, job, result)
    return AttemptEnd(reason=str(crash or why_no_report(result)), crash=crash)


def _report_or_run(service: Service, attempt: Attempt, job: Job, report_of: ReportOf) -> Report | str | JobRun | None:
    """Return the report, the reason for which the files are handed over, or the run that left neither; None while it is
    under way.
    """
    if trace := _what_is_left(service, attempt, job, report_of):
        return trace
    run = service.runner.find(attempt.branch)
    if run is None or run.state is JobState.RUNNING:
        return None
    # It may have been written between the two looks.
    return _what_is_left(service, attempt, job, report_of) or left_to_spark(service, attempt, job, run) or run


def _what_is_left(service: Service, attempt: Attempt, job: Job, report_of: ReportOf) -> Report | str | None:
    if report := report_of(service.store, attempt):
        return report
    return why_handed_over(service.store, attempt) if job.lane is Lane.EXPRESS else None


def left_to_spark(service: Service, attempt: Attempt, job: Job, run: JobRun) -> str:
    """Return why the files of a run that has ended without a report are handed over, or "" if they are not. The express
    lane has one try, however it ended. Only where a service was out of reach, which would be out of Spark's as well, it
    has as many as may crash: after those, the lane itself has failed.
    """
    if job.lane is not Lane.EXPRESS or run.state is JobState.CANCELLED:
        return ""
    tries = len(job.consecutive_crashes) + 1
    return "" if was_cut_off(service.store, attempt) and tries < service.attempts else why_no_report(run)


def crash_of(service: Service, attempt: Attempt, job: Job, run: JobRun) -> Crash | None:
    """Return the crash of a run that has ended without a report, or None if a person cancelled it."""
    began = had_begun(service.store, attempt)
    return crash(job, run, began=began, shortest=service.grace, limit=service.attempts)


def all_facts(service: Service, attempt: Attempt, job: Job, claims: Iterable[FileVersion], end: AttemptEnd) -> Facts:
    """Return all facts of an attempt that claims these files and has this end."""
    facts = first_look(service, attempt, job, claims, end)
    if facts.in_order and facts.good:
        facts = replace(facts, reuploads=contract_of(service.store, attempt.table).ingestion.reuploads)
    missing_rows = unresolved_references(facts, [*with_failing_rows(facts), *facts.bad])
    if (
        facts.reuploads
        or end.crash
        or end.handed_over
        or (end.error and job.rewritten)
        or missing_rows
        or (end.report and with_released_keys(job.plan, end.report))
    ):
        facts = replace(facts, receipts=receipts_now(service, facts.files))
    return with_references(service, facts, missing_rows)


def first_look(service: Service, attempt: Attempt, job: Job, claims: Iterable[FileVersion], end: AttemptEnd) -> Facts:
    """Return the facts of the first stage. Files that a later attempt has claimed are left out."""
    files = tuple(not_claimed_later(service, attempt, claims))
    return Facts(attempt=attempt, job=job, now=service.clock.now(), files=files, end=end)


def with_references(service: Service, facts: Facts, files: Iterable[FileVersion]) -> Facts:
    """Add the facts of the tables that lack rows which these files refer to, if rows may still come."""
    open_files = list(unresolved_references(facts, files))
    facts = replace(facts, audits=_audits(service, facts.attempt, open_files, facts.receipts))
    tables = frozenset[str]().union(*unresolved_references(facts, open_files).values())
    if not tables or facts.end.report is None:
        return facts
    waits = _under_way(service, facts.attempt, tables) if patient_until(facts) else frozenset[str]()
    changes = service.branches.changed_tables(facts.end.report.base, service.branches.head(MAIN) or "", tables)
    return replace(facts, under_way=waits, moved_tables=frozenset(changes))


def _audits(
    service: Service, attempt: Attempt, files: list[FileVersion], receipts: Mapping[str, Receipt]
) -> dict[str, int]:
    """Count, by file id, the audits since the file was last rejected that missed rows. Other attempts don't count."""
    last_rejections = {file.id: entry.attempt if (entry := entry_of(receipts, file)) else 0 for file in files}
    audits = dict.fromkeys(last_rejections, 1)
    for number in range(min(last_rejections.values(), default=0) + 1, attempt.number if files else 0):
        other = replace(attempt, number=number)
        job, report = readable_job_of(service.store, other), readable_report(service.store, other)
        entries = {entry.id: entry for entry in report.files} if report else {}
        for id_ in audits:
            audits[id_] += bool(
                job and number > last_rejections[id_] and tables_missing_rows(job.plan, entries.get(id_))
            )
    return audits


def _under_way(service: Service, attempt: Attempt, tables: frozenset[str]) -> frozenset[str]:
    """Return those of the tables that another attempt has undecided files of."""
    busy_tables = set[str]()
    for other in list_open_attempts(service.branches):
        if (
            other.table in tables - busy_tables
            and other.branch != attempt.branch
            and answer_or_no(_has_open_files, service, other, "not_waited_for")
        ):
            busy_tables.add(other.table)
    return frozenset(busy_tables)


def _has_open_files(service: Service, other: Attempt) -> bool:
    return bool(files_open_to(service, other, files_claimed_on(service, other)))


def answer_or_no(ask: Callable[[Service, Attempt], bool], service: Service, attempt: Attempt, unread: str) -> bool:
    """Ask about another attempt. One that cannot be read counts as no and is logged as the event `unread`: nobody waits
    for it.
    """
    try:
        return ask(service, attempt)
    except TRANSIENT:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt; settling it tells more)
        log.warning(unread, branch=attempt.branch, error=str(error), kind=type(error).__name__)
        return False
