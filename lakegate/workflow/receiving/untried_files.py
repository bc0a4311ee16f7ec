"""Untried files: their key's other versions decide them, so they need no attempt. Number 0 stands for that."""

from collections.abc import Sequence

from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import Message, MessageFile
from lakegate.workflow.ledger.decisions import record
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.notices.events import report_decisions
from lakegate.workflow.notices.messages import rejected_message, rejection
from lakegate.workflow.notices.outbox import forget, notified_at, prepare_undecided, send
from lakegate.workflow.service import Service


def discard_untried(service: Service, table: str, findings: Sequence[Finding]) -> None:
    """Discard files of a table, without a notice."""
    if findings:
        record(service, _attempt(table, findings), Decision.DISCARDED, findings)


def reject_untried(service: Service, table: str, findings: Sequence[Finding]) -> None:
    """Reject files of a table, and notify people.

    The message is recorded before the decision, because there is no branch by which a sweep would miss it after a
    crash.
    """
    if not findings:
        return
    attempt = _attempt(table, findings)
    name, message = rejection(attempt), _message(attempt, findings)
    name_in_outbox = prepare_undecided(service, name, message)
    record(service, attempt, Decision.REJECTED, findings)
    if notified_at(service, name) is None:
        _notify_rejected(service, attempt, name_in_outbox, findings)
    else:
        forget(service, name_in_outbox)


def _attempt(table: str, findings: Sequence[Finding]) -> Attempt:
    return Attempt(
        table=table, batch=batch_id(table, [finding.file for finding in findings], has_attempt=False), number=0
    )


def _notify_rejected(service: Service, attempt: Attempt, name_in_outbox: str, findings: Sequence[Finding]) -> None:
    """Send the message with the files that this worker or another has rejected as this batch. By a contract that was
    pushed since, another may have discarded them.
    """
    _, receipts = main_receipts(service, [finding.file for finding in findings])
    decision = Decision.REJECTED, attempt.batch
    own_findings = [
        finding for finding in findings if (e := entry_of(receipts, finding.file)) and (e.decision, e.batch) == decision
    ]
    if own_findings:
        report_decisions(service, attempt)
        send(service, name_in_outbox, _message(attempt, own_findings))
    else:
        forget(service, name_in_outbox)


def _message(attempt: Attempt, findings: Sequence[Finding]) -> Message:
    files = [MessageFile(key=finding.file.key, reasons=finding.reasons) for finding in findings]
    return rejected_message(attempt, files, branch="")
