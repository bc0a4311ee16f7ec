"""A branch of a worker's own that holds just what is to be merged: rebased on main's head, or trimmed on the audit's
base. Data files move by metadata alone.
"""

from collections.abc import Iterable

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import Ref
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audited import Audited, Main, NeedsNewAttempt
from lakegate.workflow.publishing.guards import guard_replaced, guard_schema, guard_tables
from lakegate.workflow.service import Service


def rebase_on_main(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, own: Attempt
) -> str | NeedsNewAttempt:
    """Make a branch from main's head, with the audited data files of these files appended by metadata, and what they
    replace taken off. Return its base, or, before anything is made, the reason why only a new attempt is right.
    """
    paths = {table: paths for table, paths in audited.added(files).items() if paths}
    replaced = {table: paths for table, paths in audited.removed(files).items() if paths}
    targets = guard_tables(service, audited, main.head, {**paths, **replaced})
    if isinstance(targets, NeedsNewAttempt):
        return targets
    unasked = guard_schema(audited, files) if targets.new or targets.grown else None
    whole = not audited.rewriting(files)
    if reason := unasked or guard_replaced(service, audited, main.head, replaced, whole=whole):
        return reason
    attempt = audited.attempt
    service.branches.create_branch(own.branch, main.head)
    claims = [
        claim_receipt(main.receipts, file, attempt, audited.reported[file.id].replaces.versions) for file in files
    ]
    service.ledger.commit_receipts(own.branch, main.head, claims)
    for table in sorted(targets.grown):
        service.tables.evolve(table, own.branch, audited.base_ref, audited.ref)
    for table, its in paths.items():
        bring = service.tables.register if table in targets.new else service.tables.append
        bring(table, own.branch, audited.ref, its)
    for table, its in replaced.items():
        service.tables.remove(table, own.branch, its)
    return main.head


def trim(service: Service, audited: Audited, files: list[FileVersion], own: Attempt) -> str:
    """A branch of what was audited, without what that holds of all other files. Returns its base.

    It is not made from the audited commit. Once a worker has merged that, or a part of it, it is what Nessie compares
    main with: another part would be merged without a conflict, and take off main what it leaves out.
    """
    base, left = audited.report.base, audited.claims_without(files)
    service.branches.create_branch(own.branch, base)
    service.publisher.replay(own.branch, base, audited.report.audited, [file.key for file in left])
    _take_rows_off(service, audited, left, own.branch)
    return base


def drop_files(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    """Take these files' data files, and their claims, off the attempt's branch.

    Done again it changes nothing. Raises Conflict or Refused where another worker is at it.
    """
    files = list(files)
    _take_rows_off(service, audited, files, branch)
    head = service.branches.head(branch) or ""
    service.ledger.restore_receipts(branch, head, [file.key for file in files], audited.report.base)


def _take_rows_off(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    for table, paths in audited.paths(files).items():
        if paths and (there := paths & service.tables.compare(table, audited.base_ref, Ref(branch)).added):
            service.tables.remove(table, branch, there)
