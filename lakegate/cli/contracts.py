"""`contract check` and `contract push`: contracts judged and put on the shelf. It does not know how they are judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, say, say_json
from lakegate.contracts import Contract, load, overlaps
from lakegate.counts import count
from lakegate.errors import ContractFaults, Fault, LakegateError, Refused, Retryable
from lakegate.workflow.landed import still_held
from lakegate.workflow.shelf import Shelf
from lakegate.workflow.shelf import push as shelve


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A contract file with what was found in it: a table, or faults."""

    file: str
    table: str = ""
    route: str = ""
    checks: int = 0
    faults: tuple[Fault, ...] = ()


def check(paths: Sequence[Path], *, as_json: bool) -> Exit:
    """Judge each alone, and all of them together."""
    contracts, judged = _judge(_read(paths))
    clashes = overlaps(contracts)
    _report(judged, clashes, as_json=as_json, verdict="is sound")
    return Exit.REJECTED if clashes or any(item.faults for item in judged) else Exit.DONE


def push(installation: Installation, paths: Sequence[Path], *, as_json: bool) -> Exit:
    """All are pushed, or none; then held files that they route are taken up."""
    files = _read(paths)
    _, judged = _judge(files)
    if any(item.faults for item in judged):
        _report(judged, ["nothing was pushed"], as_json=as_json, verdict="is sound")
        return Exit.REJECTED
    with busy("pushing"):
        try:
            pushed = shelve(installation.service.store, files)
        except Refused as error:
            what = "Nothing was pushed: one of the two must change; if both do, push them in one command"
            raise Refused(f"{error}\n{what}") from error
    try:
        waiting = _take_up(installation, pushed)
    except LakegateError as error:
        what = "the contracts are pushed, and held files were not taken up"
        raise Retryable(f"{what}: {error}. Run: lakegate reconcile") from error
    _report(judged, [], as_json=as_json, verdict="is pushed", taken_up=waiting)
    return Exit.DONE


def _take_up(installation: Installation, pushed: Sequence[Contract]) -> list[str]:
    waiting = _held_for(installation, pushed)
    if waiting:
        with busy(f"taking up {count(len(waiting), 'held file')}"):
            installation.sweep()
    return waiting


def _read(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Once, so that what is judged is what is pushed."""
    return [(str(path), path.read_bytes()) for path in paths]


def _judge(files: Sequence[tuple[str, bytes]]) -> tuple[list[Contract], list[Judged]]:
    contracts, judged = [], []
    for name, text in files:
        try:
            contract = load(text, name)
        except ContractFaults as error:
            judged.append(Judged(file=name, faults=error.faults))
            continue
        contracts.append(contract)
        judged.append(
            Judged(
                file=name,
                table=contract.table,
                route=contract.route.pattern,
                checks=len(contract.plan.checks),
            )
        )
    return contracts, judged


def _held_for(installation: Installation, pushed: Sequence[Contract]) -> list[str]:
    """The keys of held files that the contracts on the shelf route by now."""
    shelf = Shelf.read(installation.service.store)
    tables = {contract.table for contract in pushed}
    routed = [(held.file.key, shelf.route(held.file.key)) for held in still_held(installation.service)]
    return [key for key, contract in routed if contract and contract.table in tables]


def _report(
    judged: Sequence[Judged], faults: Sequence[str], *, as_json: bool, verdict: str, taken_up: Sequence[str] = ()
) -> None:
    if as_json:
        say_json({"contracts": judged, "faults": faults, "taken_up": taken_up})
        return
    for item in judged:
        say(*(f"{item.file}:{fault.line}: {fault.message}" for fault in item.faults))
        if not item.faults:
            say(Text(clean(f"{item.file}: {item.table} {verdict}: {item.route}, {count(item.checks, 'check')}")))
    say(*faults)
    if taken_up:
        say(f"{count(len(taken_up), 'held file')} taken up; next: lakegate wait", *(f"    {key}" for key in taken_up))
