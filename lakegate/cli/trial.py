"""`try`: a contract's verdict on files of this machine. It asks no installation, and changes nothing."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from lakegate.audit.model.report import Report, Verdict
from lakegate.cli.exits import Exit
from lakegate.cli.show import verdicts
from lakegate.cli.terminal import busy, clean, indent, print_lines, say_json
from lakegate.contracts import Contract, load
from lakegate.counts import count
from lakegate.errors import ContractFaults, Misconfigured
from lakegate.landing.routes import Route
from lakegate.trial.trial import Trial, try_files

USAGE = "lakegate try FILE… CONTRACT"
_CONTRACTS = (".yaml", ".yml")


def try_(words: Sequence[str], *, every_check: bool, as_json: bool) -> Exit:
    """Print the verdicts. Return REJECTED if the service would reject a file."""
    files, path = _split_words(words)
    contract = _contract(path)
    with busy("auditing"):
        trial = try_files(contract.plan, files)
    strays = [file for file in files if not _is_routed(contract.route, file.name)]
    if as_json:
        members = {"unrouted": list(map(str, strays)), "route": contract.route.pattern, "unasked": trial.omissions}
        say_json({"table": contract.table, "contract": str(path), "report": trial.report, **members})
    else:
        print_lines(*_pages(contract, trial, strays, every_check=every_check))
    is_rejected = any(file.verdict is Verdict.FAIL for file in trial.report.files)
    return Exit.REJECTED if trial.report.error or is_rejected else Exit.SUCCESS


def _split_words(words: Sequence[str]) -> tuple[list[Path], Path]:
    """Return the files and the contract. Raise Misconfigured if a word is neither, or stands in the other's place."""
    *files, contract = map(_existing_path, words)
    early = [path for path in files if path.suffix.lower() in _CONTRACTS]
    if early and contract.suffix.lower() not in _CONTRACTS:
        raise Misconfigured(f"{contract} is no contract: the contract comes last, as in {USAGE}. Is it {early[0]}?")
    if not files:
        raise Misconfigured(f"{contract} stands alone: name files and then their contract, as in {USAGE}")
    if early:
        raise Misconfigured(f"{early[0]} and {contract} look like two contracts: files of one table are tried at once")
    if repetitions := [path for at, path in enumerate(files) if path in files[:at]]:
        raise Misconfigured(f"{repetitions[0]} is named twice")
    return files, contract


def _existing_path(word: str) -> Path:
    """Return the path of a file that is there."""
    path = Path(word)
    if "://" in word:
        raise Misconfigured(f"{word} is no file of this machine: fetch it first, as with aws s3 cp {word} .")
    if path.is_dir():
        raise Misconfigured(f"{word} is a folder: name the files in it, as in {word.rstrip('/')}/*")
    if path.exists():
        return path
    if any(sign in word for sign in "*?["):
        raise Misconfigured(f"no file matches {word}: a shell puts the names in its place, unless it is in quotes")
    raise Misconfigured(f"there is no file {word}")


def _contract(path: Path) -> Contract:
    """Return the contract. Its faults are the command's, so that no script takes them for a file's."""
    try:
        return load(path.read_bytes(), str(path))
    except ContractFaults as error:
        message = f"{error}\nNo file was tried. Every fault with what to write: lakegate contract check {path}"
        raise Misconfigured(message) from error


def _is_routed(route: Route, name: str) -> bool:
    """Return True if some key that ends with a file of this name is one of the table's."""
    last = route.pattern.rpartition("/")[2]
    return Route(table=route.table, pattern=last).matches(name) or ("**" in last and "/" in route.pattern)


def _pages(contract: Contract, trial: Trial, strays: Sequence[Path], *, every_check: bool) -> Iterator[RenderableType]:
    report = trial.report
    yield Text(clean(f"{contract.table}  contract {contract.version}, tried on this machine"), style="bold")
    yield from verdicts(report, every_check=every_check)
    if report.masked:
        yield Text(clean(f"  masked by the contract: {', '.join(report.masked)}"), style="dim")
    if trial.omissions:
        yield Text("\nNot asked here", style="bold")
        yield from (indent(f"{check.check}: {check.why}", 2) for check in trial.omissions)
    if strays:
        names = ", ".join(path.name for path in strays[:3]) + (f" and {len(strays) - 3:,} more" if strays[3:] else "")
        yield indent(f"The table's route {contract.route.pattern} takes no file called {names}", 0, "yellow")
    yield Text(_outcome(report), style="bold")


def _outcome(report: Report) -> str:
    rejected = sum(file.verdict is Verdict.FAIL for file in report.files)
    if report.error:
        return "The service would reject all of them"
    if not rejected:
        return "The service would publish " + ("it" if len(report.files) == 1 else "them")
    return f"The service would reject {count(rejected, 'file')} of {len(report.files):,}"
