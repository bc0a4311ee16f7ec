"""Noting: what an audit found of files that it rejects comes to main with their receipts, in one merge.

What it found of published files comes with their rows. A rejection brings no rows, so it has a merge of its own: then
the receipt says that its audit is noted, too, and a crash at any call leaves both undone or both done.
"""

from collections.abc import Mapping

import structlog

from lakegate.errors import Refused
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, FileChanges, Note, Ref
from lakegate.publishing.guards import Targets, guard_tables
from lakegate.publishing.proofs import head_of, prove_alone, prove_files
from lakegate.publishing.rebase import bring, own_branch
from lakegate.workflow.ledger.decisions import Commit
from lakegate.workflow.publishing.audited import Audited
from lakegate.workflow.service import Service

log = structlog.get_logger()
Brought = Mapping[str, frozenset[str]]
"""Data files by the audits table that they come to."""


def commit_noted(service: Service, audited: Audited) -> Commit:
    """Return the commit of a rejection of this attempt's files, with what its audit found of them. Where that cannot be
    brought to main, the files are rejected without it: its report has it.
    """

    def commit(head: str, receipts: list[Receipt], note: Note, files: list[FileVersion]) -> None:
        brought = {audited.audits: audited.noted(files)}
        try:
            if not _merged(service, audited, head, receipts, note, brought):
                service.ledger.commit_receipts(MAIN, head, receipts, note)
        except Refused as why:
            log.warning("audit_not_noted", branch=audited.attempt.branch, why=str(why))
            service.ledger.commit_receipts(MAIN, head, receipts, note)

    return commit


def _merged(
    service: Service, audited: Audited, head: str, receipts: list[Receipt], note: Note, brought: Brought
) -> bool:
    """Merge a branch of main's head with these receipts and data files alone. Return False if there are none, or main's
    audits table is not like the attempt's. Raise Conflict if main has changed.
    """
    targets = guard_tables(service.tables, audited.branch, head, brought) if any(brought.values()) else None
    if not isinstance(targets, Targets):
        return False
    own = audited.attempt.rebase(service.clock.now(), service.clock.nonce())
    with own_branch(service.branches, own.branch, head):
        service.ledger.commit_receipts(own.branch, head, receipts)
        bring(service.tables, audited.branch, targets, own.branch, brought)
        service.publisher.merge(own.branch, _proved(service, audited, own.branch, head, receipts, brought), note)
    return True


def _proved(service: Service, audited: Audited, own: str, base: str, receipts: list[Receipt], brought: Brought) -> str:
    """Return the branch's head, proved to have just these receipts and data files beyond its base."""
    head = head_of(service.branches, own)
    changes = service.branches.changes(base, head)
    prove_alone(changes, brought.keys(), f"branch {own} of a rejection and its audit")
    if set(changes.receipts) != {receipt.key for receipt in receipts}:
        raise Refused(f"branch {own} has other receipts than the rejection's; it is not merged")
    wanted = {table: FileChanges(added=paths) for table, paths in brought.items()}
    prove_files(service.tables, audited.branch, Ref(own, head), base, wanted)
    return head
