"""Reconciling: a scheduled sweep finishes the work of lost events and crashes, and takes up dead letters."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from lakegate.counts import count
from lakegate.errors import TRANSIENT, LakegateError, Retryable, foreseen
from lakegate.landing.attempts import Attempt
from lakegate.landing.chunks import in_chunks, rotate
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import entry_of
from lakegate.landing.standing import is_open
from lakegate.ports import Branch, Signal
from lakegate.workflow.attempts.claims import files_claimed_at
from lakegate.workflow.attempts.launch import launch
from lakegate.workflow.attempts.reports import has_left_something
from lakegate.workflow.attempts.usage import record_lost_usage
from lakegate.workflow.backlog import Backlog, read_backlog, record_unclaimed, still_unrouted
from lakegate.workflow.ledger.compaction import compact
from lakegate.workflow.ledger.receipts import main_receipts, receipts_now
from lakegate.workflow.ledger.unrouted import forget_unrouted, unrouted_files
from lakegate.workflow.notices.expiry import expire
from lakegate.workflow.notices.late import resend
from lakegate.workflow.receive import gather, receive, settle_run
from lakegate.workflow.receiving.arrivals import Arrival, Failure
from lakegate.workflow.receiving.queued import names_by_table, read_queued
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import is_at_rest, keeps_nothing, settle

log = structlog.get_logger()
LONGEST_LIFE = timedelta(minutes=15)  # no function runs longer, so no older rebase has a worker that lives
BRANCHES = timedelta(minutes=5)  # half of a sweep's time, however many branches there are
AT_ONCE = 2000  # files that one sweep receives
RUNS = 100  # that one sweep settles for their dead letters


def reconcile(service: Service) -> list[LakegateError]:
    """Take up files and messages that are older than the grace, and all else that is open. A step that fails stops no
    other: return the errors that are foreseen, and raise any other one after the last step.
    """
    return foreseen(error for step in _steps(service) if (error := _try(step)))


def sweep(service: Service) -> None:
    """Reconcile. Raise Retryable if a step could not be finished."""
    if errors := reconcile(service):
        raise Retryable(f"{count(len(errors), 'step')} of the sweep failed. The first: {errors[0]}") from errors[0]


def _steps(service: Service) -> Iterator[Callable[[], None]]:
    """Yield the steps of a sweep. Branches come first, because a later step receives the files that attempts give up.
    Each sweep begins with another branch, so that no branch is always the one that the time does not reach. Messages
    come before the steps that list the landing bucket, which may take all the time that is left.
    """
    began, branches = service.clock.now(), list[Branch]()
    yield partial(_list_branches, service, branches)
    for number, branch in enumerate(rotate(branches, began)):
        if service.clock.now() - began >= BRANCHES:
            log.warning("branches_left", branches=len(branches) - number)
            break
        with bound_contextvars(branch=branch.name):  # every line that the step logs names it, its failure's too
            yield partial(_continue, service, branch)
    yield from (
        partial(step, service)
        for step in (resend, _take_dead_letters, _gather, _receive_routed, _receive_lost, compact)
    )


def _try(step: Callable[[], None]) -> Exception | None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 (otherwise one branch would stop every sweep)
        log.warning("reconcile_failed", error=str(error), kind=type(error).__name__)
        return error
    return None


def _list_branches(service: Service, branches: list[Branch]) -> None:
    """Add the open branches to the list. This is a sweep's first call to the catalog, and tells whether it answers."""
    try:
        branches.extend(service.branches.list_branches())
    except TRANSIENT:
        service.telemetry.emit({Signal.CATALOG_UNREACHABLE: 1})
        raise
    open_attempts = sum(Attempt.parse(branch.name) is not None for branch in branches)
    service.telemetry.emit({Signal.CATALOG_UNREACHABLE: 0, Signal.OPEN_BRANCHES: open_attempts})


def _continue(service: Service, branch: Branch) -> None:
    """Do what an attempt's branch still needs: launch its job, settle it, or end it."""
    attempt = Attempt.parse(branch.name)
    if attempt is None:
        return
    if attempt.nonce:
        _delete_left_behind(service, attempt)
        return
    claims = files_claimed_at(service, attempt, branch.head)
    if not claims:
        # Only at this head: the worker that made the branch may be about to put its claims there.
        service.branches.delete_branch(branch.name, branch.head)
        return
    _, receipts = main_receipts(service, claims)
    has_undecided = any(is_open(receipts, file, attempt) for file in claims)
    if not is_at_rest(service, attempt, claims, receipts):
        _go_on(service, branch, attempt, claims, has_undecided=has_undecided)
    if not has_undecided:
        expire(service, branch, attempt)


def _go_on(
    service: Service, branch: Branch, attempt: Attempt, claims: list[FileVersion], *, has_undecided: bool
) -> None:
    if has_left_something(service.store, attempt) or service.runner.find(attempt.branch) is not None:
        settle(service, attempt)
        record_lost_usage(service, attempt)
    elif has_undecided:
        launch(service, attempt)
    elif keeps_nothing(service, attempt, claims):
        # Its worker died before it had a job, and another attempt has decided its files since.
        service.branches.delete_branch(branch.name, branch.head)


def _delete_left_behind(service: Service, rebase: Attempt) -> None:
    """Delete a rebase's branch if it is older than its worker may be: a crash has left it, because no other worker uses
    it.
    """
    if service.clock.now() - rebase.rebased_at > LONGEST_LIFE:
        log.info("rebase_branch_deleted", branch=rebase.branch)
        service.branches.delete_branch(rebase.branch)


