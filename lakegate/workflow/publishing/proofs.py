"""Proofs that a merge brings the audited files and their receipts, and nothing else. They raise Refused otherwise."""

from collections.abc import Iterable, Mapping

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import Changes, FileChanges, Ref
from lakegate.publishing.proofs import head_of, prove_alone, prove_files
from lakegate.workflow.attempts.claims import files_claimed_in
from lakegate.workflow.publishing.audited import Audited
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
            f"it was changed after the audit. {audited.branch.again}"
        )
    if audited.base != report.base:
        raise Refused(
            f"branch {branch}: its base is not {report.base}, the one that was audited; nothing is merged. "
            f"{audited.branch.again}"
        )
    changes = service.branches.changes(report.base, report.audited)
    prove_changes(audited, changes, audited.claims, "the branch")
    return changes.receipts


def prove_own(service: Service, audited: Audited, files: list[FileVersion], own: Attempt, base: str) -> str:
    """Prove that a worker's own branch holds its base's data files and exactly the audited ones of these files, without
    what they replace, in the table that was audited. Return its head.
    """
    head = head_of(service.branches, own.branch)
    prove_changes(audited, service.branches.changes(base, head), files, f"branch {own.branch}")
    replaced = audited.removed(files)
    wanted = {it: FileChanges(added=paths, removed=replaced[it]) for it, paths in audited.added(files).items()}
    prove_files(service.tables, audited.branch, Ref(own.branch, head), base, wanted)
    return head


def prove_changes(audited: Audited, changes: Changes, files: Iterable[FileVersion], what: str) -> None:
    """Prove that the changes are in the attempt's tables and their namespaces, and in exactly these files' receipts."""
    what = f"branch {audited.attempt.branch}: {what}"
    prove_alone(changes, audited.paths(()).keys(), what)
    receipts = {file.id for file in files_claimed_in(changes.receipts, audited.attempt)}
    keys = {file.key for file in files}
    if receipts != {file.id for file in files} or set(changes.receipts) != keys:
        raise Refused(f"{what} changes receipts of other files; nothing is merged")
