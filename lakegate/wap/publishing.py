"""Publishing of one run, once: its branch is merged as it was audited, or its data files are brought to main as it is
now, and proved.

It decides by what main's history says, and reads it afresh at every try.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lakegate.audit.model.plan import Plan
from lakegate.audit.ref import Ref
from lakegate.errors import Conflict, OutcomeUnknown, Refused, Retryable
from lakegate.publishing.guards import AuditedBranch, NeedsNewAttempt, guard_tables
from lakegate.publishing.iceberg.refs import properties_of, snapshot_of
from lakegate.publishing.port import MAIN, FileChanges, Tables
from lakegate.publishing.proofs import head_of, prove_alone, prove_files
from lakegate.publishing.rebase import bring, own_branch
from lakegate.wap.history import KEY, SNAPSHOT, appends_in, appends_on, summary
from lakegate.wap.names import check_made, made_at
from lakegate.wap.place import Open, Place, make_branch, still_open

TRIES = 50  # so many others may publish first
LOSSES = 3  # of answers


@dataclass(frozen=True, kw_only=True)
class Published:
    """A run that main has: its key, the snapshot that tells it, and its rows. `is_repeat` if it was there before."""

    key: str
    snapshot: int
    rows: int
    is_repeat: bool = False


def make(place: Place, name: str) -> Open:
    """Make a branch of main as it is now."""
    check_made(name, place.table)
    make_branch(place.branches, name)
    return still_open(place, name)


def merge(place: Place, branch: Open, record: Mapping[str, str]) -> None:
    """Make main the branch as it was read, and delete the branch. Raise Refused if the branch changes anything but the
    run's table, and Conflict if it was changed since, or main is not what it was made from.
    """
    check_made(branch.name, place.table)
    if place.branches.head(branch.name) != branch.at:
        raise Conflict(f"branch {branch.name} was changed by somebody: it is not what it was. Audit it again")
    changes = place.branches.changes(place.branches.base(branch.name), branch.at)
    strangers = replace(changes, other_keys=changes.other_keys | changes.receipts.keys())
    prove_alone(strangers, {place.table}, f"branch {branch.name}, of a run on {place.table} alone,")
    place.merge(branch.name, branch.at, record)
    place.branches.delete_branch(branch.name)


def discard(place: Place, name: str) -> None:
    """Delete a branch, whatever it holds; an absent one is fine."""
    check_made(name, place.table)
    place.branches.delete_branch(name)


def names(place: Place) -> list[str]:
    """Return the names of all open branches of runs, also of those that were abandoned."""
    return sorted(branch.name for branch in place.branches.list_branches() if made_at(branch.name, place.table))


def find_published(place: Place, key: str) -> Published | None:
    """Return what main's history says of the run; None if it was not published, as far as that reaches back."""
    records = place.records(key)
    if not records:
        return None
    rows = sum(append.rows for append in appends_in(records))
    return Published(key=key, snapshot=int(records[-1][SNAPSHOT]), rows=rows, is_repeat=True)


@dataclass(kw_only=True)
class Publishing:
    """One publish. `audit` audits a branch again, and raises if it fails. `new_name` returns a name for another branch
    of the run.
    """

    place: Place
    branch: Open
    key: str
    plan: Plan
    audit: Callable[[Open], None]
    new_name: Callable[[], str]
    _snapshots: set[int | None] = field(default_factory=set)

    def carry_out(self) -> Published:
        """Publish the branch, which was audited as it is. Raise Refused if the table is another than that."""
        losses = 0
        for _ in range(TRIES):
            if published := find_published(self.place, self.key):
                discard(self.place, self.branch.name)
                return replace(published, is_repeat=published.snapshot not in self._snapshots)
            try:
                self._merge()
            except Conflict:
                self._check_unchanged()
            except (OutcomeUnknown, Retryable):  # to look, and to repeat it, is safe
                losses += 1
                if losses > LOSSES:
                    raise
        raise Retryable(f"{self.place.table} on main changed {TRIES} times before {self.key} could be published")

    def _merge(self) -> None:
        branches = self.place.branches
        base, main = branches.base(self.branch.name), head_of(branches, MAIN)
        if self._carries_key() and not branches.changed_tables(base, main, [self.place.table]):
            self._merge_run(self.branch)
        else:
            self._rebase(base, main)

    def _carries_key(self) -> bool:
        """Return True if a snapshot to be published carries the run's key, or the merge does."""
        steps = () if self.place.whole_catalog else self.place.steps(self.branch)
        return self.place.whole_catalog or any(
            properties_of(step.current_snapshot()).get(KEY) == self.key for step in steps
        )

    def _check_unchanged(self) -> None:
        """Raise Conflict if the branch was changed, unless it is gone because the run was published."""
        if self.place.branches.head(self.branch.name) != self.branch.at and not find_published(self.place, self.key):
            raise Conflict(f"branch {self.branch.name} was changed after the audit: audit it again")

    def _merge_run(self, branch: Open) -> None:
        snapshot = snapshot_of(branch.head)
        self._snapshots.add(snapshot)
        appends = appends_on(self.place.steps(branch))
        merge(self.place, branch, {**summary(self.key, appends), SNAPSHOT: str(snapshot)})

    def _rebase(self, base: str, main: str) -> None:
        """Bring the audited data files to a branch of main as it is now, by metadata alone, and merge that one."""
        source = AuditedBranch(name=self.branch.name, base=base, head=self.branch.at, advice="Begin a new run")
        tables = self.place.tables(summary(self.key, appends_on(self.place.steps(self.branch))))
        files = {self.place.table: _data_files(tables, source, self.place.table)}
        targets = guard_tables(tables, source, main, files)
        if isinstance(targets, NeedsNewAttempt):
            raise Refused(f"{targets.reason}: nothing is published. {source.advice}")
        name = self.new_name()
        with own_branch(self.place.branches, name, main):
            bring(tables, source, targets, name, files)
            branch = still_open(self.place, name)
            changes = {table: FileChanges(adds=paths) for table, paths in files.items()}
            prove_files(tables, source, Ref(name, branch.at), main, changes)
            if self.plan.depends_on:
                self.audit(branch)
            self._merge_run(branch)


def _data_files(tables: Tables, source: AuditedBranch, table: str) -> frozenset[str]:
    """Return the paths of the data files that the branch has beyond its base. Raise Refused if it lost some of the
    base's.
    """
    changes = tables.compare(table, source.base_ref, source.ref)
    if changes.removes or changes.deletes:
        raise Refused(f"branch {source.name} has lost rows of main: a run adds rows, and removes none")
    return changes.adds
