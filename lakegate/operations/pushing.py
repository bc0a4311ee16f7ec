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
        pushed = push_contracts(service.store, bodies, service.landing_prefixes)
    except Refused as error:
        what = "Nothing was pushed: one of the two must change; if both do, push them in one command"
        raise Refused(f"{error}\n{what}") from error
    try:
        taken = _take_up(service, pushed, sweep)
    except LakegateError as error:
        raise _left_unrouted("unrouted files may not be taken up", str(error)) from error
    if taken.failed and taken.left:
        raise _left_unrouted(f"{count(len(taken.left), 'unrouted file', 'was', 'were')} not taken up", taken.failed)
    return _with_hindsight(service, pushed, taken)


def _with_hindsight(service: Service, pushed: Sequence[Contract], taken: TakenUp) -> TakenUp:
    """Look back by each contract. The push is done by then, so an error only leaves the answer out."""
    try:
        found = [hindsight(service, contract) for contract in pushed]
        return replace(taken, before=tuple(each for each in found if each.files or each.unread))
    except LakegateError as error:
        return replace(taken, unseen=str(error))


def _left_unrouted(what: str, why: str) -> Retryable:
    return Retryable(f"the contracts are pushed, but {what}: {why}. Run: lakegate reconcile")


def _take_up(service: Service, pushed: Sequence[Contract], sweep: Callable[[], None]) -> TakenUp:
    """Run a sweep to take up the unrouted files that the contracts route, and check which are left: a sweep takes up a
    limited number, and any of its steps may fail.
    """
    waiting = _unrouted_for(service, pushed)
    if not waiting:
        return TakenUp()
    failed = _swept(sweep)
    left = {file.id: file.key for file in _unrouted_for(service, pushed)}
    files = tuple(file.key for file in waiting if file.id not in left)
    return TakenUp(files=files, left=tuple(left.values()), failed=failed)


def _swept(sweep: Callable[[], None]) -> str:
    """Run a sweep and return its error, if it failed."""
    try:
        sweep()
    except LakegateError as error:
        return str(error)
    return ""


def _unrouted_for(service: Service, pushed: Sequence[Contract]) -> list[FileVersion]:
    """Return the unrouted files that the pushed contracts route now."""
    registry = Registry.read(service.store)
    tables = {contract.table for contract in pushed}
    routed = [(unrouted.file, registry.route(unrouted.file.key)) for unrouted in still_unrouted(service)]
    return [file for file, contract in routed if contract and contract.table in tables]
