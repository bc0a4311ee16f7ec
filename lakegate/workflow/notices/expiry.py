"""Expiry: the branch of a rejected batch is kept for inspection, and deleted in the end. People are warned before.

Its life begins when people were notified of the rejection. Decisions stay, and a retry can still append the files anew.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from lakegate.contracts import BRANCH_DAYS
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import State, state_of
from lakegate.landing.receipts import entry_of
from lakegate.ports import Branch, MessageFile
from lakegate.workflow.attempts.claims import files_claimed_on
from lakegate.workflow.attempts.reports import readable_report
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.notices.messages import expiring_message, rejection
from lakegate.workflow.notices.outbox import notified_at, notify, withhold
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()
NOTICE = timedelta(days=3)  # or a quarter of a shorter life


def expire(service: Service, branch: Branch, attempt: Attempt) -> None:
    """Warn people when the end of the branch is near, and delete the branch when its life and the notice are over."""
    notification = notified_at(service, rejection(attempt))
    if notification is None:
        return
    life, now = _life(service, attempt.table), service.clock.now()
    notice, ends = min(NOTICE, life / 4), notification + life
    if now < ends - notice:
        return
    warning = notified_at(service, _name(attempt))
    if warning is None and (files := _still_rejected(service, attempt)):
        _warn(service, attempt, files, max(ends, now + notice))
    elif now >= ends and (now >= warning + notice if warning else withhold(service, _name(attempt))):
        log.info("branch_expired", branch=branch.name, batch=attempt.batch, table=attempt.table)
        service.branches.delete_branch(branch.name, branch.head)


def _life(service: Service, table: str) -> timedelta:
    """Return how long branches of the table are kept, by its contract if that loads."""
    with suppress(Misconfigured):
        return timedelta(days=contract_of(service.store, table).branch_days)
    return timedelta(days=BRANCH_DAYS)


def _warn(service: Service, attempt: Attempt, files: Mapping[str, MessageFile], ends: datetime) -> None:
    """Warn people of these files, with which they may still do something until the end."""
    has_rows = not _with_rows(service, attempt).isdisjoint(files)
    notify(service, _name(attempt), expiring_message(attempt, files.values(), ends, has_rows=has_rows))


def _still_rejected(service: Service, attempt: Attempt) -> dict[str, MessageFile]:
    """Return the attempt's files, by id, that are rejected now. Superseded ones are not: no person need act."""
    claims = files_claimed_on(service, attempt)
    _, receipts = main_receipts(service, claims)
    superseded_ids = {file.id for file in superseded_files(service, receipts)}
    return {
        file.id: MessageFile(key=file.key, reasons=entry.reasons)
        for file in claims
        if (entry := entry_of(receipts, file))
        if state_of(entry.decision, superseded=file.id in superseded_ids) is State.REJECTED
    }


def _with_rows(service: Service, attempt: Attempt) -> set[str]:
    """Return the ids of the files of which the attempt audited rows."""
    report = readable_report(service.store, attempt)  # one that cannot be read keeps no branch
    return {entry.id for entry in report.files if entry.data_files and not report.error} if report else set()


def _name(attempt: Attempt) -> str:
    return f"{attempt.branch}-expiring"
