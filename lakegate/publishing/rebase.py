"""Rebase: audited data files come to a branch of main as it is now, which is made for one merge alone. They move by
metadata, and no row is read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lakegate.publishing.guards import AuditedBranch, Targets
from lakegate.publishing.port import Branches, Tables


@contextmanager
def own_branch(branches: Branches, name: str, at: str) -> Iterator[None]:
    """Make a branch that nobody else has, at a commit, and delete it at the end, merged or not."""
    try:
        branches.create_branch(name, at)
        yield
    finally:
        branches.delete_branch(name)


def bring(
    tables: Tables, source: AuditedBranch, targets: Targets, branch: str, paths: Mapping[str, frozenset[str]]
) -> None:
    """Bring these audited data files, by table, to a branch of main's, with new tables and columns."""
    for table in sorted(targets.wider):
        tables.evolve(table, branch, source.base_ref, source.ref)
    for table, files in paths.items():
        add = tables.register if table in targets.new else tables.append
        add(table, branch, source.ref, files)
