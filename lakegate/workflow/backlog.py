"""Backlog: files that landed and that no attempt works on, found by looking and never from events.

Only files that landed since the watermark are looked at, because all earlier ones are decided or unrouted.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import State
from lakegate.landing.receipts import Receipt
from lakegate.workflow.attempts.claims import find_open_claims
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.ledger.undecided_files import undecided_files
from lakegate.workflow.ledger.unrouted import Unrouted, unrouted_files
from lakegate.workflow.service import Service

log = structlog.get_logger()
LANDED_NOTE = "notes/landed.json"
MOST_FILES = 1000  # files: enough for a person who asks for the status


@dataclass(frozen=True, kw_only=True)
class LandedFiles:
    """Unclaimed files, the oldest of them. `at` is when the sweep that saw them began to list; None if unknown, or if
    they were listed just now.
    """

    files: tuple[FileVersion, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """Undecided files that are not unrouted. The unclaimed ones are those that are queued, oldest first, and after them
    the blocked ones: a sweep takes up only so many, and blocked ones cannot be taken up yet. `batches` work on the
    others.
    """

    files: list[FileVersion]
    batches: frozenset[str]
    oldest: datetime | None


def read_backlog(
    service: Service, versions: Iterable[FileVersion] | None = None, unrouted: Container[str] | None = None
) -> Backlog:
    """Return the backlog of the landed versions, all of them if None. `unrouted` are the ids of those to leave out;
    those that are recorded, if None.
    """
    files, receipts = undecided_files(service, versions)
    if unrouted is None:
        unrouted = {file.file.id for file in unrouted_files(service)}
    files = [file for file in files if file.id not in unrouted]
    return _backlog(service, files, receipts)


def unclaimed_files(service: Service, versions: Iterable[FileVersion] | None = None) -> list[FileVersion]:
    """Return the unclaimed files of the backlog."""
    return read_backlog(service, versions).files


def still_unrouted(service: Service, among: Iterable[Unrouted] | None = None) -> list[Unrouted]:
    """Return the unrouted files (of these, or all that are recorded) that are neither decided nor claimed by now, in
    the order of `unclaimed`.
    """
    by_id = {file.file.id: file for file in (unrouted_files(service) if among is None else among)}
    files = [file.file for file in by_id.values()]
    return [by_id[file.id] for file in _backlog(service, files, receipts_now(service, files)).files]


def _backlog(service: Service, files: list[FileVersion], receipts: Mapping[str, Receipt]) -> Backlog:
    """Return the backlog of these files, which are in the order in which they landed."""
    claims = find_open_claims(service, [file.key for file in files], receipts)
    states = {file: claims.state(file, receipts) for file in files}
    return Backlog(
        files=[file for state in (State.QUEUED, State.BLOCKED) for file in files if states[file] is state],
        batches=frozenset(attempt.batch for file in files if (attempt := claims.attempt(file))),
        oldest=min((file.landed_at for file in files), default=None),
    )


def record_unclaimed(service: Service, files: list[FileVersion], at: datetime) -> None:
    """Record the files that a sweep found, and when it began, for `status`: listing a large bucket takes minutes."""
    service.store.write(LANDED_NOTE, to_json(LandedFiles(files=tuple(files[:MOST_FILES]), at=at)).encode())


def seen_unclaimed(service: Service) -> LandedFiles:
    """Return the unclaimed files as they are now if one call lists the landing bucket, or else as the last sweep saw
    them.
    """
    landed_files = LandedFiles(files=tuple(islice(service.landing.versions(), MOST_FILES)))
    if len(landed_files.files) == MOST_FILES:
        landed_files = _last_seen(service)
    return replace(landed_files, files=tuple(unclaimed_files(service, landed_files.files)))


def _last_seen(service: Service) -> LandedFiles:
    """Return what the last sweep recorded; nothing, if the note is absent or cannot be read."""
    body = service.store.read(LANDED_NOTE)
    try:
        return from_json(LandedFiles, body) if body else LandedFiles()
    except PARSE_ERRORS as error:
        log.warning("last_seen_not_read", note=LANDED_NOTE, error=str(error), kind=type(error).__name__)
        return LandedFiles()
