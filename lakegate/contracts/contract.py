"""A contract: its table, its landing keys and its plan.

It does not read ODCS: its neighbours do, and they are imported at the first load.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lakegate.audit.model.plan import Plan
from lakegate.errors import ContractFaults
from lakegate.landing.ingestion import Ingestion, Notice
from lakegate.landing.routes import Route

BRANCH_DAYS, MOST_DAYS = 30, 36_500  # the calendar ends if more are added to a day


@dataclass(frozen=True, kw_only=True)
class Contract:
    """One table's data contract, compiled."""

    id: str
    version: str
    route: Route
    plan: Plan
    branch_days: int = BRANCH_DAYS  # for which the branch of a rejected batch is kept
    ingestion: Ingestion = field(default_factory=Ingestion)
    notify: frozenset[Notice] = frozenset()  # messages that people get on request

    @property
    def table(self) -> str:
        return self.plan.table


def load(text: bytes | str, source: str) -> Contract:
    """Return the contract that `text` says. Raise ContractFaults with every fault in it, by line."""
    # YAML, JSON schema and SQL take half a second to import, which a function that loads no contract should not pay.
    from lakegate.contracts.reading import read  # noqa: PLC0415

    contract, faults = read(text)
    if contract is None or faults:
        raise ContractFaults(source, faults)
    return contract


def overlaps(contracts: Sequence[Contract]) -> list[str]:
    """Return what is wrong with having these contracts at once: two for one table, or a key that two routes would
    match.
    """
    pairs = [(first, other) for at, first in enumerate(contracts) for other in contracts[at + 1 :]]
    return [message for first, other in pairs if (message := _clash(first, other))]


def _clash(first: Contract, other: Contract) -> str:
    if first.table == other.table:
        return f"two contracts for the table {first.table}: {first.id} and {other.id}"
    if first.route.overlaps(other.route):
        return f"the route {first.route.pattern} of {first.table} overlaps {other.route.pattern} of {other.table}"
    return ""
