"""Port of one table's branches: what a run needs of a catalog. Every state of a table is a table loaded at it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.model.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Open:
    """An open branch as it was found: the table on it, and on main where it was made. `at` is where the branch points
    to, in the catalog's own words.
    """

    name: str
    base: Table | None
    head: Table | None
    at: str


class Branches(Protocol):
    """Branches of one table. Each change is made once: an answer that is lost is looked for before it is repeated.

    Methods raise Conflict if the branch, or main, is not what the caller has found, and OutcomeUnknown if nobody knows
    whether a change was made.
    """

    @property
    def table(self) -> str: ...

    @property
    def shares_schema(self) -> bool:
        """True if all branches have the columns of main, so that a new one would show there before the audit."""

    def main(self) -> Table | None:
        """Return the table on main, now; None if there is none."""

    def other(self, name: str) -> Table | None:
        """Return another table on main, now."""

    def create(self, plan: Plan) -> None:
        """Create the table on main, empty, if there is none and a branch cannot have it alone."""

    def make(self, name: str) -> Open:
        """Make a branch of main as it is now."""

    def find(self, name: str) -> Open | None:
        """Return an open branch; None if there is none of that name."""

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        """Append data files that were written already, in one snapshot. Return the branch as it is then."""

    def publish(self, branch: Open) -> None:
        """Make main the branch as it was found, and drop the branch, in one step: only if main is the branch's base,
        and the branch was not changed since.
        """

    def drop(self, name: str) -> None:
        """Drop a branch, whatever it holds; an absent one is fine."""

    def names(self) -> list[str]:
        """Return the names of all open branches of runs, also of those that were abandoned."""
