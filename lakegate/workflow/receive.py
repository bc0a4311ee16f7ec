"""Receiving: from files that landed to attempts. It drops what is decided or claimed, and holds what is not routed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from lakegate.errors import LakegateError
from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt
from lakegate.ports import Message, ToldFile
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.attempt import launch, open_attempt
from lakegate.workflow.claims import OpenClaims, open_claims
from lakegate.workflow.decide import IDENTICAL, Finding, decide, identical, superseding
from lakegate.workflow.hold import hold
from lakegate.workflow.service import Service
from lakegate.workflow.shelf import Shelf
from lakegate.workflow.tell import forget, prepare, rejected_message, rejection, send

log = structlog.get_logger()
FILES = 1000  # of a batch: they are staged one by one, and a function has minutes


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
    error: LakegateError


def receive(service: Service, arrivals: Iterable[Arrival]) -> list[Failure]:
    """Bring each arrival on its way. Files that can't be looked at, what is held, and each table fail alone: the
    failures name what to deliver again.
    """
    shelf = Shelf.read(service.store)
    by_table: dict[str, list[FileVersion]] = {}
    held: list[FileVersion] = []
    found, failures = _look(service, arrivals)
    for file in found:
        contract = shelf.route(file.key)
        (by_table.setdefault(contract.table, []) if contract else held).append(file)
    reasons = [(file, shelf.why_held(file.key)) for file in held]
    steps: list[tuple[list[FileVersion], Callable[[], None]]] = [(held, partial(hold, service, reasons))]
    steps += [(files, partial(ingest, service, table, files)) for table, files in by_table.items()]
    return failures + [failure for files, step in steps if (failure := _try(files, step))]


def _look(service: Service, arrivals: Iterable[Arrival]) -> tuple[list[FileVersion], list[Failure]]:
    """The arrivals' files, oldest first and each once; one that is gone from the landing bucket needs nothing any
    more. One that can't be looked at (a key that S3 may not use any more) fails alone.
    """
    found, failures = {}, []
    for arrival in arrivals:
        try:
            file = service.landing.look(arrival.key, arrival.version_id)
        except LakegateError as error:
            failures.append(Failure(arrivals=(arrival,), error=error))
            continue
        if file is None:
            log.info("file_gone", key=arrival.key, version=arrival.version_id)
        else:
            found[file.id] = replace(file, sequencer=arrival.sequencer)
    return sorted(found.values(), key=lambda file: file.order), failures


def _try(files: list[FileVersion], step: Callable[[], None]) -> Failure | None:
    try:
        step()
    except LakegateError as error:
        log.warning("receive_failed", files=len(files), error=str(error))
        arrivals = tuple(Arrival(key=f.key, version_id=f.version_id, sequencer=f.sequencer) for f in files)
        return Failure(arrivals=arrivals, error=error)
    return None


@dataclass(kw_only=True)
class Triage:
    """What to do with each file of one table, by what main and the open branches say of it."""

    fresh: list[FileVersion] = field(default_factory=list)  # goes into a new batch
    resumed: set[Attempt] = field(default_factory=set)  # is claimed already: see that its job runs
    identical: list[FileVersion] = field(default_factory=list)  # the very bytes that its key has published
    superseding: list[tuple[FileVersion, Entry]] = field(default_factory=list)  # other bytes under a published key

    def add(self, file: FileVersion, receipt: Receipt | None, claims: OpenClaims) -> None:
        attempt, published = claims.attempt(file), receipt.published if receipt else None
        if attempt is not None:
            self.resumed.add(attempt)
        elif (receipt and receipt.entry(file.version_id)) or claims.other_version(file) or self._waits(file):
            pass  # decided; or its turn comes when the other version of its key is decided, by reconcile
        elif published is None:
            self.fresh.append(file)
        elif file.content is not None and file.content == published.content:
            self.identical.append(file)
        else:
            self.superseding.append((file, published))

    def _waits(self, file: FileVersion) -> bool:
        return any(other.key == file.key for other in self.fresh)


def triage(service: Service, files: Iterable[FileVersion]) -> Triage:
    """Sort files (oldest first) by what is known of them now."""
    files = list(files)
    _, receipts = main_receipts(service, files)
    claims = open_claims(service.catalog, [file.key for file in files], receipts)
    result = Triage()
    for file in files:
        result.add(file, receipts.get(file.key), claims)
    return result


def ingest(service: Service, table: str, files: Iterable[FileVersion]) -> None:
    """Files of one table that are now routed: decide what can be decided at once, start an attempt for the rest."""
    sorted_out = triage(service, files)
    _discard_identical(service, table, sorted_out.identical)
    _reject_superseding(service, table, sorted_out.superseding)
    for attempt in sorted(sorted_out.resumed, key=lambda attempt: attempt.branch):
        launch(service, attempt)
    for start in range(0, len(sorted_out.fresh), FILES):
        batch = sorted_out.fresh[start : start + FILES]
        open_attempt(service, Attempt(table=table, batch=batch_id(table, batch), number=1), batch)


def _discard_identical(service: Service, table: str, files: list[FileVersion]) -> None:
    if files:
        attempt = Attempt(table=table, batch=batch_id(table, files), number=0)
        decide(service, attempt, Decision.DISCARDED, [identical(file) for file in files], why=IDENTICAL)


def _reject_superseding(service: Service, table: str, files: list[tuple[FileVersion, Entry]]) -> None:
    if not files:
        return
    attempt = Attempt(table=table, batch=batch_id(table, [file for file, _ in files]), number=0)
    findings = [superseding(file, published) for file, published in files]
    name = rejection(attempt)
    # Noted before the decision: there is no branch by which a message that a crash left out would be missed.
    prepared = prepare(service, name, _superseding_message(attempt, findings))
    decide(service, attempt, Decision.REJECTED, findings)
    if prepared:
        _tell_superseding(service, attempt, name, findings)


def _tell_superseding(service: Service, attempt: Attempt, name: str, findings: list[Finding]) -> None:
    """Tell of what was rejected as this batch, by this worker or by another; not of what is told elsewhere."""
    _, receipts = main_receipts(service, [finding.file for finding in findings])
    entries = [receipts[finding.file.key].entry(finding.file.version_id) for finding in findings]
    its = [finding for finding, entry in zip(findings, entries, strict=True) if entry and entry.batch == attempt.batch]
    if its:
        send(service, name, _superseding_message(attempt, its))
    else:
        forget(service, name)


def _superseding_message(attempt: Attempt, findings: list[Finding]) -> Message:
    told = [ToldFile(key=finding.file.key, reasons=finding.reasons) for finding in findings]
    return rejected_message(attempt, told, branch="")
