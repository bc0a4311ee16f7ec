"""Proofs that a branch brings what was audited, and nothing else. They read afresh, and raise Refused otherwise."""

from collections.abc import Collection, Mapping

from lakegate.audit.ref import Ref
from lakegate.errors import Conflict, Refused
from lakegate.publishing.guards import AuditedBranch
from lakegate.publishing.port import MAIN, Branches, Changes, FileChanges, Tables


def head_of(branches: Branches, name: str) -> str:
    """Return the head of a branch that is about to be merged. Raise Conflict if somebody has deleted it, so that the
    caller tries again on another.
    """
    head = branches.head(name)
    if head is None:
        raise Conflict(f"branch {name} was deleted before it was merged")
    return head


def prove_alone(changes: Changes, tables: Collection[str], subject: str) -> None:
    """Prove that the changes are in these tables and the namespaces that they are in, and beside them in receipts."""
    namespaces = {space for table in tables for space in _namespaces(table)}
    strangers = sorted((changes.tables - {*tables}) | (changes.namespaces - namespaces) | changes.other_keys)
    if strangers:
        raise Refused(f"{subject} also changes {', '.join(strangers)}; nothing is merged")


def _namespaces(table: str) -> set[str]:
    """Return the namespaces that a table is in: `a` and `a.b` of `a.b.orders`."""
    parts = table.split(".")[:-1]
    return {".".join(parts[:length]) for length in range(1, len(parts) + 1)}


def prove_files(
    tables: Tables, source: AuditedBranch, target: Ref, base: str, expected: Mapping[str, FileChanges]
) -> None:
    """Prove that a branch, at its head, has main's data files at its base and just these changes of them, by table, in
    the tables that were audited.
    """
    for table, changes in expected.items():
        if tables.compare(table, Ref(MAIN, base), target) != changes:
            raise Refused(
                f"branch {target.branch}: the data files of {table} are not main's plus the audited ones in the place "
                f"of those that they replace; nothing is merged"
            )
        identities = (tables.identity(ref, table) for ref in (target, source.ref))
        if changes != FileChanges() and not source.is_same(table, *identities):
            raise Refused(
                f"branch {target.branch}: {table} is not the table that was audited; nothing is merged. {source.advice}"
            )
