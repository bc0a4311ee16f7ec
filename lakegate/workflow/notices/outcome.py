"""Notices of an attempt's outcome: what it rejected, published with warnings, or cannot begin."""

from collections.abc import Mapping

from lakegate.audit.model.report import FileReport, Verdict
from lakegate.errors import Conflict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt, entry_of
from lakegate.ports import MessageFile
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.notices.messages import (
    approved_message,
    rejected_message,
    rejection,
    waiting_message,
    warned_message,
)
from lakegate.workflow.notices.outbox import LATE, notify
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import Ended, Facts
from lakegate.workflow.settlement.rules import Settlement


def decided_so(entry: Entry | None, decision: Decision, attempt: Attempt) -> bool:
    """Whether this attempt decided so. Its branch is kept for what it rejected, and it tells of nobody else's files."""
    return entry is not None and entry.decision is decision and entry.is_of(attempt)


def notify_outcome(
    service: Service,
    attempt: Attempt,
    claims: list[FileVersion],
    ended: Ended,
    receipts: Mapping[str, Receipt],
) -> list[FileVersion]:
    """Tell what this attempt decided. Returns the files that it rejected."""
    entries = {file.id: entry_of(receipts, file) for file in claims}
    kept, published = (
        [file for file in claims if decided_so(entries[file.id], decision, attempt)]
        for decision in (Decision.REJECTED, Decision.PUBLISHED)
    )
    if published and ended.report is None:  # the report tells what is to be said, and came after this worker's look
        raise Conflict(f"branch {attempt.branch}: another worker has published by its report; settle it again")
    reports = ended.reported
    reported = [(file, reports[file.id]) for file in published if file.id in reports]
    rows = sum(report.rows for _, report in reported)
    replaced = sum(report.replaces.rows for _, report in reported)
    if kept:
        told = [_message_file(file, entries[file.id], reports.get(file.id)) for file in kept]
        message = rejected_message(
            attempt,
            told,
            branch=attempt.branch,
            why=ended.error,
            appended=[file.id for file in kept if file.id in reports and reports[file.id].data_files],
            published_files=len(published),
            published_rows=rows,
        )
        notify(service, rejection(attempt), message)
    passed = [(file, report) for file, report in reported if report.verdict is not Verdict.FAIL]
    if len(passed) < len(reported):
        notify_approved(service, attempt)
    if warned := [(file, report) for file, report in passed if report.warnings]:
        files = [_warned_file(file, report) for file, report in warned]
        quarantined = {report.id: report.quarantined_rows for _, report in warned if report.quarantined}
        notify(
            service,
            f"{attempt.branch}-warned",
            warned_message(attempt, files, rows, quarantined=quarantined, replaced=replaced),
        )
    return kept


def notify_waiting(service: Service, facts: Facts, plan: Settlement) -> None:
    """Tell of files that wait because no job gets through to them: once a day for a table, for it may be so for all of
    its batches.
    """
    crashed, files = facts.ended.crash, plan.wait.files if plan.wait else plan.retry
    if crashed and files and not crashed.began and facts.now - min(file.landed_at for file in files) >= LATE:
        table = facts.attempt.table
        notify(service, f"{table}-waiting-{facts.now:%Y%m%d}", waiting_message(facts.attempt, files, str(crashed)))


def notify_approved(service: Service, attempt: Attempt) -> None:
    """Tell of what people let through of this attempt, as main's log has it: each time they did."""
    for decided in service.ledger.decisions(DECISIONS, batch=attempt.batch):
        note = decided.note
        if (note.decision, note.attempt) == (Decision.PUBLISHED, attempt.number) and note.by:
            notify(service, f"{attempt.branch}-approved-{decided.commit[:16]}", approved_message(note))


def _message_file(file: FileVersion, entry: Entry | None, report: FileReport | None) -> MessageFile:
    failed = [check.failing_rows for check in report.checks if check.verdict is Verdict.FAIL] if report else []
    failing = failed[0] if len(failed) == 1 else 0  # of several checks, the same row may have failed more than one
    return MessageFile(
        key=file.key, reasons=entry.reasons if entry else (), rows=report.rows if report else 0, failing_rows=failing
    )


def _warned_file(file: FileVersion, report: FileReport) -> MessageFile:
    quarantined = report.quarantined_rows
    reasons = (*report.warnings, *report.unread)
    return MessageFile(key=file.key, reasons=reasons, rows=report.rows + quarantined, failing_rows=quarantined)
