"""Unrouted files: those that no contract routes. Each is recorded, without a receipt, until it is decided or gone.

A note that cannot be read counts as none, and hides no other: listing finds its file, which is recorded anew.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.landing.files import FileVersion
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "notes/unrouted/"


@dataclass(frozen=True, kw_only=True)
class Unrouted:
    """A file version that waits for a contract."""

    file: FileVersion
    reason: str
    since: datetime


def unrouted_files(service: Service) -> list[Unrouted]:
    """Return all unrouted files that are recorded, oldest first."""
    bodies = service.store.read_many(service.store.names(PREFIX))
    files = [file for name, body in bodies.items() if (file := _read(name, body))]
    return sorted(files, key=lambda file: file.file.order)


def make_room(service: Service, file: FileVersion) -> bool:
    """Return True if the file is not recorded. A note that cannot be read is deleted: another may take its place."""
    name = _name(file)
    body = service.store.read(name)
    if body is None:
        return True
    if _read(name, body):
        return False
    service.store.delete(name)
    return True


def record_as_unrouted(service: Service, file: FileVersion, reason: str) -> None:
    """Record that no contract routes a file, unless that is recorded."""
    service.store.create(_name(file), to_json(Unrouted(file=file, reason=reason, since=service.clock.now())).encode())


def forget_unrouted(service: Service, file: FileVersion) -> None:
    """Delete the note of a file that is decided, or gone."""
    service.store.delete(_name(file))


def _name(file: FileVersion) -> str:
    return f"{PREFIX}{file.id}.json"


def _read(name: str, body: bytes) -> Unrouted | None:
    try:
        file = from_json(Unrouted, body)
        name_of_file = _name(file.file)
    except PARSE_ERRORS as error:
        log.warning("unrouted_note_not_read", note=name, error=str(error), kind=type(error).__name__)
        return None
    return file if name_of_file == name and file.file.landed_at.tzinfo and file.since.tzinfo else None
