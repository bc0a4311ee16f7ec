"""Output to the terminal: plain and safe text, tables that fit, JSON. It knows no command and prompts for nothing.

All text may come from a stranger: markup is never read, and characters that a terminal would obey are spelt out.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lakegate.audit.model.codec import to_plain
from lakegate.cli.ends import ENDS
from lakegate.counts import count
from lakegate.visibility import code_point, in_json, visible

PIPE_WIDTH = 2000  # lines that a script reads are not folded
WIDEST_CELL = 60
GUTTER = 3  # between two columns
COLOURS = {"pass": "green", "warn": "yellow", "quarantine": "yellow", "fail": "red"}
COLOURS |= {"would fail": "magenta", "would quarantine": "magenta"}
COLOURS |= {str(state): end.colour for state, end in ENDS.items()}


class Screen(Console):
    """A console that leaves a closed pipe to the command: rich itself would exit with 1, which means "rejected"."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Screen(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def clean(text: object) -> str:
    """Return text that a terminal shows and never obeys, on one line: with a second one, a file's key could imitate a
    line of ours.
    """
    return visible(str(text), code_point)


def print_lines(*lines: RenderableType) -> None:
    """Print lines. The terminal itself folds a string, so that a name or a command in it can be copied whole."""
    screen = console()
    for line in lines:
        screen.print(clean(line) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


def indent(text: RenderableType, by: int, style: str = "") -> Padding:
    """Return something with all of its lines indented."""
    return Padding(Text(clean(text), style=style) if isinstance(text, str) else text, (0, 0, 0, by), expand=False)


def complain(text: str) -> None:
    first, *further = map(clean, text.split("\n"))
    console(stderr=True).print(Text("lakegate: ", style="bold red") + Text(first), soft_wrap=True)
    for line in further:  # indented, because a name in the message could imitate a first line of ours
        console(stderr=True).print(Text(f"  {line.strip()}"), soft_wrap=True)


def remark(text: str) -> None:
    """Print a side remark, if a person is at the terminal."""
    screen = console(stderr=True)
    if screen.file.isatty():
        screen.print(Text(clean(text), style="dim"), soft_wrap=True)


def say_json(value: object) -> None:
    text = json.dumps(sound(to_plain(value)), indent=2, ensure_ascii=False, allow_nan=False)
    print(in_json(text))  # noqa: T201


def sound(value: Any) -> Any:
    """Return the value with NaN and the infinities as text: JSON has no words for them, and null must stay null."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: sound(item) for key, item in value.items()}
    return [sound(item) for item in value] if isinstance(value, list) else value


@contextmanager
def busy(activity: str) -> Iterator[None]:
    """Show a spinner while work takes its time, if a person is at the terminal."""
    screen = console(stderr=True)
    if not screen.file.isatty():  # rich takes a log for a terminal if FORCE_COLOR is set
        yield
        return
    with screen.status(Text(activity)):
        yield


def state(name: str) -> Text:
    return Text(clean(name), style=COLOURS.get(name, "cyan"))


def age_text(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(seconds // size, unit)} ago"
    return f"{seconds} s ago"


def table(*columns: str, title: str = "", right: Iterable[str] = ()) -> Table:
    """Return an empty table in the one style; columns named in `right` hold numbers."""
    grid = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    numbers = set(right)
    for column in columns:
        grid.add_column(clean(column), justify="right" if column in numbers else "left", overflow="fold")
    return grid


def cell(value: object) -> str:
    """Return a value as a person reads it."""
    if value is None:
        return "·"
    if isinstance(value, bool):
        return str(value).lower()
    return clean(value.isoformat(" ") if isinstance(value, datetime) else value)


def grid(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> RenderableType:
    """Return rows as a table, or if that is wider than the terminal, row by row with one line per value."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max([len(clean(name)), *(len(row[at]) for row in cells)]) for at, name in enumerate(columns)]
    if sum(min(size, WIDEST_CELL) + GUTTER for size in widths) > width:
        return _records(columns, cells, max(len(clean(name)) for name in columns))
    numbers = [
        n for at, n in enumerate(columns) if rows and all(isinstance(row[at], int | float | None) for row in rows)
    ]
    grid = table(*columns, right=numbers)
    for row in cells:
        grid.add_row(*row)
    return grid


def _records(columns: Sequence[str], cells: Sequence[Sequence[str]], widest: int) -> Text:
    text = Text()
    for number, row in enumerate(cells, 1):
        text.append(f"── row {number} ──\n", style="dim")
        for name, value in zip(columns, row, strict=True):
            text.append(f"{clean(name):{widest}}  ", style="bold").append(f"{value}\n")
    text.rstrip()
    return text


def sample(rows: Sequence[Mapping[str, object]], first: Sequence[str], width: int) -> RenderableType:
    """Return sample rows with the columns in `first` leading; columns that don't fit are left out."""
    names = [*dict.fromkeys([*first, *(name for row in rows for name in row)])]
    cells = [[cell(row.get(name)) for name in names] for row in rows]
    sizes = [max([len(clean(name)), *(len(row[at]) for row in cells)]) + GUTTER for at, name in enumerate(names)]
    room = width - GUTTER * 2  # for the sign that more columns exist
    room_for = max(1, next((at for at in range(len(sizes)) if sum(sizes[: at + 1]) > room), len(sizes)))
    grid = table(*names[:room_for], *(["…"] if room_for < len(names) else []))
    for row in cells:
        grid.add_row(*row[:room_for])
    return grid
