"""Notices of an attempt's outcome: files it rejected or published, or cannot begin on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lakegate.audit.advice import NO_ADVICE
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import FileReport, Report, Verdict
from lakegate.audit.summary import first_row
from lakegate.errors import Conflict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Notice
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt, entry_of
from lakegate.ports import Message, MessageFile
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.notices.events import record_events, send_events
from lakegate.workflow.notices.messages import (
    approved_message,
    observed_message,
    published_message,
    rejected_message,
    rejection,
    waiting_message,
    warned_message,
)
from lakegate.workflow.notices.outbox import LATE, notify
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import AttemptEnd, Facts
from lakegate.workflow.settlement.rules import Settlement


def decided_so(entry: Entry | None, decision: Decision, attempt: Attempt) -> bool:
    """Return True if this attempt made this decision. It keeps its branch for its own decisions, and notifies of no
    others.
    """
    return entry is not None and entry.decision is decision and entry.is_of(attempt)


def notify_outcome(
    service: Service,
    attempt: Attempt,
    claims: list[FileVersion],
    end: AttemptEnd,
    receipts: Mapping[str, Receipt],
) -> list[FileVersion]:
    """Notify people of the files that this attempt rejected, of those that a person approved, and of those that it
    published with warnings, or at all if the contract asks for that. Tell the channels of all of its decisions. Return
    the rejected files.

    Raise Conflict if files were published by a report that `end` lacks: another worker has seen it since.
    """
    rejected, published = (
        [file for file in claims if decided_so(entry_of(receipts, file), decision, attempt)]
        for decision in (Decision.REJECTED, Decision.PUBLISHED)
    )
    if published and end.report is None:
        raise Conflict(f"branch {attempt.branch}: another worker published it. The next sweep settles it again")
    events = record_events(service, attempt, claims, end)
    reports = end.reports_by_id
    published_reports = [(file, reports[file.id]) for file in published if file.id in reports]
    if rejected:
        files = [(file, entry_of(receipts, file)) for file in rejected]
        rows = sum(report.rows for _, report in published_reports)
        message = replace(_rejected(attempt, files, end, len(published), rows), lane=_lane(service, end))
        notify(service, rejection(attempt), message)
    passes = [(file, report) for file, report in published_reports if report.verdict is not Verdict.FAIL]
    if len(passes) < len(published_reports):
        notify_approved(service, attempt)
    if any(report.warnings for _, report in passes):
        file_reports = [report for _, report in published_reports]
        message = replace(_warning_message(attempt, passes, file_reports, end.report), lane=_lane(service, end))
        notify(service, f"{attempt.branch}-warned", message)
    elif passes and _is_wanted(service, attempt):
        message = replace(_published(attempt, [report for _, report in passes]), lane=_lane(service, end))
        notify(service, f"{attempt.branch}-published", message)
    send_events(service, events)
    return rejected


def _is_wanted(service: Service, attempt: Attempt) -> bool:
    """Return True if the attempt's contract asks for a message of what is simply published."""
    job = readable_job_of(service.store, attempt)
    return job is not None and Notice.PUBLISHED in job.notify


def _lane(service: Service, end: AttemptEnd) -> str:
    """Return which lane audited the files, and why; nothing where an installation has but one."""
    report = end.report
    if report is None or report.lane is None or (service.express is None and report.lane is Lane.SPARK):
        return ""
    return f"{report.lane.label}: {report.lane_why}"


def notify_waiting(service: Service, facts: Facts, plan: Settlement) -> None:
    """Notify people of files that no job gets through to: once a day for a table, because all of its batches may wait
    for the same reason.
    """
    crash, files = facts.end.crash, plan.wait.files if plan.wait else plan.files_to_retry
    if crash and files and not crash.began and facts.now - min(file.landed_at for file in files) >= LATE:
        table = facts.attempt.table
        notify(service, f"{table}-waiting-{facts.now:%Y%m%d}", waiting_message(facts.attempt, files, str(crash)))


