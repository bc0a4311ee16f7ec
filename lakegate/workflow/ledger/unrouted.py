"""Unrouted files: what no contract routes. Each is told once and noted, without a receipt, until a contract is pushed.

A note that can't be read counts as none, and hides no other: its file is found by listing, and noted anew.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.landing.files import FileVersion
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "notes/unrouted/"


@dataclass(frozen=True, kw_only=True)
class Unrouted:
    """One file version that waits for a contract."""

    file: FileVersion
    reason: str
    since: datetime


def _name(file: FileVersion) -> str:
    return f"{PREFIX}{file.id}.json"


def unrouted_files(service: Service) -> list[Unrouted]:
    """All that is held, oldest first."""
    bodies = service.store.read_many(service.store.names(PREFIX))
    found = [held for name, body in bodies.items() if (held := _read(name, body))]
    return sorted(found, key=lambda held: held.file.order)


def is_new(service: Service, file: FileVersion) -> bool:
    """Not noted; a note that can't be read makes room for another."""
    body = service.store.read(_name(file))
    if body is None:
        return True
    if _read(_name(file), body):
        return False
    service.store.delete(_name(file))
    return True


def _read(name: str, body: bytes) -> Unrouted | None:
    try:
        held = from_json(Unrouted, body)
        its = _name(held.file)
    except BROKEN as error:
        log.warning("unrouted_note_not_read", note=name, error=str(error), kind=type(error).__name__)
        return None
    return held if its == name and held.file.landed_at.tzinfo and held.since.tzinfo else None


def note(service: Service, file: FileVersion, reason: str) -> None:
    """Note that no contract routes a file, unless that is noted."""
    service.store.create(_name(file), to_json(Unrouted(file=file, reason=reason, since=service.clock.now())).encode())


def forget_unrouted(service: Service, file: FileVersion) -> None:
    """Forget that a file was held: it is decided, or gone."""
    service.store.delete(_name(file))
