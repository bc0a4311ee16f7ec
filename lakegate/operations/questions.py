"""Questions: operations that change nothing and may be asked again."""

from dataclasses import dataclass, replace
from typing import Self, TypeVar

from lakegate.audit.evaluation.mask import Mask
from lakegate.audit.model.plan import Plan
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import PREFIX, Attempt
from lakegate.landing.routes import Route
from lakegate.operations import batch, sights, tables
from lakegate.operations.batch import BatchView
from lakegate.operations.masks import mask_of
from lakegate.operations.operation import Direct, Operation
from lakegate.operations.past import past_values
from lakegate.operations.query import Query
from lakegate.operations.registry import ContractText, PushedContract, contract_text, pushed_contracts
from lakegate.operations.sights import Sight, Sights, Version, versions_of
from lakegate.operations.tables import TableView
from lakegate.ports import MAIN, Branch, Branches, LogEntry
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.backlog import unclaimed_files
from lakegate.workflow.ledger.rejected import rejected_files
from lakegate.workflow.overview.log import with_superseded
from lakegate.workflow.registry import Registry, contract_of
from lakegate.workflow.retry import in_progress
from lakegate.workflow.status import DECISIONS, Status, status, with_usage

T = TypeVar("T")
PAGE = 50
"""So many decisions are a page of main's log, and a table's past."""


@dataclass(frozen=True, kw_only=True)
class ShowStatus(Operation[Status]):
    """The state of the installation, with at `most` so many decisions."""

    answer = Status
    changes = False
    most: int | None = None

    def on(self, installation: Direct) -> Status:
        return with_usage(installation.service, status(installation.service, limit=self.most))

    def shorter(self) -> "ShowStatus | None":
        limit = (self.most or DECISIONS) // 4
        return replace(self, most=limit) if limit else None


@dataclass(frozen=True, kw_only=True)
class ShowBatch(Operation[BatchView]):
    """One batch in full, if asked with the `past` of its checks' numbers."""

    answer = BatchView
    changes = False
    batch: str
    past: bool = False

    def on(self, installation: Direct) -> BatchView:
        view = batch.view_batch(installation.service, self.batch)
        return replace(view, past=past_values(installation.service, view)) if self.past else view


@dataclass(frozen=True, kw_only=True)
class RejectedFile:
    """A rejected file of a batch, by its landing key, with the reasons."""

    key: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ListRejected(Operation[tuple[RejectedFile, ...]]):
    """The rejected files of a batch that a person may decide now: no attempt works on them."""

    answer = tuple[RejectedFile, ...]
    changes = False
    batch: str

    def on(self, installation: Direct) -> tuple[RejectedFile, ...]:
        rejections = rejected_files(installation.service, self.batch)
        rejections = rejections.without_keys(in_progress(installation.service, rejections))
        return tuple(RejectedFile(key=file.key, reasons=entry.reasons) for file, entry in rejections.files)


@dataclass(frozen=True, kw_only=True)
class _Decisions(Operation[T]):
    """A question about at `most` so many decisions."""

    most: int = PAGE

    def shorter(self) -> Self | None:
        fewer = self.most // 4
        return replace(self, most=fewer) if fewer else None


@dataclass(frozen=True, kw_only=True)
class ShowTable(_Decisions[TableView]):
    """A table's last decisions, at `most` so many, and what the audits measured that they rest on."""

    answer = TableView
    changes = False
    table: str

    def on(self, installation: Direct) -> TableView:
        return tables.view_table(installation.service, self.table, self.most)


@dataclass(frozen=True, kw_only=True)
class ListDecisions(_Decisions[tuple[LogEntry, ...]]):
    """A page of main's log: at `most` so many decisions, of all tables or of one, `before` a commit if one is named."""

    answer = tuple[LogEntry, ...]
    changes = False
    table: str | None = None
    before: str = ""

    def on(self, installation: Direct) -> tuple[LogEntry, ...]:
        service = installation.service
        return with_superseded(service, service.ledger.decisions(self.most, table=self.table, before=self.before))


@dataclass(frozen=True, kw_only=True)
class ShowPlan(Operation[Plan | None]):
    """The plan that an attempt was audited by, or None once its job is gone."""

    answer = Plan | None
    changes = False
    attempt: Attempt

    def on(self, installation: Direct) -> Plan | None:
        job = job_of(installation.service.store, self.attempt)
        return job.plan if job else None


