"""Publishing of one run, once: it moves main to what was audited, or brings that to main as it is now, and proves it.

It decides by what main's history says, and reads it afresh at every try.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.iceberg.identity import table_identity
from lakegate.adapters.iceberg.manifests import TableState
from lakegate.adapters.iceberg.specs import carried
from lakegate.audit.data_files import manifests
from lakegate.audit.model.plan import Plan
from lakegate.errors import Conflict, OutcomeUnknown, Refused, Retryable
from lakegate.wap.commits import snapshot_of
from lakegate.wap.history import KEY, SNAPSHOT, Append, appends_on, noted_appends, summary, told
from lakegate.wap.port import Branches, Open

TRIES = 50  # so many others may publish first
LOST = 3  # answers


@dataclass(frozen=True, kw_only=True)
class Published:
    """A run that main has: its key, the snapshot that tells it, and its rows. `again` if it was there before."""

    key: str
    snapshot: int
    rows: int
    again: bool = False


def look(branches: Branches, key: str) -> Published | None:
    """Return what main's history says of the run; None if it was not published, as far as that reaches back."""
    notes = branches.notes(key)
    if not notes:
        return None
    rows = sum(each.rows for each in noted_appends(notes))
    return Published(key=key, snapshot=int(notes[-1][SNAPSHOT]), rows=rows, again=True)


@dataclass(kw_only=True)
class Publishing:
    """One publish. `audit` audits a branch again, and raises if it fails. `renamed` returns a name for another branch
    of the run.
    """

    branches: Branches
    branch: Open
    key: str
    plan: Plan
    audit: Callable[[Open], None]
    renamed: Callable[[], str]

    def carry_out(self) -> Published:
        """Publish the branch, which was audited as it is. Raise Refused if the table is another than that."""
        lost = 0
        for _ in range(TRIES):
            if found := look(self.branches, self.key):
                self.branches.drop(self.branch.name)
                return replace(found, again=found.snapshot != snapshot_of(self.branch.head))
            try:
                if not self._tells():
                    self._rebase()
                self.branches.publish(self.branch, summary(self.key, self._appends(self.branch)))
            except Conflict:
                self._rebase_if_moved()
            except (OutcomeUnknown, Retryable):  # to look, and to repeat it, is safe
                lost += 1
                if lost > LOST:
                    raise
        raise Retryable(f"{self.branches.table} on main changed {TRIES} times before {self.key} could be published")

    def _appends(self, branch: Open) -> list[Append]:
        return appends_on(self.branches.steps(branch))

    def _tells(self) -> bool:
        """Return True if main's history will tell the key: else nothing on the branch was appended by lakegate."""
        steps = () if self.branches.whole_catalog else self.branches.steps(self.branch)
        return self.branches.whole_catalog or any(told(it.current_snapshot()).get(KEY) == self.key for it in steps)

    def _rebase_if_moved(self) -> None:
        """Bring the run to main as it is now. Raise Conflict if it is the branch that was changed."""
        there = self.branches.find(self.branch.name)
        if look(self.branches, self.key):
            return
        if there is None or there.at != self.branch.at:
            raise Conflict(f"branch {self.branch.name} was changed after the audit: audit it again")
        if snapshot_of(self.branches.main()) != snapshot_of(self.branch.base):
            self._rebase()

    def _rebase(self) -> None:
        """Bring the audited data files to a branch of main as it is now, by metadata alone, and go on with that one."""
        old = self.branch
        fresh = self.branches.make(self.renamed())
        try:
            fresh = self._fitted(fresh)
            self._check_table(old, fresh)
            rebased = self._brought(old, fresh)
            if self.plan.depends_on:
                self.audit(rebased)
        except BaseException:
            self.branches.drop(fresh.name)
            raise
        self.branch = rebased
        self.branches.drop(old.name)

    def _fitted(self, fresh: Open) -> Open:
        """Return the fresh branch, with what the run's first one has set of the table."""
        is_own = self.branches.whole_catalog and fresh.head
        return self.branches.fit(fresh, self.plan, self.plan.columns, ()) if is_own else fresh

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
        files, appends = data_files(old), self._appends(old)
        moved = _carried(old.head, fresh.head, files.values())
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


def _carried(old: Table | None, fresh: Table | None, files: Iterable[DataFile]) -> list[DataFile]:
    """Return the data files with the numbers of their partition specs in the fresh table."""
    if old is None or fresh is None:
        return list(files)
    moved, _ = carried(old, fresh, files)
    if unknown := {file.spec_id for file in moved} - fresh.specs().keys():
        raise Refused(f"main has not partition spec {min(unknown)} of the run's data files: begin a new run")
    return moved


def _difference(before: Table | None, after: Table | None) -> manifests.FileDifference[DataFile]:
    return manifests.compare(TableState(before), TableState(after))
