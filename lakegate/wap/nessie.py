"""A place of runs in a Nessie: a branch of the whole catalog for each run, as the service has it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.express.appending import set_properties
from lakegate.express.creating import create
from lakegate.express.tables import fit
from lakegate.publishing.iceberg.commits import append_change, commit, find
from lakegate.publishing.iceberg.refs import snapshot_of
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.publishing.port import MAIN
from lakegate.wap.names import check_made, made_at
from lakegate.wap.place import Open, still_open

TABLE = "lakegate.table"


@dataclass(frozen=True, kw_only=True)
class NessiePlace:
    """One table of a Nessie. `uri` is its address without /api, and `http` has its identity, if any."""

    uri: str
    warehouse: str
    table: str
    http: TimeoutAdapter = field(default_factory=TimeoutAdapter, repr=False)

    @cached_property
    def branches(self) -> NessieCatalog:
        return NessieCatalog(self.uri, self.http)

    @property
    def whole_catalog(self) -> bool:
        return True

    def tables(self, summary: Mapping[str, str]) -> NessieTables:
        return NessieTables(self.uri, self.warehouse, self.http, summary)

    def other(self, name: str) -> Table | None:
        return find(self._at(Ref(MAIN)), name)

    def find(self, name: str) -> Open | None:
        head = self.branches.head(name)
        if head is None:
            return None
        base = Ref(MAIN, self.branches.base(name))
        return Open(name=name, base=self._table(base), head=self._table(Ref(name, head)), at=head)

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:  # noqa: ARG002
        """See the protocol. The branch has columns of its own, so nobody is asked for them."""
        check_made(branch.name, self.table)
        catalog = self._at(Ref(branch.name))
        table = find(catalog, self.table) or create(catalog, plan, columns)
        if properties := fit(plan, table, columns):
            set_properties(table, properties)
        return still_open(self, branch.name)

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        check_made(branch.name, self.table)
        action = f"appending to {self.table} on branch {branch.name}"
        catalog = self._at(Ref(branch.name))  # in which the branch is what the table calls main
        change = append_change(branch.name, MAIN_BRANCH, snapshot_of(branch.head), files, summary)
        commit(catalog, self.table, action, change)
        return still_open(self, branch.name)

    def merge(self, branch: str, head: str, record: Mapping[str, str]) -> None:
        text = f"publish {self.table} by lakegate.wap\n\n{branch}"
        self.branches.merge_text(branch, head, text, {**record, TABLE: self.table})

    def steps(self, branch: Open) -> list[Table]:
        """See the protocol. In Nessie a table has one snapshot, so its history is that of the branch's commits."""
        tables, last = list[Table](), snapshot_of(branch.base)
        for commit_hash in self.branches.commits_of(self.table, self.branches.base(branch.name), branch.at):
            table = self._table(Ref(branch.name, commit_hash))
            if table and snapshot_of(table) not in (None, last):
                last = snapshot_of(table)
                tables.append(table)
        return tables

    def records(self, key: str) -> list[Mapping[str, str]]:
        moment = made_at(key, self.table)  # of a run without a key of its own, whose name is a new one
        start = moment - timedelta(days=1) if moment else None
        return self.branches.commit_properties({"key": key, "table": self.table}, start)

    def _table(self, ref: Ref) -> Table | None:
        return find(self._at(ref), self.table)

    def _at(self, ref: Ref) -> RefCatalog:
        return RefCatalog(self.uri, self.warehouse, ref, http=self.http)
