"""Two runs at once, and a run that is killed at any write: main has rows once, and none that were not audited."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.wap import AuditFailed, wap
from tests.support.runs import Killed, World, orders

NESSIE, RARELY = pytest.mark.nessie, pytest.mark.extended
MAKE, APPEND, PUBLISH = 1, 2, 3  # writes of a run, where the table is there
KILLS: list[Any] = [
    *(("folder", write) for write in range(1, 4)),
    *(pytest.param("nessie", write, marks=[NESSIE]) for write in (4, 5)),
    *(pytest.param("nessie", write, marks=[NESSIE, RARELY]) for write in (1, 2, 3, 6)),
]
MOMENTS: list[Any] = [PUBLISH, pytest.param(APPEND, marks=RARELY), pytest.param(MAKE, marks=RARELY)]


def run(world: World, *ids: int | None, key: str = "", **hooks: Any) -> None:
    with wap(world.opened(**hooks), world.contract, key=key) as branch:
        branch.append(orders(*ids))
        branch.publish()


def test_a_run_makes_as_many_writes_as_the_tests_think(world: World) -> None:
    seen: list[int] = []
    run(world, 1, after=seen.append)
    assert seen == list(range(1, world.writes + 1))
    seen.clear()
    run(world, 2, after=seen.append)
    assert seen[:PUBLISH] == [MAKE, APPEND, PUBLISH]


@pytest.mark.parametrize(("world", "write"), KILLS, indirect=["world"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_is_killed_and_run_again_is_on_main_once(world: World, write: int, moment: str) -> None:
    def kill(number: int) -> None:
        if number > write or (number, moment) == (write, "before"):
            raise Killed

    with pytest.raises(Killed):
        run(world, 1, 2, key="k", before=kill, after=lambda number: kill(number + 1))
    published = write > world.publish or (write, moment) == (world.publish, "after")
    assert world.ids() == ([1, 2] if published else [])
    run(world, 1, 2, key="k")
    run(world, 1, 2, key="k")
    assert world.ids() == [1, 2]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("other", [3, pytest.param(None, marks=RARELY)])
def test_a_run_that_is_overtaken_is_on_main_beside_the_other(world: World, moment: int, other: int | None) -> None:
    """The other run comes between what this one looked at and what it writes. A bad one does not get in by it."""

    def overtake(number: int) -> None:
        if number == moment and other:
            run(world, other)
        elif number == moment:
            with pytest.raises(AuditFailed):
                run(world, other)

    run(world, 0)
    run(world, 1, before=overtake)
    assert world.ids() == ([0, 1, 3] if other else [0, 1])
    assert world.branches() == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_two_runs_of_one_key_publish_once(world: World, moment: int) -> None:
    run(world, 0)
    run(world, 2, key="k", before=lambda number: run(world, 1, key="k") if number == moment else None)
    assert world.ids() == [0, 1]
    assert world.branches() == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_answer_that_is_lost_or_wrong_is_looked_for(world: World, moment: int) -> None:
    run(world, 0)
    for at, error in enumerate(world.lost, 1):

        def lose(number: int, error: Exception = error) -> None:
            if number == moment:
                raise error

        run(world, at, after=lose)
    assert world.ids() == list(range(len(world.lost) + 1))
    assert world.branches() == []
