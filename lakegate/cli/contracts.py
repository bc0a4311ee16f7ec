"""`contract check` and `contract push`: contracts are judged by lakegate.contracts, and put in the registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from lakegate.audit.model.plan import Mode
from lakegate.cli.exits import Exit
from lakegate.cli.hindsight import looked_back
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, indent, print_lines, say_json
from lakegate.contracts import Contract, load, overlaps
from lakegate.counts import count
from lakegate.errors import ContractFaults, Fault
from lakegate.operations.acts import PushContracts
from lakegate.operations.pushing import ContractFile, TakenUp

_OBSERVES = "It observes: what can be appended is published, and faults are reported. To enforce it: mode: enforce"


@dataclass(frozen=True, kw_only=True)
class JudgedContract:
    """A contract file with its judgement: a table, or faults."""

    file: str
    table: str = ""
    route: str = ""
    mode: Mode = Mode.ENFORCE
    checks: int = 0
    faults: tuple[Fault, ...] = ()


def check(paths: Sequence[Path], *, as_json: bool) -> Exit:
    """Judge each contract alone, and all of them together."""
    contracts, results = _judge(_read(paths))
    clashes = overlaps(contracts)
    _report(results, clashes, as_json=as_json, verdict="is sound")
    return Exit.REJECTED if clashes or any(item.faults for item in results) else Exit.SUCCESS


def push(installation: Installation, paths: Sequence[Path], *, as_json: bool) -> Exit:
    """Push all contracts, or none; then take up unrouted files that they route."""
    files = _read(paths)
    _, results = _judge(files)
    if any(item.faults for item in results):
        _report(results, ["nothing was pushed"], as_json=as_json, verdict="is sound")
        return Exit.REJECTED
    with busy("pushing"):
        contracts = tuple(ContractFile(name=name, text=text.decode()) for name, text in files)
        take_up = installation.operations.run(PushContracts(contracts=contracts))
    _report(results, [], as_json=as_json, verdict="is pushed", take_up=take_up)
    return Exit.SUCCESS


def _read(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Read each file once, so that the judged text is the pushed text."""
    return [(str(path), path.read_bytes()) for path in paths]


def _judge(files: Sequence[tuple[str, bytes]]) -> tuple[list[Contract], list[JudgedContract]]:
    contracts, results = [], []
    for name, text in files:
        try:
            contract = load(text, name)
        except ContractFaults as error:
            results.append(JudgedContract(file=name, faults=error.faults))
            continue
        contracts.append(contract)
        results.append(
            JudgedContract(
                file=name,
                table=contract.table,
                route=contract.route.pattern,
                mode=contract.plan.mode,
                checks=len(contract.plan.checks),
            )
        )
    return contracts, results


def _report(
    results: Sequence[JudgedContract],
    faults: Sequence[str],
    *,
    as_json: bool,
    verdict: str,
    take_up: TakenUp | None = None,
) -> None:
    take_up = take_up or TakenUp()
    if as_json:
        now = {"contracts": results, "faults": faults, "taken_up": take_up.files}
        now |= {"left": take_up.left, "sweep_failed": take_up.failed}
        say_json(now | {"last_30_days": take_up.before, "last_30_days_unread": take_up.unseen})
        return
    for item in results:
        for fault in item.faults:
            print_lines(f"{item.file}:{fault.line}: {fault.message}")
            if fault.write:  # as it is to be pasted
                print_lines("    Write:", *(f"        {line}" for line in fault.write.splitlines()))
        if not item.faults:
            print_lines(
                Text(clean(f"{item.file}: {item.table} {verdict}: {item.route}, {count(item.checks, 'check')}"))
            )
            if item.mode is Mode.OBSERVE:
                print_lines(indent(_OBSERVES, 4))
        for hindsight in take_up.before:
            if hindsight.table == item.table:
                print_lines(*(indent(line, 4) for line in looked_back(hindsight)))
    if take_up.unseen:
        print_lines("The last thirty days could not be looked at:", indent(take_up.unseen, 4, "yellow"))
    print_lines(*faults)
    _report_taken_up(take_up)


def _report_taken_up(take_up: TakenUp) -> None:
    if take_up.files:
        print_lines(f"{count(len(take_up.files), 'unrouted file')} taken up; next: lakegate wait")
        print_lines(*(f"    {key}" for key in take_up.files))
    if take_up.left:
        rest = count(len(take_up.left), "unrouted file", "is", "are")
        print_lines(f"{rest} left for the next sweep; to run it now: lakegate reconcile")
    if take_up.failed:
        print_lines("Another step of the sweep failed; the next sweep repeats it:", indent(take_up.failed, 4, "yellow"))
