"""The shelf: the contracts pushed to this installation, and which of them routes a key. It does not judge what it
cannot load.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from lakegate.contracts import Contract, load, overlaps
from lakegate.errors import ContractFaults, Misconfigured, Refused
from lakegate.ports import Store

PREFIX = "contracts/"


def contract_name(table: str) -> str:
    return f"{PREFIX}{table}.yaml"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """All pushed contracts: those that load, and for those that don't, why."""

    contracts: tuple[Contract, ...]
    broken: tuple[ContractFaults, ...] = ()

    @classmethod
    def read(cls, store: Store) -> "Shelf":
        loaded = [_load(name, body) for name in store.names(PREFIX) if (body := store.read(name)) is not None]
        return cls(
            contracts=tuple(item for item in loaded if isinstance(item, Contract)),
            broken=tuple(item for item in loaded if isinstance(item, ContractFaults)),
        )

    def route(self, key: str) -> Contract | None:
        """The contract whose route matches the key."""
        return next((contract for contract in self.contracts if contract.route.matches(key)), None)

    def why_held(self, key: str) -> str:
        """Why a key that no contract routes is held."""
        unloadable = "".join(f"; {faults.source} does not load: {faults.faults[0]}" for faults in self.broken)
        return f"no contract routes {key!r}{unloadable}"


def contract_of(store: Store, table: str) -> Contract:
    """The table's contract. Raises Misconfigured where none is pushed or it doesn't load."""
    name = contract_name(table)
    body = store.read(name)
    if body is None:
        raise Misconfigured(f"table {table} has no contract; run: lakegate contract push CONTRACT")
    found = _load(name, body)
    if isinstance(found, ContractFaults):
        raise ContractFaults(found.source, found.faults)  # what is raised holds on to all who met it, and is not kept
    return found


@lru_cache(maxsize=512)
def _load(name: str, body: bytes) -> Contract | ContractFaults:
    try:
        return load(body, name)
    except ContractFaults as faults:
        return faults.with_traceback(None)


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
    _refuse_overlaps(Shelf.read(store), [contract for contract, _ in pushed])
    for contract, body in pushed:
        store.write(contract_name(contract.table), body)
    return [contract for contract, _ in pushed]


def _refuse_overlaps(shelf: Shelf, pushed: list[Contract]) -> None:
    tables = {contract.table for contract in pushed}
    wrong = overlaps([*pushed, *(contract for contract in shelf.contracts if contract.table not in tables)])
    if wrong:
        raise Refused("\n".join(wrong))
