"""Candidates: files in a table folder that nothing needs. They are unneeded once two runs a week apart agree.

Nothing here reads or deletes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from lakegate.ports import StoredFile
from lakegate.ports.warehouse import is_of_a_table
from lakegate.workflow.cleaning.needs import Need

WEEK = timedelta(days=7)
MOST_CANDIDATES = 200_000  # candidates of one folder in one run; later runs find the others


class Reprieve(StrEnum):
    """A reason to spare a file that nothing needs."""

    YOUNG = "too young"  # its writer may be about to commit it
    STRANGE = "not a table's"
    NEXT_RUN = "for a later run"
    SECOND_RUN = "waits for a run a week later"


class Amount(NamedTuple):
    """Files and their bytes."""

    files: int = 0
    size: int = 0

    def and_also(self, size: int) -> "Amount":
        return Amount(self.files + 1, self.size + size)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A file that nothing needs, as it was when a run first found it so, at `since`."""

    uri: str
    size: int
    etag: str
    modified: datetime
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A run's time, and the age that a file must have: younger ones are spared."""

    now: datetime
    age: timedelta


@dataclass(kw_only=True)
class SortedFolder:
    """A folder's files: how many are kept for what reason, and the candidates of this run."""

    folder: str
    amounts: dict[Need | Reprieve, Amount] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)

    def keep(self, reason: Need | Reprieve, size: int) -> None:
        self.amounts[reason] = self.amounts.get(reason, Amount()).and_also(size)


def sort_files(
    folder: str,
    files: Iterable[StoredFile],
    need_of: Callable[[str], Need | None],
    earlier_candidates: Mapping[str, Candidate],
    moment: Moment,
) -> SortedFolder:
    """Sort a folder's files. `earlier_candidates` are the candidates of earlier runs, by URI."""
    result = SortedFolder(folder=folder)
    for file in files:
        reason = need_of(file.uri) or _reprieve(file, folder, len(result.candidates), moment)
        if reason:
            result.keep(reason, file.size)
        else:
            result.candidates.append(_candidate(file, earlier_candidates.get(file.uri), moment.now))
    return result


def _reprieve(file: StoredFile, folder: str, candidates: int, moment: Moment) -> Reprieve | None:
    if not is_of_a_table(file.uri, folder):
        return Reprieve.STRANGE
    if file.written_at > moment.now - moment.age:
        return Reprieve.YOUNG
    return Reprieve.NEXT_RUN if candidates >= MOST_CANDIDATES else None


def _candidate(file: StoredFile, earlier: Candidate | None, now: datetime) -> Candidate:
    """Return the file as a candidate since it was first recorded, or since now if it was written again meanwhile."""
    is_same = earlier and (earlier.etag, earlier.modified) == (file.etag, file.written_at)
    first_run = earlier.since if earlier and is_same else now
    return Candidate(uri=file.uri, size=file.size, etag=file.etag, modified=file.written_at, since=first_run)


def is_unneeded(candidate: Candidate, now: datetime) -> bool:
    """Return True if a run at least a week ago has found the candidate unneeded, too."""
    return now - candidate.since >= WEEK
