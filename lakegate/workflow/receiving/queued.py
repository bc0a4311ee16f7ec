"""Queued files: those that wait for a job of their table. They are noted, so that whoever ends a job finds them without
listing the landing bucket.

A note is a hint: a file whose note is lost is found by the sweep, which lists. Notes of one file may be several.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.errors import LakegateError
from lakegate.landing.chunks import chunked
from lakegate.landing.files import FileVersion
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "notes/queued/"
MOST = 500  # files of a note
AT_ONCE = 2000  # files that one call takes up, and at least a note of each table
Notes = Mapping[str, Sequence[Arrival]]
"""Noted arrivals, by the note's name."""


def note_queued(service: Service, table: str, files: Iterable[FileVersion]) -> None:
    """Note files of a table, which are given oldest first."""
    for some in chunked(files, MOST):
        _note(service, table, [Arrival.of(file) for file in some], some[0].landed_at)


def _note(service: Service, table: str, arrivals: Sequence[Arrival], since: datetime) -> None:
    """Write a note. Names sort by age, and say how many files there are, so that few notes need be read."""
    name = f"{PREFIX}{table}/{since:%Y%m%dT%H%M%S}-{len(arrivals)}-{service.clock.nonce()}.json"
    service.store.write(name, to_json(arrivals).encode())


def names_by_table(service: Service) -> dict[str, list[str]]:
    """Return the notes' names, oldest first, by table; the table whose note is the oldest comes first."""
    found: dict[str, list[str]] = {}
    for name in sorted(service.store.names(PREFIX), key=_age):
        found.setdefault(_table(name), []).append(name)
    return found


def oldest(names: Iterable[str], most: int) -> list[str]:
    """Return the first of these names, of so many files together, and at least one."""
    return next(chunked(names, AT_ONCE, (_count, most)), [])


def read_queued(service: Service, names: Iterable[str]) -> Notes:
    """Return these notes. One that cannot be read is deleted: the sweep finds its files by listing."""
    found = {}
    for name, body in service.store.read_many(names).items():
        try:
            found[name] = from_json(tuple[Arrival, ...], body)
        except BROKEN as error:
            log.warning("queued_note_not_read", note=name, error=str(error), kind=type(error).__name__)
            service.store.delete(name)
    return found


def take_off(service: Service, notes: Notes, failed: Container[Arrival]) -> None:
    """Delete notes that were taken up. Arrivals that failed are noted anew, behind all others, because they may fail
    each time.
    """
    for name, arrivals in notes.items():
        try:
            if again := [each for each in arrivals if each in failed]:
                _note(service, _table(name), again, service.clock.now())
            service.store.delete(name)
        except LakegateError as error:  # it is taken up once more, and what is decided or claimed by then is dropped
            log.warning("queued_note_kept", note=name, error=str(error), kind=type(error).__name__)


def _table(name: str) -> str:
    return name.removeprefix(PREFIX).rpartition("/")[0]


def _age(name: str) -> str:
    return name.rpartition("/")[2]


def _count(name: str) -> int:
    count = name.rpartition("/")[2].split("-")[1:2]
    return int(count[0]) if count and count[0].isdecimal() else 1
