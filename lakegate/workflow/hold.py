"""Held files: what no contract routes. Each is told once and noted, without a receipt, until a contract is pushed.

A note that can't be read counts as none, and hides no other: its file is found by listing, and noted anew.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from lakegate.audit.codec import BROKEN, from_json, to_json
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import entry_of
from lakegate.ports import ToldFile
from lakegate.workflow.archive import known
from lakegate.workflow.service import Service
from lakegate.workflow.tell import held_message, tell

log = structlog.get_logger()
PREFIX = "notes/held/"


@dataclass(frozen=True, kw_only=True)
class Held:
    """One file version that waits for a contract."""

    file: FileVersion
    reason: str
    since: datetime


def hold(service: Service, files: Iterable[tuple[FileVersion, str]]) -> None:
    """Tell of those that were not noted before, nor decided, then note them: a crash between the two may tell again,
    never not at all.
    """
    new = [(file, reason) for file, reason in files if _is_new(service, file)]
    receipts = known(service, [file for file, _ in new])
    new = [(file, reason) for file, reason in new if entry_of(receipts, file) is None]
    if not new:
        return
    digest = hashlib.sha256("".join(file.id for file, _ in new).encode()).hexdigest()[:20]
    tell(service, f"held-{digest}", held_message(ToldFile(key=file.key, reasons=(reason,)) for file, reason in new))
    for file, reason in new:
        service.store.create(_name(file), to_json(Held(file=file, reason=reason, since=service.clock.now())).encode())


def _name(file: FileVersion) -> str:
    return f"{PREFIX}{file.id}.json"


def held_files(service: Service) -> list[Held]:
    """All that is held, oldest first."""
    bodies = service.store.read_many(service.store.names(PREFIX))
    found = [held for name, body in bodies.items() if (held := _read(name, body))]
    return sorted(found, key=lambda held: held.file.order)


def _is_new(service: Service, file: FileVersion) -> bool:
    """Not noted; a note that can't be read makes room for another."""
    body = service.store.read(_name(file))
    if body is None:
        return True
    if _read(_name(file), body):
        return False
    service.store.delete(_name(file))
    return True


def _read(name: str, body: bytes) -> Held | None:
    try:
        held = from_json(Held, body)
        its = _name(held.file)
    except BROKEN as error:
        log.warning("held_note_not_read", note=name, error=str(error), kind=type(error).__name__)
        return None
    return held if its == name and held.file.landed_at.tzinfo and held.since.tzinfo else None


def release(service: Service, file: FileVersion) -> None:
    """Forget that a file was held: it is decided, or gone."""
    service.store.delete(_name(file))
