"""Registry: the contracts that were pushed, and the one that routes a key.

A person may write a contract to the store without `push`. One that cannot be read, fails in any way, has another
table's name or takes other contracts' keys keeps no other table from its files. An unrouted file's reason names it.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import structlog

from lakegate.audit.schema.names import fold
from lakegate.contracts import Contract, load, overlaps
from lakegate.errors import ContractFaults, Fault, Misconfigured, Refused
from lakegate.landing.routes import Route
from lakegate.ports import Store

log = structlog.get_logger()
PREFIX = "contracts/"
NEIGHBOURS, COLUMNS = 50, 60  # tables that a job is told of, and the most columns of one
MOST_NAMES = 3  # contracts that do not load, in the reason of an unrouted file
MOST_BYTES = 8 * 1024**2  # of all contracts: a process that begins reads each, and takes seconds for a megabyte
MOST_CONTRACTS = 1_000
SHORTER = (
    "take out what is not needed (descriptions, checks of a wide table), or have the contracts of tables that get no"
    " more files deleted from the service's bucket"
)


def contract_name(table: str) -> str:
    return f"{PREFIX}{table}.yaml"


def table_of(name: str) -> str:
    """Return the table that a contract in the store is named for."""
    return name.removeprefix(PREFIX).removesuffix(".yaml")


@dataclass(frozen=True, kw_only=True)
class Registry:
    """All pushed contracts: those that load, and the faults of those that do not. `unread` are the errors of contracts
    that could not be read now, so that their routes are unknown.
    """

    contracts: tuple[Contract, ...]
    broken_contracts: tuple[ContractFaults, ...] = ()
    unread: tuple[Exception, ...] = ()

    @classmethod
    def read(cls, store: Store) -> "Registry":
        names = sorted(store.names(PREFIX))
        bodies = {name: _body(store, name) for name in names[:MOST_CONTRACTS]}
        fitting_names = _fitting_names(_sizes(bodies))
        items = [_of_body(name, body, fitting_names) for name, body in bodies.items()] + [
            *map(_left_out, names[MOST_CONTRACTS:])
        ]
        return cls(
            contracts=tuple(item for item in items if isinstance(item, Contract)),
            broken_contracts=tuple(item for item in items if isinstance(item, ContractFaults)),
            unread=tuple(item.error for item in items if isinstance(item, Unread)),
        )

    def neighbours(self, table: str) -> dict[str, tuple[str, ...]]:
        """Return the columns of other tables by name: of the first ones, and of none that has very many."""
        columns = {
            contract.table: tuple(column.name for column in contract.plan.columns)
            for contract in self.contracts
            if contract.table != table
        }
        small_tables = {name: names for name, names in columns.items() if len(names) <= COLUMNS}
        return dict(list(small_tables.items())[:NEIGHBOURS])

    def route(self, key: str) -> Contract | None:
        """Return the contract whose route matches the key, or None. Of several, which no push lets in, return the one
        with the longest part before its first wildcard; None if two are as long, because the key may be either's.
        """
        routing = self._routing(key)
        return routing[0] if len(routing) == 1 else None

    def _routing(self, key: str) -> list[Contract]:
        """Return the contracts that match the key most closely, so that a `**` in the store takes no other's keys."""
        matches = [contract for contract in self.contracts if contract.route.matches(key)]
        closest = max((len(contract.route.prefix) for contract in matches), default=0)
        return [contract for contract in matches if len(contract.route.prefix) == closest]

    def why_unrouted(self, key: str) -> str:
        """Return the reason why no contract, or more than one, routes the key."""
        routing = [f"{contract.table} by {contract.route.pattern}" for contract in self._routing(key)]
        if routing:
            return f"several contracts route {key!r}: {', '.join(routing)}; push one of them with another route"
        unloadable = [f"{faults.source} does not load: {faults.faults[0]}" for faults in self.broken_contracts]
        rest = len(unloadable) - MOST_NAMES
        remark = [f"{rest:,} more {'does' if rest == 1 else 'do'} not load"] if rest > 0 else []
        return "; ".join([f"no contract routes {key!r}", *unloadable[:MOST_NAMES], *remark])


def contract_of(store: Store, table: str) -> Contract:
    """Return the table's contract. Raise Misconfigured if none is pushed or it does not load."""
    name = contract_name(table)
    body = store.read(name)
    if body is None:
        hint = "lakegate contract init FILE makes one"
        raise Misconfigured(f"table {table} has no contract ({hint}); run: lakegate contract push CONTRACT")
    parsed_contract = _parse_cached(name, body)
    if isinstance(parsed_contract, ContractFaults):
        raise ContractFaults(
            parsed_contract.source, parsed_contract.faults
        )  # a new one: `_load` keeps the other, and a raised error keeps its frames
    return parsed_contract


def contracts_spelled_as(store: Store, table: str) -> list[Contract]:
    """Return the contracts whose table's name is this one as engines compare names. Raise ContractFaults if one of them
    does not load.
    """
    name_to_match, ends = fold(contract_name(table)), slice(len(PREFIX), -len(contract_name("")) + len(PREFIX))
    return [contract_of(store, name[ends]) for name in store.names(PREFIX) if fold(name) == name_to_match]


@dataclass(frozen=True, kw_only=True)
class Unread:
    """A contract that is in the store and could not be read."""

    error: Exception


