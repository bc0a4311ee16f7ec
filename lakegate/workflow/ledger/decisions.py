"""Decisions that bring no rows: rejected and discarded. Each is a commit of receipts on main, with its reasons."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from lakegate.errors import Conflict, Misconfigured, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.chunks import in_chunks
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import is_open, standing_of
from lakegate.ports import MAIN, DecidedFile, Record, Signal
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.service import Service

log = structlog.get_logger()
Commit = Callable[[str, list[Receipt], Record, list[FileVersion]], None]
"""A commit to main of receipts with their note, for these files, all made from main's head at the first argument. It
raises Conflict if one of the receipts has changed since.
"""
DECISIONS = 10_000  # of a table or a batch, as far back as main's log is searched
TRIES = 10
# A commit's files all fit its note, because a person's retry finds them there.
AT_ONCE = 100
NOTE_BYTES = 150_000  # bytes of the note's JSON, which spells some letters with six
REST = 400  # bytes of each file in it beside its name
REASON = 2_000  # characters of a person's reason, and of their name


def require_reason(reason: str) -> str:
    """Return a person's reason for a decision. Raise Misconfigured if it is empty, or the dots of a command that was
    copied unchanged, or too long to be kept in main's log for good.
    """
    text = reason.strip()
    if not text.strip(" .…"):
        raise Misconfigured("--why is kept in main's log for good: write the reason in a few words")
    if len(text) > REASON:
        hint = f"--why is kept in main's log for good, with at most {REASON:,} characters; this one has {len(text):,}"
        raise Misconfigured(f"{hint}. Write the reason in a few words, and where the rest can be read")
    return text


def record(
    service: Service,
    attempt: Attempt,
    decision: Decision,
    findings: Iterable[Finding],
    *,
    reason: str = "",
    by: str = "",
    commit: Commit | None = None,
) -> list[Finding]:
    """Write the decision on these files to main, and return the findings it was written for. A decided file keeps its
    decision. A file that its key's other versions no longer decide stays open. Whoever has more to bring to main with
    it gives a `commit`.

    Raise Retryable if the receipts on main keep changing.
    """
    chunks = list(in_chunks(findings, AT_ONCE, (_size, NOTE_BYTES)))
    commit = commit or _plain_commit(service)
    return [finding for chunk in chunks for finding in _record(service, attempt, decision, chunk, reason, by, commit)]


def _plain_commit(service: Service) -> Commit:
    def commit(head: str, receipts: list[Receipt], record: Record, _: list[FileVersion]) -> None:
        service.ledger.commit_receipts(MAIN, head, receipts, record)

    return commit


def _size(finding: Finding) -> int:
    return len(json.dumps(finding.file.key)) + REST


def _record(
    service: Service,
    attempt: Attempt,
    decision: Decision,
    open_findings: list[Finding],
    reason: str,
    by: str,
    commit: Commit,
) -> list[Finding]:
    for _ in range(TRIES):
        head, receipts = main_receipts(service, [finding.file for finding in open_findings])
        open_ones = [finding for finding in open_findings if is_open(receipts, finding.file, attempt)]
        open_ones = [now for finding in open_ones if (now := _by_receipts(finding, receipts, attempt, decision))]
        if not open_ones:
            return []
        record = _commit_note(attempt, decision, open_ones, reason, by)
        try:
            new_receipts = _receipts(receipts, attempt, decision, open_ones)
            commit(head, new_receipts, record, [finding.file for finding in open_ones])
        except Conflict:
            continue
        if decision is Decision.REJECTED:
            service.telemetry.emit({Signal.FILES_REJECTED: len(open_ones)}, attempt.table)
        log.info("decided", decision=decision, table=attempt.table, batch=attempt.batch, files=len(open_ones))
        return open_ones
    raise Retryable(
        f"batch {attempt.batch} of {attempt.table}: other writers kept changing its receipts on main. "
        "The next sweep tries again"
    )


def _by_receipts(
    finding: Finding, receipts: dict[str, Receipt], attempt: Attempt, decision: Decision
) -> Finding | None:
    """Return the finding with the reason that holds now, or None if the decision does not hold any more: another
    version of its key may have been published since the finding was made.
    """
    file, by = finding.file, finding.reuploads
    if by is None:
        return finding
    standing = standing_of(receipts.get(file.key), file, attempt.table, by)
    return replace(finding, reasons=(standing.reason,)) if standing.decision is decision else None


def _commit_note(attempt: Attempt, decision: Decision, findings: list[Finding], reason: str, by: str) -> Record:
    files = tuple(
        DecidedFile(key=f.file.key, version_id=f.file.version_id, rows=f.rows, reasons=f.reasons) for f in findings
    )
    return Record(
        decision=decision,
        table=attempt.table,
        batch=attempt.batch,
        attempt=attempt.number,
        files=files,
        reason=reason,
        by=by,
    )


def _receipts(
    receipts: dict[str, Receipt], attempt: Attempt, decision: Decision, findings: list[Finding]
) -> list[Receipt]:
    """Return one receipt for each key: several versions of a key may be decided at once."""
    new_receipts: dict[str, Receipt] = {}
    for finding in findings:
        key = finding.file.key
        receipt = new_receipts.get(key) or receipts.get(key) or Receipt(bucket=finding.file.bucket, key=key)
        new_receipts[key] = receipt.with_decision(Entry.of(finding.file, decision, attempt, finding.reasons))
    return list(new_receipts.values())
