"""Folding: receipts older than a window leave main for the archive, and the watermark goes up behind them. In the same
turn long ones are shortened.

Nothing is forgotten by it (see archive); it keeps main small, by which every merge stays fast, and the sweep short.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.errors import Conflict, foreseen
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.ledger.archive import archive
from lakegate.workflow.ledger.truncation import truncate_long_receipts
from lakegate.workflow.ledger.undecided import undecided
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.service import Service

log = structlog.get_logger()
STEP = timedelta(days=1)  # listing the landing bucket and all receipts is not worth less
AT_ONCE = 1000  # receipts that leave main in a commit
TURN = timedelta(hours=1)  # no function runs as long
LAST = "notes/compacted.json"


@dataclass(frozen=True, kw_only=True)
class LastCompaction:
    """Main's head after the last fold, and when that was."""

    head: str
    at: datetime


def compact(service: Service) -> None:
    """Fold what is due, at most once a day. A receipt that changes meanwhile stays for the next time."""
    due = service.clock.now() - service.keep
    before, last = service.ledger.watermark(), _last(service)
    if (before and due - before < STEP) or (last and service.clock.now() - last.at < STEP):
        return
    held = {entry.file.id for entry in unrouted_files(service)}  # known by their notes, and may never be decided
    files, _ = undecided(service)
    watermark = min([due, *(file.landed_at for file in files if file.id not in held)])
    turn = _turn(service)
    if turn is None:
        return
    if before is None or watermark > before:
        head = last.head if last else service.branches.head(MAIN) or ""
        _compact(service, head, _settled(service, head, watermark) if last else [], watermark)
    errors = truncate_long_receipts(service)
    now = LastCompaction(head=service.branches.head(MAIN) or "", at=service.clock.now())
    service.store.write(LAST, to_json(now).encode())
    service.store.delete(turn)
    for error in foreseen(errors):
        raise error


def _last(service: Service) -> LastCompaction | None:
    body = service.store.read(LAST)
    try:
        return from_json(LastCompaction, body) if body else None
    except BROKEN as error:
        log.warning("last_compaction_not_read", note=LAST, error=str(error), kind=type(error).__name__)
        return None


def _settled(service: Service, head: str, watermark: datetime) -> list[Receipt]:
    """The old receipts that are on main as they were at the last fold, a day ago: whoever looked before they came is
    not at work any more. Such a one would not see, by conflicts, that something came and went.
    """
    old = [it for it in service.ledger.all_receipts(Ref(MAIN, head)) if _landed_before(it, watermark)]
    now = service.ledger.receipts(Ref(MAIN, service.branches.head(MAIN) or ""), [it.key for it in old])
    return [receipt for receipt in old if now.get(receipt.key) == receipt]


def _turn(service: Service) -> str | None:
    """The note by which this worker alone folds now, or None: whoever read receipts before another took newer ones off
    main would put the older ones in the archive. Who notes its hour first may, unless the hour before or after is
    noted; of two whose clocks differ, each looks after it has noted its own. What a crash leaves is in the way for two
    hours.
    """
    hour = int(service.clock.now().timestamp() // TURN.total_seconds())
    mine = _noted(hour)
    if not service.store.create(mine, b""):
        return None
    if service.store.read_many([_noted(hour - 1), _noted(hour + 1)]):
        service.store.delete(mine)
        return None
    return mine


def _noted(hour: int) -> str:
    return f"notes/compacting/{hour}"


def _landed_before(receipt: Receipt, watermark: datetime) -> bool:
    return all(entry.landed_at < watermark for entry in receipt.entries)


def _compact(service: Service, head: str, old: list[Receipt], watermark: datetime) -> None:
    """The watermark first: who looks for undecided files asks the archive for none that landed since. Then each receipt
    is put in the archive, and taken off main.
    """
    if not _try(service, head, [], watermark):
        return
    for start in range(0, len(old), AT_ONCE):
        receipts = old[start : start + AT_ONCE]
        archive(service, receipts)
        _try(service, head, receipts, None)


def _try(service: Service, head: str, receipts: list[Receipt], watermark: datetime | None) -> bool:
    try:
        service.ledger.compact(head, [it.key for it in receipts], watermark)
    except Conflict as why:
        log.info("not_compacted", receipts=len(receipts), why=str(why))
        return False
    log.info("compacted", receipts=len(receipts), watermark=watermark and watermark.isoformat())
    return True
