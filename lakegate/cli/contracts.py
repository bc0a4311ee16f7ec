"""`contract check` and `contract push`: contracts are judged by lakegate.contracts, and put in the registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from lakegate.audit.model.plan import Mode
from lakegate.cli.exits import Exit
from lakegate.cli.hindsight import looked_back
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, indented, say, say_json
from lakegate.contracts import Contract, load, overlaps
from lakegate.counts import count
from lakegate.errors import ContractFaults, Fault
from lakegate.operations.acts import PushContracts
from lakegate.operations.pushing import ContractFile, TakenUp

_OBSERVES = "It observes: what can be appended is published, and faults are told. To enforce it: mode: enforce"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A contract file with its judgement: a table, or faults."""

    file: str
    table: str = ""
    route: str = ""
    mode: Mode = Mode.ENFORCE
    checks: int = 0
    faults: tuple[Fault, ...] = ()


def check(paths: Sequence[Path], *, as_json: bool) -> Exit:
    """Judge each contract alone, and all of them together."""
    contracts, judged = _judge(_read(paths))
    clashes = overlaps(contracts)
    _report(judged, clashes, as_json=as_json, verdict="is sound")
    return Exit.REJECTED if clashes or any(item.faults for item in judged) else Exit.DONE


def push(installation: Installation, paths: Sequence[Path], *, as_json: bool) -> Exit:
    """Push all contracts, or none; then take up unrouted files that they route."""
    files = _read(paths)
    _, judged = _judge(files)
    if any(item.faults for item in judged):
        _report(judged, ["nothing was pushed"], as_json=as_json, verdict="is sound")
        return Exit.REJECTED
    with busy("pushing"):
        contracts = tuple(ContractFile(name=name, text=text.decode()) for name, text in files)
        taken = installation.operations.run(PushContracts(contracts=contracts))
    _report(judged, [], as_json=as_json, verdict="is pushed", taken=taken)
    return Exit.DONE


def _read(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Read each file once, so that the judged text is the pushed text."""
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
                mode=contract.plan.mode,
                checks=len(contract.plan.checks),
            )
        )
    return contracts, judged


def _report(
    judged: Sequence[Judged], faults: Sequence[str], *, as_json: bool, verdict: str, taken: TakenUp | None = None
) -> None:
    taken = taken or TakenUp()
    if as_json:
        now = {"contracts": judged, "faults": faults, "taken_up": taken.files}
        now |= {"left": taken.left, "sweep_failed": taken.failed}
        say_json(now | {"last_30_days": taken.before, "last_30_days_unread": taken.unseen})
        return
    for item in judged:
        for fault in item.faults:
            say(f"{item.file}:{fault.line}: {fault.message}")
            if fault.write:  # as it is to be pasted
                say("    Write:", *(f"        {line}" for line in fault.write.splitlines()))
        if not item.faults:
            say(Text(clean(f"{item.file}: {item.table} {verdict}: {item.route}, {count(item.checks, 'check')}")))
            if item.mode is Mode.OBSERVE:
                say(indented(_OBSERVES, 4))
        for found in taken.before:
            if found.table == item.table:
                say(*(indented(line, 4) for line in looked_back(found)))
    if taken.unseen:
        say("The last thirty days could not be looked at:", indented(taken.unseen, 4, "yellow"))
    say(*faults)
    _report_taken_up(taken)


def _report_taken_up(taken: TakenUp) -> None:
    if taken.files:
        say(f"{count(len(taken.files), 'unrouted file')} taken up; next: lakegate wait")
        say(*(f"    {key}" for key in taken.files))
    if taken.left:
        left = count(len(taken.left), "unrouted file", "is", "are")
        say(f"{left} left for the next sweep; to run it now: lakegate reconcile")
    if taken.failed:
        say("Another step of the sweep failed; the next sweep repeats it:", indented(taken.failed, 4, "yellow"))
