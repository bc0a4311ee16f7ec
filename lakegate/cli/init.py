"""`contract init`: a contract inferred from sample files. Inferring it is lakegate.inference's part."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from lakegate.audit.model.files import FileKind
from lakegate.cli.exits import Exit
from lakegate.cli.terminal import busy, print_lines, say_json
from lakegate.contracts import Contract, load
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.inference.contract import Request, infer


def init(paths: Sequence[Path], table: str, form: str, freshness: str, output: Path | None, *, as_json: bool) -> Exit:
    """Print a contract that these files pass, or write it to a new file."""
    if output and output.exists():
        raise Misconfigured(f"{output} is there already, and is not overwritten; name another --output")
    question = Request(table=table, kind=_kind(form), fresh=_fresh(freshness))
    with busy("reading"):
        text = infer(paths, question)
    if output:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    _print_result(text, load(text, str(output or paths[0])), output, as_json=as_json)
    return Exit.SUCCESS


def _print_result(text: str, contract: Contract, output: Path | None, *, as_json: bool) -> None:
    checks = len(contract.plan.checks)
    if as_json:
        file = str(output) if output else None
        say_json({"file": file, "table": contract.table, "checks": checks, "contract": text})
    elif output:
        print_lines(
            f"{output}: {contract.table}, {count(len(contract.plan.columns), 'column')}, {count(checks, 'check')}"
        )
        print_lines(f"Next: edit it, then lakegate contract push {shlex.quote(str(output))}")
    else:
        print_lines(*text.splitlines())


def _kind(word: str) -> FileKind | None:
    if word and word not in tuple(FileKind):
        raise Misconfigured(f"--format {word} is none of {', '.join(FileKind)}{hint(word, FileKind)}")
    return FileKind(word) if word else None


def _fresh(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    column, _, days = text.rpartition("=")
    if not column or not days.isdigit() or not int(days):
        raise Misconfigured(f"--freshness {text!r} is not COLUMN=DAYS, such as placed=7")
    return column, int(days)
