"""Receiving: from files that landed to attempts. Decided and claimed files are dropped, and unrouted ones are noted.

While a table has its share of the jobs under way, its files are queued: they become one batch when a job has ended.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import structlog
from structlog.contextvars import bound_contextvars

from lakegate.contracts import Contract
from lakegate.errors import LakegateError, foreseen
from lakegate.landing.attempts import Attempt, batch_id, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import MessageFile, Signal
from lakegate.workflow.attempts.claims import ClaimIndex
from lakegate.workflow.attempts.launch import NO_NEIGHBOURS, Neighbours, launch
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.attempts.usage import note_usage
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.ledger.unrouted import make_room, note_as_unrouted
from lakegate.workflow.notices.messages import unrouted_message
from lakegate.workflow.notices.outbox import notify
from lakegate.workflow.receiving.arrivals import Arrival, Failure, look_up, try_each, try_step
from lakegate.workflow.receiving.queued import (
    AT_ONCE,
    Notes,
    names_by_table,
    note_queued,
    oldest,
    read_queued,
    take_off,
)
from lakegate.workflow.receiving.shares import shares
from lakegate.workflow.receiving.slots import jobs_under_way
from lakegate.workflow.receiving.triage import Triage, triage
from lakegate.workflow.receiving.untried import discard_untried, reject_untried
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle

log = structlog.get_logger()


def receive(service: Service, arrivals: Iterable[Arrival]) -> list[Failure]:
    """Take each arrival to its next step. An arrival that cannot be looked up, the unrouted files and each table fail
    alone: return the failures, which name the arrivals to deliver again. Raise an unforeseen error after the last step.
    """
    registry = Registry.read(service.store)
    found, failures = look_up(service, arrivals)
    tables = {contract.table for file in found if (contract := registry.route(file.key))}
    failures += _take_up(service, registry, found, *_look_or_nothing(service, tables))
    foreseen(failure.error for failure in failures)
    return failures


def gather(service: Service, ended: Attempt | None = None) -> list[Failure]:
    """Take up the queued files of tables that may open a batch now. `ended` is the attempt whose job has just ended.
    Return and raise as `receive` does.
    """
    names = names_by_table(service)
    if not names:
        return []
    queue = Queue(names=names, jobs=jobs_under_way(service, names, ended))
    failures = _take_up(service, Registry.read(service.store), [], queue, queue.taken(service, names))
    foreseen(failure.error for failure in failures)
    return failures


def settle_run(service: Service, run_id: str) -> None:
    """Settle the attempt whose job run has ended, take up queued files in its place, and note what the run took. A run
    that is not lakegate's needs nothing.
    """
    run = service.runner.get(run_id)
    attempt = Attempt.parse(run.branch)
    if attempt is None:
        log.info("not_ours", run=run.id, name=run.branch)
        return
    with bound_contextvars(run=run.id, branch=attempt.branch):
        settle_and_gather(service, attempt)
        note_usage(service, attempt, run)


def settle_and_gather(service: Service, attempt: Attempt) -> None:
    """Settle an attempt whose job has ended, and take up queued files in its place, even if settling fails. Files that
    fail stay queued for the sweep.
    """
    try:
        settle(service, attempt)
    finally:
        gather(service, attempt)


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Names of the notes of queued files by table, and the jobs under way by table; None if they are unknown."""

    names: dict[str, list[str]] = field(default_factory=dict)
    jobs: Mapping[str, int] | None = None

    def shares(self, slots: int, batches: dict[str, int]) -> dict[str, int]:
        """Return how many of these batches each table opens now. Other tables that have queued files want one each."""
        return {} if self.jobs is None else shares(slots, self.jobs, dict.fromkeys(self.names, 1) | batches)

    def taken(self, service: Service, tables: Collection[str]) -> Notes:
        """Return the oldest notes of those of the tables that may open a batch now."""
        may = self.shares(service.jobs_at_once, dict.fromkeys(tables, service.jobs_at_once))
        opening = [table for table in tables if may.get(table)]
        return read_queued(
            service,
            [name for table in opening for name in oldest(self.names.get(table, ()), AT_ONCE // len(opening))],
        )


def _look_or_nothing(service: Service, tables: Collection[str]) -> tuple[Queue, Notes]:
    """Return what is queued and under way, for tables that have arrivals, and the notes that are taken along. While
    that cannot be known, nothing is opened: arrivals are queued, and the sweep takes them up.
    """
    if not tables:
        return Queue(), {}
    try:
        names = names_by_table(service)
        queue = Queue(names=names, jobs=jobs_under_way(service, {*tables, *names}))
        return queue, queue.taken(service, tables)
    except LakegateError as error:
        log.warning("jobs_not_known", error=str(error), kind=type(error).__name__)
        return Queue(), {}


def _take_up(
    service: Service, registry: Registry, found: Iterable[FileVersion], queue: Queue, noted: Notes
) -> list[Failure]:
    """Take these files and the noted ones to their next step."""
    more, failures = look_up(service, chain(*noted.values())) if noted else ([], [])
    files = {file.id: file for file in (*more, *found)}
    by_table, unrouted = _route(registry, sorted(files.values(), key=lambda file: file.order))
    failures += _note_all_unrouted(service, registry, unrouted)
    index = ClaimIndex(service, [file.key for _, its in by_table for file in its])
    wanted = {contract.table: len(list(batches(its, contract.ingestion, {}))) for contract, its in by_table}
    opens = queue.shares(service.jobs_at_once, wanted)
    for contract, its in by_table:
        around = registry.neighbours(contract.table)
        if failure := try_step(
            its, partial(ingest, service, contract, its, index, opens.get(contract.table, 0), around)
        ):
            failures.append(failure)
    failed = {arrival for failure in failures for arrival in failure.arrivals}
    take_off(service, noted, failed)
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


def ingest(
    service: Service,
    contract: Contract,
    files: Iterable[FileVersion],
    index: ClaimIndex,
    opens: int,
    neighbours: Neighbours = NO_NEIGHBOURS,
) -> None:
    """Decide those of a table's files that need no attempt, resume the attempts at others, and start as many new
    attempts at the rest as the table `opens` now. Files that are left are queued. Raise Misconfigured, after that, if a
    file's receipt cannot be read.
    """
    table = contract.table
    found = triage(service, table, files, contract.ingestion.reuploads, index)
    discard_untried(service, table, found.closed_as(Decision.DISCARDED))
    reject_untried(service, table, found.closed_as(Decision.REJECTED))
    for attempt in sorted(found.resumed, key=lambda attempt: attempt.branch):
        launch(service, attempt, neighbours)
    wanted = list(_batches(contract, found))
    for batch in wanted[:opens]:
        start_attempt(service, Attempt(table=table, batch=batch_id(table, batch), number=1), batch, neighbours)
        service.telemetry.emit({Signal.FILES_RECEIVED: len(batch)}, table)
    note_queued(service, table, [file for batch in wanted[opens:] for file in batch])
    for receipt in found.unreadable:
        receipt.refuse_unreadable()


def _batches(contract: Contract, found: Triage) -> Iterable[list[FileVersion]]:
    """Return the fresh files in batches of which one commit can hold the receipts."""
    keys = {file.key for file in found.fresh}
    sizes = {key: len(receipt.to_json()) for key, receipt in found.receipts.items() if key in keys}
    return batches(found.fresh, contract.ingestion, sizes)
