"""Noting: what an audit found of files that it rejects comes to main with their receipts, in one merge.

What it found of published files comes with their rows. A rejection brings no rows, so it has a merge of its own: then
the receipt says that its audit is noted, too, and a crash at any call leaves both undone or both done.
"""

from collections.abc import Mapping

import structlog

from lakegate.audit.evaluation.audits import NAMESPACE
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, FileChanges, Note, Ref
from lakegate.workflow.ledger.decisions import Commit
from lakegate.workflow.publishing.audited import Audited
from lakegate.workflow.publishing.guards import Targets, guard_tables
from lakegate.workflow.publishing.proofs import head_of_own
from lakegate.workflow.publishing.rebase import bring
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
    targets = guard_tables(service, audited, head, brought) if any(brought.values()) else None
    if not isinstance(targets, Targets):
        return False
    own = audited.attempt.rebase(service.clock.now(), service.clock.nonce())
    try:
        service.branches.create_branch(own.branch, head)
        service.ledger.commit_receipts(own.branch, head, receipts)
        bring(service, audited, targets, own.branch, brought)
        service.publisher.merge(own.branch, _proved(service, own, head, receipts, brought), note)
    finally:
        service.branches.delete_branch(own.branch)
    return True


def _proved(service: Service, own: Attempt, base: str, receipts: list[Receipt], brought: Brought) -> str:
    """Return the branch's head, proved to have just these receipts and data files beyond its base."""
    head = head_of_own(service, own)
    changes = service.branches.changes(base, head)
    is_alone = changes.tables == brought.keys() and changes.namespaces <= {NAMESPACE} and not changes.others
    if not is_alone or set(changes.receipts) != {receipt.key for receipt in receipts}:
        raise Refused(f"branch {own.branch} has other changes than the rejection and its audit; it is not merged")
    for table, paths in brought.items():
        if service.tables.compare(table, Ref(MAIN, base), Ref(own.branch, head)) != FileChanges(added=paths):
            raise Refused(f"branch {own.branch}: {table} has other data files than the audit's; it is not merged")
    return head
