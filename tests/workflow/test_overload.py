"""A day on which ten times more lands than could be ingested file by file: twenty tables, two jobs at a time.

Minutes go by one after the other. Jobs take their turns in the order in which they were started, as the real ones do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.workflow.receive import settle_and_gather
from lakegate.workflow.receiving.queued import PREFIX
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from tests.workflow.world import CONTRACT, World

TABLES, SLOTS, JOB = 20, 2, 5  # minutes of a job
DAY = 24 * 60  # minutes
CAPACITY = SLOTS * DAY // JOB  # jobs of a day
FILES = 10 * CAPACITY
CYCLE = JOB * (TABLES + SLOTS) / SLOTS  # minutes: every table has had its turn
"""A file waits for its table's job, then for its own, each at the end of the line, and is decided a minute later."""
LONGEST = timedelta(minutes=2 * (CYCLE + JOB))


@dataclass(kw_only=True)
class Day:
    """The world, and what was seen of it minute by minute. Some events of jobs are lost."""

    lost: float = 0.0
    world: World = field(default_factory=lambda: World(jobs_at_once=SLOTS))
    began: dict[str, int] = field(default_factory=dict)
    undecided: dict[str, FileVersion] = field(default_factory=dict)
    ages: dict[str, timedelta] = field(default_factory=dict)  # the greatest, by table
    most_open: int = 0
    chance: Random = field(default_factory=lambda: Random(26))

    def __post_init__(self) -> None:
        texts = [CONTRACT.replace("nyc/flights/", f"nyc/t{n}/").replace("flights", f"t{n}") for n in range(TABLES)]
        self.world.remove_contract()
        push(self.world.store, [(f"t{n}.yaml", text.encode()) for n, text in enumerate(texts)])

    def go_by(self) -> None:
        """All that lands on the day, and then what is left of it."""
        minutes = sorted(self.chance.randrange(DAY) for _ in range(FILES))
        tables = self.chance.choices(range(TABLES), [1 / (n + 1) for n in range(TABLES)], k=FILES)
        landing: dict[int, list[int]] = {}
        for minute, table in zip(minutes, tables, strict=True):
            landing.setdefault(minute, []).append(table)
        for minute in range(2 * DAY):
            self._minute(minute, landing.get(minute, []))
            if minute > DAY and not self.undecided:
                return

    def _minute(self, minute: int, tables: list[int]) -> None:
        now = self.world.clock.now()
        for branch in self._ended(minute):
            self._decide(branch)
            if self.chance.random() >= self.lost:
                attempt = Attempt.parse(branch)
                assert attempt
                settle_and_gather(self.world.service, attempt)
        files = [self._land(table) for table in tables]
        if files:
            self.world.deliver(*files)
        if self.lost and minute % 60 == 0:
            assert reconcile(self.world.service) == []
        self.most_open = max(self.most_open, len(self.world.runner.running()))
        self.world.clock.advance(60 - (self.world.clock.now() - now).total_seconds())

    def _land(self, table: int) -> FileVersion:
        file = self.world.drop(f"nyc/t{table}/{len(self.world.files)}", rows=1, deliver=False, absolute=True)
        self.world.clock.advance(-1)
        self.undecided[file.id] = file
        return file

    def _ended(self, minute: int) -> Iterator[str]:
        """The first jobs in the line run; those that began long enough ago end."""
        for run in self.world.runner.running()[:SLOTS]:
            if minute - self.began.setdefault(run.branch, minute) >= JOB:
                self.world.runner.finish(run.id)
                yield run.branch

    def _decide(self, branch: str) -> None:
        """Every audited file is published, soon after its job has ended."""
        attempt = Attempt.parse(branch)
        assert attempt
        for file in self.world.claims(attempt):
            age = self.world.clock.now() - self.undecided.pop(file.id).landed_at
            self.ages[attempt.table] = max(age, self.ages.get(attempt.table, age))


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
    assert day.ages[f"nyc.t{TABLES - 1}"] <= day.ages["nyc.t0"] + timedelta(minutes=CYCLE)


def test_a_days_jobs_are_those_that_there_is_time_for_and_not_one_for_each_file(day: Day) -> None:
    assert day.world.job_runs() <= CAPACITY + 2 * (TABLES + SLOTS)


def test_lost_events_of_jobs_delay_files_by_a_sweep_and_lose_none() -> None:
    day = Day(lost=0.05)
    day.go_by()
    assert set(day.world.publications_by_name().values()) == {1}
    assert len(day.world.on_main()) == FILES
    assert day.most_open < TABLES + SLOTS
    assert max(day.ages.values()) < LONGEST + timedelta(hours=2)
