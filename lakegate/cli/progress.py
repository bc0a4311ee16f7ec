"""Live progress of followed files: a redrawn table in a terminal, a line for each change elsewhere. It only shows."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.ends import ENDS
from lakegate.cli.follow import Tracker
from lakegate.operations.sights import Sight


@contextmanager
def progress() -> Iterator[Callable[[Tracker], None]]:
    """Yield a function that shows the followed files on standard error."""
    screen = terminal.console(stderr=True)
    if not screen.file.isatty():
        yield Log(screen).show
        return
    board = Board()
    with Live(board, console=screen, refresh_per_second=8, transient=True):
        yield board.show


class Board:
    """A table of files with their states and the time since the start; moving ones come first if not all fit."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._spinner = Spinner("dots")
        self._sights: list[Sight] = []

    def show(self, tracker: Tracker) -> None:
        self._sights = list(tracker.sights.values())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(3, (options.height or console.height) - 4)
        sights_to_show = self._sights
        if len(sights_to_show) > room:
            sights_to_show = sorted(sights_to_show, key=lambda sight: sight.at_end)[: room - 1]
        rest = len(self._sights) - len(sights_to_show)
        yield Group(
            self._head(), self._table(sights_to_show), *([Text(f"  … and {rest:,} more", style="dim")] if rest else [])
        )

    def _head(self) -> Text:
        seconds = int(time.monotonic() - self._start)
        text = Text(f"{seconds // 60}:{seconds % 60:02}  ", style="bold")
        return text.append(tally(self._sights) or "looking", style="dim")

    def _table(self, sights: list[Sight]) -> Table:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=1)
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=None)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=None)
        for sight in sights:
            mark = Text(ENDS[sight.state].mark) if sight.at_end else self._spinner
            waits = Text(terminal.clean(sight.waits), style="dim")
            grid.add_row(mark, Text(terminal.clean(sight.file)), terminal.state(sight.state), waits)
        return grid


class Log:
    """A line for each change of the tally, for logs and pipes."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._start = time.monotonic()
        self._last = ""

    def show(self, tracker: Tracker) -> None:
        now = tally(tracker.sights.values())
        if now and now != self._last:
            self._screen.print(f"{time.monotonic() - self._start:5.0f} s  {now}")
            self._last = now


def tally(sights: Iterable[Sight]) -> str:
    """Return `3 queued, 11 appending and auditing`."""
    numbers = Counter(sight.state for sight in sights)
    return ", ".join(f"{number:,} {state}" for state, number in numbers.items())
