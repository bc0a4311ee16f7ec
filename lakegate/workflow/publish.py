"""Publishing: audited files of one attempt become rows on main, in one merge with their receipts.

It proves before every merge that the merge brings the audited files and their receipts and nothing else. It never
forces, and it never runs Spark: when main moved, the same data files are appended to a fresh branch by metadata alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import structlog

from lakegate.errors import Conflict, Retryable
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import DecidedFile, Note
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.audited import Audited, Main
from lakegate.workflow.guards import (
    guard_contract,
    guard_put_back,
    guard_rejected,
    guard_schema,
    guard_taken_out,
    guard_together,
    guard_unmoved,
    is_as_claimed,
    puts_back,
    still_open,
)
from lakegate.workflow.proofs import prove_audited, prove_changes, prove_own
from lakegate.workflow.rebase import rebase_on_main, trim
from lakegate.workflow.service import Service
from lakegate.workflow.shelf import contract_of

log = structlog.get_logger()
TRIES = 8


def publish(service: Service, audited: Audited, files: Iterable[FileVersion]) -> None:
    """Bring these audited files to main. Files that another attempt published meanwhile are left out.

    Raises Refused where a proof fails, DecidedOtherwise where a file was rejected, discarded or overtaken meanwhile,
    NeedsNewAttempt where main's table is not the one that was audited, its key's versions there are not those that a
    file replaces, or a table that its verdicts depend on has changed otherwise than they allow, Retryable where main
    keeps moving.
    """
    wanted = list(files)
    claims = prove_audited(service, audited)
    for turn, main in enumerate(_tries(service, audited)):
        wanted = still_open(audited, wanted, main)
        if not wanted:
            return
        guard_unmoved(service, audited, main)
        guard_together(audited, wanted, main.contract.plan)
        guard_put_back(audited, wanted)
        guard_taken_out(audited, wanted)
        guard_contract(audited, main.contract)
        rebase = turn > 0 or not is_as_claimed(audited, claims, main) or puts_back(audited, wanted)
        if _try_to_merge(service, audited, wanted, main, _note(audited, wanted), rebase=rebase):
            return


def publish_rejected(service: Service, audited: Audited, files: list[FileVersion], *, why: str, by: str) -> None:
    """Bring files that this attempt rejected to main all the same, by the word of a person. Its branch may have lost
    other files since.

    Raises as `publish` does; that another worker published them is Refused, too.
    """
    changes = service.catalog.changes(audited.report.base, audited.report.audited)
    prove_changes(audited, changes, audited.claims, "what was audited")
    note = replace(_note(audited, files), why=why, by=by)
    for main in _tries(service, audited):
        guard_rejected(audited, files, main)
        guard_taken_out(audited, files)
        guard_unmoved(service, audited, main)
        guard_contract(audited, main.contract)
        if _try_to_merge(service, audited, files, main, note, rebase=True):
            return


def _tries(service: Service, audited: Audited) -> Iterator[Main]:
    """Main anew for each try. Raises Retryable after the last."""
    table = audited.attempt.table
    for _ in range(TRIES):
        head, receipts = main_receipts(service, audited.claims)
        yield Main(head=head, receipts=receipts, contract=contract_of(service.store, table))
    raise Retryable(f"batch {audited.attempt.batch} of {table}: main kept moving; the same can be done again")


def _try_to_merge(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> bool:
    """Merge them. Return False where main has moved meanwhile: then nothing was merged."""
    attempt = audited.attempt
    try:
        _merge(service, audited, files, main, note, rebase=rebase)
    except Conflict:
        log.info("main_moved", branch=attempt.branch, table=attempt.table)
        return False
    log.info("published", branch=attempt.branch, files=len(files), by=note.by)
    return True


def _merge(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> None:
    """Merge these files: the audited branch as it is, or a branch of this worker's own that holds just them."""
    if not rebase:
        guard_schema(audited, files)
    if not rebase and len(files) == len(audited.claims):
        service.catalog.merge(audited.attempt.branch, audited.report.audited, note)
    else:
        _merge_own(service, audited, files, main, note, rebase=rebase)


def _merge_own(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> None:
    own = audited.attempt.rebase(service.clock.now(), service.clock.nonce())
    try:
        base = rebase_on_main(service, audited, files, main, own) if rebase else trim(service, audited, files, own)
        head = prove_own(service, audited, files, own, base)
        guard_contract(audited, contract_of(service.store, audited.attempt.table))  # all that took seconds
        service.catalog.merge(own.branch, head, note)
    finally:
        service.catalog.delete_branch(own.branch)


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
        )
        for file in files
        for entry in [audited.reported[file.id]]
    )
    return Note(
        decision=Decision.PUBLISHED, table=attempt.table, batch=attempt.batch, attempt=attempt.number, files=decided
    )
