"""Rebase: a worker's own branch gets just what is to be merged, on main's head or trimmed on the audit's base."""

from collections.abc import Iterable

from lakegate.errors import Conflict
from lakegate.landing.files import FileVersion
from lakegate.ports import Ref
from lakegate.publishing.guards import NeedsNewAttempt, Targets, guard_replaced, guard_tables
from lakegate.publishing.rebase import bring
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audited import Audited, Main
from lakegate.workflow.publishing.guards import guard_schema
from lakegate.workflow.service import Service


def guard_rebase(service: Service, audited: Audited, files: list[FileVersion], main: Main) -> Targets | NeedsNewAttempt:
    """Return the tables that main must get with these files; object if their data files may not move to main."""
    replaced = audited.replaced(files)
    targets = guard_tables(service.tables, audited.branch, main.head, {**audited.moved(files), **replaced})
    if isinstance(targets, NeedsNewAttempt):
        return targets
    unasked = guard_schema(audited, files) if targets.new or targets.grown else None
    whole = not audited.rewriting(files)
    objection = unasked or guard_replaced(service.tables, audited.branch, main.head, replaced, whole=whole)
    return objection or targets


def rebase_on_main(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, targets: Targets, own: str
) -> None:
    """Give a branch of main's head the audited data files of these files and their claims, and take off what they
    replace.
    """
    claims = [
        claim_receipt(main.receipts, file, audited.attempt, audited.reported[file.id].replaces.versions)
        for file in files
    ]
    service.ledger.commit_receipts(own, main.head, claims)
    bring(service.tables, audited.branch, targets, own, audited.moved(files))
    for table, paths in audited.replaced(files).items():
        service.tables.remove(table, own, paths)


def trim(service: Service, audited: Audited, files: list[FileVersion], own: str) -> None:
    """Give a branch of the audit's base the audited changes of these files alone.

    The branch is not made from the audited commit. Once a part of that commit is merged, Nessie compares main with it:
    another part would merge without a conflict, and remove from main what it leaves out.
    """
    others = audited.claims_without(files)
    service.publisher.replay(own, audited.report.base, audited.report.audited, [file.key for file in others])
    _drop_data_files(service, audited, others, own)


def drop_files(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    """Drop these files' data files and claims from the attempt's branch. Done again, it changes nothing. Raise Conflict
    or Refused if another worker does the same at once.
    """
    files = list(files)
    _drop_data_files(service, audited, files, branch)
    head = service.branches.head(branch)
    if head is None:
        raise Conflict(f"branch {branch} was deleted before {audited.attempt.batch}'s files were dropped from it")
    service.ledger.restore_receipts(branch, head, [file.key for file in files], audited.report.base)


def _drop_data_files(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    for table, paths in audited.paths(files).items():
        if paths and (there := paths & service.tables.compare(table, audited.branch.base_ref, Ref(branch)).added):
            service.tables.remove(table, branch, there)
