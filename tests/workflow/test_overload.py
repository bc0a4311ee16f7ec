"""A day on which ten times more lands than could be ingested file by file: twenty tables, two jobs at a time.

Time goes by in steps of five minutes. Jobs take their turns in the order in which they were started, as real ones do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import entry_of
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.receive import settle_and_gather
from lakegate.workflow.receiving.queued import PREFIX
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from tests.world.world import CONTRACT, World

STEP = timedelta(minutes=5)
TABLES, SLOTS, JOB = 20, 2, 3  # steps of a job
DAY = 24 * 12  # steps
CAPACITY = SLOTS * DAY // JOB  # jobs of a day
FILES = 10 * CAPACITY
TURN = JOB * (TABLES + SLOTS) // SLOTS * STEP
"""In this time every table has had its turn."""
LONGEST = 2 * TURN + JOB * STEP
"""A file waits for its table's job and then for its own, each at the end of the line."""


@dataclass(kw_only=True)
class Day:
    """The world, and what was seen of it step by step. Some events of jobs are lost."""

    lost: float = 0.0
    world: World = field(default_factory=lambda: World(jobs_at_once=SLOTS))
    began: dict[str, int] = field(default_factory=dict)
    undecided: dict[str, FileVersion] = field(default_factory=dict)
    audited: dict[str, FileVersion] = field(default_factory=dict)
    ages: dict[str, timedelta] = field(default_factory=dict)  # the greatest, by table
    most_open: int = 0
    chance: Random = field(default_factory=lambda: Random(26))

    def __post_init__(self) -> None:
        texts = [CONTRACT.replace("nyc/flights/", f"nyc/t{n}/").replace("flights", f"t{n}") for n in range(TABLES)]
        self.world.remove_contract()
        push(self.world.store, [(f"t{n}.yaml", text.encode()) for n, text in enumerate(texts)])

    def go_by(self) -> None:
        """All that lands on the day, and then what is left of it."""
        landing: dict[int, list[int]] = {}
        for table in self.chance.choices(range(TABLES), [1 / (n + 1) for n in range(TABLES)], k=FILES):
            landing.setdefault(self.chance.randrange(DAY), []).append(table)
        for step in range(2 * DAY):
            self._step(step, landing.get(step, []))
            if step > DAY and not self.undecided:
                return

    def _step(self, step: int, tables: list[int]) -> None:
        for branch in self._ended(step):
            attempt = Attempt.parse(branch)
            assert attempt
            self.audited |= {file.id: file for file in self.world.claims(attempt)}
            if self.chance.random() >= self.lost:
                settle_and_gather(self.world.service, attempt)
        files = [self._land(table) for table in tables]
        if files:
            self.world.deliver(*files)
        if self.lost and step % 12 == 0:
            assert reconcile(self.world.service) == []
        for run in self.world.runner.open_runs()[:SLOTS]:
            self.began.setdefault(run.branch, step)
        self._look()
        self.most_open = max(self.most_open, len(self.world.runner.open_runs()))
        self.world.clock.advance(STEP.total_seconds())

    def _land(self, table: int) -> FileVersion:
        file = self.world.drop(f"nyc/t{table}/{len(self.world.files)}", rows=1, deliver=False, absolute=True)
        self.world.clock.advance(-1)
        self.undecided[file.id] = file
        return file

    def _ended(self, step: int) -> Iterator[str]:
        """Yield those that began long enough ago."""
        for run in self.world.runner.open_runs():
            if step - self.began.get(run.branch, step) >= JOB:
                self.world.runner.finish(run.id)
                yield run.branch

    def _look(self) -> None:
        """Record which files whose jobs have ended are decided by now."""
        receipts = receipts_now(self.world.service, self.audited.values())
        for file in [file for file in self.audited.values() if entry_of(receipts, file)]:
            self.undecided.pop(file.id, None)
            del self.audited[file.id]
            table, age = file.key.split("/")[1], self.world.clock.now() - file.landed_at
            self.ages[table] = max(age, self.ages.get(table, age))


@pytest.fixture(scope="module")
def day() -> Day:
    day = Day()
    day.go_by()
    return day


def test_every_file_of_the_day_is_published_once(day: Day) -> None:
    assert set(day.world.publications_by_name().values()) == {1}
    assert len(day.world.on_main()) == FILES
    assert day.world.store.names(PREFIX) == []


def test_no_more_jobs_are_open_than_there_are_slots_and_tables(day: Day) -> None:
    assert TABLES <= day.most_open < TABLES + SLOTS


def test_the_oldest_undecided_file_waits_for_two_turns_of_all_tables_at_the_most(day: Day) -> None:
    assert len(day.ages) == TABLES
    assert max(day.ages.values()) < LONGEST


def test_a_table_with_few_files_waits_no_longer_than_one_with_a_third_of_all(day: Day) -> None:
    assert day.ages[f"t{TABLES - 1}"] <= day.ages["t0"] + TURN


def test_a_days_jobs_are_those_that_there_is_time_for_and_not_one_for_each_file(day: Day) -> None:
    assert day.world.job_runs() <= CAPACITY + 2 * (TABLES + SLOTS)


def test_lost_events_of_jobs_delay_files_by_a_sweep_and_lose_none() -> None:
    day = Day(lost=0.05)
    day.go_by()
    assert set(day.world.publications_by_name().values()) == {1}
    assert len(day.world.on_main()) == FILES
    assert day.most_open < TABLES + SLOTS
    assert max(day.ages.values()) < LONGEST + timedelta(hours=2)
