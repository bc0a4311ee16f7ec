"""Pushing contracts, and taking up the unrouted files that they route."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lakegate.contracts import Contract
from lakegate.counts import count
from lakegate.errors import LakegateError, Refused, Retryable
from lakegate.landing.files import FileVersion
from lakegate.operations.hindsight import Hindsight, hindsight
from lakegate.workflow.backlog import still_unrouted
from lakegate.workflow.registry import Registry
from lakegate.workflow.registry import push as push_contracts
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class ContractFile:
    """A contract's text and the name of its file, for messages."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class TakenUp:
    """Keys of unrouted files that the sweep after a push has taken up, and of those that it left. `failed` is the error
    of one of its steps, which may concern something else. `before` is what files of the last thirty days would have met
    by the pushed contracts, of tables that had any; where `unseen` is an error, that could not be read.
    """

    files: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    failed: str = ""
    before: tuple[Hindsight, ...] = ()
    unseen: str = ""


def push(service: Service, files: Sequence[ContractFile], sweep: Callable[[], None]) -> TakenUp:
    """Push all contracts, or none; then take up unrouted files that they route, and look back."""
    try:
        bodies = [(file.name, file.text.encode()) for file in files]
        contracts = push_contracts(service.store, bodies, service.landing_prefixes)
    except Refused as error:
        hint = "Nothing was pushed: one of the two must change; if both do, push them in one command"
        raise Refused(f"{error}\n{hint}") from error
    try:
        take_up = _take_up(service, contracts, sweep)
    except LakegateError as error:
        raise _left_unrouted("unrouted files may not be taken up", str(error)) from error
    if take_up.failed and take_up.left:
        raise _left_unrouted(f"{count(len(take_up.left), 'unrouted file', 'was', 'were')} not taken up", take_up.failed)
    return _with_hindsight(service, contracts, take_up)


def _with_hindsight(service: Service, contracts: Sequence[Contract], take_up: TakenUp) -> TakenUp:
    """Look back by each contract. The push is done by then, so an error only leaves the answer out."""
    try:
        hindsights = [hindsight(service, contract) for contract in contracts]
        return replace(
            take_up,
            before=tuple(one_hindsight for one_hindsight in hindsights if one_hindsight.files or one_hindsight.unread),
        )
    except LakegateError as error:
        return replace(take_up, unseen=str(error))


def _left_unrouted(problem: str, reason: str) -> Retryable:
    return Retryable(f"the contracts are pushed, but {problem}: {reason}. Run: lakegate reconcile")


def _take_up(service: Service, contracts: Sequence[Contract], sweep: Callable[[], None]) -> TakenUp:
    """Run a sweep to take up the unrouted files that the contracts route, and check which are left: a sweep takes up a
    limited number, and any of its steps may fail.
    """
    unrouted = _unrouted_for(service, contracts)
    if not unrouted:
        return TakenUp()
    failure = _swept(sweep)
    rest = {file.id: file.key for file in _unrouted_for(service, contracts)}
    files = tuple(file.key for file in unrouted if file.id not in rest)
    return TakenUp(files=files, left=tuple(rest.values()), failed=failure)


def _swept(sweep: Callable[[], None]) -> str:
    """Run a sweep and return its error, if it failed."""
    try:
        sweep()
    except LakegateError as error:
        return str(error)
    return ""


def _unrouted_for(service: Service, contracts: Sequence[Contract]) -> list[FileVersion]:
    """Return the unrouted files that the pushed contracts route now."""
    registry = Registry.read(service.store)
    tables = {contract.table for contract in contracts}
    routes = [(unrouted.file, registry.route(unrouted.file.key)) for unrouted in still_unrouted(service)]
    return [file for file, contract in routes if contract and contract.table in tables]
