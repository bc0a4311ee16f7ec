"""`contract init`: a contract inferred from sample files. Inferring it is lakegate.inference's part."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from lakegate.audit.model.files import FileKind
from lakegate.cli.exits import Exit
from lakegate.cli.terminal import busy, say, say_json
from lakegate.contracts import Contract, load
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.inference.inferred import Asked, infer


def init(paths: Sequence[Path], table: str, form: str, freshness: str, output: Path | None, *, as_json: bool) -> Exit:
    """Print a contract that these files pass, or write it to a new file."""
    if output and output.exists():
        raise Misconfigured(f"{output} is there already, and is not overwritten; name another --output")
    asked = Asked(table=table, kind=_kind(form), fresh=_fresh(freshness))
    with busy("reading"):
        text = infer(paths, asked)
    if output:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    _tell(text, load(text, str(output or paths[0])), output, as_json=as_json)
    return Exit.DONE


def _tell(text: str, contract: Contract, output: Path | None, *, as_json: bool) -> None:
    checks = len(contract.plan.checks)
    if as_json:
        file = str(output) if output else None
        say_json({"file": file, "table": contract.table, "checks": checks, "contract": text})
    elif output:
        say(f"{output}: {contract.table}, {count(len(contract.plan.columns), 'column')}, {count(checks, 'check')}")
        say(f"Next: edit it, then lakegate contract push {shlex.quote(str(output))}")
    else:
        say(*text.splitlines())


def _kind(said: str) -> FileKind | None:
    if said and said not in tuple(FileKind):
        raise Misconfigured(f"--format {said} is none of {', '.join(FileKind)}{hint(said, FileKind)}")
    return FileKind(said) if said else None


def _fresh(said: str) -> tuple[str, int] | None:
    if not said:
        return None
    column, _, days = said.rpartition("=")
    if not column or not days.isdigit() or not int(days):
        raise Misconfigured(f"--freshness {said!r} is not COLUMN=DAYS, such as placed=7")
    return column, int(days)
