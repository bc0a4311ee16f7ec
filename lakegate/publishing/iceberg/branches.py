"""`Branches`, `Tables` and `Publisher` of one table, whose branches are Iceberg's own.

All references of a table are in one metadata file, which every commit replaces, and all have the table's one schema.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from lakegate.adapters.iceberg.commits import stage_append
from lakegate.adapters.iceberg.errors import iceberg_errors
from lakegate.adapters.iceberg.identity import table_identity
from lakegate.adapters.iceberg.manifests import TableState, unshared_files
from lakegate.audit.data_files import manifests
from lakegate.audit.ref import Ref
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import PREFIX
from lakegate.publishing.iceberg.commits import Change, append_change, branch_conflict, commit, find, same_table
from lakegate.publishing.iceberg.refs import NO_COMMIT, ancestors, base_of, commit_of, snapshot_at, table_at
from lakegate.publishing.port import Branch, Changes, FileChanges, TableIdentity

_DAY = timedelta(days=1) // timedelta(milliseconds=1)
_AGES = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}


@dataclass(frozen=True, kw_only=True)
class IcebergBranches:
    """Branches of one table of a catalog, which need not be there yet: until it is, each branch is at no commit.
    `days` is for how long Iceberg's own expiry keeps an abandoned one. Snapshots that it appends have the `summary`.
    """

    catalog: Catalog
    table: str
    days: int = 7
    summary: Mapping[str, str] = field(default_factory=dict)

    def at(self, ref: Ref) -> Table | None:
        """Return the table at a ref; None if there is no table. Raise Conflict if the branch or the commit is gone."""
        table = find(self.catalog, self.table)
        if table is None:
            return None
        at = snapshot_at(table, ref.branch) if not ref.commit else None if ref.commit == NO_COMMIT else int(ref.commit)
        if at is None and (ref.commit or ref.branch == MAIN_BRANCH):
            return table_at(table, None)
        if at is None or table.snapshot_by_id(at) is None:
            raise Conflict(f"{self.table} has no {ref}: somebody has dropped it, or its snapshot has expired")
        return table_at(table, at)

    def head(self, branch: str) -> str | None:
        table = find(self.catalog, self.table)
        snapshot = snapshot_at(table, branch) if table else None
        return None if table and snapshot is None and branch != MAIN_BRANCH else commit_of(snapshot)

    def list_branches(self) -> list[Branch]:
        table = find(self.catalog, self.table)
        names = sorted(name for name in (table.metadata.refs if table else ()) if name.startswith(PREFIX))
        return [Branch(name=name, head=commit_of(snapshot_at(table, name))) for name in names if table]

    def create_branch(self, name: str, at: str) -> None:
        """See the port. Without a table there is nothing that could have a branch: it comes with the table."""
        snapshots = set[int]()

        def change(table: Table) -> Change | None:
            now = snapshot_at(table, name)
            if now in snapshots:
                return None
            if now is not None:
                raise Conflict(f"branch {name} of {self.table} exists already")
            if at == NO_COMMIT:
                snapshot, (updates, _) = stage_append(table, (), name, {})  # a branch points to a snapshot
                snapshots.add(snapshot)
                return updates, same_table(table)  # some catalogs let only main be a first branch, if they are asked
            snapshots.add(int(at))
            update = _set(name, int(at), {"max-ref-age-ms": self.days * _DAY})
            return (update,), (*same_table(table), _points(name, None))

        if find(self.catalog, self.table):
            self._commit(f"making branch {name} of {self.table}", change)

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        def change(table: Table) -> Change | None:
            now = snapshot_at(table, name)
            if now is None or expected not in (None, str(now)):
                return None
            return (_removal(name),), (*same_table(table), _points(name, now))

        if find(self.catalog, self.table):
            self._commit(f"dropping branch {name} of {self.table}", change)

    def base(self, branch: str) -> str:
        table = self.at(Ref(branch))
        return commit_of(base_of(table) if table else None)

    def changes(self, base: str, head: str) -> Changes:
        line = {snapshot.snapshot_id for snapshot in ancestors(self.at(Ref("", head)))}
        if base != NO_COMMIT and int(base) not in line:
            raise Refused(f"snapshot {head} of {self.table} was not made from {base}: its history does not reach back")
        return Changes(tables=self.changed_tables(base, head, [self.table]))

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        return frozenset({self.table} & {*tables}) if base != head else frozenset()

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        state = self._at(ref, table)
        return table_identity(state) if state else None

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        states = (TableState(self._at(ref, table)) for ref in (before, after))
        with iceberg_errors(f"comparing {table} at {before} and {after}"):
            diff = manifests.compare(*states)
        return FileChanges(adds=frozenset(diff.new_files), removes=frozenset(diff.lost_files), deletes=diff.deletes)

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        origin, target = self._at(source, table), self._at(Ref(branch), table)
        if origin is None or target is None:
            raise Refused(f"there is no table {table} at {branch}")
        origin_files, target_files = unshared_files(origin, target)
        if strange := sorted((paths - origin_files.keys()) | (paths & target_files.keys())):
            raise Refused(f"{table} at {source} has, beyond what {branch} has, no data file {strange[0]}")
        files, head = [origin_files[path] for path in sorted(paths)], target.metadata.current_snapshot_id
        change = append_change(branch, branch, head, files, self.summary)
        self._commit(f"appending to {table} on branch {branch}", change)

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:  # noqa: ARG002
        raise Refused(f"{branch}: all branches of {table} have it already")

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        """See the port. What `source` has beyond `base` all branches have."""

    def merge(self, branch: str, head: str, record: object) -> None:  # noqa: ARG002
        """See the port. The snapshots that are published carry the record. The branch is dropped by the same commit."""

        def change(table: Table) -> Change | None:
            main, published = snapshot_at(table, MAIN_BRANCH), table_at(table, int(head))
            if main is not None and any(past.snapshot_id == int(head) for past in ancestors(table_at(table, main))):
                return None
            if snapshot_at(table, branch) != int(head):
                raise branch_conflict(branch)
            if main != base_of(published):
                raise Conflict(f"{self.table} on main is not what branch {branch} was made from")
            updates = (_main_at(table, int(head)), _removal(branch))
            return updates, (*same_table(table), _points(MAIN_BRANCH, main), _points(branch, int(head)))

        self._commit(f"publishing branch {branch} of {self.table}", change)

    def _at(self, ref: Ref, table: str) -> Table | None:
        return self.at(ref) if table == self.table else None

    def _commit(self, action: str, change: Callable[[Table], Change | None]) -> None:
        commit(self.catalog, self.table, action, change)


def _points(name: str, snapshot: int | None) -> TableRequirement:
    return AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": snapshot})


def _main_at(table: Table, snapshot: int) -> TableUpdate:
    """Return the update that moves main, and keeps what main says of the age of its snapshots."""
    main = table.metadata.refs.get(MAIN_BRANCH)
    ages = main.model_dump(by_alias=True, include=_AGES, exclude_none=True) if main else {}
    return _set(MAIN_BRANCH, snapshot, ages)


def _set(name: str, snapshot: int, ages: Mapping[str, int]) -> TableUpdate:
    values = {"ref-name": name, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot, **ages}
    return SetSnapshotRefUpdate.model_validate(values)


def _removal(name: str) -> TableUpdate:
    return RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
