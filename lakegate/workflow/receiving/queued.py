"""Queued files: those that wait for company, or for a job of their table. They are noted, so that whoever ends a job
finds them without listing the landing bucket.

A note is a hint: a file whose note is lost is found by the sweep, which lists. Notes of one file may be several.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.audit.model.lane import Lane
from lakegate.errors import LakegateError
from lakegate.landing.chunks import in_chunks
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import MOST_FILES
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.receiving.company import LONG_AGO, Waiting
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "notes/queued/"
MOST = 500  # files of a note
TIME = "%Y%m%dT%H%M%S"  # as it stands in a note's name
AT_ONCE = 2000  # files that one call takes up, and at least a note of each table
Notes = Mapping[str, Sequence[Arrival]]
"""Noted arrivals, by the note's name."""


def note_queued(service: Service, table: str, files: Iterable[FileVersion], its: Waiting) -> None:
    """Note files of a table, which are given oldest first, and what they wait for."""
    for some in in_chunks(files, MOST):
        _note(service, table, [Arrival.of(file) for file in some], some[0].landed_at, its)


def _note(service: Service, table: str, arrivals: Sequence[Arrival], age: datetime, its: Waiting) -> None:
    """Write a note. Names sort by age, and say how many files there are, which lane they would take, and since when
    they wait, so that few notes need be read.
    """
    told = f"{age:{TIME}}-{len(arrivals)}-{service.clock.nonce()}-{its.lane}-{its.since:{TIME}}"
    service.store.write(f"{PREFIX}{table}/{told}.json", to_json(arrivals).encode())


def waiting(names: Sequence[str], *, has_express: bool) -> Waiting:
    """Return what the names of a table's notes, oldest first, say of the files."""
    for_spark = not has_express or any(_is_for_spark(name) for name in names)
    return Waiting(
        lane=Lane.SPARK if for_spark else Lane.EXPRESS,
        since=min(map(_since, names), default=LONG_AGO),
        is_full=sum(map(_count, names)) >= MOST_FILES,
    )


def _is_for_spark(name: str) -> bool:
    return f"-{Lane.SPARK}-" in _age(name)


def _since(name: str) -> datetime:
    """Return since when a note's files wait; long ago, if its name does not say it."""
    with suppress(ValueError):
        return datetime.strptime(name.rpartition("-")[2], f"{TIME}.json").replace(tzinfo=UTC)
    return LONG_AGO


def names_by_table(service: Service) -> dict[str, list[str]]:
    """Return the notes' names, oldest first, by table; the table whose note is the oldest comes first."""
    found: dict[str, list[str]] = {}
    for name in sorted(service.store.names(PREFIX), key=_age):
        found.setdefault(_table(name), []).append(name)
    return found


def oldest(names: Iterable[str], most: int) -> list[str]:
    """Return the first of these names, of so many files together, and at least one."""
    return next(in_chunks(names, AT_ONCE, (_count, most)), [])


def read_queued(service: Service, names: Iterable[str]) -> Notes:
    """Return these notes. One that cannot be read is deleted: the sweep finds its files by listing."""
    found = {}
    for name, body in service.store.read_many(names).items():
        try:
            found[name] = from_json(tuple[Arrival, ...], body)
        except PARSE_ERRORS as error:
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
                now = service.clock.now()
                _note(service, _table(name), again, now, Waiting(lane=Lane.EXPRESS, since=now))
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
