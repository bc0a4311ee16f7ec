"""`Branches` of a Nessie: a branch of the whole catalog for each run, as the service has it, with a schema of its own.

Nessie merges a branch only if main has the table as the branch was made from it. It finds that by the content's
identity, so nothing of the table may come between.
"""

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
from lakegate.errors import Conflict, OutcomeUnknown, Refused
from lakegate.express.appending import set_properties
from lakegate.express.creating import create
from lakegate.express.tables import fit
from lakegate.ports import MAIN, Ref
from lakegate.publishing.nessie import NessieCatalog
from lakegate.wap.commits import appending, commit, find, snapshot_of
from lakegate.wap.history import SNAPSHOT
from lakegate.wap.names import check_made, made_at
from lakegate.wap.port import Open, still_open

TABLE = "lakegate.table"


@dataclass(frozen=True, kw_only=True)
class NessieBranches:
    """Branches of one table of a Nessie. `uri` is its address without /api, and `http` has its identity, if any."""

    uri: str
    warehouse: str
    table: str
    http: TimeoutAdapter = field(default_factory=TimeoutAdapter, repr=False)

    @cached_property
    def _nessie(self) -> NessieCatalog:
        return NessieCatalog(self.uri, self.http)

    @property
    def whole_catalog(self) -> bool:
        return True

    def main(self) -> Table | None:
        return self.other(self.table)

    def other(self, name: str) -> Table | None:
        return find(self._at(Ref(MAIN)), name)

    def make(self, name: str) -> Open:
        check_made(name, self.table)
        head = self._nessie.head(MAIN)
        if head is None:
            raise Refused(f"Nessie at {self.uri} has no branch {MAIN}")
        try:
            self._nessie.create_branch(name, head)
        except (Conflict, OutcomeUnknown):  # an answer was lost: nobody else has the name
            if self._nessie.head(name) is None:
                raise
        return still_open(self, name)

    def find(self, name: str) -> Open | None:
        at = self._nessie.head(name)
        if at is None:
            return None
        base = Ref(MAIN, self._nessie.base(name))
        return Open(name=name, base=self._table(base), head=self._table(Ref(name, at)), at=at)

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:  # noqa: ARG002
        """See the protocol. The branch has columns of its own, so nobody is asked for them."""
        check_made(branch.name, self.table)
        catalog = self._at(Ref(branch.name))
        table = find(catalog, self.table) or create(catalog, plan, columns)
        if changed := fit(plan, table, columns):
            set_properties(table, changed)
        return still_open(self, branch.name)

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        check_made(branch.name, self.table)
        what = f"appending to {self.table} on branch {branch.name}"
        catalog = self._at(Ref(branch.name))  # in which the branch is what the table calls main
        commit(catalog, self.table, what, appending(branch, MAIN_BRANCH, files, summary))
        return still_open(self, branch.name)

    def publish(self, branch: Open, notes: Mapping[str, str]) -> None:
        check_made(branch.name, self.table)
        there = self.find(branch.name)
        if there is None or there.at != branch.at:
            raise Conflict(f"branch {branch.name} was changed by somebody: it is not what it was. Audit it again")
        if snapshot_of(self.main()) != snapshot_of(branch.base):
            raise Conflict(f"{self.table} on main is not what branch {branch.name} was made from")
        self._prove(branch)
        text = f"publish {self.table} by lakegate.wap\n\n{branch.name}"
        its = {**notes, SNAPSHOT: str(snapshot_of(branch.head)), TABLE: self.table}
        self._nessie.merge_text(branch.name, branch.at, text, its)
        self.drop(branch.name)

    def steps(self, branch: Open) -> list[Table]:
        """See the protocol. In Nessie a table has one snapshot, so its history is that of the branch's commits."""
        found, last = list[Table](), snapshot_of(branch.base)
        for commit_hash in self._nessie.commits_of(self.table, self._nessie.base(branch.name), branch.at):
            table = self._table(Ref(branch.name, commit_hash))
            if table and snapshot_of(table) not in (None, last):
                last = snapshot_of(table)
                found.append(table)
        return found

    def notes(self, key: str) -> list[Mapping[str, str]]:
        begun = made_at(key, self.table)  # of a run without a key of its own, whose name is a new one
        since = begun - timedelta(days=1) if begun else None
        return self._nessie.noted({"key": key, "table": self.table}, since)

    def _prove(self, branch: Open) -> None:
        """Raise Refused unless the branch changes the table, and nothing else."""
        changes = self._nessie.changes(self._nessie.base(branch.name), branch.at)
        strangers = changes.tables - {self.table} | changes.namespaces - _above(self.table) | changes.others
        strangers |= set(changes.receipts)
        if strangers:
            told = ", ".join(sorted(strangers))
            raise Refused(f"branch {branch.name} also changes {told}: a run publishes one table, and nothing is merged")

    def drop(self, name: str) -> None:
        check_made(name, self.table)
        self._nessie.delete_branch(name)

    def names(self) -> list[str]:
        return sorted(it.name for it in self._nessie.list_branches() if made_at(it.name, self.table))

    def _table(self, ref: Ref) -> Table | None:
        return find(self._at(ref), self.table)

    def _at(self, ref: Ref) -> RefCatalog:
        return RefCatalog(self.uri, self.warehouse, ref, http=self.http)


def _above(table: str) -> set[str]:
    """Return the namespaces that a table is in: `a` and `a.b` of `a.b.orders`."""
    parts = table.split(".")[:-1]
    return {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
