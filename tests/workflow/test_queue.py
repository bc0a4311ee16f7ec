"""Batches of a table with checks of table scope: all land, one after the other, and nobody is kept waiting for ever."""

import random

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement.backoff import LONGEST
from lakegate.workflow.status import status
from tests.world.world import World

BATCHES = 32


@pytest.fixture
def world() -> World:
    """A table whose keys are unique in all of it, with one file on main."""
    world = World()
    world.want_unique_keys()
    world.drop("0", rows=1, holds="key 0")
    world.run()
    return world


def opened(world: World, name: str) -> Attempt:
    world.drop(name, rows=2, deliver=False, holds=f"key {name}")
    world.clock.advance(60)
    return world.open_attempt(world.file(name))


def audit(world: World, *attempts: Attempt) -> None:
    for attempt in attempts:
        run = world.runner.find(attempt.branch)
        assert run is not None
        world.runner.finish(run.id)


def from_one_base(world: World, number: int = BATCHES) -> list[Attempt]:
    """So many batches, oldest first, audited and not settled."""
    attempts = [opened(world, str(name)) for name in range(1, number + 1)]
    audit(world, *attempts)
    return attempts


def test_of_many_batches_from_one_base_all_land_and_each_is_audited_again_once(world: World) -> None:
    from_one_base(world)
    world.run()
    assert len(world.rows_on_main()) == 1 + BATCHES
    assert len(world.reused) == len(set(world.reused)) == BATCHES - 1
    assert world.job_runs() == 1 + BATCHES + (BATCHES - 1)
    assert (world.branches(), world.rejected()) == ([], {})


def test_status_says_which_batch_is_published_first_and_notes_nothing(world: World) -> None:
    first, second = from_one_base(world, 2)
    before = dict(world.store.objects)
    lines = {line.batch: line for line in status(world.service).in_flight}
    assert {line.state for line in lines.values()} == {"audited"}
    assert lines[second.batch].waits == f"{first.branch} is older and is published first"
    assert lines[first.batch].waits == ""
    assert world.store.objects == before


@pytest.mark.parametrize("seed", range(20))
def test_they_land_oldest_first_in_whatever_order_they_are_settled(world: World, seed: int) -> None:
    attempts, order = from_one_base(world, 8), random.Random(seed)
    landed: list[str] = []
    while len(landed) < len(attempts):
        some = world.attempts()
        for attempt in order.sample(some, len(some)):
            settle(world.service, attempt)
            landed += [name for name in world.rows_on_main() if name not in (*landed, "0")]
        running = world.runner.open_runs()
        for run in order.sample(running, order.randint(0, len(running))):
            world.runner.finish(run.id)
    assert landed == [str(number) for number in range(1, 9)]
    assert len(world.reused) == len(attempts) - 1


def test_the_one_whose_turn_it_is_not_decides_nothing_until_it_is(world: World) -> None:
    one, two = from_one_base(world, 2)
    settle(world.service, two)
    assert set(world.rows_on_main()) == {"0"}
    assert world.branches() == sorted([one.branch, two.branch])
    settle(world.service, one)
    assert set(world.rows_on_main()) == {"0", "1"}
    assert world.branches() == [two.next().branch]  # whose turn it is by that, without an event or a sweep


def test_one_that_is_still_appending_keeps_none_waiting(world: World) -> None:
    slow, fast = opened(world, "1"), opened(world, "2")
    audit(world, fast)
    settle(world.service, fast)
    assert set(world.rows_on_main()) == {"0", "2"}
    audit(world, slow)
    world.run()
    assert set(world.rows_on_main()) == {"0", "1", "2"}


def test_one_that_a_person_tries_again_after_crashes_keeps_none_waiting(world: World) -> None:
    slow = opened(world, "1")
    for _ in range(world.service.attempts):
        world.kill_jobs("out of memory")
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert [its.number for its in retry(world.service, slow.batch).attempts] == [world.service.attempts + 1]
    fast = opened(world, "2")
    audit(world, fast)
    settle(world.service, fast)
    assert set(world.rows_on_main()) == {"0", "2"}
    world.run()
    assert set(world.rows_on_main()) == {"0", "1", "2"}


