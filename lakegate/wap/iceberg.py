"""`Branches` as Iceberg's own: each a reference of the table to a snapshot, in any catalog that PyIceberg opens.

All references are in one metadata file, which every commit replaces. So a commit that comes at once with another is
tried again if what it relies on still holds, which the catalog checks again: it asserts the snapshots of the references
that it moves. PyIceberg's own repetitions are not used: they would commit to a state that nobody has looked at.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from lakegate.adapters.iceberg import ABSENT, iceberg_errors
from lakegate.adapters.iceberg.commits import staged
from lakegate.audit.model.plan import Plan
from lakegate.errors import Conflict, LakegateError, OutcomeUnknown, Refused, Retryable
from lakegate.express.creating import schema_of, spec_of
from lakegate.wap.history import ancestors
from lakegate.wap.names import made_at
from lakegate.wap.port import Open
from lakegate.wap.table import pinned

TRIES = 12
_DAY = timedelta(days=1) // timedelta(milliseconds=1)
_PAUSE = 0.02  # seconds, doubled at each try
_LONGEST = 2.0  # seconds
_AGES = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}
_LATE = "older than last sequence number"  # of a snapshot, if another branch has got one at once
_OTHERS = ("sqlalchemy", "sqlite3", "thrift")  # packages of PyIceberg's catalogs, whose errors it passes on

Change = tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]


def wait(number: int) -> None:
    """Wait before the next try, the longer the more there were, so that two who collide part."""
    time.sleep(random.uniform(0, min(_PAUSE * 2**number, _LONGEST)))  # noqa: S311 - it guards nothing


@dataclass(frozen=True, kw_only=True)
class IcebergBranches:
    """Branches of one table of a catalog. `days` is for how long Iceberg's own expiry keeps an abandoned one."""

    catalog: Catalog
    table: str
    days: int = 7
    pause: Callable[[int], None] = field(default=wait, repr=False)

    @property
    def shares_schema(self) -> bool:
        return True

    def main(self) -> Table | None:
        found = self._find(self.table)
        return None if found is None else pinned(found, _pointed(found, MAIN_BRANCH))

    def other(self, name: str) -> Table | None:
        found = self._find(name)
        return None if found is None else pinned(found, _pointed(found, MAIN_BRANCH))

    def create(self, plan: Plan) -> None:
        if self._find(self.table):
            return
        schema = Schema(*schema_of(plan.columns).fields[:-1])  # without the column that tells a file version
        with _errors(f"creating {self.table}"):
            self.catalog.create_namespace_if_not_exists(self.table.rpartition(".")[0])
            try:
                self.catalog.create_table(
                    self.table, schema, partition_spec=spec_of(plan, schema), properties={"format-version": "2"}
                )
            except TableAlreadyExistsError:
                return

    def make(self, name: str) -> Open:
        made: list[int] = []

        def change(table: Table) -> Change | None:
            if _pointed(table, name) is not None:
                return None
            main = _pointed(table, MAIN_BRANCH)
            if main is not None:
                return (_set(name, main, {"max-ref-age-ms": self.days * _DAY}),), (*_same(table), _points(name, None))
            number, (updates, _) = staged(table, (), name, {})  # a branch points to a snapshot
            made.append(number)
            return updates, _same(table)  # some catalogs let a table's first branch be main alone, if they are asked

        self._commit(f"making branch {name} of {self.table}", change)
        return self._there(name)

    def find(self, name: str) -> Open | None:
        table = self._find(self.table)
        head = _pointed(table, name) if table else None
        if table is None or head is None:
            return None
        there = pinned(table, head)
        return Open(name=name, base=pinned(table, _left_main(there)), head=there, at=str(head))

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        files, made = list(files), set[str]()

        def change(table: Table) -> Change | None:
            there = str(_pointed(table, branch.name))
            if there in made:
                return None
            _check(branch, there)
            number, its = staged(table, files, branch.name, summary)
            made.add(str(number))
            return its[0], (*_same(table), *its[1])

        self._commit(f"appending to {self.table} on branch {branch.name}", change)
        return self._there(branch.name)

    def publish(self, branch: Open) -> None:
        base = branch.base.metadata.current_snapshot_id if branch.base else None

        def change(table: Table) -> Change | None:
            main = _pointed(table, MAIN_BRANCH)
            if main is not None and any(str(it.snapshot_id) == branch.at for it in ancestors(pinned(table, main))):
                return None
            if main != base:
                raise Conflict(f"{self.table} on main is not what branch {branch.name} was made from")
            _check(branch, str(_pointed(table, branch.name)))
            updates = (_main_at(table, int(branch.at)), _removed(branch.name))
            return updates, (*_same(table), _points(MAIN_BRANCH, base), _points(branch.name, int(branch.at)))

        self._commit(f"publishing branch {branch.name} of {self.table}", change)

    def drop(self, name: str) -> None:
        def change(table: Table) -> Change | None:
            there = _pointed(table, name)
            if there is None:
                return None
            return (_removed(name),), (*_same(table), _points(name, there))

        if self._find(self.table):
            self._commit(f"dropping branch {name} of {self.table}", change)

    def names(self) -> list[str]:
        table = self._find(self.table)
        return sorted(name for name in (table.metadata.refs if table else ()) if made_at(name, self.table))

    def _there(self, name: str) -> Open:
        found = self.find(name)
        if found is None:
            raise Conflict(f"branch {name} of {self.table} was dropped by somebody")
        return found

    def _find(self, name: str) -> Table | None:
        with _errors(f"reading {name}", changes=False):
            try:
                found: Table = self.catalog.load_table(name)
            except ABSENT:
                return None
        return found

    def _load(self) -> Table:
        found = self._find(self.table)
        if found is None:
            raise Refused(f"there is no table {self.table}: it was dropped by somebody")
        return found

    def _commit(self, what: str, change: Callable[[Table], Change | None]) -> None:
        """Make a change of the table as it is, until it is made. `change` returns None where it is made already, and
        raises Conflict where it must not be. To repeat one whose answer is lost is safe: of two, the catalog takes one.
        """
        last: LakegateError | None = None
        for number in range(TRIES):
            table = self._load()
            asked = change(table)
            if asked is None:
                return
            try:
                with _errors(what):
                    self.catalog.commit_table(table, asked[1], asked[0])
            except (Conflict, OutcomeUnknown, Retryable) as error:
                last = error
                self.pause(number)
            else:
                return
        if change(self._load()) is not None and last is not None:
            raise last


