"""Pushed contracts as people ask for them: the list, one's text, and what hinders that one is deleted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakegate.errors import Misconfigured, Refused
from lakegate.ports import Store
from lakegate.workflow.overview.line import Line
from lakegate.workflow.registry import Registry, contract_name, table_of
from lakegate.workflow.service import Service
from lakegate.workflow.status import status


@dataclass(frozen=True, kw_only=True)
class PushedContract:
    """A contract of the registry: a route, or why it does not load."""

    table: str
    route: str = ""
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class ContractText:
    """A contract's text, as it was pushed, with its table's files that no attempt has decided (`in_flight`) and those
    that are rejected.
    """

    table: str
    text: str
    in_flight: tuple[str, ...]
    rejected: tuple[str, ...]


def pushed_contracts(store: Store) -> tuple[PushedContract, ...]:
    """Return every pushed contract, by table."""
    return tuple(sorted(_contracts(Registry.read(store)), key=lambda contract: contract.table))


def _contracts(registry: Registry) -> Iterator[PushedContract]:
    for contract in registry.contracts:
        yield PushedContract(table=contract.table, route=contract.route.pattern)
    for contract_faults in registry.broken_contracts:
        yield PushedContract(table=table_of(contract_faults.source), fault=str(contract_faults.faults[0]))
    for error in registry.unread:
        raise error


def contract_text(service: Service, table: str) -> ContractText:
    """Return the table's contract, and the files that it is for. Raise Misconfigured if there is none."""
    body = service.store.read(contract_name(table))
    if body is None:
        raise Misconfigured(f"table {table} has no contract. Run: lakegate contract list")
    now = status(service)
    return ContractText(
        table=table,
        text=body.decode(errors="replace"),
        in_flight=_keys_of(table, now.in_flight),
        rejected=_keys_of(table, now.rejected),
    )


def _keys_of(table: str, lines: Iterable[Line]) -> tuple[str, ...]:
    return tuple(key for line in lines if line.table == table for key in line.files)


def delete_contract(service: Service, table: str) -> None:
    """Delete the table's contract. Raise Refused if files of it are in flight, which would wait for one. A contract
    that is gone already is fine.
    """
    if service.store.read(contract_name(table)) is None:
        return
    if files := _keys_of(table, status(service).in_flight):
        raise Refused(
            f"{len(files):,} of the files in flight are of {table}, and would wait for its contract: {files[0]!r} and "
            "the like. Its contract stays. Run: lakegate wait, then delete it again"
        )
    service.store.delete(contract_name(table))
