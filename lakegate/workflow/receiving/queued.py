"""Queued files: those that wait for company, or for a job of their table. They are recorded, so that whoever ends a job
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
from lakegate.workflow.receiving.company import LONG_AGO, WaitingBatch
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "notes/queued/"
FILES_PER_NOTE = 500  # files of a note
TIME = "%Y%m%dT%H%M%S"  # as it stands in a note's name
AT_ONCE = 2000  # files that one call takes up, and at least a note of each table
QueueNotes = Mapping[str, Sequence[Arrival]]
"""Noted arrivals, by the note's name."""


def record_queued(service: Service, table: str, files: Iterable[FileVersion], batch: WaitingBatch) -> None:
    """Note files of a table, which are given oldest first, and what they wait for."""
    for chunk in in_chunks(files, FILES_PER_NOTE):
        _write_note(service, table, [Arrival.of(file) for file in chunk], chunk[0].landed_at, batch)


def _write_note(service: Service, table: str, arrivals: Sequence[Arrival], age: datetime, batch: WaitingBatch) -> None:
    """Write a note. Names sort by age, and say how many files there are, which lane they would take, and since when
    they wait, so that few notes need be read.
    """
    stem = f"{age:{TIME}}-{len(arrivals)}-{service.clock.nonce()}-{batch.lane}-{batch.start:{TIME}}"
    service.store.write(f"{PREFIX}{table}/{stem}.json", to_json(arrivals).encode())


def waiting_batch(names: Sequence[str], *, has_express: bool) -> WaitingBatch:
    """Return what the names of a table's notes, oldest first, say of the files."""
    for_spark = not has_express or any(_is_for_spark(name) for name in names)
    return WaitingBatch(
        lane=Lane.SPARK if for_spark else Lane.EXPRESS,
        start=min(map(_start_of, names), default=LONG_AGO),
        is_full=sum(map(_count, names)) >= MOST_FILES,
    )


def _is_for_spark(name: str) -> bool:
    return f"-{Lane.SPARK}-" in _age(name)


def _start_of(name: str) -> datetime:
    """Return since when a note's files wait; long ago, if its name does not say it."""
    with suppress(ValueError):
        return datetime.strptime(name.rpartition("-")[2], f"{TIME}.json").replace(tzinfo=UTC)
    return LONG_AGO


def names_by_table(service: Service) -> dict[str, list[str]]:
    """Return the notes' names, oldest first, by table; the table whose note is the oldest comes first."""
    names: dict[str, list[str]] = {}
    for name in sorted(service.store.names(PREFIX), key=_age):
        names.setdefault(_table(name), []).append(name)
    return names


def oldest(names: Iterable[str], limit: int) -> list[str]:
    """Return the first of these names, of so many files together, and at least one."""
    return next(in_chunks(names, AT_ONCE, (_count, limit)), [])


def read_queued(service: Service, names: Iterable[str]) -> QueueNotes:
    """Return these notes. One that cannot be read is deleted: the sweep finds its files by listing."""
    queue_notes = {}
    for name, body in service.store.read_many(names).items():
        try:
            queue_notes[name] = from_json(tuple[Arrival, ...], body)
        except PARSE_ERRORS as error:
            log.warning("queued_note_not_read", note=name, error=str(error), kind=type(error).__name__)
            service.store.delete(name)
    return queue_notes


def take_off(service: Service, queue_notes: QueueNotes, failures: Container[Arrival]) -> None:
    """Delete notes that were taken up. Arrivals that failed are recorded anew, behind all others, because they may fail
    each time.
    """
    for name, arrivals in queue_notes.items():
        try:
            if arrivals_to_repeat := [arrival for arrival in arrivals if arrival in failures]:
                now = service.clock.now()
                _write_note(service, _table(name), arrivals_to_repeat, now, WaitingBatch(lane=Lane.EXPRESS, start=now))
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