@dataclass(frozen=True, kw_only=True)
class ShowMask(Operation[Mask]):
    """The columns of a table whose values are masked, and those that are not, on main or on an attempt's branch."""

    answer = Mask
    changes = False
    table: str
    attempt: Attempt | None = None

    def on(self, installation: Direct) -> Mask:
        return mask_of(installation.service.store, self.table, self.attempt)


@dataclass(frozen=True, kw_only=True)
class ListRoutes(Operation[tuple[Route, ...]]):
    """The routes of all contracts that load, or the one of the table's contract."""

    answer = tuple[Route, ...]
    changes = False
    table: str | None = None

    def on(self, installation: Direct) -> tuple[Route, ...]:
        store = installation.service.store
        contracts = (contract_of(store, self.table),) if self.table else Registry.read(store).contracts
        return tuple(contract.route for contract in contracts)


@dataclass(frozen=True, kw_only=True)
class ListContracts(Operation[tuple[PushedContract, ...]]):
    """All contracts that were pushed, also those that do not load."""

    answer = tuple[PushedContract, ...]
    changes = False

    def on(self, installation: Direct) -> tuple[PushedContract, ...]:
        return pushed_contracts(installation.service.store)


@dataclass(frozen=True, kw_only=True)
class ShowContract(Operation[ContractText]):
    """A table's contract as it was pushed, with its files that are in flight or rejected."""

    answer = ContractText
    changes = False
    table: str

    def on(self, installation: Direct) -> ContractText:
        return contract_text(installation.service, self.table)


@dataclass(frozen=True, kw_only=True)
class ListUnclaimed(Operation[tuple[Version, ...]]):
    """All file versions that landed and are neither decided, unrouted nor claimed. It lists the landing bucket."""

    answer = tuple[Version, ...]
    changes = False

    def on(self, installation: Direct) -> tuple[Version, ...]:
        return tuple((file.key, file.version_id) for file in unclaimed_files(installation.service))


@dataclass(frozen=True, kw_only=True)
class FindVersions(Operation[tuple[Version, ...]]):
    """The file versions of batch ids and landing keys."""

    answer = tuple[Version, ...]
    changes = False
    targets: tuple[str, ...]

    def on(self, installation: Direct) -> tuple[Version, ...]:
        now = status(installation.service)
        return tuple(pair for target in self.targets for pair in versions_of(installation.service, now, target))


@dataclass(frozen=True, kw_only=True)
class Follow(Operation[Sights]):
    """One look at file versions that a person waits for; see `sights.look`."""

    answer = Sights
    changes = False
    moving: tuple[Sight, ...]
    ended: tuple[Version, ...] = ()
    settled: tuple[Branch, ...] = ()
    all_moving: bool = False

    def on(self, installation: Direct) -> Sights:
        service = installation.service
        return sights.view_sights(service, self.moving, self.ended, self.settled, all_moving=self.all_moving)


@dataclass(frozen=True, kw_only=True)
class TryRules(Operation[bool]):
    """Try whether the function that answers questions may make a branch in the catalog, which rules forbid to its role.
    Unless it `tries`, it asks for main alone. The answer is True if a branch was made; it is deleted at once.
    """

    answer = bool
    changes = False
    tries: bool

    def on(self, installation: Direct) -> bool:
        service = installation.service
        return makes_branch(service.branches, f"{PREFIX}doctor-{service.clock.nonce()}", tries=self.tries)


def makes_branch(branches: Branches, name: str, *, tries: bool) -> bool:
    """Return True if this identity can make a branch of this name. Raise Misconfigured if it may not even see main."""
    main = branches.head(MAIN)
    if main is None:
        raise Misconfigured(f"the catalog has no branch {MAIN}")
    if not tries:
        return False
    try:
        branches.create_branch(name, main)
    except Misconfigured:
        return False
    branches.delete_branch(name, main)
    return True


QUESTIONS: tuple[type[Operation[object]], ...] = (
    ShowStatus,
    ShowBatch,
    ListRejected,
    ShowTable,
    ListDecisions,
    ShowPlan,
    ShowMask,
    ListRoutes,
    ListContracts,
    ShowContract,
    ListUnclaimed,
    FindVersions,
    Follow,
    Query,
    TryRules,
)
