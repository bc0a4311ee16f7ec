"""A place of runs in any catalog that PyIceberg opens, with Iceberg's own branches."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import AssertCreate

from lakegate.adapters.iceberg.commits import one_try, stage_append
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Struct, parse, storage_of
from lakegate.errors import Conflict, OutcomeUnknown, Refused
from lakegate.express.creating import schema_of, spec_of
from lakegate.express.tables import ExpressTable
from lakegate.publishing.iceberg.branches import IcebergBranches
from lakegate.publishing.iceberg.commits import append_change, catalog_errors, commit, find
from lakegate.publishing.iceberg.refs import (
    NO_COMMIT,
    ancestors,
    base_of,
    commit_of,
    properties_of,
    snapshot_at,
    snapshot_of,
    table_at,
)
from lakegate.wap.history import KEY, SNAPSHOT
from lakegate.wap.names import check_made
from lakegate.wap.place import Open, make_branch, still_open


@dataclass(frozen=True, kw_only=True)
class IcebergPlace:
    """One table of a catalog, with branches of its own."""

    branches: IcebergBranches

    @property
    def table(self) -> str:
        return self.branches.table

    @property
    def catalog(self) -> Catalog:
        return self.branches.catalog

    @property
    def whole_catalog(self) -> bool:
        return False

    def tables(self, summary: Mapping[str, str]) -> IcebergBranches:
        return replace(self.branches, summary=summary)

    def other(self, name: str) -> Table | None:
        table = find(self.catalog, name)
        return None if table is None else table_at(table, snapshot_at(table, MAIN_BRANCH))

    def find(self, name: str) -> Open | None:
        try:
            head = self.branches.at(Ref(name))
        except Conflict:
            return None
        if head is None:
            return Open(name=name, base=None, head=None, at=NO_COMMIT)
        return Open(name=name, base=table_at(head, base_of(head)), head=head, at=commit_of(snapshot_of(head)))

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:
        """See the protocol. A column that is not asked for by name is no branch's alone, so it is refused."""
        check_made(branch.name, self.table)
        if branch.head is None:
            branch = self._ensure(branch.name, plan, columns)
        names = _different_columns(branch, columns)
        if not names:
            return branch
        if extra := [name for name in names if name not in asked_for]:
            raise Unfit(
                f"table {self.table} on main differs from the contract or the data in "
                f"{', '.join(map(display_name, extra[:5]))}, and all its branches have main's columns: "
                "readers would see the change before the audit. Change the table on main first, or name the columns: "
                "wap(…, allow_new_columns=[…])"
            )
        self._evolve(names, columns)
        return still_open(self, branch.name)

    def _ensure(self, name: str, plan: Plan, columns: Sequence[TableColumn]) -> Open:
        """Return the branch of a table that was created, or that somebody else has created meanwhile."""
        try:
            self._create(name, plan, columns)
        except (Conflict, OutcomeUnknown):
            if find(self.catalog, self.table) is None:
                raise
        if self.branches.head(name) is None:
            make_branch(self.branches, name)
        return still_open(self, name)

    def _evolve(self, names: Sequence[str], columns: Sequence[TableColumn]) -> None:
        """Add these columns to the table, or widen them, for all branches and main."""
        table = find(self.catalog, self.table)
        fields = {field.name: field for field in schema_of(columns).fields}
        if absent := [name for name in names if name not in fields]:
            raise Unfit(f"table {self.table} has column {display_name(absent[0])}, and a run takes none away")
        if table is None:
            raise Conflict(f"table {self.table} was dropped by somebody")
        present = {field.name for field in table.schema().fields}
        with (
            catalog_errors(f"bringing columns to {self.table}"),
            one_try(table) as transaction,
            transaction.update_schema() as update,
        ):
            for name in names:
                field = fields[name]
                if name in present:
                    update.update_column((name,), field.field_type)
                else:
                    update.add_column((name,), field.field_type, field.doc)

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
                _, (updates, _) = stage_append(table, (), name, {})
                self.catalog.commit_table(table, (AssertCreate(),), (*creation._updates, *updates))  # noqa: SLF001
            except TableAlreadyExistsError:
                return

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        check_made(branch.name, self.table)
        action = f"appending to {self.table} on branch {branch.name}"
        change = append_change(branch.name, branch.name, snapshot_of(branch.head), files, summary)
        commit(self.catalog, self.table, action, change)
        return still_open(self, branch.name)

    def merge(self, branch: str, head: str, record: Mapping[str, str]) -> None:
        self.branches.merge(branch, head, record)

    def steps(self, branch: Open) -> list[Table]:
        base, tables = snapshot_of(branch.base), list[Table]()
        for snapshot in ancestors(branch.head):
            if snapshot.snapshot_id == base:
                return tables[::-1]
            tables += [table_at(branch.head, snapshot.snapshot_id)] if branch.head else []
        if base is not None:
            raise Refused(f"branch {branch.name}: its history does not reach back to main any more. Begin a new run")
        return tables[::-1]

    def records(self, key: str) -> list[Mapping[str, str]]:
        snapshots = [entry for entry in ancestors(self.other(self.table)) if properties_of(entry).get(KEY) == key]
        return [{**properties_of(snapshot), SNAPSHOT: str(snapshot.snapshot_id)} for snapshot in snapshots[::-1]]


def _different_columns(branch: Open, columns: Sequence[TableColumn]) -> list[str]:
    """Return the names of columns in which the branch's table is not as it is to be."""
    present = ExpressTable(table=branch.head).columns().fields if branch.head else {}
    target = Struct({column.name: storage_of(parse(column.type)) for column in columns}).fields
    return [name for name in dict.fromkeys([*target, *present]) if present.get(name) != target.get(name)]
