"""Port of one table's branches: what a run needs of a catalog. Every state of a table is a table loaded at it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.errors import Conflict


@dataclass(frozen=True, kw_only=True)
class Open:
    """An open branch as it was found: the table on it, and on main where it was made. `at` is where the branch points
    to, in the catalog's own words.
    """

    name: str
    base: Table | None
    head: Table | None
    at: str


class Workplace(Protocol):
    """Where rows are appended and audited: one table's branches, as far as that needs them. Methods raise as those of
    `Branches`.
    """

    def other(self, name: str) -> Table | None:
        """Return another table on main, now."""

    def find(self, name: str) -> Open | None:
        """Return an open branch; None if there is none of that name."""

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:
        """Give the branch's table these columns, if it has others, or create it; return the branch as it is then. Raise
        Unfit, and change nothing, if it cannot, or if main would get columns that were not `asked_for`. Where a branch
        cannot have a table alone, main gets the new table with it, empty.
        """

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        """Append data files that were written already, in one snapshot. Return the branch as it is then."""

    def steps(self, branch: Open) -> list[Table]:
        """Return the table after each change of it on the branch beyond its base, in their order. Raise Refused if the
        history does not reach back so far.
        """


class Branches(Workplace, Protocol):
    """Branches of one table. Each change is made once: an answer that is lost is looked for before it is repeated.

    Whatever changes a branch raises Refused unless a run has made it (`names.check_made`): names come from the
    parameters of tasks. Methods raise Conflict if the branch, or main, is not what the caller has found, and
    OutcomeUnknown if nobody knows whether a change was made.
    """

    @property
    def table(self) -> str: ...

    @property
    def whole_catalog(self) -> bool:
        """True if a branch is one of the whole catalog: it has columns of its own, and a publish has notes of its own.
        Else they are in the snapshots that the run has made.
        """

    def main(self) -> Table | None:
        """Return the table on main, now; None if there is none."""

    def make(self, name: str) -> Open:
        """Make a branch of main as it is now."""

    def publish(self, branch: Open, notes: Mapping[str, str]) -> None:
        """Make main the branch as it was found, and drop the branch: only if main is the branch's base, and the branch
        was not changed since.
        """

    def notes(self, key: str) -> list[Mapping[str, str]]:
        """Return what main's history tells of the run of this key, the oldest first: nothing if it was not published,
        as far as that reaches back. Among it is the snapshot that was published, as text.
        """

    def drop(self, name: str) -> None:
        """Drop a branch, whatever it holds; an absent one is fine."""

    def names(self) -> list[str]:
        """Return the names of all open branches of runs, also of those that were abandoned."""


def still_open(branches: Branches, name: str) -> Open:
    """Return a branch that was there. Raise Conflict if it is there no more."""
    found = branches.find(name)
    if found is None:
        raise Conflict(f"branch {name} of {branches.table} was deleted by somebody")
    return found
