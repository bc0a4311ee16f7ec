"""`contract check` and `contract push`: contracts are judged by lakegate.contracts, and put in the registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, indented, say, say_json
from lakegate.contracts import Contract, load, overlaps
from lakegate.counts import count
from lakegate.errors import ContractFaults, Fault, LakegateError, Refused, Retryable
from lakegate.landing.files import FileVersion
from lakegate.workflow.backlog import still_unrouted
from lakegate.workflow.registry import Registry
from lakegate.workflow.registry import push as push_contracts


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A contract file with its judgement: a table, or faults."""

    file: str
    table: str = ""
    route: str = ""
    checks: int = 0
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TakenUp:
    """Keys of unrouted files that the sweep after a push has taken up, and of those that it left. `failed` is the error
    of one of its steps, which may concern something else.
    """

    files: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    failed: str = ""


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
        try:
            pushed = push_contracts(installation.service.store, files)
        except Refused as error:
            what = "Nothing was pushed: one of the two must change; if both do, push them in one command"
            raise Refused(f"{error}\n{what}") from error
    try:
        taken = _take_up(installation, pushed)
    except LakegateError as error:
        raise _left_unrouted("unrouted files may not be taken up", str(error)) from error
    if taken.failed and taken.left:
        raise _left_unrouted(f"{count(len(taken.left), 'unrouted file', 'was', 'were')} not taken up", taken.failed)
    _report(judged, [], as_json=as_json, verdict="is pushed", taken=taken)
    return Exit.DONE


def _left_unrouted(what: str, why: str) -> Retryable:
    return Retryable(f"the contracts are pushed, but {what}: {why}. Run: lakegate reconcile")


def _take_up(installation: Installation, pushed: Sequence[Contract]) -> TakenUp:
    """Run a sweep to take up the unrouted files that the contracts route, and check which are left: a sweep takes up a
    limited number, and any of its steps may fail.
    """
    waiting = _unrouted_for(installation, pushed)
    if not waiting:
        return TakenUp()
    with busy(f"taking up {count(len(waiting), 'unrouted file')}"):
        failed = _sweep(installation)
        left = {file.id: file.key for file in _unrouted_for(installation, pushed)}
    files = tuple(file.key for file in waiting if file.id not in left)
    return TakenUp(files=files, left=tuple(left.values()), failed=failed)


def _sweep(installation: Installation) -> str:
    """Run a sweep and return its error, if it failed."""
    try:
        installation.sweep()
    except LakegateError as error:
        return str(error)
    return ""


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
                checks=len(contract.plan.checks),
            )
        )
    return contracts, judged


def _unrouted_for(installation: Installation, pushed: Sequence[Contract]) -> list[FileVersion]:
    """Return the unrouted files that the pushed contracts route now."""
    registry = Registry.read(installation.service.store)
    tables = {contract.table for contract in pushed}
    routed = [(unrouted.file, registry.route(unrouted.file.key)) for unrouted in still_unrouted(installation.service)]
    return [file for file, contract in routed if contract and contract.table in tables]


def _report(
    judged: Sequence[Judged], faults: Sequence[str], *, as_json: bool, verdict: str, taken: TakenUp | None = None
) -> None:
    taken = taken or TakenUp()
    if as_json:
        now = {"contracts": judged, "faults": faults, "taken_up": taken.files}
        say_json(now | {"left": taken.left, "sweep_failed": taken.failed})
        return
    for item in judged:
        say(*(f"{item.file}:{fault.line}: {fault.message}" for fault in item.faults))
        if not item.faults:
            say(Text(clean(f"{item.file}: {item.table} {verdict}: {item.route}, {count(item.checks, 'check')}")))
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
