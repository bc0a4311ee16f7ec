"""Status: what is in flight, unrouted, rejected and published, read from branches, notes and main's log.

It changes nothing. The files that no attempt works on are shown as the last sweep saw them, unless the bucket is small:
listing a large one takes minutes, and no status does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lakegate.contracts import Contract
from lakegate.errors import ContractFaults, Fault, LakegateError, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import State, state_of
from lakegate.ports import Branch
from lakegate.workflow.attempts.claims import list_open_branches
from lakegate.workflow.attempts.usage import usages_of
from lakegate.workflow.backlog import LandedFiles, seen_unclaimed, still_unrouted
from lakegate.workflow.overview.flights import flights, with_waits
from lakegate.workflow.overview.line import Line, line_of_file, newest_first
from lakegate.workflow.overview.log import decided_lines
from lakegate.workflow.receiving.company import Company, likely_lane
from lakegate.workflow.receiving.queued import names_by_table, waiting_batch
from lakegate.workflow.receiving.shares import JobsUnderWay, why_queued
from lakegate.workflow.receiving.slots import jobs_under_way
from lakegate.workflow.registry import Registry, table_of
from lakegate.workflow.service import Service

DECISIONS = 1000  # as far back as main's log is read
_WaitText = tuple[str, datetime | None]  # what files wait for, and until when at the latest
_NO_WAIT: _WaitText = ("", None)


@dataclass(frozen=True, kw_only=True)
class BrokenContract:
    """A contract that was pushed and does not load, because it has so many `faults`: files of its table stay unrouted
    until a mended one is pushed.
    """

    table: str
    first: Fault
    faults: int

    @classmethod
    def of(cls, contract_faults: ContractFaults) -> "BrokenContract":
        return cls(
            table=table_of(contract_faults.source), first=contract_faults.faults[0], faults=len(contract_faults.faults)
        )


@dataclass(frozen=True, kw_only=True)
class Status:
    """Lists that `lakegate status` shows, newest first. A rejected file is in `superseded` once its key's other
    versions decide it.

    If main's log goes back further than it was read, `of_last` is the number of decisions that were read, and `older`
    are the batches that were rejected before and are still kept. If the bucket is too large to list, the files that
    landed are as they were `seen_at`. `broken_contracts` is read if there are files that no attempt works on.
    """

    in_flight: tuple[Line, ...]
    unrouted: tuple[Line, ...]
    rejected: tuple[Line, ...]
    published: tuple[Line, ...]
    discarded: tuple[Line, ...] = ()
    superseded: tuple[Line, ...] = ()
    of_last: int | None = None
    older: tuple[str, ...] = ()
    seen_at: datetime | None = None
    broken_contracts: tuple[BrokenContract, ...] = ()


def status(service: Service, settled_branches: set[Branch] | None = None, limit: int | None = None) -> Status:
    """Return the state of this installation, with at most `limit` decisions. `settled_branches` are branches on which
    an earlier call found all files decided: this one does not look at them, and adds those that it finds.
    """
    settled_branches, limit = set() if settled_branches is None else settled_branches, limit or DECISIONS
    landed_files = seen_unclaimed(
        service
    )  # first, so that no file is between two lists: it goes from this one to the others
    attempts = list_open_branches(service.branches)
    open_lines = flights(service, attempts, settled_branches)
    backlog = _backlog_of(service, open_lines, landed_files)
    queued = backlog.queued
    last = list(service.ledger.decisions(limit))
    is_cut = len(last) >= limit
    decision_lines = decided_lines(service, last, {branch.name for branch in attempts})
    decision_versions = {version for line in decision_lines for version in line.versions}
    queued = [line for line in queued if decision_versions.isdisjoint(line.versions)]
    batches_of_branches = {attempt.batch for branch, attempt in attempts.items() if branch in settled_branches}
    older = batches_of_branches - {
        line.batch for line in decision_lines if line.state in {State.REJECTED, State.SUPERSEDED}
    }
    return Status(
        in_flight=with_waits(service, newest_first([*open_lines, *queued])),
        unrouted=newest_first(backlog.unrouted),
        rejected=_lines_in_state(State.REJECTED, decision_lines),
        published=_lines_in_state(State.PUBLISHED, decision_lines),
        discarded=_lines_in_state(State.DISCARDED, decision_lines),
        superseded=_lines_in_state(State.SUPERSEDED, decision_lines),
        of_last=limit if is_cut else None,
        older=tuple(sorted(older)) if is_cut else (),
        seen_at=landed_files.at,
        broken_contracts=backlog.broken_contracts,
    )


def with_usage(service: Service, now: Status) -> Status:
    """Return the same status with what each attempt's job run took. It costs a request for each attempt, so whoever
    asks again and again does without.
    """
    lists = (now.in_flight, now.rejected, now.published, now.discarded, now.superseded)
    usages = usages_of(service.store, {_attempt(line) for lines in lists for line in lines if line.attempt})
    in_flight, rejected, published, discarded, superseded = (
        tuple(replace(line, usage=usages.get(_attempt(line))) for line in lines) for lines in lists
    )
    return replace(
        now,
        in_flight=in_flight,
        rejected=rejected,
        published=published,
        discarded=discarded,
        superseded=superseded,
    )


def _attempt(line: Line) -> Attempt:
    return Attempt(table=line.table, batch=line.batch, number=line.attempt)


@dataclass(frozen=True, kw_only=True)
class _Backlog:
    """Lines of queued and blocked files, those of unrouted ones, and the contracts that cannot route any."""

    queued: list[Line]
    unrouted: list[Line]
    broken_contracts: tuple[BrokenContract, ...]


def _backlog_of(service: Service, open_lines: Sequence[Line], landed_files: LandedFiles) -> _Backlog:
    """Return the files that landed and that no attempt works on, without those in `open_lines`. An unrouted file that a
    contract routes by now is queued: the next sweep takes it up.
    """
    claimed_versions = {version for line in open_lines for version in line.versions}
    in_progress = {(line.table, key) for line in open_lines for key in line.files}
    files = [file for file in landed_files.files if file.version_id not in claimed_versions]
    unrouted_notes = still_unrouted(service)
    registry = Registry.read(service.store) if files or unrouted_notes else Registry(contracts=())
    routes = {file: registry.route(file.key) for file in (*files, *(unrouted.file for unrouted in unrouted_notes))}
    unrouted = [unrouted for unrouted in unrouted_notes if not routes[unrouted.file]]
    files += [unrouted.file for unrouted in unrouted_notes if routes[unrouted.file]]
    tables = {file: contract.table if (contract := routes[file]) else "" for file in files}
    states = {file: state_of(None, blocked=(tables[file], file.key) in in_progress) for file in files}
    waits = _why_queued(service, [(routes[file], file) for file in files if states[file] is State.QUEUED])
    queued = [
        line_of_file(
            file, table, states[file], waits=waits.get(table, _NO_WAIT) if states[file] is State.QUEUED else _NO_WAIT
        )
        for file, table in tables.items()
    ]
    return _Backlog(
        queued=queued,
        unrouted=[line_of_file(unrouted.file, "", State.UNROUTED, (unrouted.reason,)) for unrouted in unrouted],
        broken_contracts=tuple(map(BrokenContract.of, registry.broken_contracts)),
    )


def _why_queued(service: Service, files: Iterable[tuple[Contract | None, FileVersion]]) -> Mapping[str, _WaitText]:
    """Return what the queued files wait for, by table; nothing where an event or a sweep is about to take them up."""
    by_table: dict[str, tuple[Contract, list[FileVersion]]] = {}
    for contract, file in files:
        if contract:
            by_table.setdefault(contract.table, (contract, []))[1].append(file)
    try:
        names = names_by_table(service) if by_table else {}
        jobs = jobs_under_way(service, by_table) if by_table else JobsUnderWay()
    except Retryable:
        raise
    except LakegateError as error:  # nothing else is hidden by it
        return dict.fromkeys(by_table, (str(error), None))
    company, has_express = Company(now=service.clock.now(), window=service.batch_window), service.express is not None
    waits = dict[str, _WaitText]()
    for table, (contract, own_files) in by_table.items():
        lane = likely_lane(contract, service.express, own_files)
        first = replace(waiting_batch(names.get(table, ()), has_express=has_express), lane=lane)
        waits[table] = why_queued(service.slots, jobs, company, table, first)
    return waits


def _lines_in_state(state: State, lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.state == state)
