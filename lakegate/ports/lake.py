"""Ports of rows: tables as they are, and answers to SQL over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lakegate.audit.ref import Ref


class Lake(Protocol):
    """Rows of tables. A `ref` is a branch or `branch@hash`."""

    def tables(self, ref: Ref) -> list[str]:
        """Return the names of all tables at a ref."""

    def columns(self, ref: Ref, table: str) -> list[str] | None:
        """Return the table's columns in order, or None if there is no such table."""

    def rows(self, ref: Ref, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()) -> Any:
        """Return an Arrow table with these columns: at most `limit` rows, and only rows of these file versions if any
        are named.
        """


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The first rows of an answer as JSON's values, and the number of those after them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    rest: int


class Reading(Protocol):
    """Main, branches and their tables, as one identity may see them."""

    def sees(self, branch: str) -> bool:
        """Return True if the identity may see the branch, which exists."""

    def reads(self, sql: str) -> Mapping[str, Sequence[str]]:
        """Return the tables that a statement reads, each with the columns of main's that it reads. Raise Misconfigured
        for what is no statement that reads.
        """

    def answer(self, sql: str, ref: Ref, limit: int | None) -> Rows:
        """Return the first `limit` rows of the answer to a statement at one commit, or all. Raise Misconfigured for a
        statement that cannot be answered, or an answer out of bounds.
        """
