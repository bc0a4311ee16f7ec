"""The world with a warehouse that is cleaned, and where every table that is read must still have all of its files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Self

from lakegate.ports import MAIN, Ref
from lakegate.testing import MemoryClock, MemoryLake, MemoryWarehouse, TableState
from lakegate.testing.lake import KeyKind
from lakegate.workflow.cleaning.clean import CleaningResult, clean
from tests.world.world import World

DAYS = 30


class CheckedLake(MemoryLake):
    """`lost` are the files that somebody missed."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(now)
        self.warehouse = MemoryWarehouse(self.files.write_times, self.files.deletions)
        self.lost: list[str] = []

    def table(self, ref: Ref, table: str) -> TableState | None:
        state = super().table(ref, table)
        if state is not None and self.files.deletions:
            gone = self.files.deletions & set(self.files.all_of(self.files.metadata_of(state)))
            self.lost += [f"{table} at {ref}: {uri}" for uri in gone]
        return state

    def read(self, commit: str) -> None:
        """Read all tables at a commit."""
        for key in self.commits[commit].contents:
            if key.kind is KeyKind.TABLE:
                self.table(Ref("", commit), key.name)


class CleanedWorld(World):
    """See the module."""

    lake: CheckedLake

    @classmethod
    def made(cls) -> Self:
        clock = MemoryClock()
        return cls(clock=clock, lake=CheckedLake(clock.now))

    def wait(self, days: float) -> None:
        self.clock.advance(timedelta(days=days).total_seconds())

    def clean(self, *, delete: bool = True, days: int = DAYS, names: tuple[str, ...] = ()) -> CleaningResult:
        return clean(self.service, self.lake.warehouse, days=days, delete=delete, names=names)

    def clean_twice(self) -> int:
        """Clean, and again a week later. Returns how many files are gone."""
        before = len(self.lake.warehouse.deletions)
        self.clean(delete=False)
        self.wait(7)
        self.clean()
        return len(self.lake.warehouse.deletions) - before

    def read_main_since(self, moment: datetime) -> None:
        """Read every commit that was main's head since a moment."""
        for commit in self.lake.line(self.lake.branches[MAIN]):
            self.lake.read(commit.hash)
            if commit.at < moment:
                return

    def there(self) -> set[str]:
        return set(self.lake.warehouse.present_files())

    def reached(self, commit: str) -> set[str]:
        """All files of the tables at a commit."""
        states = [it for it in self.lake.commits[commit].contents.values() if isinstance(it, TableState)]
        return {uri for state in states for uri in self.lake.files.all_of(self.lake.files.metadata_of(state))}
