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
from lakegate.publishing.iceberg.commits import Change, appending, changed, commit, find, same
from lakegate.publishing.iceberg.refs import NOTHING, ancestors, base_of, commit_of, pinned, pointed
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
        snapshot = pointed(table, ref.branch) if not ref.commit else None if ref.commit == NOTHING else int(ref.commit)
        if snapshot is None and (ref.commit or ref.branch == MAIN_BRANCH):
            return pinned(table, None)
        if snapshot is None or table.snapshot_by_id(snapshot) is None:
            raise Conflict(f"{self.table} has no {ref}: somebody has dropped it, or its snapshot has expired")
        return pinned(table, snapshot)

    def head(self, branch: str) -> str | None:
        table = find(self.catalog, self.table)
        snapshot = pointed(table, branch) if table else None
        return None if table and snapshot is None and branch != MAIN_BRANCH else commit_of(snapshot)

    def list_branches(self) -> list[Branch]:
        table = find(self.catalog, self.table)
        names = sorted(name for name in (table.metadata.refs if table else ()) if name.startswith(PREFIX))
        return [Branch(name=name, head=commit_of(pointed(table, name))) for name in names if table]

    def create_branch(self, name: str, at: str) -> None:
        """See the port. Without a table there is nothing that could have a branch: it comes with the table."""
        made = set[int]()

        def change(table: Table) -> Change | None:
            now = pointed(table, name)
            if now in made:
                return None
            if now is not None:
                raise Conflict(f"branch {name} of {self.table} exists already")
            if at == NOTHING:
                snapshot, (updates, _) = stage_append(table, (), name, {})  # a branch points to a snapshot
                made.add(snapshot)
                return updates, same(table)  # some catalogs let a table's first branch be main alone, if they are asked
            made.add(int(at))
            return (_set(name, int(at), {"max-ref-age-ms": self.days * _DAY}),), (*same(table), _points(name, None))

        if find(self.catalog, self.table):
            self._commit(f"making branch {name} of {self.table}", change)

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        def change(table: Table) -> Change | None:
            now = pointed(table, name)
            if now is None or expected not in (None, str(now)):
                return None
            return (_removed(name),), (*same(table), _points(name, now))

        if find(self.catalog, self.table):
            self._commit(f"dropping branch {name} of {self.table}", change)

    def base(self, branch: str) -> str:
        table = self.at(Ref(branch))
        return commit_of(base_of(table) if table else None)

    def changes(self, base: str, head: str) -> Changes:
        line = {it.snapshot_id for it in ancestors(self.at(Ref("", head)))}
        if base != NOTHING and int(base) not in line:
            raise Refused(f"snapshot {head} of {self.table} was not made from {base}: its history does not reach back")
        return Changes(tables=self.changed_tables(base, head, [self.table]))

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        return frozenset({self.table} & {*tables}) if base != head else frozenset()

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        there = self._at(ref, table)
        return table_identity(there) if there else None

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        states = (TableState(self._at(ref, table)) for ref in (before, after))
        with iceberg_errors(f"comparing {table} at {before} and {after}"):
            found = manifests.compare(*states)
        return FileChanges(added=frozenset(found.new_files), removed=frozenset(found.lost_files), deletes=found.deletes)

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        origin, target = self._at(source, table), self._at(Ref(branch), table)
        if origin is None or target is None:
            raise Refused(f"there is no table {table} at {branch}")
        there, here = unshared_files(origin, target)
        if strange := sorted((paths - there.keys()) | (paths & here.keys())):
            raise Refused(f"{table} at {source} has, beyond what {branch} has, no data file {strange[0]}")
        files = [there[path] for path in sorted(paths)]
        head = target.metadata.current_snapshot_id
        self._commit(f"appending to {table} on branch {branch}", appending(branch, branch, head, files, self.summary))

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:  # noqa: ARG002
        raise Refused(f"{branch}: all branches of {table} have it already")

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        """See the port. What `source` has beyond `base` all branches have."""

    def merge(self, branch: str, head: str, note: object) -> None:  # noqa: ARG002
        """See the port. The snapshots that are published carry the note. The branch is dropped by the same commit."""

        def change(table: Table) -> Change | None:
            main, published = pointed(table, MAIN_BRANCH), pinned(table, int(head))
            if main is not None and any(it.snapshot_id == int(head) for it in ancestors(pinned(table, main))):
                return None
            if pointed(table, branch) != int(head):
                raise changed(branch)
            if main != base_of(published):
                raise Conflict(f"{self.table} on main is not what branch {branch} was made from")
            updates = (_main_at(table, int(head)), _removed(branch))
            return updates, (*same(table), _points(MAIN_BRANCH, main), _points(branch, int(head)))

        self._commit(f"publishing branch {branch} of {self.table}", change)

    def _at(self, ref: Ref, table: str) -> Table | None:
        return self.at(ref) if table == self.table else None

    def _commit(self, what: str, change: Callable[[Table], Change | None]) -> None:
        commit(self.catalog, self.table, what, change)


def _points(name: str, snapshot: int | None) -> TableRequirement:
    return AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": snapshot})


def _main_at(table: Table, snapshot: int) -> TableUpdate:
    """Return the update that moves main, and keeps what main says of the age of its snapshots."""
    main = table.metadata.refs.get(MAIN_BRANCH)
    ages = main.model_dump(by_alias=True, include=_AGES, exclude_none=True) if main else {}
    return _set(MAIN_BRANCH, snapshot, ages)


def _set(name: str, snapshot: int, ages: Mapping[str, int]) -> TableUpdate:
    told = {"ref-name": name, "type": SnapshotRefType.BRANCH, "snapshot-id": snapshot, **ages}
    return SetSnapshotRefUpdate.model_validate(told)


def _removed(name: str) -> TableUpdate:
    return RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
