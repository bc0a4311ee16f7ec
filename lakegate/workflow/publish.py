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
from lakegate.ports import DecidedFile, Note, Signal
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.publishing.rebase import own_branch
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.publishing.audited import Audited, Main, Objection
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
from lakegate.workflow.publishing.proofs import prove_audited, prove_changes, prove_own
from lakegate.workflow.publishing.rebase import guard_rebase, rebase_on_main, trim
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()
TRIES = 8


def publish(service: Service, audited: Audited, files: Iterable[FileVersion]) -> Objection | None:
    """Publish these audited files, or return the objection to it. Files that another attempt has published since are
    left out.

    Raise Refused if a proof fails, and Retryable if main keeps moving.
    """
    wanted = list(files)
    claims = prove_audited(service, audited)
    for number, main in enumerate(_tries(service, audited)):
        objection = guard_versions(audited, wanted, main)
        wanted = [file for file in wanted if is_open(main.receipts, file, audited.attempt)]
        if objection or not wanted:
            return objection
        if objection := _guard_verdicts(service, audited, wanted, main):
            return objection
        rebase = number > 0 or not is_as_claimed(audited, claims, main) or keeps_replaced_rows(audited, wanted)
        with _again_where_main_moves(service, audited):
            return _merge(service, audited, wanted, main, _note(audited, wanted), rebase=rebase)
    raise _main_kept_moving(audited)


def _guard_verdicts(service: Service, audited: Audited, files: list[FileVersion], main: Main) -> NeedsNewAttempt | None:
    """Object if the verdicts do not hold for main, or for these files without the rest of their batch."""
    return (
        guard_unmoved(service, audited, main)
        or guard_together(audited, files, main.contract.plan)
        or guard_kept_rows(audited, files)
        or guard_rewriting(audited, files)
        or guard_contract(audited, main.contract)
    )


def publish_rejected(
    service: Service, audited: Audited, files: list[FileVersion], *, why: str, by: str
) -> Objection | None:
    """Publish files that this attempt rejected, on a person's word. Its branch may have lost other files since.

    Return and raise as `publish` does. A file that was published since is an objection, too.
    """
    audited = replace(audited, is_noted=True)
    changes = service.branches.changes(audited.report.base, audited.report.audited)
    prove_changes(audited, changes, audited.claims, "what was audited")
    note = replace(_note(audited, files), why=why, by=by)
    for main in _tries(service, audited):
        # The person overrules verdicts, so nobody asks whether they hold for a part of the batch. Whether the table
        # is the one that the person decided by is asked.
        objection = (
            guard_rejected(audited, files, main)
            or guard_rewriting(audited, files)
            or guard_unmoved(service, audited, main)
            or guard_contract(audited, main.contract)
        )
        if objection:
            return objection
        with _again_where_main_moves(service, audited):
            return _merge(service, audited, files, main, note, rebase=True)
    raise _main_kept_moving(audited)


def _tries(service: Service, audited: Audited) -> Iterator[Main]:
    """Yield main as it is at each try."""
    for _ in range(TRIES):
        head, receipts = main_receipts(service, audited.claims)
        yield Main(head=head, receipts=receipts, contract=contract_of(service.store, audited.attempt.table))


def _main_kept_moving(audited: Audited) -> Retryable:
    batch, table = audited.attempt.batch, audited.attempt.table
    return Retryable(f"batch {batch} of {table}: other writers kept moving main, so nothing was published. Try again")


@contextmanager
def _again_where_main_moves(service: Service, audited: Audited) -> Iterator[None]:
    """Leave the block if main has moved: nothing was merged, and whoever comes out of it tries again."""
    try:
        yield
    except Conflict:
        service.telemetry.emit({Signal.PUBLISH_CONFLICTS: 1}, audited.attempt.table)
        log.info("main_moved", branch=audited.attempt.branch, table=audited.attempt.table)


def _merge(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> NeedsNewAttempt | None:
    """Merge these files: the audited branch as it is, or this worker's own branch with just these files. Raise Conflict
    if main has moved.
    """
    objection = None if rebase else guard_schema(audited, files)
    if objection:
        return objection
    if not rebase and len(files) == len(audited.claims):
        service.publisher.merge(audited.attempt.branch, audited.report.audited, note)
    elif objection := _merge_own(service, audited, files, main, note, rebase=rebase):
        return objection
    service.telemetry.emit({Signal.FILES_PUBLISHED: len(files)}, audited.attempt.table)
    log.info("published", branch=audited.attempt.branch, files=len(files), by=note.by)
    return None


def _merge_own(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> NeedsNewAttempt | None:
    own = audited.attempt.rebase(service.clock.now(), service.clock.nonce())
    targets = guard_rebase(service, audited, files, main) if rebase else None
    if isinstance(targets, NeedsNewAttempt):
        return targets
    base = main.head if targets else audited.report.base
    with own_branch(service.branches, own.branch, base):
        if targets:
            rebase_on_main(service, audited, files, main, targets, own.branch)
        else:
            trim(service, audited, files, own.branch)
        head = prove_own(service, audited, files, own, base)
        pushed = contract_of(service.store, audited.attempt.table)  # read again, because the steps above take seconds
        if objection := guard_contract(audited, pushed):
            return objection
        service.publisher.merge(own.branch, head, note)
    return None


def _note(audited: Audited, files: list[FileVersion]) -> Note:
    attempt = audited.attempt
    decided = tuple(
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
        for entry in [audited.reported[file.id]]
    )
    return Note(
        decision=Decision.PUBLISHED,
        table=attempt.table,
        batch=attempt.batch,
        attempt=attempt.number,
        files=decided,
        lane=str(audited.report.lane or ""),
    )
