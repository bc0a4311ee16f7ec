"""Approving: a person has a batch's rejected files published as they were audited, and answers for it by name.

The audited commit is what is published. Nothing is appended or measured again.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from lakegate.audit.model.report import Report
from lakegate.counts import count
from lakegate.errors import Refused, noting
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.workflow.attempts.claims import base_of, files_claimed_in
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.ledger.decisions import REASON, reason
from lakegate.workflow.ledger.rejected import Rejected, rejected_files
from lakegate.workflow.notices.outcome import notify_approved
from lakegate.workflow.publish import publish_rejected
from lakegate.workflow.publishing.audited import Audited
from lakegate.workflow.retry import require_idle, require_publishable
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle

ROWLESS = "has no rows to publish"


@dataclass(frozen=True, kw_only=True)
class Approved:
    """The number of published files, and why the others of the batch stay rejected, by landing key."""

    files: int
    left: Mapping[str, str]


def approve(service: Service, batch: str, why: str, by: str, keys: Sequence[str] = ()) -> Approved:
    """Publish a batch's rejected files, or those with these landing keys, in one merge for each attempt that rejected
    some. A file stays rejected if it has no rows, if another version of its key is on main, or if main would not get
    what was audited.

    Raise Refused, with the next command, if all of them stay rejected.
    """
    why, by = reason(why), by[:REASON]
    found, left = require_publishable(service, require_idle(service, rejected_files(service, batch, keys)))
    chosen = _chosen(service, found)
    published, refused = 0, dict[str, Refused]()
    for audited, files in chosen:
        before = f"{count(published, 'file', 'was', 'were')} published from batch {batch} before this error"
        with noting(before) if published else nullcontext():
            error = _publish(service, found, audited, files, why=why, by=by)
        if error:
            refused |= {file.key: error for file in files}
        else:
            published += len(files)
    if not published:
        raise next(iter(refused.values()))
    with_rows = {file.id for _, files in chosen for file in files}
    without_rows = {file.key: ROWLESS for file, _ in found.files if file.id not in with_rows}
    return Approved(files=published, left=left | without_rows | {key: str(error) for key, error in refused.items()})


def _publish(
    service: Service, found: Rejected, audited: Audited, files: list[FileVersion], *, why: str, by: str
) -> Refused | None:
    """Publish these files of one attempt, or return why they cannot be published."""
    try:
        objection = publish_rejected(service, audited, files, why=why, by=by)
    except Refused as error:
        return error
    if isinstance(objection, NeedsNewAttempt):
        return found.refused(f"{objection.why}. Run: lakegate retry {found.batch}, then approve what it rejects")
    if objection:
        return Refused(objection.why)
    with noting(
        f"{count(len(files), 'file', 'was', 'were')} published from batch {found.batch}; the next sweep does the rest"
    ):
        notify_approved(service, audited.attempt)
        settle(service, audited.attempt)
    return None


def _chosen(service: Service, found: Rejected) -> list[tuple[Audited, list[FileVersion]]]:
    """Return the attempts that rejected the files, each with those that have rows. Raise Refused if none has rows."""
    chosen = []
    for attempt, files in _by_attempt(found).items():
        report = _report(service, found, attempt)
        with_rows = {entry.id for entry in report.files if entry.data_files}
        if its := [file for file in files if file.id in with_rows]:
            chosen.append((_audited(service, found, attempt, report), its))
    if not chosen:
        raise found.refused(f'{found.files[0][0].key} {ROWLESS}. Run: lakegate discard {found.batch} --why "…"')
    return chosen


def _by_attempt(found: Rejected) -> dict[Attempt, list[FileVersion]]:
    grouped: dict[Attempt, list[FileVersion]] = {}
    for file, entry in found.files:
        attempt = Attempt(table=found.table, batch=found.batch, number=entry.attempt)
        grouped.setdefault(attempt, []).append(file)
    return grouped


def _report(service: Service, found: Rejected, attempt: Attempt) -> Report:
    """Return the attempt's report. Raise Refused if there is none, or its job ended with an error."""
    report = read_report(service.store, attempt)
    if report is None or report.error:
        raise found.refused(f"its last attempt left no report to approve. Run: lakegate retry {found.batch}")
    return report


def _audited(service: Service, found: Rejected, attempt: Attempt, report: Report) -> Audited:
    """Return the attempt as it was audited. Raise Refused if its branch does not hold that any more."""
    _refuse_unless_kept(service, found, attempt, report)
    changes = service.branches.changes(report.base, report.audited)
    claims = tuple(files_claimed_in(changes.receipts, attempt))
    return Audited(attempt=attempt, base=report.base, report=report, claims=claims)


def _refuse_unless_kept(service: Service, found: Rejected, attempt: Attempt, report: Report) -> None:
    """Raise Refused unless the branch descends from the audited commit, and was made from the audited base."""
    head = service.branches.head(attempt.branch)
    again = f"Run: lakegate retry {found.batch}, then approve what it rejects"
    if head is None:
        raise found.refused(f"its branch {attempt.branch} no longer exists. {again}")
    if base_of(service, attempt) != report.base:
        raise found.refused(
            f"its branch {attempt.branch} was not made from the commit that was audited against. {again}"
        )
    try:
        service.branches.changes(report.audited, head)
    except Refused as why:
        raise found.refused(f"its branch {attempt.branch} no longer contains the audited commit. {again}") from why
