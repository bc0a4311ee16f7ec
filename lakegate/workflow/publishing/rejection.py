"""Rejection: what an audit found of files that it rejects comes to main with their receipts, in one merge.

What it found of published files comes with their rows. A rejection brings no rows, so it has a merge of its own: then
the receipt says that its audit is on main, too, and a crash at any call leaves both undone or both done.
"""

from collections.abc import Mapping

import structlog

from lakegate.errors import Refused
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, FileChanges, Record, Ref
from lakegate.publishing.guards import Targets, guard_tables
from lakegate.publishing.proofs import head_of, prove_alone, prove_files
from lakegate.publishing.rebase import bring, own_branch
from lakegate.workflow.ledger.decisions import Commit
from lakegate.workflow.publishing.audit import Audit
from lakegate.workflow.service import Service

log = structlog.get_logger()
Arrivals = Mapping[str, frozenset[str]]
"""Data files by the audits table that they come to."""


def commit_with_audit(service: Service, audit: Audit) -> Commit:
    """Return the commit of a rejection of this attempt's files, with what its audit found of them. Where that cannot be
    brought to main, the files are rejected without it: its report has it.
    """

    def commit(head: str, receipts: list[Receipt], record: Record, files: list[FileVersion]) -> None:
        arrivals = {audit.audits: audit.audit_files(files)}
        try:
            if not _merge(service, audit, head, receipts, record, arrivals):
                service.ledger.commit_receipts(MAIN, head, receipts, record)
        except Refused as error:
            log.warning("audit_not_recorded", branch=audit.attempt.branch, why=str(error))
            service.ledger.commit_receipts(MAIN, head, receipts, record)

    return commit


def _merge(
    service: Service, audit: Audit, head: str, receipts: list[Receipt], record: Record, arrivals: Arrivals
) -> bool:
    """Merge a branch of main's head with these receipts and data files alone. Return False if there are none, or main's
    audits table is not like the attempt's. Raise Conflict if main has changed.
    """
    targets = guard_tables(service.tables, audit.branch, head, arrivals) if any(arrivals.values()) else None
    if not isinstance(targets, Targets):
        return False
    target = audit.attempt.rebase(service.clock.now(), service.clock.nonce())
    with own_branch(service.branches, target.branch, head):
        service.ledger.commit_receipts(target.branch, head, receipts)
        bring(service.tables, audit.branch, targets, target.branch, arrivals)
        service.publisher.merge(target.branch, _prove(service, audit, target.branch, head, receipts, arrivals), record)
    return True


def _prove(service: Service, audit: Audit, branch: str, base: str, receipts: list[Receipt], arrivals: Arrivals) -> str:
    """Return the branch's head, proved to have just these receipts and data files beyond its base."""
    head = head_of(service.branches, branch)
    changes = service.branches.changes(base, head)
    prove_alone(changes, arrivals.keys(), f"branch {branch} of a rejection and its audit")
    if set(changes.receipts) != {receipt.key for receipt in receipts}:
        raise Refused(f"branch {branch} has other receipts than the rejection's; it is not merged")
    additions = {table: FileChanges(adds=paths) for table, paths in arrivals.items()}
    prove_files(service.tables, audit.branch, Ref(branch, head), base, additions)
    return head