@contextmanager
def _errors(what: str, *, changes: bool = True) -> Iterator[None]:
    """Translate errors as `iceberg_errors`, those of the catalog's own database, too."""
    with iceberg_errors(what, changes=changes):
        try:
            yield
        except Exception as error:
            if _LATE in str(error):
                raise Conflict(f"Iceberg: {what}: {error}") from error
            if type(error).__module__.partition(".")[0] not in _OTHERS:
                raise
            raise (OutcomeUnknown if changes else Retryable)(f"Iceberg: {what}: {error}") from error


def _pointed(table: Table, name: str) -> int | None:
    found = table.metadata.refs.get(name)
    return None if found is None else found.snapshot_id


def _left_main(there: Table) -> int | None:
    """Return the newest snapshot of the branch's history that ever was main's; None if it has come from none."""
    mains = {entry.snapshot_id for entry in there.metadata.snapshot_log} | {_pointed(there, MAIN_BRANCH)}
    return next((it.snapshot_id for it in ancestors(there) if it.snapshot_id in mains), None)


def _check(branch: Open, there: str) -> None:
    if there != branch.at:
        raise Conflict(f"branch {branch.name} was changed by somebody: it is not what it was. Audit it again")


def _same(table: Table) -> tuple[TableRequirement, ...]:
    return (AssertTableUUID(uuid=table.metadata.table_uuid),)


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
