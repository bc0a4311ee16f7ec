"""Proofs that a merge brings the audited files and their receipts, and nothing else. They raise Refused otherwise."""

from collections.abc import Iterable, Mapping

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import Changes, FileChanges, Ref
from lakegate.publishing.proofs import head_of, prove_alone, prove_files
from lakegate.workflow.attempts.claims import files_claimed_in
from lakegate.workflow.publishing.audit import Audit
from lakegate.workflow.service import Service


def prove_audit(service: Service, audit: Audit) -> Mapping[str, Receipt | None]:
    """Prove that the branch's head is the audited commit, and that it differs from its base in the attempt's tables and
    receipts alone. Return these receipts, by landing key.
    """
    branch, report = audit.attempt.branch, audit.report
    head = service.branches.head(branch)
    if head != report.audited:
        raise Refused(
            f"branch {branch}: its head {head} is not the audited commit {report.audited}; "
            f"it was changed after the audit. {audit.branch.advice}"
        )
    if audit.base != report.base:
        raise Refused(
            f"branch {branch}: its base is not {report.base}, the one that was audited; nothing is merged. "
            f"{audit.branch.advice}"
        )
    changes = service.branches.changes(report.base, report.audited)
    prove_changes(audit, changes, audit.claims, "the branch")
    return changes.receipts


def prove_own(service: Service, audit: Audit, files: list[FileVersion], target: Attempt, base: str) -> str:
    """Prove that a worker's own branch holds its base's data files and exactly the audited ones of these files, without
    what they replace, in the table that was audited. Return its head.
    """
    head = head_of(service.branches, target.branch)
    prove_changes(audit, service.branches.changes(base, head), files, f"branch {target.branch}")
    removes = audit.removes(files)
    changes = {table: FileChanges(adds=paths, removes=removes[table]) for table, paths in audit.adds(files).items()}
    prove_files(service.tables, audit.branch, Ref(target.branch, head), base, changes)
    return head


def prove_changes(audit: Audit, changes: Changes, files: Iterable[FileVersion], subject: str) -> None:
    """Prove that the changes are in the attempt's tables and their namespaces, and in exactly these files' receipts."""
    subject = f"branch {audit.attempt.branch}: {subject}"
    prove_alone(changes, audit.paths(()).keys(), subject)
    receipts = {file.id for file in files_claimed_in(changes.receipts, audit.attempt)}
    keys = {file.key for file in files}
    if receipts != {file.id for file in files} or set(changes.receipts) != keys:
        raise Refused(f"{subject} changes receipts of other files; nothing is merged")