def _body(store: Store, name: str) -> bytes | Unread | None:
    """Return the text of a contract in the store, or why there is none; None if it was deleted meanwhile."""
    try:
        return store.read(name)
    except Exception as error:  # noqa: BLE001 (one contract that can't be read would keep all tables from their files)
        log.warning("contract_not_read", contract=name, error=str(error), kind=type(error).__name__)
        return Unread(error=error)


def _of_body(
    name: str, body: bytes | Unread | None, fitting_names: Container[str]
) -> Contract | ContractFaults | Unread | None:
    if not isinstance(body, bytes):
        return body
    return _parse_cached(name, body) if name in fitting_names else _left_out(name)


def _sizes(bodies: Mapping[str, bytes | Unread | None]) -> dict[str, int]:
    return {name: len(body) for name, body in bodies.items() if isinstance(body, bytes)}


def _fitting_names(sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the contracts that fit, by their sizes: the shortest, so that one long one keeps out no others."""
    fitting_names, total = set[str](), 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if total > MOST_BYTES:
            break
        fitting_names.add(name)
    return frozenset(fitting_names)


def _left_out(name: str) -> ContractFaults:
    """Return the fault of a contract that is one too many. Its files stay unrouted, and are kept."""
    log.warning("contract_left_out", contract=name)
    problem = f"all contracts together have more than {MOST_BYTES:,} bytes, or are more than {MOST_CONTRACTS:,}"
    return ContractFaults(name, [Fault(line=1, message=f"{problem}, and this one is left out: {SHORTER}")])


def _parse_cached(name: str, body: bytes) -> Contract | ContractFaults:
    """Load a contract. Any failure becomes its own fault, because loading depends on the contract alone."""
    try:
        return _load(name, body)
    except Exception as error:  # noqa: BLE001 (one contract would keep all tables from their files)
        log.warning("contract_not_loaded", contract=name, error=str(error), kind=type(error).__name__)
        return ContractFaults(
            name, [Fault(line=1, message=f"lakegate fails to read it ({type(error).__name__}: {error})")]
        )


@lru_cache(maxsize=2 * MOST_CONTRACTS)  # fewer than there are would keep none: they are read one after the other
def _load(name: str, body: bytes) -> Contract | ContractFaults:
    try:
        contract = load(body, name)
    except ContractFaults as faults:
        return faults.with_traceback(None)
    if name == contract_name(contract.table):
        return contract
    place = "stored under another table's name; run: lakegate contract push CONTRACT"
    wrong = f"it is the contract of {contract.table}, {place}"
    return ContractFaults(name, [Fault(line=1, message=wrong)])


def push(store: Store, bodies: Iterable[tuple[str, bytes]], landing_prefixes: Iterable[str] = ("",)) -> list[Contract]:
    """Check these contracts together with those pushed before, and store them all. Raise Refused, with all faults, and
    store none if one has a fault. Raise Misconfigured likewise if one routes no key below the prefixes.
    """
    contracts, faults = [], []
    for source, body in bodies:
        try:
            contracts.append((load(body, source), body))
        except ContractFaults as error:
            faults.append(error)
    if faults:
        raise Refused("\n".join(str(fault) for fault in faults))
    _require_seen([contract for contract, _ in contracts], landing_prefixes)
    _refuse_too_many(store, {contract_name(contract.table): len(body) for contract, body in contracts})
    _refuse_overlaps(Registry.read(store), [contract for contract, _ in contracts])
    for contract, body in contracts:
        store.write(contract_name(contract.table), body)
    return [contract for contract, _ in contracts]


def _require_seen(contracts: list[Contract], prefixes: Iterable[str]) -> None:
    """Raise Misconfigured if a route matches no key below the prefixes: files that it routes would never be seen."""
    visible_routes = [Route(table="", pattern=f"{prefix}**") for prefix in prefixes]
    unseen = [contract for contract in contracts if not any(contract.route.overlaps(route) for route in visible_routes)]
    if unseen:
        routes = "\n".join(
            f"the route {contract.route.pattern} of {contract.table} lies outside the landing prefixes"
            for contract in unseen
        )
        raise Misconfigured(
            f"{routes}\nNothing was pushed: this installation sees only what lands below {', '.join(prefixes)}. Change"
            " the route, or have whoever deploys add its folder to landing.folders"
        )


def _refuse_too_many(store: Store, new_sizes: Mapping[str, int]) -> None:
    """Raise Refused if all contracts would be beyond a limit, unless the push makes them no more and no longer."""
    names = store.names(PREFIX)
    before = _sizes({name: _body(store, name) for name in names[: 2 * MOST_CONTRACTS]})
    size, number = sum((before | dict(new_sizes)).values()), len({*names, *new_sizes})
    if size > max(MOST_BYTES, sum(before.values())):
        raise Refused(f"all contracts together would have {size:,} bytes, and the limit is {MOST_BYTES:,}: {SHORTER}")
    if number > max(MOST_CONTRACTS, len(names)):
        raise Refused(f"there would be {number:,} contracts, and the limit is {MOST_CONTRACTS:,}: {SHORTER}")


def _refuse_overlaps(registry: Registry, contracts: list[Contract]) -> None:
    """Raise Refused if a pushed contract's route overlaps another's. Two that were pushed before block no third."""
    tables = {contract.table for contract in contracts}
    rest = [contract for contract in registry.contracts if contract.table not in tables]
    wrong = overlaps(contracts) + [
        clash for contract in contracts for other in rest for clash in overlaps([contract, other])
    ]
    if wrong:
        raise Refused("\n".join(wrong))
