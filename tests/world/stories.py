"""The content of files, as a test says it, and whose rows the data files of a table hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakegate.testing import TableState

Rewrites = dict[str, Mapping[str, int]]
"""Of data files into which somebody wrote the rows of others: those, with their rows."""
KEY = 9  # of files that repeat each other, and of no others


@dataclass(frozen=True, kw_only=True)
class Story:
    """The content of a file: `rows` in so many data `files`, a row of `key`, `aside` rows for quarantine. Its `nulls`
    fail a contract that requires their column; it `needs` a row of the table it refers to, and brings a `column` that
    the contract does not have. Beside its rows it has `malformed` ones, which do not parse. One without rows is `bad`
    by their number, if at all, and one with rows for quarantine once these have left it. `bad` and `warn` name checks,
    and `unreadable` is the fault.
    """

    rows: int
    files: int = 1
    key: int | str | None = None
    aside: int = 0
    bad: str = ""
    nulls: bool = False
    warn: str = ""
    unreadable: str = ""
    needs: int | str | None = None
    column: str = ""
    malformed: int = 0
    weight: int = 0  # of the memory that a job has

    @property
    def arrive(self) -> int:
        """The rows that are appended."""
        return self.rows + self.aside


def odd_in(word: str) -> dict[str, Any]:
    """The word of a story that something is odd in, or none."""
    return {word: True if word == "nulls" else word} if word else {}


def columns_of(state: TableState | None) -> frozenset[str]:
    """The names of a table's columns, if there is one."""
    return frozenset(name for _, name, _ in state.identity.fields) if state else frozenset()


def files_of(state: TableState | None) -> Mapping[str, int]:
    """The data files of a table, if there is one."""
    return state.files if state else {}


def deletes_of(state: TableState | None) -> frozenset[str]:
    """The delete files of a table, if there is one."""
    return state.deletes if state else frozenset()


def as_written(files: Mapping[str, int], rewritten: Rewrites) -> Mapping[str, int]:
    """The data files as jobs wrote them whose rows these data files hold. What two of them hold counts twice."""
    if not rewritten:
        return files
    found: dict[str, int] = {}
    for path, whole in files.items():
        for written, rows in rewritten.get(path, {path: whole}).items():
            found[written] = found.get(written, 0) + rows
    return found


def keys_of(files: Iterable[str], deletes: frozenset[str], stories: Mapping[str, Story]) -> set[int | str]:
    """The keys of the rows of data files, but for those that a delete file takes away."""
    found = (stories.get(file_of(path)) for path in files if deleting(path) not in deletes)
    return {story.key for story in found if story and story.key is not None}


def deleting(path: str) -> str:
    """The delete file that takes all rows of a data file away."""
    return f"{path}/deletes"


def file_of(path: str) -> str:
    """The file version whose rows a data file holds: in the lake every row carries it."""
    return path.rpartition("/")[0].rpartition("/")[2]
