"""Tests of what a batch's jobs take is noted once they have ended, by whoever hears or finds out first."""

from dataclasses import replace

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.testing.jobs import USAGE
from lakegate.workflow.attempts.usage import record_usage, usage_of
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status, with_usage
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


def ended(world: World) -> Attempt:
    """An attempt whose job has ended, and whose event nobody has heard yet."""
    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    (attempt,) = world.attempts()
    return attempt


def test_a_job_whose_event_is_lost_is_noted_by_the_sweep_that_settles_it(world: World) -> None:
    attempt = ended(world)
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert usage_of(world.store, attempt) == USAGE


def test_a_job_that_runs_or_is_not_reckoned_yet_is_not_noted(world: World) -> None:
    world.drop("1.parquet", rows=3)
    (attempt,), (run,) = world.attempts(), world.runner.open_runs()
    record_usage(world.service, attempt, run)
    world.run(settle_after=False)
    record_usage(world.service, attempt, replace(world.runner.get(run.id), usage=None))
    assert usage_of(world.store, attempt) is None


def test_the_first_note_of_a_run_holds(world: World) -> None:
    attempt = ended(world)
    (run,) = world.runner.runs.values()
    record_usage(world.service, attempt, run)
    record_usage(world.service, attempt, replace(run, usage=replace(USAGE, seconds=1)))
    assert usage_of(world.store, attempt) == USAGE


def test_a_note_that_cannot_be_read_is_none(world: World) -> None:
    attempt = ended(world)
    world.store.write(f"attempts/{attempt.branch}/usage.json", b"{}")
    assert usage_of(world.store, attempt) is None
    settle(world.service, attempt)
    assert world.rows_on_main() == {"1.parquet": 3}


def test_status_says_of_each_batch_what_its_job_took(world: World) -> None:
    attempt = ended(world)
    (run,) = world.runner.runs.values()
    settle(world.service, attempt)
    record_usage(world.service, attempt, run)
    world.drop("2.parquet", rows=1)
    now = with_usage(world.service, status(world.service))
    assert [line.usage for line in now.published] == [USAGE]
    assert [line.usage for line in now.in_flight] == [None]
