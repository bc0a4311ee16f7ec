"""Acts: operations that change something. Each asks first what is done already, so that it may be repeated."""

from dataclasses import dataclass
from types import NoneType

from lakegate.operations import pushing
from lakegate.operations.operation import Direct, Operation
from lakegate.operations.pushing import ContractFile, TakenUp
from lakegate.operations.questions import makes_branch
from lakegate.operations.registry import delete_contract
from lakegate.workflow.approve import Approval, approve
from lakegate.workflow.retry import RetryResult, discard, retry


@dataclass(frozen=True, kw_only=True)
class PushContracts(Operation[TakenUp]):
    """Push all of these contracts, or none, and take up unrouted files that they route."""

    answer = TakenUp
    changes = True
    contracts: tuple[ContractFile, ...]

    def on(self, installation: Direct) -> TakenUp:
        return pushing.push(installation.service, self.contracts, installation.sweep)


@dataclass(frozen=True, kw_only=True)
class DeleteContract(Operation[None]):
    """Delete a table's contract, if no file of it is in flight."""

    answer = NoneType
    changes = True
    table: str

    def on(self, installation: Direct) -> None:
        delete_contract(installation.service, self.table)


@dataclass(frozen=True, kw_only=True)
class Retry(Operation[RetryResult]):
    """Try a batch's rejected files again, or those with these landing keys."""

    answer = RetryResult
    changes = True
    batch: str
    files: tuple[str, ...] = ()

    def on(self, installation: Direct) -> RetryResult:
        return retry(installation.service, self.batch, self.files)


@dataclass(frozen=True, kw_only=True)
class Approve(Operation[Approval]):
    """Publish a batch's rejected files as they were audited, or those with these landing keys."""

    answer = Approval
    changes = True
    batch: str
    why: str
    files: tuple[str, ...] = ()

    def on(self, installation: Direct) -> Approval:
        return approve(installation.service, self.batch, self.why, installation.by, self.files)


@dataclass(frozen=True, kw_only=True)
class Discard(Operation[int]):
    """Give up a batch's rejected files, or those with these landing keys. The answer is their number."""

    answer = int
    changes = True
    batch: str
    why: str
    files: tuple[str, ...] = ()

    def on(self, installation: Direct) -> int:
        return discard(installation.service, self.batch, self.why, installation.by, self.files)


@dataclass(frozen=True, kw_only=True)
class Reconcile(Operation[None]):
    """Run the scheduled sweep now."""

    answer = NoneType
    changes = True

    def on(self, installation: Direct) -> None:
        installation.sweep()


@dataclass(frozen=True, kw_only=True)
class TryRulesOfActs(Operation[bool]):
    """Try the same as `TryRules` by the function that carries acts out, with a branch that is not lakegate's."""

    answer = bool
    changes = True
    tries: bool

    def on(self, installation: Direct) -> bool:
        service = installation.service
        return makes_branch(service.branches, f"doctor-{service.clock.nonce()}", tries=self.tries)


ACTS: tuple[type[Operation[object]], ...] = (
    PushContracts,
    DeleteContract,
    Retry,
    Approve,
    Discard,
    Reconcile,
    TryRulesOfActs,
)
