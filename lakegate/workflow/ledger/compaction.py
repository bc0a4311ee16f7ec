"""Compaction: once a day, receipts older than a window leave main for the archive, and the watermark moves up.

Every merge takes longer with every receipt on main, and every sweep with every day since the watermark. Nothing is
forgotten: `receipts` reads the archive too. The same turn truncates long receipts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.errors import Conflict, foreseen
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.ledger.archive import archive
from lakegate.workflow.ledger.truncation import truncate_long_receipts
from lakegate.workflow.ledger.undecided_files import undecided_files
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.service import Service

log = structlog.get_logger()
STEP = timedelta(days=1)  # listing the landing bucket and all receipts is not worth less
AT_ONCE = 1000  # receipts that leave main in a commit
TURN = timedelta(hours=1)  # no function runs as long
LAST = "notes/compacted.json"


@dataclass(frozen=True, kw_only=True)
class LastCompaction:
    """Main's head after the last compaction, and its time."""

    head: str
    at: datetime


def compact(service: Service) -> None:
    """Compact what is due, at most once a day. A receipt that changes meanwhile stays for the next time."""
    due = service.clock.now() - service.compact_after
    before, last = service.ledger.watermark(), _last(service)
    if (before and due - before < STEP) or (last and service.clock.now() - last.at < STEP):
        return
    watermark = _next_watermark(service, due)
    turn = _take_turn(service)
    if turn is None:
        return
    if before is None or watermark > before:
        _compact(service, *_old(service, last, watermark), watermark)
    errors = truncate_long_receipts(service)
    now = LastCompaction(head=service.branches.head(MAIN) or "", at=service.clock.now())
    service.store.write(LAST, to_json(now).encode())
    service.store.delete(turn)
    for error in foreseen(errors):
        raise error


def _next_watermark(service: Service, due: datetime) -> datetime:
    """Return the time before which everything that landed is decided or unrouted, and no later than `due`. Notes find
    the unrouted files, some of which are never decided.
    """
    unrouted = {unrouted_file.file.id for unrouted_file in unrouted_files(service)}
    files, _ = undecided_files(service)
    return min([due, *(file.landed_at for file in files if file.id not in unrouted)])


def _last(service: Service) -> LastCompaction | None:
    body = service.store.read(LAST)
    try:
        return from_json(LastCompaction, body) if body else None
    except PARSE_ERRORS as error:
        log.warning("last_compaction_not_read", note=LAST, error=str(error), kind=type(error).__name__)
        return None


def _old(service: Service, last: LastCompaction | None, watermark: datetime) -> tuple[str, list[Receipt]]:
    """Return a commit of main, and the receipts that may leave main if they have not changed since. There are none
    without a last compaction, or if somebody has restored the catalog to a moment before it.
    """
    if last:
        try:
            return last.head, _unchanged_receipts(service, last.head, watermark)
        except Conflict as error:
            log.warning("last_compaction_unknown", note=LAST, why=str(error))
    return service.branches.head(MAIN) or "", []


def _unchanged_receipts(service: Service, head: str, watermark: datetime) -> list[Receipt]:
    """Return the old receipts that main holds as it did at the last compaction, a day ago.

    A conflict does not show a worker that a receipt came and went since it looked at main. No worker lives for a day,
    so none has looked before these came.
    """
    old = [
        receipt
        for receipt in service.ledger.all_receipts(Ref(MAIN, head))
        if all(entry.landed_at < watermark for entry in receipt.entries)
    ]
    now = service.ledger.receipts(Ref(MAIN, service.branches.head(MAIN) or ""), [receipt.key for receipt in old])
    return [receipt for receipt in old if now.get(receipt.key) == receipt]


def _take_turn(service: Service) -> str | None:
    """Record that this worker alone compacts now, and return the note's name; None if another one does. A worker that
    read receipts before another took newer ones off main would put older ones in the archive.

    The note names the hour. A worker that has recorded its hour looks for notes of the hours before and after, because
    clocks differ. A note that a crash leaves blocks compaction for two hours.
    """
    hour = int(service.clock.now().timestamp() // TURN.total_seconds())
    own_turn = _turn_name(hour)
    if not service.store.create(own_turn, b""):
        return None
    if service.store.read_many([_turn_name(hour - 1), _turn_name(hour + 1)]):
        service.store.delete(own_turn)
        return None
    return own_turn


def _turn_name(hour: int) -> str:
    return f"notes/compacting/{hour}"


def _compact(service: Service, head: str, old: list[Receipt], watermark: datetime) -> None:
    """Move the watermark first, because a search for undecided files asks the archive for none that landed since. Then
    put the receipts in the archive, and take them off main.
    """
    if not _commit(service, head, [], watermark):
        return
    for start in range(0, len(old), AT_ONCE):
        receipts = old[start : start + AT_ONCE]
        archive(service, receipts)
        _commit(service, head, receipts, None)


def _commit(service: Service, head: str, receipts: list[Receipt], watermark: datetime | None) -> bool:
    try:
        service.ledger.compact(head, [receipt.key for receipt in receipts], watermark)
    except Conflict as error:
        log.info("not_compacted", receipts=len(receipts), why=str(error))
        return False
    log.info("compacted", receipts=len(receipts), watermark=watermark and watermark.isoformat())
    return True
