"""`contract list`, `contract show` and `contract delete`: the contracts that were pushed."""

import typer

from lakegate.cli.choice import is_attended
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, indent, print_lines, say_json
from lakegate.counts import count
from lakegate.operations.acts import DeleteContract
from lakegate.operations.questions import ListContracts, ShowContract
from lakegate.operations.registry import ContractText


def list_contracts(installation: Installation, *, as_json: bool) -> Exit:
    """Print each table with its route, or the fault of its contract."""
    with busy("reading contracts"):
        contracts = installation.operations.run(ListContracts())
    if as_json:
        say_json(contracts)
        return Exit.SUCCESS
    for contract in contracts:
        print_lines(clean(f"{contract.table}: {contract.route or 'does not load'}"))
        if contract.fault:
            print_lines(indent(clean(contract.fault), 4, "yellow"))
    if not contracts:
        print_lines("No contract is pushed. Next: lakegate contract push CONTRACT")
    return Exit.SUCCESS


def show(installation: Installation, table: str, *, as_json: bool) -> Exit:
    """Print the text so that a file of it may be pushed again."""
    contract = _contract(installation, table)
    if as_json:
        say_json(contract)
    else:
        typer.echo(contract.text, nl=not contract.text.endswith("\n"))
    return Exit.SUCCESS


def delete(installation: Installation, table: str, *, yes: bool, as_json: bool) -> Exit:
    """Say what becomes of the table's files, ask a person at a terminal, and delete the contract."""
    contract = _contract(installation, table)
    if not as_json:
        print_lines(*_fates(contract))
    if not yes and not as_json and is_attended() and not typer.confirm(f"Delete the contract of {clean(table)}?"):
        print_lines("Nothing was deleted.")
        return Exit.SUCCESS
    with busy(f"deleting the contract of {table}"):
        installation.operations.run(DeleteContract(table=table))
    if as_json:
        say_json({"deleted": table, "rejected": contract.rejected})
    else:
        print_lines(clean(f"The contract of {table} is deleted"))
    return Exit.SUCCESS


def _fates(contract: ContractText) -> list[str]:
    lines = [
        f"Without the contract of {contract.table}:",
        "    the table on main and its rows stay, and no file is deleted",
        "    files that land afterwards are unrouted, until a contract routes them again",
    ]
    if contract.rejected:
        number = count(len(contract.rejected), "rejected file")
        lines.append(f"    {number} can be approved or discarded, and retried only once a contract is pushed again")
    return [clean(line) for line in lines]


def _contract(installation: Installation, table: str) -> ContractText:
    with busy(f"reading the contract of {table}"):
        return installation.operations.run(ShowContract(table=table))
