"""Folding: receipts older than a window leave main for the archive, and the watermark goes up behind them.

Nothing is forgotten by it (see archive); it keeps main small, by which every merge stays fast, and the sweep short.
"""

from datetime import datetime, timedelta

import structlog

from lakegate.errors import Conflict
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN
from lakegate.workflow.archive import archive
from lakegate.workflow.landed import undecided
from lakegate.workflow.service import Service

log = structlog.get_logger()
STEP = timedelta(days=1)  # listing the landing bucket and all receipts is not worth less
AT_ONCE = 1000  # receipts of a commit


def fold(service: Service) -> None:
    """Fold what is due, at most once a day. A receipt that changes meanwhile stays for the next time."""
    due = service.clock.now() - service.keep
    before = service.catalog.watermark()
    if before and due - before < STEP:
        return
    files, _ = undecided(service)
    watermark = min([due, *(file.landed_at for file in files)])
    if before and watermark <= before:
        return
    head = service.catalog.head(MAIN) or ""
    old = [receipt for receipt in service.catalog.all_receipts(f"{MAIN}@{head}") if _landed_before(receipt, watermark)]
    _fold(service, head, old, watermark)


def _landed_before(receipt: Receipt, watermark: datetime) -> bool:
    return all(entry.landed_at < watermark for entry in receipt.entries)


def _fold(service: Service, head: str, old: list[Receipt], watermark: datetime) -> None:
    """The archive first, then main. The watermark goes with the first commit: all of these are decided anyway."""
    for start in range(0, max(len(old), 1), AT_ONCE):
        receipts = old[start : start + AT_ONCE]
        archive(service, receipts)
        try:
            service.catalog.fold(head, [it.key for it in receipts], None if start else watermark)
        except Conflict as why:
            log.info("not_folded", receipts=len(receipts), why=str(why))
    log.info("folded", receipts=len(old), watermark=watermark.isoformat())
