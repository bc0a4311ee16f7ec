"""Decisions that bring no rows: rejected and discarded. One commit of receipts on main, with the reason in its log."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from lakegate.errors import Conflict, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt
from lakegate.ports import MAIN, DecidedFile, Note
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.claims import is_open
from lakegate.workflow.service import Service

log = structlog.get_logger()
TRIES = 10


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is to be said of one file version."""

    file: FileVersion
    reasons: tuple[str, ...] = ()
    rows: int = 0


def decide(
    service: Service,
    attempt: Attempt,
    decision: Decision,
    findings: Iterable[Finding],
    *,
    why: str = "",
    by: str = "",
) -> list[Finding]:
    """Write the decision of these files on main and return those it was written for; what is decided already stays as
    it is.
    """
    wanted = list(findings)
    if not wanted:
        return []
    for _ in range(TRIES):
        head, receipts = main_receipts(service, [finding.file for finding in wanted])
        open_ones = [finding for finding in wanted if is_open(receipts, finding.file, attempt)]
        if not open_ones:
            return []
        note = _note(attempt, decision, open_ones, why, by)
        try:
            service.catalog.commit_receipts(MAIN, head, _receipts(receipts, attempt, decision, open_ones), note)
        except Conflict:
            continue
        log.info("decided", decision=decision, table=attempt.table, batch=attempt.batch, files=len(open_ones))
        return open_ones
    raise Retryable(f"batch {attempt.batch} of {attempt.table}: its receipts on main kept changing; it is tried again")


def _note(attempt: Attempt, decision: Decision, findings: list[Finding], why: str, by: str) -> Note:
    files = tuple(
        DecidedFile(key=f.file.key, version_id=f.file.version_id, rows=f.rows, reasons=f.reasons) for f in findings
    )
    return Note(
        decision=decision,
        table=attempt.table,
        batch=attempt.batch,
        attempt=attempt.number,
        files=files,
        why=why,
        by=by,
    )


def _receipts(
    receipts: dict[str, Receipt], attempt: Attempt, decision: Decision, findings: list[Finding]
) -> list[Receipt]:
    """One receipt a key, though several versions of it may be decided at once."""
    changed: dict[str, Receipt] = {}
    for finding in findings:
        key = finding.file.key
        receipt = changed.get(key) or receipts.get(key) or Receipt(bucket=finding.file.bucket, key=key)
        changed[key] = receipt.decided(Entry.of(finding.file, decision, attempt, finding.reasons))
    return list(changed.values())
