"""Receiving: from files that landed to attempts. It drops what is decided or claimed, and notes what is not routed."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from lakegate.contracts import Contract
from lakegate.errors import Retryable, foreseen
from lakegate.landing.attempts import Attempt, batch_id, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision, State
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import Standing, standing
from lakegate.ports import Message, MessageFile
from lakegate.workflow.attempts.claims import ClaimIndex, OpenClaims
from lakegate.workflow.attempts.launch import launch
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.ledger.decisions import record
from lakegate.workflow.ledger.receipts import main_receipts, receipts_now
from lakegate.workflow.ledger.unrouted import make_room, note_as_unrouted
from lakegate.workflow.notices.messages import rejected_message, rejection, unrouted_message
from lakegate.workflow.notices.outbox import forget, notify, prepare, send
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service

log = structlog.get_logger()
UNANSWERED = 3  # files, each of which may take as long as a client waits


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """What an event or a listing says of a file version: enough to look it up."""

    key: str
    version_id: str
    sequencer: str = ""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Arrivals that could not be received now, and why: deliver them again."""

    arrivals: tuple[Arrival, ...]
    error: Exception


def receive(service: Service, arrivals: Iterable[Arrival]) -> list[Failure]:
    """Bring each arrival on its way. Files that can't be looked at, what is unrouted, and each table fail alone: the
    failures name what to deliver again. What is a fault of ours is raised when all were tried.
    """
    registry = Registry.read(service.store)
    by_table: dict[str, tuple[Contract, list[FileVersion]]] = {}
    unrouted: list[FileVersion] = []
    found, failures = _look(service, arrivals)
    for file in found:
        contract = registry.route(file.key)
        (by_table.setdefault(contract.table, (contract, []))[1] if contract else unrouted).append(file)
    index = ClaimIndex(service, [file.key for _, files in by_table.values() for file in files])
    steps: list[tuple[list[FileVersion], Callable[[], None]]] = [
        (files, partial(ingest, service, contract, files, index)) for contract, files in by_table.values()
    ]
    failures += _note_unrouted(service, registry, unrouted)
    failures += [failure for files, step in steps if (failure := _try(files, step))]
    foreseen(failure.error for failure in failures)
    return failures


def _note_unrouted(service: Service, registry: Registry, files: list[FileVersion]) -> list[Failure]:
    """Those that no contract routes, told in one message, or each in its own where one of them fails. Where a contract
    can't be read now, nobody knows whether it routes them.
    """
    if not files:
        return []
    reasons = {file: registry.why_unrouted(file.key) for file in files}

    def note_some(some: list[FileVersion]) -> None:
        for error in registry.unread:
            raise error
        note_unrouted(service, [(file, reasons[file]) for file in some])

    failed = _try(files, partial(note_some, files))
    if failed is None or len(files) == 1 or registry.unread:
        return [failed] if failed else []
    return _each(files, lambda file: note_some([file]))


def note_unrouted(service: Service, files: Iterable[tuple[FileVersion, str]]) -> None:
    """Tell of those that were not noted before, nor decided, then note them: a crash between the two may tell again,
    never not at all.
    """
    new = [(file, reason) for file, reason in files if make_room(service, file)]
    receipts = receipts_now(service, [file for file, _ in new])
    new = [(file, reason) for file, reason in new if entry_of(receipts, file) is None]
    if not new:
        return
    digest = hashlib.sha256("".join(file.id for file, _ in new).encode()).hexdigest()[:20]
    notify(
        service,
        f"unrouted-{digest}",
        unrouted_message(MessageFile(key=file.key, reasons=(reason,)) for file, reason in new),
    )
    for file, reason in new:
        note_as_unrouted(service, file, reason)


def _each(files: list[FileVersion], step: Callable[[FileVersion], None]) -> list[Failure]:
    """Each alone; but where nobody answers for some, the others are not asked for."""
    failures: list[Failure] = []
    for number, file in enumerate(files):
        if sum(isinstance(failure.error, Retryable) for failure in failures) >= UNANSWERED:
            return [*failures, _failure(files[number:], failures[-1].error)]
        if failure := _try([file], partial(step, file)):
            failures.append(failure)
    return failures


def _look(service: Service, arrivals: Iterable[Arrival]) -> tuple[list[FileVersion], list[Failure]]:
    """The arrivals' files, oldest first and each once; one that is gone from the landing bucket, or a marker, needs
    nothing. One that can't be looked at (a key that S3 may not use any more) fails alone.
    """
    found, failures = {}, []
    for arrival in arrivals:
        try:
            file = service.landing.describe(arrival.key, arrival.version_id)
        except Exception as error:  # noqa: BLE001 (see `receive`)
            log.warning("look_failed", key=arrival.key, error=str(error), kind=type(error).__name__)
            failures.append(Failure(arrivals=(arrival,), error=error))
            continue
        if file is None:
            log.info("file_gone", key=arrival.key, version=arrival.version_id)
        elif file.is_marker:
            log.info("marker_passed_over", key=arrival.key, version=arrival.version_id)
        else:
            found[file.id] = replace(file, sequencer=arrival.sequencer)
    return sorted(found.values(), key=lambda file: file.order), failures


