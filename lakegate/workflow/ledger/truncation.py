"""Truncation: closed entries of a long receipt move to the archive. Compaction never takes a key that never rests."""

from datetime import timedelta

import structlog

from lakegate.errors import Conflict
from lakegate.landing.standing import truncate
from lakegate.ports import MAIN, Ref
from lakegate.workflow.ledger.archive import archive_closed
from lakegate.workflow.service import Service

log = structlog.get_logger()
YOUNG = timedelta(days=1)  # entries that landed since stay: a worker may need them
AT_ONCE = 100  # receipts of a commit, which holds what is left of them
TRIES = 5


def truncate_long_receipts(service: Service) -> list[Exception]:
    """Truncate long receipts, some in one commit. Where that fails each is tried alone, because one key may change all
    the time or have a receipt that cannot be read. Return the errors that keep receipts long, without conflicts.
    """
    long = [
        receipt.key
        for receipt in service.ledger.all_receipts(Ref(MAIN))
        if len(receipt.entries) > service.truncate_above
    ]
    errors = []
    for start in range(0, len(long), AT_ONCE):
        keys = long[start : start + AT_ONCE]
        if _try(service, keys):
            errors += [error for key in keys if (error := _try(service, [key]))]
    return [error for error in errors if not isinstance(error, Conflict)]


def _try(service: Service, keys: list[str]) -> Exception | None:
    """Truncate these receipts, several times if they change meanwhile. Return the error of the last try."""
    last_error: Exception | None = None
    for _ in range(TRIES):
        try:
            _truncate(service, keys)
        except Conflict as error:
            last_error = error
        except Exception as error:  # noqa: BLE001 (one key)
            log.warning("not_truncated", keys=len(keys), error=str(error), kind=type(error).__name__)
            return error
        else:
            return None
    log.info("not_truncated", keys=len(keys), why=str(last_error))
    return last_error


def _truncate(service: Service, keys: list[str]) -> None:
    """Write to the archive first, then to main. A worker that read a receipt before meets a conflict at its commit."""
    head, before = service.branches.head(MAIN) or "", service.clock.now() - YOUNG
    receipts = service.ledger.receipts(Ref(MAIN, head), keys).values()
    cuts = [(receipt, *truncate(receipt, before)) for receipt in receipts]
    cuts = [cut_receipt for cut_receipt in cuts if cut_receipt[2]]
    if cuts:
        archive_closed(service, [(receipt, closed_entries) for receipt, _, closed_entries in cuts])
        service.ledger.compact(head, [], None, [shorter for _, shorter, _ in cuts])
        log.info("truncated", keys=len(cuts), versions=sum(len(closed_entries) for _, _, closed_entries in cuts))
