"""Publishing of one run, once: it moves main to what was audited, or brings that to main as it is now, and proves it.

It decides by what main's history says, and reads it afresh at every try.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.iceberg.manifests import TableState
from lakegate.adapters.iceberg.specs import carried
from lakegate.adapters.iceberg.tables import table_identity
from lakegate.audit.data_files import manifests
from lakegate.errors import Conflict, Refused, Retryable
from lakegate.wap.history import appends_on, has_key, published, published_appends, summary
from lakegate.wap.port import Branches, Open

TRIES = 50  # so many others may publish first


@dataclass(frozen=True, kw_only=True)
class Published:
    """A run that main has: its key, the snapshot that tells it, and its rows. `again` if it was there before."""

    key: str
    snapshot: int
    rows: int
    again: bool = False


def look(branches: Branches, key: str) -> Published | None:
    """Return what main's history says of the run; None if it was not published, as far as that reaches back."""
    main = branches.main()
    found = published(main, key)
    if found is None:
        return None
    rows = sum(each.rows for each in published_appends(main, key))
    return Published(key=key, snapshot=found.snapshot_id, rows=rows, again=True)


@dataclass(kw_only=True)
class Publishing:
    """One publish. `audit` audits a branch again, and raises if it fails; `depends` if verdicts are about other rows
    than the run's own. `renamed` returns a name for a branch of the same run.
    """

    branches: Branches
    branch: Open
    key: str
    depends: bool
    audit: Callable[[Open], None]
    renamed: Callable[[], str]

    def carry_out(self) -> Published:
        """Publish the branch, which was audited as it is. Raise Refused if the table is another than that."""
        for _ in range(TRIES):
            if found := look(self.branches, self.key):
                self.branches.drop(self.branch.name)
                return replace(found, again=found.snapshot != _snapshot(self.branch.head))
            try:
                if not has_key(self.branch, self.key):
                    self._rebase()
                self.branches.publish(self.branch)
            except Conflict:
                self._rebase_if_moved()
        raise Retryable(f"{self.branches.table} on main changed {TRIES} times before {self.key} could be published")

    def _rebase_if_moved(self) -> None:
        """Bring the run to main as it is now. Raise Conflict if it is the branch that was changed."""
        there = self.branches.find(self.branch.name)
        if look(self.branches, self.key):
            return
        if there is None or there.at != self.branch.at:
            raise Conflict(f"branch {self.branch.name} was changed after the audit: audit it again")
        if _snapshot(self.branches.main()) != _snapshot(self.branch.base):
            self._rebase()

    def _rebase(self) -> None:
        """Bring the audited data files to a branch of main as it is now, by metadata alone, and go on with that one."""
        old = self.branch
        fresh = self.branches.make(self.renamed())
        try:
            self._check_table(old, fresh)
            rebased = self._brought(old, fresh)
            if self.depends:
                self.audit(rebased)
        except BaseException:
            self.branches.drop(fresh.name)
            raise
        self.branch = rebased
        self.branches.drop(old.name)

    def _check_table(self, old: Open, fresh: Open) -> None:
        """Raise Refused unless data files may move: Iceberg matches columns by field id."""
        there, wanted = (table_identity(it) if it else None for it in (fresh.head, old.head))
        if there != wanted:
            raise Refused(
                f"table {self.branches.table} on main has other columns or partitions than the one that was audited on "
                f"{old.name}: nothing is published. Begin a new run"
            )

    def _brought(self, old: Open, fresh: Open) -> Open:
        """Append the run's data files to the fresh branch, and prove that it holds main's and just these."""
        files, appends = data_files(old), appends_on(old)
        moved = carried(old.head, fresh.head, files.values())[0] if old.head and fresh.head else files.values()
        rebased = self.branches.append(fresh, moved, summary(self.key, appends))
        there = _difference(rebased.base, rebased.head)
        if there.added.keys() != files.keys() or there.removed or there.deletes:
            raise Refused(f"branch {rebased.name} does not hold main's data files and the run's: nothing is published")
        return rebased


def data_files(branch: Open) -> dict[str, DataFile]:
    """Return the data files of the branch beyond its base, by path. Raise Refused if it lost some of the base's."""
    found = _difference(branch.base, branch.head)
    if found.removed or found.deletes:
        raise Refused(f"branch {branch.name} has lost rows of main: a run adds rows, and removes none")
    return dict(found.added)


def _difference(before: Table | None, after: Table | None) -> manifests.FileDifference[DataFile]:
    return manifests.compare(TableState(before), TableState(after))


def _snapshot(table: Table | None) -> int | None:
    return table.metadata.current_snapshot_id if table else None
