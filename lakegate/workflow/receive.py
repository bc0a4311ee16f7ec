"""Receiving: from files that landed to attempts. Decided and claimed files are dropped, and unrouted ones are noted."""

import hashlib
from collections.abc import Iterable
from functools import partial

from lakegate.contracts import Contract
from lakegate.errors import foreseen
from lakegate.landing.attempts import Attempt, batch_id, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import MessageFile, Signal
from lakegate.workflow.attempts.claims import ClaimIndex
from lakegate.workflow.attempts.launch import launch
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.ledger.unrouted import make_room, note_as_unrouted
from lakegate.workflow.notices.messages import unrouted_message
from lakegate.workflow.notices.outbox import notify
from lakegate.workflow.receiving.arrivals import Arrival, Failure, look_up, try_each, try_step
from lakegate.workflow.receiving.triage import Triage, triage
from lakegate.workflow.receiving.untried import discard_untried, reject_untried
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service


def receive(service: Service, arrivals: Iterable[Arrival]) -> list[Failure]:
    """Take each arrival to its next step. An arrival that cannot be looked up, the unrouted files and each table fail
    alone: return the failures, which name the arrivals to deliver again. Raise an unforeseen error after the last step.
    """
    registry = Registry.read(service.store)
    found, failures = look_up(service, arrivals)
    by_table, unrouted = _route(registry, found)
    failures += _note_all_unrouted(service, registry, unrouted)
    index = ClaimIndex(service, [file.key for _, files in by_table for file in files])
    for contract, files in by_table:
        if failure := try_step(files, partial(ingest, service, contract, files, index)):
            failures.append(failure)
    foreseen(failure.error for failure in failures)
    return failures


def _route(
    registry: Registry, files: Iterable[FileVersion]
) -> tuple[list[tuple[Contract, list[FileVersion]]], list[FileVersion]]:
    """Return the files by the contract that routes them, and those that none routes."""
    by_table: dict[str, tuple[Contract, list[FileVersion]]] = {}
    unrouted: list[FileVersion] = []
    for file in files:
        contract = registry.route(file.key)
        (by_table.setdefault(contract.table, (contract, []))[1] if contract else unrouted).append(file)
    return list(by_table.values()), unrouted


def _note_all_unrouted(service: Service, registry: Registry, files: list[FileVersion]) -> list[Failure]:
    """Note unrouted files: together, in one message, or each alone if one of them fails. All fail while a contract
    cannot be read, because it may route them.
    """
    if not files:
        return []
    reasons = {file: registry.why_unrouted(file.key) for file in files}

    def step(some: list[FileVersion]) -> None:
        for error in registry.unread:
            raise error
        note_unrouted(service, [(file, reasons[file]) for file in some])

    failed = try_step(files, partial(step, files))
    if failed is None or len(files) == 1 or registry.unread:
        return [failed] if failed else []
    return try_each(files, lambda file: step([file]))


def note_unrouted(service: Service, files: Iterable[tuple[FileVersion, str]]) -> None:
    """Notify people of files, with their reasons, that are neither noted nor decided, and then note them. A crash
    between the two may repeat the message, and loses none.
    """
    new = [(file, reason) for file, reason in files if make_room(service, file)]
    receipts = receipts_now(service, [file for file, _ in new])
    new = [(file, reason) for file, reason in new if entry_of(receipts, file) is None]
    if not new:
        return
    digest = hashlib.sha256("".join(file.id for file, _ in new).encode()).hexdigest()[:20]
    message = unrouted_message(MessageFile(key=file.key, reasons=(reason,)) for file, reason in new)
    notify(service, f"unrouted-{digest}", message)
    for file, reason in new:
        note_as_unrouted(service, file, reason)


def ingest(service: Service, contract: Contract, files: Iterable[FileVersion], index: ClaimIndex) -> None:
    """Decide those of a table's files that need no attempt, resume the attempts at others, and start new attempts for
    the rest. Raise Misconfigured, after that, if a file's receipt cannot be read.
    """
    table = contract.table
    found = triage(service, table, files, contract.ingestion.reuploads, index)
    discard_untried(service, table, found.closed_as(Decision.DISCARDED))
    reject_untried(service, table, found.closed_as(Decision.REJECTED))
    for attempt in sorted(found.resumed, key=lambda attempt: attempt.branch):
        launch(service, attempt)
    for batch in _batches(contract, found):
        start_attempt(service, Attempt(table=table, batch=batch_id(table, batch), number=1), batch)
        service.telemetry.emit({Signal.FILES_RECEIVED: len(batch)}, table)
    for receipt in found.unreadable:
        receipt.refuse_unreadable()


def _batches(contract: Contract, found: Triage) -> Iterable[list[FileVersion]]:
    """Return the fresh files in batches of which one commit can hold the receipts."""
    keys = {file.key for file in found.fresh}
    sizes = {key: len(receipt.to_json()) for key, receipt in found.receipts.items() if key in keys}
    return batches(found.fresh, contract.ingestion, sizes)
