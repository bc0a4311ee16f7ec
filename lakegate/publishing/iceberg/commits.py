"""Commits of one table, each made once: a change is tried again while it still holds what it relies on.

The catalog asserts the snapshots that a change relies on. So of two that rely on one, it takes one, and to repeat a
change whose answer was lost is safe. PyIceberg's own repetitions are not used: they would commit to a state that nobody
has looked at.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID, TableRequirement, TableUpdate

from lakegate.adapters.iceberg.commits import stage_append
from lakegate.adapters.iceberg.errors import ABSENT, iceberg_errors
from lakegate.errors import Conflict, LakegateError, OutcomeUnknown, Refused, Retryable
from lakegate.publishing.iceberg.refs import snapshot_at

TRIES = 12
_PAUSE = 0.02  # seconds, doubled at each try
_LONGEST = 2.0  # seconds
_LATE = "older than last sequence number"  # of a snapshot, if another branch has got one at once
_PACKAGES = ("sqlalchemy", "sqlite3", "thrift")  # packages of PyIceberg's catalogs, whose errors it passes on

Change = tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]


def find(catalog: Catalog, name: str) -> Table | None:
    """Return a table as it is in the catalog; None if there is none."""
    with catalog_errors(f"reading {name}", changes=False):
        try:
            table: Table = catalog.load_table(name)
        except ABSENT:
            return None
    return table


def commit(catalog: Catalog, name: str, action: str, change: Callable[[Table], Change | None]) -> None:
    """Make a change of a table as it is, until it is made. `change` returns None where it is made already, and raises
    Conflict where it must not be.
    """
    last: LakegateError | None = None
    for number in range(TRIES):
        table = _load(catalog, name)
        update = change(table)
        if update is None:
            return
        try:
            with catalog_errors(action):
                catalog.commit_table(table, update[1], update[0])
        except (Conflict, OutcomeUnknown, Retryable) as error:
            last = error
            _wait(number)
        else:
            return
    if last is not None and change(_load(catalog, name)) is not None:
        raise last


def append_change(
    branch: str, reference: str, head: int | None, files: Iterable[DataFile], summary: Mapping[str, str]
) -> Callable[[Table], Change | None]:
    """Return the change that appends data files to a branch, which is this reference of the table, if its head is still
    this snapshot.
    """
    files, snapshots = list(files), set[int | None]()

    def change(table: Table) -> Change | None:
        now = snapshot_at(table, reference)
        if now in snapshots:
            return None
        if now != head:
            raise branch_conflict(branch)
        snapshot, (updates, requirements) = stage_append(table, files, reference, summary)
        snapshots.add(snapshot)
        return updates, (*same_table(table), *requirements)

    return change


def branch_conflict(branch: str) -> Conflict:
    """Return the error of a branch that is not what the caller has read."""
    return Conflict(f"branch {branch} was changed by somebody: it is not what it was. Audit it again")


@contextmanager
def catalog_errors(action: str, *, changes: bool = True) -> Iterator[None]:
    """Translate errors as `iceberg_errors`, those of the catalog's own database, too."""
    with iceberg_errors(action, changes=changes):
        try:
            yield
        except Exception as error:
            if _LATE in str(error):
                raise Conflict(f"Iceberg: {action}: {error}") from error
            if type(error).__module__.partition(".")[0] not in _PACKAGES:
                raise
            raise (OutcomeUnknown if changes else Retryable)(f"Iceberg: {action}: {error}") from error


def same_table(table: Table) -> tuple[TableRequirement, ...]:
    """Return what requires that the table is still this one."""
    return (AssertTableUUID(uuid=table.metadata.table_uuid),)


def _load(catalog: Catalog, name: str) -> Table:
    table = find(catalog, name)
    if table is None:
        raise Refused(f"there is no table {name}: it was dropped by somebody")
    return table


def _wait(number: int) -> None:
    """Wait before the next try, the longer the more there were, so that two who collide part."""
    time.sleep(random.uniform(0, min(_PAUSE * 2**number, _LONGEST)))  # noqa: S311 - it guards nothing
