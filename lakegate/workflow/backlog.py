"""What has landed and is not decided: found by looking, never from events. Only what landed since the watermark is
looked at, for everything before it is decided, or unrouted.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import State
from lakegate.landing.receipts import Receipt
from lakegate.workflow.attempts.claims import find_open_claims
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.ledger.undecided import undecided
from lakegate.workflow.ledger.unrouted import Unrouted, unrouted_files
from lakegate.workflow.service import Service

log = structlog.get_logger()
SEEN = "notes/landed.json"
NOTED = 1000  # files: a status is for people


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Files that waited when the last sweep looked, the oldest of them; `at` is when it began to, None where it did not
    say, or where somebody has just looked.
    """

    files: tuple[FileVersion, ...] = ()
    at: datetime | None = None


def unclaimed(
    service: Service, versions: Iterable[FileVersion] | None = None, unrouted: Container[str] | None = None
) -> list[FileVersion]:
    """Those of the landed versions (all, if not said) that nobody works on: neither decided, nor claimed on an open
    branch, nor `unrouted` (by id; as the notes have it, if not said). Oldest first, and last of all those that wait for
    another version of their key: they can't be taken up now, and a sweep takes up only so many.
    """
    files, receipts = undecided(service, versions)
    if unrouted is None:
        unrouted = {entry.file.id for entry in unrouted_files(service)}
    return _not_worked_on(service, [file for file in files if file.id not in unrouted], receipts)


def still_unrouted(service: Service, among: Iterable[Unrouted] | None = None) -> list[Unrouted]:
    """Unrouted files (all, if not said) that are neither decided nor claimed by now, in the same order."""
    unrouted = {each.file.id: each for each in (unrouted_files(service) if among is None else among)}
    files = [each.file for each in unrouted.values()]
    receipts = receipts_now(service, files)
    free = _not_worked_on(service, files, receipts)
    return [unrouted[file.id] for file in free]


def _not_worked_on(service: Service, files: list[FileVersion], receipts: Mapping[str, Receipt]) -> list[FileVersion]:
    """Those that wait to be taken up, and then those that can't be yet."""
    claims = find_open_claims(service, [file.key for file in files], receipts)
    states = {file: claims.state(file, receipts) for file in files}
    return [file for state in (State.QUEUED, State.BLOCKED) for file in files if states[file] is state]


def note_unclaimed(service: Service, files: list[FileVersion], at: datetime) -> None:
    """Keep what a sweep found, and since when, for whoever asks: listing a whole bucket takes minutes."""
    service.store.write(SEEN, to_json(Seen(files=tuple(files[:NOTED]), at=at)).encode())


def _last_seen(service: Service) -> Seen:
    """What can't be read is what no sweep has noted yet."""
    body = service.store.read(SEEN)
    try:
        return from_json(Seen, body) if body else Seen()
    except BROKEN as error:
        log.warning("last_seen_not_read", note=SEEN, error=str(error), kind=type(error).__name__)
        return Seen()


def seen_unclaimed(service: Service) -> Seen:
    """What waits now, where the landing bucket is listed in one call; of a larger one, what the last sweep saw."""
    seen = Seen(files=tuple(islice(service.landing.versions(), NOTED)))
    if len(seen.files) == NOTED:
        seen = _last_seen(service)
    return replace(seen, files=tuple(unclaimed(service, seen.files)))
