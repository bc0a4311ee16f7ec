"""Publishing: audited files of one attempt become rows on main, in one merge with their receipts.

Every merge is proved beforehand to bring the audited files and their receipts, and nothing else. No merge is forced,
and no Spark job runs: if main has moved, the same data files are appended to a fresh branch by metadata alone.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from lakegate.audit.model.report import Verdict
from lakegate.errors import Conflict, Retryable
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.standing import is_open
from lakegate.ports import DecidedFile, Record, Signal
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.publishing.rebase import own_branch
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.publishing.audit import Audit, Main, Objection
from lakegate.workflow.publishing.guards import (
    guard_contract,
    guard_kept_rows,
    guard_rejected,
    guard_rewriting,
    guard_schema,
    guard_together,
    guard_unmoved,
    guard_versions,
    is_as_claimed,
    keeps_replaced_rows,
)
from lakegate.workflow.publishing.proofs import prove_audit, prove_changes, prove_own
from lakegate.workflow.publishing.rebase import guard_rebase, rebase_on_main, trim
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()
TRIES = 8


def publish(service: Service, audit: Audit, files: Iterable[FileVersion]) -> Objection | None:
    """Publish these audited files, or return the objection to it. Files that another attempt has published since are
    left out.

    Raise Refused if a proof fails, and Retryable if main keeps moving.
    """
    open_files = list(files)
    claims = prove_audit(service, audit)
    for number, main in enumerate(_tries(service, audit)):
        objection = guard_versions(audit, open_files, main)
        open_files = [file for file in open_files if is_open(main.receipts, file, audit.attempt)]
        if objection or not open_files:
            return objection
        if objection := _guard_verdicts(service, audit, open_files, main):
            return objection
        rebase = number > 0 or not is_as_claimed(audit, claims, main) or keeps_replaced_rows(audit, open_files)
        with _again_where_main_moves(service, audit):
            return _merge(service, audit, open_files, main, _record(audit, open_files), rebase=rebase)
    raise _main_kept_moving(audit)


def _guard_verdicts(service: Service, audit: Audit, files: list[FileVersion], main: Main) -> NeedsNewAttempt | None:
    """Object if the verdicts do not hold for main, or for these files without the rest of their batch."""
    return (
        guard_unmoved(service, audit, main)
        or guard_together(audit, files, main.contract.plan)
        or guard_kept_rows(audit, files)
        or guard_rewriting(audit, files)
        or guard_contract(audit, main.contract)
    )


def publish_rejected(
    service: Service, audit: Audit, files: list[FileVersion], *, reason: str, by: str
) -> Objection | None:
    """Publish files that this attempt rejected, on a person's word. Its branch may have lost other files since.

    Return and raise as `publish` does. A file that was published since is an objection, too.
    """
    audit = replace(audit, is_recorded=True)
    changes = service.branches.changes(audit.report.base, audit.report.audited)
    prove_changes(audit, changes, audit.claims, "what was audited")
    record = replace(_record(audit, files), reason=reason, by=by)
    for main in _tries(service, audit):
        # The person overrules verdicts, so nobody asks whether they hold for a part of the batch. Whether the table
        # is the one that the person decided by is asked.
        objection = (
            guard_rejected(audit, files, main)
            or guard_rewriting(audit, files)
            or guard_unmoved(service, audit, main)
            or guard_contract(audit, main.contract)
        )
        if objection:
            return objection
        with _again_where_main_moves(service, audit):
            return _merge(service, audit, files, main, record, rebase=True)
    raise _main_kept_moving(audit)


def _tries(service: Service, audit: Audit) -> Iterator[Main]:
    """Yield main as it is at each try."""
    for _ in range(TRIES):
        head, receipts = main_receipts(service, audit.claims)
        yield Main(head=head, receipts=receipts, contract=contract_of(service.store, audit.attempt.table))


def _main_kept_moving(audit: Audit) -> Retryable:
    batch, table = audit.attempt.batch, audit.attempt.table
    return Retryable(f"batch {batch} of {table}: other writers kept moving main, so nothing was published. Try again")


@contextmanager
def _again_where_main_moves(service: Service, audit: Audit) -> Iterator[None]:
    """Leave the block if main has moved: nothing was merged, and whoever comes out of it tries again."""
    try:
        yield
    except Conflict:
        service.telemetry.emit({Signal.PUBLISH_CONFLICTS: 1}, audit.attempt.table)
        log.info("main_moved", branch=audit.attempt.branch, table=audit.attempt.table)


def _merge(
    service: Service, audit: Audit, files: list[FileVersion], main: Main, record: Record, *, rebase: bool
) -> NeedsNewAttempt | None:
    """Merge these files: the audited branch as it is, or this worker's own branch with just these files. Raise Conflict
    if main has moved.
    """
    objection = None if rebase else guard_schema(audit, files)
    if objection:
        return objection
    if not rebase and len(files) == len(audit.claims):
        service.publisher.merge(audit.attempt.branch, audit.report.audited, record)
    elif objection := _merge_own(service, audit, files, main, record, rebase=rebase):
        return objection
    service.telemetry.emit({Signal.FILES_PUBLISHED: len(files)}, audit.attempt.table)
    log.info("published", branch=audit.attempt.branch, files=len(files), by=record.by)
    return None


def _merge_own(
    service: Service, audit: Audit, files: list[FileVersion], main: Main, record: Record, *, rebase: bool
) -> NeedsNewAttempt | None:
    target = audit.attempt.rebase(service.clock.now(), service.clock.nonce())
    targets = guard_rebase(service, audit, files, main) if rebase else None
    if isinstance(targets, NeedsNewAttempt):
        return targets
    base = main.head if targets else audit.report.base
    with own_branch(service.branches, target.branch, base):
        if targets:
            rebase_on_main(service, audit, files, main, targets, target.branch)
        else:
            trim(service, audit, files, target.branch)
        head = prove_own(service, audit, files, target, base)
        contract = contract_of(service.store, audit.attempt.table)  # read again, because the steps above take seconds
        if objection := guard_contract(audit, contract):
            return objection
        service.publisher.merge(target.branch, head, record)
    return None


def _record(audit: Audit, files: list[FileVersion]) -> Record:
    attempt = audit.attempt
    decided_files = tuple(
        DecidedFile(
            key=file.key,
            version_id=file.version_id,
            rows=entry.rows,
            quarantined=entry.quarantined_rows,
            reasons=entry.reasons or entry.warnings,
            replaces=entry.replaces.versions,
            replaced=entry.replaces.rows,
            would_reject=entry.verdict is Verdict.WOULD_FAIL,
            would_quarantine=entry.would_quarantine,
        )
        for file in files
        for entry in [audit.reports[file.id]]
    )
    return Record(
        decision=Decision.PUBLISHED,
        table=attempt.table,
        batch=attempt.batch,
        attempt=attempt.number,
        files=decided_files,
        lane=str(audit.report.lane or ""),
    )
