"""`Branches` as Iceberg's own: each a reference of the table to a snapshot, in any catalog that PyIceberg opens.

All references are in one metadata file, which every commit replaces, and all have the table's one schema.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AssertCreate,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from lakegate.adapters.iceberg.commits import one_try, staged
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Struct, parse, storage_of
from lakegate.errors import Conflict, OutcomeUnknown, Refused
from lakegate.express.creating import schema_of, spec_of
from lakegate.express.tables import ExpressTable
from lakegate.wap.commits import Change, appending, catalog_errors, commit, find, pointed, same, snapshot_of
from lakegate.wap.history import KEY, SNAPSHOT, ancestors, told
from lakegate.wap.names import check_made, made_at
from lakegate.wap.port import Open, still_open
from lakegate.wap.table import pinned

NOWHERE = ""
"""Where a branch points to whose table is not there yet."""
_DAY = timedelta(days=1) // timedelta(milliseconds=1)
_AGES = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}


@dataclass(frozen=True, kw_only=True)
class IcebergBranches:
    """Branches of one table of a catalog. `days` is for how long Iceberg's own expiry keeps an abandoned one."""

    catalog: Catalog
    table: str
    days: int = 7

    @property
    def whole_catalog(self) -> bool:
        return False

    def main(self) -> Table | None:
        return self.other(self.table)

    def other(self, name: str) -> Table | None:
        found = find(self.catalog, name)
        return None if found is None else pinned(found, pointed(found, MAIN_BRANCH))

    def make(self, name: str) -> Open:
        """See the protocol. Without a table there is nothing that could have a branch: `fit` makes both."""
        check_made(name, self.table)
        if find(self.catalog, self.table):
            self._branch(name)
        return still_open(self, name)

    def _branch(self, name: str) -> None:
        def change(table: Table) -> Change | None:
            if pointed(table, name) is not None:
                return None
            main = pointed(table, MAIN_BRANCH)
            if main is not None:
                ages = {"max-ref-age-ms": self.days * _DAY}
                return (_set(name, main, ages),), (*same(table), _points(name, None))
            _, (updates, _) = staged(table, (), name, {})  # a branch points to a snapshot
            return updates, same(table)  # some catalogs let a table's first branch be main alone, if they are asked

        self._commit(f"making branch {name} of {self.table}", change)

    def _create(self, name: str, plan: Plan, columns: Sequence[TableColumn]) -> None:
        """Create the table with the branch, empty, in one commit: a run that is killed leaves both, or neither."""
        schema = Schema(*schema_of(columns).fields[:-1])  # without the column of the file version
        with catalog_errors(f"creating {self.table} with branch {name}"):
            self.catalog.create_namespace_if_not_exists(self.table.rpartition(".")[0])
            try:
                creation = self.catalog.create_table_transaction(
                    self.table, schema, partition_spec=spec_of(plan, schema), properties={"format-version": "2"}
                )
                table = creation._table  # noqa: SLF001 - PyIceberg has no other way to a branch of a new table
                _, (updates, _) = staged(table, (), name, {})
                self.catalog.commit_table(table, (AssertCreate(),), (*creation._updates, *updates))  # noqa: SLF001
            except TableAlreadyExistsError:
                return

    def find(self, name: str) -> Open | None:
        table = find(self.catalog, self.table)
        if table is None:
            return Open(name=name, base=None, head=None, at=NOWHERE) if made_at(name, self.table) else None
        head = pointed(table, name)
        if head is None:
            return None
        there = pinned(table, head)
        return Open(name=name, base=pinned(table, _left_main(there)), head=there, at=str(head))

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:
        """See the protocol. A column that is not asked for by name is no branch's alone, so it is refused."""
        check_made(branch.name, self.table)
        if branch.head is None:
            branch = self._created(branch.name, plan, columns)
        differing = _differing(branch, columns)
        if not differing:
            return branch
        if unasked := [name for name in differing if name not in asked_for]:
            raise Unfit(
                f"table {self.table} on main differs from the contract or the data in "
                f"{', '.join(map(display_name, unasked[:5]))}, and all its branches have main's columns: "
                "readers would see the change before the audit. Change the table on main first, or name the columns: "
                "wap(…, allow_new_columns=[…])"
            )
        self._evolve(differing, columns)
        return still_open(self, branch.name)

    def _created(self, name: str, plan: Plan, columns: Sequence[TableColumn]) -> Open:
        """Return the branch of a table that was created, or that somebody else has created meanwhile."""
        try:
            self._create(name, plan, columns)
        except (Conflict, OutcomeUnknown):
            if find(self.catalog, self.table) is None:
                raise
        self._branch(name)
        return still_open(self, name)

    def _evolve(self, names: Sequence[str], columns: Sequence[TableColumn]) -> None:
        """Add these columns to the table, or widen them, for all branches and main."""
        table = find(self.catalog, self.table)
        wanted = {field.name: field for field in schema_of(columns).fields}
        if gone := [name for name in names if name not in wanted]:
            raise Unfit(f"table {self.table} has column {display_name(gone[0])}, and a run takes none away")
        if table is None:
            raise Conflict(f"table {self.table} was dropped by somebody")
        there = {field.name for field in table.schema().fields}
        with (
            catalog_errors(f"bringing columns to {self.table}"),
            one_try(table) as transaction,
            transaction.update_schema() as update,
        ):
            for name in names:
                field = wanted[name]
                if name in there:
                    update.update_column((name,), field.field_type)
                else:
                    update.add_column((name,), field.field_type, field.doc)

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        check_made(branch.name, self.table)
        what = f"appending to {self.table} on branch {branch.name}"
        self._commit(what, appending(branch, branch.name, files, summary))
        return still_open(self, branch.name)

    def publish(self, branch: Open, notes: Mapping[str, str]) -> None:  # noqa: ARG002
        check_made(branch.name, self.table)
        base, head = snapshot_of(branch.base), int(branch.at)

        def change(table: Table) -> Change | None:
            main = pointed(table, MAIN_BRANCH)
            if main is not None and any(it.snapshot_id == head for it in ancestors(pinned(table, main))):
                return None
            if main != base:
                raise Conflict(f"{self.table} on main is not what branch {branch.name} was made from")
            if pointed(table, branch.name) != head:
                raise Conflict(f"branch {branch.name} was changed by somebody: it is not what it was. Audit it again")
            updates = (_main_at(table, head), _removed(branch.name))
            return updates, (*same(table), _points(MAIN_BRANCH, base), _points(branch.name, head))

        self._commit(f"publishing branch {branch.name} of {self.table}", change)

    def steps(self, branch: Open) -> list[Table]:
        base, found = snapshot_of(branch.base), list[Table]()
        for snapshot in ancestors(branch.head):
            if snapshot.snapshot_id == base:
                return found[::-1]
            found += [pinned(branch.head, snapshot.snapshot_id)] if branch.head else []
        if base is not None:
            raise Refused(f"branch {branch.name}: its history does not reach back to main any more. Begin a new run")
        return found[::-1]

    def notes(self, key: str) -> list[Mapping[str, str]]:
        mine = [it for it in ancestors(self.main()) if told(it).get(KEY) == key]
        return [{**told(it), SNAPSHOT: str(it.snapshot_id)} for it in mine[::-1]]

    def drop(self, name: str) -> None:
        check_made(name, self.table)

        def change(table: Table) -> Change | None:
            there = pointed(table, name)
            return None if there is None else ((_removed(name),), (*same(table), _points(name, there)))

        if find(self.catalog, self.table):
            self._commit(f"dropping branch {name} of {self.table}", change)

    def names(self) -> list[str]:
        table = find(self.catalog, self.table)
        return sorted(name for name in (table.metadata.refs if table else ()) if made_at(name, self.table))

    def _commit(self, what: str, change: Callable[[Table], Change | None]) -> None:
        commit(self.catalog, self.table, what, change)


def _differing(branch: Open, columns: Sequence[TableColumn]) -> list[str]:
    """Return the names of columns in which the branch's table is not as it is to be."""
    there = ExpressTable(own=branch.head).columns().fields if branch.head else {}
    wanted = Struct({column.name: storage_of(parse(column.type)) for column in columns}).fields
    return [name for name in dict.fromkeys([*wanted, *there]) if there.get(name) != wanted.get(name)]


def _left_main(there: Table) -> int | None:
    """Return the newest snapshot of the branch's history that ever was main's; None if it has come from none."""
    mains = {entry.snapshot_id for entry in there.metadata.snapshot_log} | {pointed(there, MAIN_BRANCH)}
    return next((it.snapshot_id for it in ancestors(there) if it.snapshot_id in mains), None)


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
