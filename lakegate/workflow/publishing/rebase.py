"""Rebase: a worker's own branch with just what is to be merged, on main's head or trimmed on the audit's base. Data
files move by metadata alone.
"""

from collections.abc import Iterable, Mapping

from lakegate.errors import Conflict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import Ref
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audited import Audited, Main, NeedsNewAttempt
from lakegate.workflow.publishing.guards import Targets, guard_replaced, guard_schema, guard_tables
from lakegate.workflow.service import Service


def rebase_on_main(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, own: Attempt
) -> str | NeedsNewAttempt:
    """Make a branch from main's head, append the audited data files of these files to it and remove what they replace.
    Return its base, or an objection before anything is made.
    """
    paths = {table: paths for table, paths in audited.added(files).items() if paths}
    replaced = {table: paths for table, paths in audited.removed(files).items() if paths}
    targets = guard_tables(service, audited, main.head, {**paths, **replaced})
    if isinstance(targets, NeedsNewAttempt):
        return targets
    unasked = guard_schema(audited, files) if targets.new or targets.grown else None
    whole = not audited.rewriting(files)
    if objection := unasked or guard_replaced(service, audited, main.head, replaced, whole=whole):
        return objection
    attempt = audited.attempt
    service.branches.create_branch(own.branch, main.head)
    claims = [
        claim_receipt(main.receipts, file, attempt, audited.reported[file.id].replaces.versions) for file in files
    ]
    service.ledger.commit_receipts(own.branch, main.head, claims)
    bring(service, audited, targets, own.branch, paths)
    for table, its in replaced.items():
        service.tables.remove(table, own.branch, its)
    return main.head


def bring(
    service: Service, audited: Audited, targets: Targets, branch: str, paths: Mapping[str, frozenset[str]]
) -> None:
    """Bring these audited data files, by table, to a branch of main's, with new tables and columns."""
    for table in sorted(targets.grown):
        service.tables.evolve(table, branch, audited.base_ref, audited.ref)
    for table, its in paths.items():
        add = service.tables.register if table in targets.new else service.tables.append
        add(table, branch, audited.ref, its)


def trim(service: Service, audited: Audited, files: list[FileVersion], own: Attempt) -> str:
    """Make a branch with the audited changes of these files alone, and return its base.

    The branch is not made from the audited commit. Once a part of that commit is merged, Nessie compares main with it:
    another part would merge without a conflict, and remove from main what it leaves out.
    """
    base, others = audited.report.base, audited.claims_without(files)
    service.branches.create_branch(own.branch, base)
    service.publisher.replay(own.branch, base, audited.report.audited, [file.key for file in others])
    _drop_data_files(service, audited, others, own.branch)
    return base


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
        if paths and (there := paths & service.tables.compare(table, audited.base_ref, Ref(branch)).added):
            service.tables.remove(table, branch, there)
