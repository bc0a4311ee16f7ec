"""Expiry: the branch of a rejected batch is kept for inspection, and not for ever. People are told before it goes.

Its life begins when the rejection was told. Decisions stay as they are, and a retry can still append the files anew.
"""

from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from lakegate.contracts import BRANCH_DAYS
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import State, state_of
from lakegate.landing.receipts import entry_of
from lakegate.ports import Branch, MessageFile
from lakegate.workflow.attempts.claims import files_claimed_on
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.notices.messages import expiring_message, rejection
from lakegate.workflow.notices.outbox import notified_at, notify
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()
NOTICE = timedelta(days=3)  # or a quarter of a shorter life


def expire(service: Service, branch: Branch, attempt: Attempt) -> None:
    """Tell that the branch goes, when that is near, and delete it when its life and the notice are over."""
    told = notified_at(service, rejection(attempt))
    if told is None:
        return
    life = _life(service, attempt.table)
    notice = min(NOTICE, life / 4)
    if service.clock.now() < told + life - notice:
        return
    warned = notified_at(service, _name(attempt)) or _notify_expiry(
        service, attempt, max(told + life, service.clock.now() + notice)
    )
    if warned and service.clock.now() >= max(told + life, warned + notice):
        log.info("branch_expired", branch=branch.name, batch=attempt.batch, table=attempt.table)
        service.branches.delete_branch(branch.name, branch.head)


def _life(service: Service, table: str) -> timedelta:
    """As the table's contract says, if there is one that loads."""
    with suppress(Misconfigured):
        return timedelta(days=contract_of(service.store, table).branch_days)
    return timedelta(days=BRANCH_DAYS)


def _notify_expiry(service: Service, attempt: Attempt, ends: datetime) -> datetime | None:
    """Tell of the files that a person may still do something with; when they were told of, or None where Slack can't be
    reached. Where there is none of them, nothing is left to be told but the rejection.
    """
    files = _still_of_use(service, attempt)
    if not files:
        return notified_at(service, rejection(attempt))
    has_rows = not _with_rows(service, attempt).isdisjoint(files)
    notify(service, _name(attempt), expiring_message(attempt, files.values(), ends, has_rows=has_rows))
    return notified_at(service, _name(attempt))


def _still_of_use(service: Service, attempt: Attempt) -> dict[str, MessageFile]:
    """Its files, by id, that are still rejected and not superseded."""
    claims = files_claimed_on(service, attempt)
    _, receipts = main_receipts(service, claims)
    gone = {file.id for file in superseded_files(service, receipts)}
    return {
        file.id: MessageFile(key=file.key, reasons=entry.reasons)
        for file in claims
        if (entry := entry_of(receipts, file))
        if state_of(entry.decision, superseded=file.id in gone) is State.REJECTED
    }


def _with_rows(service: Service, attempt: Attempt) -> set[str]:
    """The attempt's file versions, by id, of which rows were audited."""
    with suppress(Refused, Misconfigured):  # a report that can't be read keeps no branch
        report = read_report(service.store, attempt)
        return {entry.id for entry in report.files if entry.data_files and not report.error} if report else set()
    return set()


def _name(attempt: Attempt) -> str:
    return f"{attempt.branch}-expiring"
