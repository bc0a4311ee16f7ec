"""Proofs that a merge brings the audited files and their receipts, and nothing else. They raise Refused otherwise."""

from collections.abc import Iterable, Mapping

from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Changes, FileChanges, Ref
from lakegate.workflow.attempts.claims import files_claimed_in
from lakegate.workflow.publishing.audited import Audited
from lakegate.workflow.publishing.guards import is_same
from lakegate.workflow.service import Service


def prove_audited(service: Service, audited: Audited) -> Mapping[str, Receipt | None]:
    """Prove that the branch's head is the audited commit, and that it differs from its base in the attempt's tables and
    receipts alone. Return these receipts, by landing key.
    """
    branch, report = audited.attempt.branch, audited.report
    head = service.branches.head(branch)
    if head != report.audited:
        raise Refused(
            f"branch {branch}: its head {head} is not the audited commit {report.audited}; "
            f"it was changed after the audit. Run: lakegate retry {audited.attempt.batch}"
        )
    if audited.base != report.base:
        raise Refused(
            f"branch {branch}: its base is not {report.base}, the one that was audited; nothing is merged. "
            f"Run: lakegate retry {audited.attempt.batch}"
        )
    changes = service.branches.changes(report.base, report.audited)
    prove_changes(audited, changes, audited.claims, "the branch")
    return changes.receipts


def prove_own(service: Service, audited: Audited, files: list[FileVersion], own: Attempt, base: str) -> str:
    """Prove that a worker's own branch holds its base's data files and exactly the audited ones of these files, without
    what they replace, in the table that was audited. Return its head. Raise Conflict if somebody has deleted it, so
    that the caller tries again on another.
    """
    head = head_of_own(service, own)
    prove_changes(audited, service.branches.changes(base, head), files, f"branch {own.branch}")
    replaced = audited.removed(files)
    for table, paths in audited.added(files).items():
        wanted, ref = FileChanges(added=paths, removed=replaced[table]), Ref(own.branch, head)
        if service.tables.compare(table, Ref(MAIN, base), ref) != wanted:
            raise Refused(
                f"branch {own.branch}: the data files of {table} are not main's plus the audited ones in the place of "
                f"those that they replace; nothing is merged"
            )
        here, there = (service.tables.identity(at, table) for at in (ref, audited.ref))
        if wanted != FileChanges() and not is_same(audited, table, here, there):
            raise Refused(
                f"branch {own.branch}: {table} is not the table that was audited; nothing is merged. "
                f"Run: lakegate retry {own.batch}"
            )
    return head


def head_of_own(service: Service, own: Attempt) -> str:
    """Return the head of a worker's own branch. Raise Conflict if somebody has deleted it."""
    head = service.branches.head(own.branch)
    if head is None:
        raise Conflict(f"branch {own.branch} was deleted before it was merged")
    return head


def prove_changes(audited: Audited, changes: Changes, files: Iterable[FileVersion], what: str) -> None:
    """Prove that the changes are in the attempt's tables and their namespaces, and in exactly these files' receipts."""
    tables = audited.paths(()).keys()
    namespaces = {table.rpartition(".")[0] for table in tables}
    strangers = sorted((changes.tables - tables) | (changes.namespaces - namespaces) | changes.others)
    if strangers:
        raise Refused(f"branch {audited.attempt.branch}: {what} also changes {', '.join(strangers)}; nothing is merged")
    receipts = {file.id for file in files_claimed_in(changes.receipts, audited.attempt)}
    keys = {file.key for file in files}
    if receipts != {file.id for file in files} or set(changes.receipts) != keys:
        raise Refused(f"branch {audited.attempt.branch}: {what} changes receipts of other files; nothing is merged")
