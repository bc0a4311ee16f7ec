"""Rebase: a worker's own branch gets just what is to be merged, on main's head or trimmed on the audit's base."""

from collections.abc import Iterable

from lakegate.errors import Conflict
from lakegate.landing.files import FileVersion
from lakegate.ports import Ref
from lakegate.publishing.guards import NeedsNewAttempt, Targets, guard_replaced, guard_tables
from lakegate.publishing.rebase import bring
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audit import Audit, Main
from lakegate.workflow.publishing.guards import guard_schema
from lakegate.workflow.service import Service


def guard_rebase(service: Service, audit: Audit, files: list[FileVersion], main: Main) -> Targets | NeedsNewAttempt:
    """Return the tables that main must get with these files; object if their data files may not move to main."""
    losses = audit.losses(files)
    targets = guard_tables(service.tables, audit.branch, main.head, {**audit.gains(files), **losses})
    if isinstance(targets, NeedsNewAttempt):
        return targets
    schema_objection = guard_schema(audit, files) if targets.new or targets.wider else None
    whole = not audit.rewriters(files)
    objection = schema_objection or guard_replaced(service.tables, audit.branch, main.head, losses, whole=whole)
    return objection or targets


def rebase_on_main(
    service: Service, audit: Audit, files: list[FileVersion], main: Main, targets: Targets, branch: str
) -> None:
    """Give a branch of main's head the audited data files of these files and their claims, and take off what they
    replace.
    """
    claims = [
        claim_receipt(main.receipts, file, audit.attempt, audit.reports[file.id].replaces.versions) for file in files
    ]
    service.ledger.commit_receipts(branch, main.head, claims)
    bring(service.tables, audit.branch, targets, branch, audit.gains(files))
    for table, paths in audit.losses(files).items():
        service.tables.remove(table, branch, paths)


def trim(service: Service, audit: Audit, files: list[FileVersion], branch: str) -> None:
    """Give a branch of the audit's base the audited changes of these files alone.

    The branch is not made from the audited commit. Once a part of that commit is merged, Nessie compares main with it:
    another part would merge without a conflict, and remove from main what it leaves out.
    """
    other_claims = audit.claims_without(files)
    service.publisher.replay(branch, audit.report.base, audit.report.audited, [file.key for file in other_claims])
    _drop_data_files(service, audit, other_claims, branch)


def drop_files(service: Service, audit: Audit, files: Iterable[FileVersion], branch: str) -> None:
    """Drop these files' data files and claims from the attempt's branch. Done again, it changes nothing. Raise Conflict
    or Refused if another worker does the same at once.
    """
    files = list(files)
    _drop_data_files(service, audit, files, branch)
    head = service.branches.head(branch)
    if head is None:
        raise Conflict(f"branch {branch} was deleted before {audit.attempt.batch}'s files were dropped from it")
    service.ledger.restore_receipts(branch, head, [file.key for file in files], audit.report.base)


def _drop_data_files(service: Service, audit: Audit, files: Iterable[FileVersion], branch: str) -> None:
    for table, paths in audit.paths(files).items():
        if paths and (present := paths & service.tables.compare(table, audit.branch.base_ref, Ref(branch)).adds):
            service.tables.remove(table, branch, present)
