"""Noting: what an audit found of files that it rejects comes to main with their receipts, in one merge.

What it found of published files comes with their rows. A rejection brings no rows, so it has a merge of its own: then
the receipt says that its audit is noted, too, and a crash at any call leaves both undone or both done.
"""

import structlog

from lakegate.audit.evaluation.audits import NAMESPACE, audits_of
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, FileChanges, Note, Ref
from lakegate.workflow.ledger.decisions import Commit
from lakegate.workflow.publishing.audited import Audited
from lakegate.workflow.publishing.guards import is_same
from lakegate.workflow.service import Service

log = structlog.get_logger()


def commit_noted(service: Service, audited: Audited) -> Commit:
    """Return the commit of a rejection of this attempt's files, with what its audit found of them. Where that cannot be
    brought to main, the files are rejected without it: its report has it.
    """

    def commit(head: str, receipts: list[Receipt], note: Note, files: list[FileVersion]) -> None:
        paths = audited.noted(files)
        try:
            if paths and _may_move(service, audited, head):
                _merge(service, audited, head, receipts, note, paths)
                return
        except Refused as why:
            log.warning("audit_not_noted", branch=audited.attempt.branch, why=str(why))
        service.ledger.commit_receipts(MAIN, head, receipts, note)

    return commit


def _may_move(service: Service, audited: Audited, head: str) -> bool:
    """Return True if main has no audits table, or one like the attempt's."""
    table = audits_of(audited.attempt.table)
    there, wanted = (service.tables.identity(ref, table) for ref in (Ref(MAIN, head), audited.ref))
    return wanted is not None and (there is None or is_same(audited, table, there, wanted))


def _merge(
    service: Service, audited: Audited, head: str, receipts: list[Receipt], note: Note, paths: frozenset[str]
) -> None:
    """Merge a branch of main's head with these receipts and data files alone. Raise Conflict if main has changed."""
    own, table = audited.attempt.rebase(service.clock.now(), service.clock.nonce()), audits_of(audited.attempt.table)
    try:
        service.branches.create_branch(own.branch, head)
        service.ledger.commit_receipts(own.branch, head, receipts)
        is_there = service.tables.identity(Ref(MAIN, head), table) is not None
        bring = service.tables.append if is_there else service.tables.register
        bring(table, own.branch, audited.ref, paths)
        service.publisher.merge(own.branch, _proved(service, own, head, receipts, table, paths), note)
    finally:
        service.branches.delete_branch(own.branch)


def _proved(
    service: Service, own: Attempt, base: str, receipts: list[Receipt], table: str, paths: frozenset[str]
) -> str:
    """Return the branch's head, proved to have just these receipts and data files beyond its base."""
    head = service.branches.head(own.branch)
    if head is None:
        raise Conflict(f"branch {own.branch} was deleted before it was merged")
    changes = service.branches.changes(base, head)
    is_alone = changes.tables == {table} and changes.namespaces <= {NAMESPACE} and not changes.others
    if not is_alone or set(changes.receipts) != {receipt.key for receipt in receipts}:
        raise Refused(f"branch {own.branch} has other changes than the rejection and its audit; it is not merged")
    if service.tables.compare(table, Ref(MAIN, base), Ref(own.branch, head)) != FileChanges(added=paths):
        raise Refused(f"branch {own.branch}: {table} has other data files than the audit's; it is not merged")
    return head