def test_a_newcomer_does_not_overtake_one_that_is_audited_again(world: World) -> None:
    one, two = from_one_base(world, 2)
    settle(world.service, one)
    newcomer = opened(world, "3")
    audit(world, newcomer)
    settle(world.service, newcomer)
    assert set(world.rows_on_main()) == {"0", "1"}
    audit(world, two.next())
    settle(world.service, two.next())
    assert set(world.rows_on_main()) == {"0", "1", "2"}
    world.run()
    assert set(world.rows_on_main()) == {"0", "1", "2", "3"}


def test_while_one_waits_to_be_tried_again_the_others_go_on(world: World) -> None:
    one, two, three = from_one_base(world, 3)
    settle(world.service, one)
    world.kill_jobs("out of memory")
    settle(world.service, two.next())
    assert [run.branch for run in world.runner.open_runs()] == [three.next().branch]
    world.run()
    assert set(world.rows_on_main()) == {"0", "1", "3"}
    world.clock.advance(world.service.grace.total_seconds())
    assert reconcile(world.service) == []
    world.run()
    assert set(world.rows_on_main()) == {"0", "1", "2", "3"}


def test_one_that_crashes_until_it_is_rejected_blocks_nobody(world: World) -> None:
    one, _, _ = from_one_base(world, 3)
    settle(world.service, one)
    for _ in range(world.service.attempts):
        [run] = [run for run in world.runner.open_runs() if "a1" not in run.branch.rpartition("-")[2]][:1]
        world.runner.fail(run.id, "out of memory")
        world.run()
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert set(world.rows_on_main()) == {"0", "1", "3"}
    assert list(world.rejected()) == ["2"]


def test_rejected_ones_pass_the_turn_on(world: World) -> None:
    one, two, three = from_one_base(world, 3)
    world.stories[world.file("2").id] = world.stories[world.file("1").id]
    settle(world.service, one)
    audit(world, two.next())
    settle(world.service, two.next())
    assert list(world.rejected()) == ["2"]
    assert [run.branch for run in world.runner.open_runs()] == [three.next().branch]


def test_a_table_without_checks_of_table_scope_takes_no_turns() -> None:
    world = World()
    world.drop("0", rows=1)
    world.run()
    _, two = from_one_base(world, 2)
    settle(world.service, two)
    assert set(world.rows_on_main()) == {"0", "2"}


def test_batches_of_another_table_are_not_waited_for(world: World) -> None:
    world.refer_to_planes()
    world.want_unique_keys()
    world.drop("nyc/planes/p", rows=3, absolute=True)
    [planes] = world.attempts()
    audit(world, planes)
    one = opened(world, "1")
    audit(world, one)
    settle(world.service, one)
    assert "1" in world.rows_on_main()


def test_newcomers_do_not_overtake_one_that_is_appended_again() -> None:
    world = World()
    world.want_unique_keys()
    for name in ("0", "1"):
        world.drop(name, rows=1, holds=name)
    world.run()
    world.drop("9", rows=2, deliver=False, holds="9")
    world.clock.advance(60)
    world.drop("1b", rows=2, deliver=False, holds="1b", under=world.key("1"))
    world.clock.advance(60)
    nine, one = world.open_attempt(world.file("9")), world.open_attempt(world.file("1b"))
    audit(world, nine)
    audit(world, one)
    settle(world.service, nine)
    for number in range(8):
        world.drop(f"new{number}", rows=2, deliver=False, holds=f"new{number}")
        world.clock.advance(60)
        newcomer = world.open_attempt(world.file(f"new{number}"))
        audit(world, newcomer)
        settle(world.service, newcomer)
        for its in [it for it in world.attempts() if it.batch == one.batch]:
            audit(world, its)
            settle(world.service, its)
    assert "1b" in world.rows_on_main()
