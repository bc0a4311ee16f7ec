"""Receiving: from files that landed to attempts. Decided and claimed files are dropped, and unrouted ones are recorded.

The first small file of a quiet table starts at once. Files that have something to gain by waiting for others, and those
of a table that has its share of the jobs under way, are queued: they become one batch.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Self

import structlog
from structlog.contextvars import bound_contextvars

from lakegate.audit.model.lane import Lane
from lakegate.contracts import Contract
from lakegate.errors import LakegateError, foreseen
from lakegate.landing.attempts import Attempt, batch_id, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.lane import Express, limits_of
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import entry_of
from lakegate.ports import MessageFile, Signal
from lakegate.workflow.attempts.claims import ClaimIndex
from lakegate.workflow.attempts.launch import NO_NEIGHBOURS, Neighbours, launch
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.attempts.usage import record_usage
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.ledger.unrouted import make_room, record_as_unrouted
from lakegate.workflow.notices.messages import unrouted_message
from lakegate.workflow.notices.outbox import notify
from lakegate.workflow.receiving.arrivals import Arrival, Failure, look_up, try_each, try_step
from lakegate.workflow.receiving.company import LONG_AGO, Company, WaitingBatch, likely_lane, waiting_since
from lakegate.workflow.receiving.queued import (
    AT_ONCE,
    QueueNotes,
    names_by_table,
    oldest,
    read_queued,
    record_queued,
    take_off,
    waiting_batch,
)
from lakegate.workflow.receiving.shares import JobsUnderWay, Slots, shares
from lakegate.workflow.receiving.slots import jobs_under_way
from lakegate.workflow.receiving.triage import Triage, triage
from lakegate.workflow.receiving.untried_files import discard_untried, reject_untried
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle

log = structlog.get_logger()


def receive(
    service: Service, arrivals: Iterable[Arrival], reminder_keys: Iterable[str] = (), *, are_late: bool = False
) -> list[Failure]:
    """Take each arrival to its next step, and the queued files of the tables of the `reminder_keys`. Arrivals that
    `are_late` wait for no company. An arrival that cannot be looked up, the unrouted files and each table fail
    alone: return the failures, which name the arrivals to deliver again. Raise an unforeseen error after the last step.
    """
    registry = Registry.read(service.store)
    files, failures = look_up(service, arrivals)
    tables, reminder_tables = (
        {contract.table for key in keys if (contract := registry.route(key))}
        for keys in ([file.key for file in files], reminder_keys)
    )
    failures += _take_up(
        service, registry, files, *_look_or_nothing(service, tables, reminder_tables), are_late=are_late
    )
    foreseen(failure.error for failure in failures)
    return failures


def gather(service: Service, last: Attempt | None = None) -> list[Failure]:
    """Take up the queued files of tables that may open a batch now. `last` is the attempt whose job has just ended.
    Return and raise as `receive` does.
    """
    names = names_by_table(service)
    if not names:
        return []
    queue = Queue.of(service, names, jobs_under_way(service, names, last))
    failures = _take_up(service, Registry.read(service.store), [], queue, queue.take(service, names))
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
        record_usage(service, attempt, run)


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
    """Names of the notes of queued files by table, the jobs under way, if they are known, and the rule for when a
    queued batch may start.
    """

    names: dict[str, list[str]]
    jobs: JobsUnderWay | None
    company: Company
    has_express: bool

    @classmethod
    def of(cls, service: Service, names: dict[str, list[str]], jobs: JobsUnderWay | None) -> Self:
        company = Company(now=service.clock.now(), window=service.batch_window)
        return cls(names=names, jobs=jobs, company=company, has_express=service.express is not None)

    def shares(self, slots: Slots, batches: Mapping[str, Sequence[WaitingBatch]]) -> dict[str, int]:
        """Return how many of these batches each table opens now. Other tables that have queued files want one each."""
        if self.jobs is None:
            return {}
        rest = {table: [self._batch_of(table)] for table in self.names}
        return shares(
            slots,
            self.jobs,
            {table: self._ready(table, own_batches) for table, own_batches in {**rest, **batches}.items()},
        )

    def _ready(self, table: str, batches: Sequence[WaitingBatch]) -> list[Lane]:
        """Return the lanes of the batches that the table may open as far as company goes. While its queued files wait
        for more, others of the table join them, so that nothing overtakes them.
        """
        is_quiet = self.jobs is not None and not self.jobs.of_table(table)
        if table in self.names and not self.company.has_come(self._batch_of(table), is_quiet=is_quiet):
            return []
        return self.company.ready(batches, is_quiet=is_quiet)

    def waiting_start(self, table: str, names: Iterable[str]) -> datetime:
        """Return since when files of the table wait: those of its notes, if some were taken, or else the new ones."""
        own_names = set(self.names.get(table, ()))
        return self._batch_of(table).start if own_names.intersection(names) else self.company.now

    def _batch_of(self, table: str) -> WaitingBatch:
        return waiting_batch(self.names.get(table, ()), has_express=self.has_express)

    def take(self, service: Service, tables: Collection[str]) -> QueueNotes:
        """Return the oldest notes of those of the tables that may open a batch now."""
        most_slots = max(service.slots.values())
        may = self.shares(
            service.slots, {table: [replace(self._batch_of(table), is_full=True)] * most_slots for table in tables}
        )
        opening = [table for table in tables if may.get(table)]
        return read_queued(
            service,
            [name for table in opening for name in oldest(self.names.get(table, ()), AT_ONCE // len(opening))],
        )


def _look_or_nothing(service: Service, tables: set[str], reminder_tables: set[str]) -> tuple[Queue, QueueNotes]:
    """Return what is queued and under way, for tables that have arrivals and those of reminders, and the notes that are
    taken along. While that cannot be known, nothing is opened: arrivals are queued, and the sweep takes them up.
    """
    unknown = Queue.of(service, {}, None)
    if not tables | reminder_tables:
        return unknown, {}
    try:
        names = names_by_table(service)
        tables |= reminder_tables & names.keys()  # a late reminder must not hold a slot
        queue = Queue.of(service, names, jobs_under_way(service, {*tables, *names}))
        return queue, queue.take(service, tables)
    except LakegateError as error:
        log.warning("jobs_not_known", error=str(error), kind=type(error).__name__)
        return unknown, {}


def _take_up(
    service: Service,
    registry: Registry,
    new_files: Iterable[FileVersion],
    queue: Queue,
    items: QueueNotes,
    *,
    are_late: bool = False,
) -> list[Failure]:
    """Take these files and the recorded ones to their next step."""
    queued_files, failures = look_up(service, chain(*items.values())) if items else ([], [])
    files = {file.id: file for file in (*queued_files, *new_files)}
    by_table, unrouted = _route(registry, sorted(files.values(), key=lambda file: file.order))
    failures += _record_all_unrouted(service, registry, unrouted)
    index = ClaimIndex(service, [file.key for _, own_files in by_table for file in own_files])
    starts = {
        contract.table: LONG_AGO if are_late else queue.waiting_start(contract.table, items) for contract, _ in by_table
    }
    batches_by_table = {
        contract.table: _batches_of(service, starts[contract.table], contract, own_files)
        for contract, own_files in by_table
    }
    opens = queue.shares(service.slots, batches_by_table)
    for contract, own_files in by_table:
        turn = Turn(opens=opens.get(contract.table, 0), start=starts[contract.table])
        neighbours = registry.neighbours(contract.table)
        if failure := try_step(own_files, partial(ingest, service, contract, own_files, index, turn, neighbours)):
            failures.append(failure)
    failing_arrivals = {arrival for failure in failures for arrival in failure.arrivals}
    take_off(service, items, failing_arrivals)
    return failures


def _batches_of(service: Service, start: datetime, contract: Contract, files: list[FileVersion]) -> list[WaitingBatch]:
    """Return the batches that these files would be. Where that cannot be known, one that waits for nothing: the step
    that opens it fails, and says why.
    """
    try:
        return waiting_since(start, contract, service.express, files)
    except Exception as error:  # noqa: BLE001 (one table)
        log.warning("lane_not_known", table=contract.table, error=str(error), kind=type(error).__name__)
        return [WaitingBatch(lane=Lane.SPARK, start=LONG_AGO)]


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


def _record_all_unrouted(service: Service, registry: Registry, files: list[FileVersion]) -> list[Failure]:
    """Note unrouted files: together, in one message, or each alone if one of them fails. All fail while a contract
    cannot be read, because it may route them.
    """
    if not files:
        return []
    reasons = {file: registry.why_unrouted(file.key) for file in files}

    def step(group: list[FileVersion]) -> None:
        for error in registry.unread:
            raise error
        record_unrouted(service, [(file, reasons[file]) for file in group])

    failure = try_step(files, partial(step, files))
    if failure is None or len(files) == 1 or registry.unread:
        return [failure] if failure else []
    return try_each(files, lambda file: step([file]))


def record_unrouted(service: Service, files: Iterable[tuple[FileVersion, str]]) -> None:
    """Notify people of files, with their reasons, that are neither recorded nor decided, and then record them. A crash
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
        record_as_unrouted(service, file, reason)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The batches that a table `opens` now, and since when its files have waited."""

    opens: int
    start: datetime


def ingest(
    service: Service,
    contract: Contract,
    files: Iterable[FileVersion],
    index: ClaimIndex,
    turn: Turn,
    neighbours: Neighbours = NO_NEIGHBOURS,
) -> None:
    """Decide those of a table's files that need no attempt, resume the attempts at others, and start as many new
    attempts at the rest as the table opens now. Files that are left are queued. Raise Misconfigured, after that, if a
    file's receipt cannot be read.
    """
    table = contract.table
    triage_result = triage(service, table, files, contract.ingestion.reuploads, index)
    discard_untried(service, table, triage_result.closed_as(Decision.DISCARDED))
    reject_untried(service, table, triage_result.closed_as(Decision.REJECTED))
    for attempt in sorted(triage_result.attempts_to_resume, key=lambda attempt: attempt.branch):
        launch(service, attempt, neighbours)
    new_batches = list(_batches(service.express, contract, triage_result))
    for batch in new_batches[: turn.opens]:
        start_attempt(service, Attempt(table=table, batch=batch_id(table, batch), number=1), batch, neighbours)
        service.telemetry.emit({Signal.FILES_RECEIVED: len(batch)}, table)
    _queue(service, contract, [file for batch in new_batches[turn.opens :] for file in batch], turn.start)
    for receipt in triage_result.unreadable:
        receipt.refuse_unreadable()


def _queue(service: Service, contract: Contract, files: list[FileVersion], start: datetime) -> None:
    """Record the files, which are given oldest first. If they wait for company, be reminded when that time is over."""
    if not files:
        return
    batch = WaitingBatch(lane=likely_lane(contract, service.express, files), start=start)
    record_queued(service, contract.table, files, batch)
    delay = batch.deadline(service.batch_window) - service.clock.now()
    if delay > timedelta() and service.reminders:
        try:
            service.reminders.remind(files[0], delay)
        except LakegateError as error:  # a sweep takes them up
            log.warning("not_reminded", table=contract.table, error=str(error), kind=type(error).__name__)


def _batches(express: Express | None, contract: Contract, triage_result: Triage) -> Iterable[list[FileVersion]]:
    """Return the fresh files in batches of which one commit can hold the receipts."""
    keys = {file.key for file in triage_result.fresh}
    sizes = {key: len(receipt.to_json()) for key, receipt in triage_result.receipts.items() if key in keys}
    limits = limits_of(contract.ingestion, express, contract.plan, triage_result.fresh)
    return batches(triage_result.fresh, limits, sizes)
