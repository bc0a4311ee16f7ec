"""The registry: the contracts pushed to this installation, and which of them routes a key. It does not judge what it
cannot load.

Somebody may have put a contract there without `push`. One that cannot be read, fails in whatever way, lies under
another table's name or routes another's keys stands in nobody else's way: an unrouted file's reason names it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import structlog

from lakegate.contracts import Contract, load, overlaps
from lakegate.errors import ContractFaults, Fault, Misconfigured, Refused
from lakegate.ports import Store

log = structlog.get_logger()
PREFIX = "contracts/"
NAMED = 3  # contracts that do not load, in the reason of an unrouted file


def contract_name(table: str) -> str:
    return f"{PREFIX}{table}.yaml"


@dataclass(frozen=True, kw_only=True)
class Registry:
    """All pushed contracts: those that load, and for those that don't, why. `unread` is why some could not be read, so
    that nobody knows what they route.
    """

    contracts: tuple[Contract, ...]
    broken: tuple[ContractFaults, ...] = ()
    unread: tuple[Exception, ...] = ()

    @classmethod
    def read(cls, store: Store) -> "Registry":
        loaded = [_found(store, name) for name in store.names(PREFIX)]
        return cls(
            contracts=tuple(item for item in loaded if isinstance(item, Contract)),
            broken=tuple(item for item in loaded if isinstance(item, ContractFaults)),
            unread=tuple(item.error for item in loaded if isinstance(item, Unread)),
        )

    def route(self, key: str) -> Contract | None:
        """The contract whose route matches the key. Of several, which no push lets in, the one with the longest part
        before its first wildcard; None where two are as long: nobody knows whose the key is.
        """
        routing = self._routing(key)
        return routing[0] if len(routing) == 1 else None

    def _routing(self, key: str) -> list[Contract]:
        """The contracts that match the key most closely: a `**` that somebody left in the store takes nobody's keys."""
        matching = [contract for contract in self.contracts if contract.route.matches(key)]
        closest = max((len(contract.route.prefix) for contract in matching), default=0)
        return [contract for contract in matching if len(contract.route.prefix) == closest]

    def why_unrouted(self, key: str) -> str:
        """Return why a key is unrouted: no contract routes it, or more than one does."""
        routing = [f"{it.table} by {it.route.pattern}" for it in self._routing(key)]
        if routing:
            return f"several contracts route {key!r}: {', '.join(routing)}; push one of them with another route"
        unloadable = [f"{faults.source} does not load: {faults.faults[0]}" for faults in self.broken]
        rest = len(unloadable) - NAMED
        more = [f"{rest:,} more {'does' if rest == 1 else 'do'} not load"] if rest > 0 else []
        return "; ".join([f"no contract routes {key!r}", *unloadable[:NAMED], *more])


def contract_of(store: Store, table: str) -> Contract:
    """The table's contract. Raises Misconfigured where none is pushed or it doesn't load."""
    name = contract_name(table)
    body = store.read(name)
    if body is None:
        raise Misconfigured(f"table {table} has no contract; run: lakegate contract push CONTRACT")
    found = _loaded(name, body)
    if isinstance(found, ContractFaults):
        raise ContractFaults(found.source, found.faults)  # what is raised holds on to all who met it, and is not kept
    return found


@dataclass(frozen=True, kw_only=True)
class Unread:
    """A contract that is there, and why it could not be read."""

    error: Exception


def _found(store: Store, name: str) -> Contract | ContractFaults | Unread | None:
    """The contract in the store under this name, or why there is none; None where it was taken away meanwhile."""
    try:
        body = store.read(name)
    except Exception as error:  # noqa: BLE001 (one contract that can't be read would keep all tables from their files)
        log.warning("contract_not_read", contract=name, error=str(error), kind=type(error).__name__)
        return Unread(error=error)
    return None if body is None else _loaded(name, body)


def _loaded(name: str, body: bytes) -> Contract | ContractFaults:
    """It fails as its own faults, in whatever way it fails: loading depends on the contract alone."""
    try:
        return _load(name, body)
    except Exception as error:  # noqa: BLE001 (one contract would keep all tables from their files)
        log.warning("contract_not_loaded", contract=name, error=str(error), kind=type(error).__name__)
        said = f"lakegate fails at it ({type(error).__name__}: {error})"
        return ContractFaults(name, [Fault(line=1, message=said)])


@lru_cache(maxsize=512)
def _load(name: str, body: bytes) -> Contract | ContractFaults:
    try:
        contract = load(body, name)
    except ContractFaults as faults:
        return faults.with_traceback(None)
    if name == contract_name(contract.table):
        return contract
    wrong = f"it is of {contract.table}, and stands under another's name; run: lakegate contract push CONTRACT"
    return ContractFaults(name, [Fault(line=1, message=wrong)])


def push(store: Store, bodies: Iterable[tuple[str, bytes]]) -> list[Contract]:
    """Check these contracts together with those pushed before, then store them: all, or none, with what is wrong of
    them (Refused).
    """
    pushed, faults = [], []
    for source, body in bodies:
        try:
            pushed.append((load(body, source), body))
        except ContractFaults as error:
            faults.append(error)
    if faults:
        raise Refused("\n".join(str(fault) for fault in faults))
    _refuse_overlaps(Registry.read(store), [contract for contract, _ in pushed])
    for contract, body in pushed:
        store.write(contract_name(contract.table), body)
    return [contract for contract, _ in pushed]


def _refuse_overlaps(registry: Registry, pushed: list[Contract]) -> None:
    """Those in the registry that overlap each other keep nobody from pushing another."""
    tables = {contract.table for contract in pushed}
    others = [contract for contract in registry.contracts if contract.table not in tables]
    wrong = overlaps(pushed) + [clash for one in pushed for it in others for clash in overlaps([one, it])]
    if wrong:
        raise Refused("\n".join(wrong))