def notify_approved(service: Service, attempt: Attempt) -> None:
    """Notify people of each approval of this attempt's files in main's log."""
    for decision in service.ledger.decisions(DECISIONS, batch=attempt.batch):
        record = decision.record
        if (record.decision, record.attempt) == (Decision.PUBLISHED, attempt.number) and record.by:
            notify(service, f"{attempt.branch}-approved-{decision.commit[:16]}", approved_message(record))


def _rejected(
    attempt: Attempt, files: Iterable[tuple[FileVersion, Entry | None]], end: AttemptEnd, published: int, rows: int
) -> Message:
    files, reports, key = list(files), end.reports_by_id, end.report.key if end.report else ()
    return rejected_message(
        attempt,
        [_message_file(file, entry, reports.get(file.id), key) for file, entry in files],
        branch=attempt.branch,
        reason=end.error,
        advice=end.report.advice if end.report else (),
        file_ids=[file.id for file, _ in files if file.id in reports and reports[file.id].data_files],
        published_files=published,
        published_rows=rows,
    )


def _with_first_rows(reasons: Iterable[str], report: FileReport | None, key: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons, each with the first row that its check failed, if the report has one that may be shown."""
    rows = {check.reason: first_row(check, key) for check in report.checks} if report else {}
    return tuple(f"{reason}; the first: {row}" if (row := rows.get(reason)) else reason for reason in reasons)


def _message_file(file: FileVersion, entry: Entry | None, report: FileReport | None, key: Sequence[str]) -> MessageFile:
    failures = [check.failing_rows for check in report.checks if check.verdict is Verdict.FAIL] if report else []
    failing_rows = (
        failures[0] if len(failures) == 1 else 0
    )  # of several checks, the same row may have failed more than one
    reasons, advice_by_reason = entry.reasons if entry else (), report.advice_by_reason if report else {}
    return MessageFile(
        key=file.key,
        reasons=_with_first_rows(reasons, report, key),
        rows=report.all_rows if report else 0,
        failing_rows=failing_rows,
        advice=tuple(advice_by_reason.get(reason, NO_ADVICE) for reason in reasons),
    )


def _warning_message(
    attempt: Attempt,
    passes: Iterable[tuple[FileVersion, FileReport]],
    published: Iterable[FileReport],
    whole: Report | None,
) -> Message:
    published, key = list(published), whole.key if whole else ()
    with_warnings = [(file, report) for file, report in passes if report.warnings]
    message = warned_message(
        attempt,
        [_warned_file(file, report, key) for file, report in with_warnings],
        sum(report.rows for report in published),
        rows_by_file={report.id: report.quarantined_rows for _, report in with_warnings if report.quarantined},
        distinct=bool(whole and whole.distinct),
        old_rows=sum(report.replaces.rows for report in published),
    )
    would_reject = sum(report.verdict is Verdict.WOULD_FAIL for _, report in with_warnings)
    would_quarantine = sum(report.would_quarantine for _, report in with_warnings)
    if not (would_reject or would_quarantine):
        return message
    return observed_message(message, would_reject=would_reject, would_quarantine=would_quarantine)


def _published(attempt: Attempt, reports: Iterable[FileReport]) -> Message:
    reports = list(reports)
    files = [MessageFile(key=report.key, reasons=report.unread, rows=report.rows) for report in reports]
    rows, old_rows = sum(report.rows for report in reports), sum(report.replaces.rows for report in reports)
    return published_message(attempt, files, rows, old_rows=old_rows)


def _warned_file(file: FileVersion, report: FileReport, key: Sequence[str]) -> MessageFile:
    quarantine_rows = report.quarantined_rows
    reasons, advice_by_reason = (*report.warnings, *report.unread), report.advice_by_reason if report.would else {}
    return MessageFile(
        key=file.key,
        reasons=_with_first_rows(reasons, report, key),
        rows=report.all_rows,
        failing_rows=quarantine_rows,
        advice=tuple(advice_by_reason.get(reason, NO_ADVICE) for reason in reasons) if advice_by_reason else (),
    )