def _try(files: list[FileVersion], step: Callable[[], None]) -> Failure | None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 (see `receive`)
        log.warning("receive_failed", files=len(files), error=str(error), kind=type(error).__name__)
        return _failure(files, error)
    return None


def _failure(files: Iterable[FileVersion], error: Exception) -> Failure:
    arrivals = tuple(Arrival(key=f.key, version_id=f.version_id, sequencer=f.sequencer) for f in files)
    return Failure(arrivals=arrivals, error=error)


@dataclass(kw_only=True)
class Triage:
    """What to do with each file of one table, by what main and the open branches say of it."""

    table: str
    reuploads: Reuploads
    receipts: Mapping[str, Receipt]  # main's, by landing key
    fresh: list[FileVersion] = field(default_factory=list)  # goes into a new batch
    resumed: set[Attempt] = field(default_factory=set)  # is claimed already: see that its job runs
    closed: list[tuple[FileVersion, Standing]] = field(default_factory=list)  # decided by its key's other versions
    unknown: list[Receipt] = field(default_factory=list)  # what was decided of their keys can't be read

    def add(self, file: FileVersion, claims: OpenClaims) -> None:
        receipt = self.receipts.get(file.key)
        if receipt and receipt.unreadable:
            self.unknown.append(receipt)
            return
        match claims.state(file, self.receipts):
            case State.IN_PROGRESS if attempt := claims.attempt(file):
                self.resumed.add(attempt)
            case State.QUEUED if all(other.key != file.key for other in self.fresh):
                its = standing(receipt, file, self.table, self.reuploads)
                self.closed.append((file, its)) if its.decision else self.fresh.append(file)
            case _:
                pass  # decided; or its turn comes when the other version of its key is decided, by reconcile


def triage(
    service: Service, table: str, files: Iterable[FileVersion], reuploads: Reuploads, index: ClaimIndex
) -> Triage:
    """Sort files (oldest first) by what is known of them now."""
    files = list(files)
    _, receipts = main_receipts(service, files)
    claims = index.find_open([file.key for file in files], receipts, table)
    result = Triage(table=table, reuploads=reuploads, receipts=receipts)
    for file in files:
        result.add(file, claims)
    return result


def ingest(service: Service, contract: Contract, files: Iterable[FileVersion], index: ClaimIndex) -> None:
    """Files of one table that are now routed: decide what can be decided at once, start an attempt for the rest."""
    table, ingestion = contract.table, contract.ingestion
    sorted_out = triage(service, table, files, ingestion.reuploads, index)
    _discard(service, table, _closed(sorted_out, Decision.DISCARDED))
    _reject(service, table, _closed(sorted_out, Decision.REJECTED))
    for attempt in sorted(sorted_out.resumed, key=lambda attempt: attempt.branch):
        launch(service, attempt)
    keys = {file.key for file in sorted_out.fresh}
    sizes = {key: len(receipt.to_json()) for key, receipt in sorted_out.receipts.items() if key in keys}
    for batch in batches(sorted_out.fresh, ingestion, sizes):
        start_attempt(service, Attempt(table=table, batch=batch_id(table, batch), number=1), batch)
    for receipt in sorted_out.unknown:
        receipt.refuse_unreadable()


def _closed(sorted_out: Triage, decision: Decision) -> list[Finding]:
    closed = [(file, its) for file, its in sorted_out.closed if its.decision is decision]
    return [Finding(file=file, reasons=(its.reason,), reuploads=sorted_out.reuploads) for file, its in closed]


def _discard(service: Service, table: str, findings: list[Finding]) -> None:
    if findings:
        record(service, _untried(table, findings), Decision.DISCARDED, findings)


def _reject(service: Service, table: str, findings: list[Finding]) -> None:
    if not findings:
        return
    attempt = _untried(table, findings)
    name, message = rejection(attempt), _message(attempt, findings)
    # Noted before the decision: there is no branch by which a message that a crash left out would be missed.
    prepared = prepare(service, name, message)
    record(service, attempt, Decision.REJECTED, findings)
    if prepared or prepare(service, name, message):  # an old note may be forgotten by now
        _notify_rejected(service, attempt, name, findings)


def _untried(table: str, findings: list[Finding]) -> Attempt:
    return Attempt(table=table, batch=batch_id(table, [finding.file for finding in findings], tried=False), number=0)


def _notify_rejected(service: Service, attempt: Attempt, name: str, findings: list[Finding]) -> None:
    """Tell of what was rejected as this batch, by this worker or by another; not of what is told elsewhere."""
    _, receipts = main_receipts(service, [finding.file for finding in findings])
    decided = Decision.REJECTED, attempt.batch  # another worker may have discarded them, by a contract pushed since
    its = [it for it in findings if (e := entry_of(receipts, it.file)) and (e.decision, e.batch) == decided]
    if its:
        send(service, name, _message(attempt, its))
    else:
        forget(service, name)


def _message(attempt: Attempt, findings: list[Finding]) -> Message:
    told = [MessageFile(key=finding.file.key, reasons=finding.reasons) for finding in findings]
    return rejected_message(attempt, told, branch="")
