"""Port of the channels to other systems, and the events that they are sent."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class EventKind(StrEnum):
    """An event's subject."""

    PUBLISHED = "published"  # rows of files are on main
    REJECTED = "rejected"


@dataclass(frozen=True, kw_only=True)
class EventCheck:
    """One check on one file. `found` and `expected` are in words."""

    name: str
    columns: tuple[str, ...]
    severity: str
    verdict: str
    expected: str
    found: str
    failing_rows: int = 0


@dataclass(frozen=True, kw_only=True)
class EventFile:
    """One file version in an event. `verdict` is its audit's, and "" if it was not audited. `more_checks` are not among
    `checks`, which has the failed ones first.
    """

    key: str
    version_id: str
    rows: int = 0
    quarantined_rows: int = 0
    replaced_rows: int = 0
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    checks: tuple[EventCheck, ...] = ()
    more_checks: int = 0


@dataclass(frozen=True, kw_only=True)
class EventColumn:
    """A column of the table; its type is "" if a file brought it."""

    name: str
    type: str = ""
    doc: str = ""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A commit on main that published or rejected files of one table. Told again, it has the same `id`.

    `rows` are those of all files that the commit names, and `more` counts the files that are not among `files`, as
    `more_columns` does those that are not among `columns`. `by`
    and `why` are a person's, who approved the files. `branch` is kept for rejected files. `began` is the audit's
    beginning. All text may contain anything a stranger wrote.
    """

    id: str
    kind: EventKind
    table: str
    batch: str
    attempt: int
    commit: str
    at: datetime
    files: tuple[EventFile, ...]
    more: int = 0
    rows: int = 0
    quarantined_rows: int = 0
    replaced_rows: int = 0
    contract_id: str = ""
    contract_version: str = ""
    contract_hash: str = ""
    columns: tuple[EventColumn, ...] = ()
    more_columns: int = 0
    began: datetime | None = None
    lane: str = ""
    branch: str = ""
    by: str = ""
    why: str = ""


class Channel(Protocol):
    """A channel to other systems."""

    def send(self, event: Event) -> None:
        """Send one event. Receivers recognise a repeated one by its `id`."""
