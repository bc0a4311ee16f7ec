"""Approving: a person has a batch's rejected files published as they were audited, and answers for it by name.

The audited commit is what is published. Nothing is appended or measured again.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from lakegate.audit.model.report import Report
from lakegate.counts import count
from lakegate.errors import Refused, error_note
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.workflow.attempts.claims import base_of, files_claimed_in
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.ledger.decisions import REASON, require_reason
from lakegate.workflow.ledger.rejected import Rejected, rejected_files
from lakegate.workflow.notices.outcome import notify_approved
from lakegate.workflow.publish import publish_rejected
from lakegate.workflow.publishing.audit import Audit
from lakegate.workflow.retry import require_idle, require_publishable
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle

ROWLESS = "has no rows to publish"


@dataclass(frozen=True, kw_only=True)
class Approval:
    """The number of published files, and why the others of the batch stay rejected, by landing key."""

    files: int
    rest: Mapping[str, str]


def approve(service: Service, batch: str, reason: str, by: str, keys: Sequence[str] = ()) -> Approval:
    """Publish a batch's rejected files, or those with these landing keys, in one merge for each attempt that rejected
    some. A file stays rejected if it has no rows, if another version of its key is on main, or if main would not get
    what was audited.

    Raise Refused, with the next command, if all of them stay rejected.
    """
    reason, by = require_reason(reason), by[:REASON]
    rejected, refusals = require_publishable(service, require_idle(service, rejected_files(service, batch, keys)))
    groups = _files_by_audit(service, rejected)
    published, errors = 0, dict[str, Refused]()
    for attempt, files in groups:
        before = f"{count(published, 'file', 'was', 'were')} published from batch {batch} before this error"
        with error_note(before) if published else nullcontext():
            error = _publish(service, rejected, attempt, files, reason=reason, by=by)
        if error:
            errors |= {file.key: error for file in files}
        else:
            published += len(files)
    if not published:
        raise next(iter(errors.values()))
    with_rows = {file.id for _, files in groups for file in files}
    without_rows = {file.key: ROWLESS for file, _ in rejected.files if file.id not in with_rows}
    return Approval(files=published, rest=refusals | without_rows | {key: str(error) for key, error in errors.items()})


def _publish(
    service: Service, rejected: Rejected, attempt: Audit, files: list[FileVersion], *, reason: str, by: str
) -> Refused | None:
    """Publish these files of one attempt, or return why they cannot be published."""
    try:
        objection = publish_rejected(service, attempt, files, reason=reason, by=by)
    except Refused as error:
        return error
    if isinstance(objection, NeedsNewAttempt):
        todo = f"Run: lakegate retry {rejected.batch}, then approve what it rejects"
        return rejected.refusal(f"{objection.reason}. {todo}")
    if objection:
        return Refused(objection.reason)
    files_text = count(len(files), "file", "was", "were")
    with error_note(f"{files_text} published from batch {rejected.batch}; the next sweep does the rest"):
        notify_approved(service, attempt.attempt)
        settle(service, attempt.attempt)
    return None


def _files_by_audit(service: Service, rejected: Rejected) -> list[tuple[Audit, list[FileVersion]]]:
    """Return the attempts that rejected the files, each with those that have rows. Raise Refused if none has rows."""
    groups = []
    for attempt, files in _by_attempt(rejected).items():
        report = _report(service, rejected, attempt)
        with_rows = {entry.id for entry in report.files if entry.data_files}
        if own_files := [file for file in files if file.id in with_rows]:
            groups.append((_audited_attempt(service, rejected, attempt, report), own_files))
    if not groups:
        raise rejected.refusal(
            f'{rejected.files[0][0].key} {ROWLESS}. Run: lakegate discard {rejected.batch} --why "…"'
        )
    return groups


def _by_attempt(rejected: Rejected) -> dict[Attempt, list[FileVersion]]:
    groups: dict[Attempt, list[FileVersion]] = {}
    for file, entry in rejected.files:
        attempt = Attempt(table=rejected.table, batch=rejected.batch, number=entry.attempt)
        groups.setdefault(attempt, []).append(file)
    return groups


def _report(service: Service, rejected: Rejected, attempt: Attempt) -> Report:
    """Return the attempt's report. Raise Refused if there is none, or its job ended with an error."""
    report = read_report(service.store, attempt)
    if report is None or report.error:
        raise rejected.refusal(f"its last attempt left no report to approve. Run: lakegate retry {rejected.batch}")
    return report


def _audited_attempt(service: Service, rejected: Rejected, attempt: Attempt, report: Report) -> Audit:
    """Return the attempt as it was audited. Raise Refused if its branch does not hold that any more."""
    _refuse_unless_kept(service, rejected, attempt, report)
    changes = service.branches.changes(report.base, report.audited)
    claims = tuple(files_claimed_in(changes.receipts, attempt))
    return Audit(attempt=attempt, base=report.base, report=report, claims=claims)


def _refuse_unless_kept(service: Service, rejected: Rejected, attempt: Attempt, report: Report) -> None:
    """Raise Refused unless the branch descends from the audited commit, and was made from the audited base."""
    head = service.branches.head(attempt.branch)
    hint = f"Run: lakegate retry {rejected.batch}, then approve what it rejects"
    if head is None:
        raise rejected.refusal(f"its branch {attempt.branch} no longer exists. {hint}")
    if base_of(service, attempt) != report.base:
        raise rejected.refusal(
            f"its branch {attempt.branch} was not made from the commit that was audited against. {hint}"
        )
    try:
        service.branches.changes(report.audited, head)
    except Refused as error:
        raise rejected.refusal(f"its branch {attempt.branch} no longer contains the audited commit. {hint}") from error
