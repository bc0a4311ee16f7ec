"""A choice of files: what a command is about to decide is listed before it does, and asked where a person is there."""

import sys
from collections.abc import Sequence

import typer
from rich.console import RenderableType

from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, clean, indent, print_lines
from lakegate.counts import count
from lakegate.operations.questions import ListRejected, RejectedFile

LEAST_CHOICES = 2
MOST_FILES = 20  # files of a list; `show` has all


def list_rejected(installation: Installation, batch: str) -> tuple[RejectedFile, ...]:
    """Return the rejected files of a batch, and print them if they are several."""
    with busy(f"reading {batch}"):
        files = installation.operations.run(ListRejected(batch=batch))
    if len(files) < LEAST_CHOICES:
        return files
    print_lines(f"{count(len(files), 'rejected file')} of {batch}:", *_lines(batch, files))
    return files


def _lines(batch: str, files: Sequence[RejectedFile]) -> list[RenderableType]:
    lines: list[RenderableType] = [indent(clean(file.key), 4) for file in files[:MOST_FILES]]
    rest = len(files) - MOST_FILES
    return [*lines, *([f"    … and {rest:,} more; lakegate show {batch}"] if rest > 0 else [])]


def is_declined(installation: Installation, batch: str, verb: str, *, yes: bool) -> bool:
    """List what is about to be decided for good. Return True if a person at a terminal says no to several files."""
    files = list_rejected(installation, batch)
    if yes or len(files) < LEAST_CHOICES or not is_attended():
        return False
    return not typer.confirm(f"{verb} all {len(files):,}? Some of them: --file KEY")


def is_attended() -> bool:
    """Return True if a person reads the output and types the input."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def leave_undecided(batch: str) -> Exit:
    print_lines(f"Nothing was decided. Next: lakegate show {batch}")
    return Exit.SUCCESS
