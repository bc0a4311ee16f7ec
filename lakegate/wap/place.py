"""Place of runs: what a run needs of a catalog for its one table, which is more than publishing needs. Every state of a
table is a table loaded at it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.errors import Conflict, OutcomeUnknown
from lakegate.publishing.port import MAIN, Branches, Publisher, Tables
from lakegate.publishing.proofs import head_of


@dataclass(frozen=True, kw_only=True)
class Open:
    """An open branch as it was read: the table on it, and on main where it was made. `at` is its head."""

    name: str
    base: Table | None
    head: Table | None
    at: str


class Workplace(Protocol):
    """A place to append and audit rows: one table's branches, as far as that needs them.

    A change is made once: an answer that is lost is looked for before it is repeated. It raises Refused unless a run
    has made the branch (`names.check_made`), because names come from the parameters of tasks; Conflict if the branch is
    not what the caller has read; and OutcomeUnknown if nobody knows whether it was made.
    """

    def other(self, name: str) -> Table | None:
        """Return a table on main, now."""

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


class Place(Workplace, Publisher[Mapping[str, str]], Protocol):
    """One table's branches, from which a run's is published with notes on the run."""

    @property
    def table(self) -> str: ...

    @property
    def whole_catalog(self) -> bool:
        """True if a branch is one of the whole catalog: it has columns of its own, and a publish has notes of its own.
        Else they are in the snapshots that the run has made.
        """

    @property
    def branches(self) -> Branches: ...

    def tables(self, summary: Mapping[str, str]) -> Tables:
        """Return the port by which data files come to a branch, in snapshots with this summary."""

    def records(self, key: str) -> list[Mapping[str, str]]:
        """Return what main's history tells of the run of this key, the oldest first: nothing if it was not published,
        as far as that reaches back. Among it is the snapshot that was published, as text.
        """


def still_open(place: Workplace, name: str) -> Open:
    """Return a branch that was there. Raise Conflict if it is there no more."""
    branch = place.find(name)
    if branch is None:
        raise Conflict(f"branch {name} was deleted by somebody")
    return branch


def make_branch(branches: Branches, name: str) -> None:
    """Make a branch of main as it is now. Only one run has the name, so it was made if it is there after an error."""
    try:
        branches.create_branch(name, head_of(branches, MAIN))
    except (Conflict, OutcomeUnknown):
        if branches.head(name) is None:
            raise