def _gather(service: Service) -> None:
    _raise_first(gather(service))


def _take_dead_letters(service: Service) -> None:
    """Handle again the events that could not be handled, and delete those that now are. Others stay and raise nothing,
    because the queue's own alarm tells of them.
    """
    letters = service.dead_letters.read()
    arrivals = {
        letter.id: Arrival(key=letter.arrival[0], version_id=letter.arrival[1], sequencer=letter.arrival[2])
        for letter in letters
        if letter.arrival
    }
    failures = receive(service, arrivals.values(), are_late=True) if arrivals else []
    failing_versions = {(arrival.key, arrival.version_id) for failure in failures for arrival in failure.arrivals}
    letters_to_delete = [letter for letter in letters if letter.arrival and letter.arrival[:2] not in failing_versions]
    run_letters = [letter for letter in letters if letter.run][:RUNS]
    letters_to_delete += [letter for letter in run_letters if _try(partial(settle_run, service, letter.run)) is None]
    service.dead_letters.delete(letters_to_delete)


def _receive_routed(service: Service) -> None:
    """Receive unrouted files that a contract routes by now. Their notes stay until they are decided: the watermark does
    not wait for them, so nothing else finds them. Others may stay unrouted for ever, and cost no further request.
    """
    if unrouted := unrouted_files(service):
        registry = Registry.read(service.store)
        files_to_route = still_unrouted(service, [file for file in unrouted if registry.route(file.file.key)])
        _raise_first(_receive_some(service, [file.file for file in files_to_route]))


def _receive_lost(service: Service) -> None:
    """Receive queued files whose event seems lost: they landed longer than the grace ago. Forget the notes of unrouted
    files that are decided, gone from the landing bucket, or markers to this release.
    """
    began = service.clock.now()  # to list: a file that lands in the minutes that this takes may be listed or not
    due = began - service.grace
    unrouted = {file.file.id: file.file for file in unrouted_files(service)}
    listing = Listing(service=service, unrouted=unrouted)
    backlog = read_backlog(service, listing.versions(), unrouted)
    files = backlog.files
    record_unclaimed(service, files, began)
    _emit_backlog(service, backlog, listing)
    receipts = receipts_now(service, unrouted.values())
    errors = [
        error
        for file_id, file in unrouted.items()
        if file_id not in listing.seen_ids or entry_of(receipts, file) or file.is_marker
        if (error := _try(partial(forget_unrouted, service, file)))
    ]
    _raise_first(_receive_some(service, [file for file in files if file.landed_at <= due]))
    for error in foreseen(errors):
        raise error


@dataclass(kw_only=True)
class Listing:
    """A listing of the landing bucket: how many versions it has, how long it took, and the ids of `unrouted` files that
    it has.
    """

    service: Service
    unrouted: Collection[str]
    seen_ids: set[str] = field(default_factory=set)
    count: int = 0
    took: timedelta = timedelta()

    def versions(self) -> Iterator[FileVersion]:
        """Yield the landing bucket's versions, and note what there is to note of them."""
        began = self.service.clock.now()
        for file in self.service.landing.versions():
            self.count += 1
            if self.unrouted and file.id in self.unrouted:
                self.seen_ids.add(file.id)
            yield file
        self.took = self.service.clock.now() - began


def _emit_backlog(service: Service, backlog: Backlog, listing: Listing) -> None:
    """Emit what waits in the landing bucket, and what it takes to look."""
    now = service.clock.now()
    service.telemetry.emit(
        {
            Signal.OLDEST_UNDECIDED: (now - (backlog.oldest or now)).total_seconds(),
            Signal.UNDECIDED_BATCHES: len(backlog.batches),
            Signal.FILES_QUEUED: len(backlog.files),
            Signal.FILES_UNROUTED: len(listing.unrouted),
            Signal.VERSIONS_LISTED: listing.count,
            Signal.LISTING_SECONDS: listing.took.total_seconds(),
        }
    )


def _receive_some(service: Service, files: list[FileVersion]) -> list[Failure]:
    """Receive the first of these files that are not recorded as queued, as many as a sweep has time for. If some fail,
    they may fail in every sweep: then receive other ones too, each sweep different ones.
    """
    queued = _queued_versions(service) if files else set[tuple[str, str]]()
    files = [file for file in files if (file.key, file.version_id) not in queued]
    failures = _receive(service, files[:AT_ONCE])
    if failures and len(files) > AT_ONCE:
        chunks = list(in_chunks(files[AT_ONCE:], AT_ONCE))
        failures += _receive(service, rotate(chunks, service.clock.now())[0])
    return failures


def _queued_versions(service: Service) -> set[tuple[str, str]]:
    """Return the keys and version ids of the files that are recorded as queued: those are gathered."""
    names = [name for names in names_by_table(service).values() for name in names]
    return {
        (arrival.key, arrival.version_id) for arrivals in read_queued(service, names).values() for arrival in arrivals
    }


def _receive(service: Service, files: Iterable[FileVersion]) -> list[Failure]:
    arrivals = [Arrival.of(file) for file in files]
    return receive(service, arrivals, are_late=True) if arrivals else []


def _raise_first(failures: list[Failure]) -> None:
    if failures:
        raise failures[0].error
