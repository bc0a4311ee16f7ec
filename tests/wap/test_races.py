"""Two runs at once, and a run that is killed at any write: main has rows once, and none that were not audited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from lakegate.wap import AuditFailed, wap
from tests.support.runs import TABLE, FolderCatalog, Killed, branches_of, catalog, contract, on_main, orders

ORDERS = contract()
WRITES = 4  # of a run on a catalog without the table: the table, a branch, an append, a publish
RARELY = pytest.mark.extended


@pytest.fixture
def here(tmp_path: Path) -> Iterator[FolderCatalog]:
    found = catalog(tmp_path)
    yield found
    found.close()


def run(at: FolderCatalog, key: str = "", *ids: int | None) -> None:
    with wap(at, ORDERS, key=key) as branch:
        branch.append(orders(*ids))
        branch.publish()


def test_a_run_makes_as_many_writes_as_the_tests_think(here: FolderCatalog) -> None:
    run(here, "", 1)
    assert here.writes == WRITES


@pytest.mark.parametrize("write", range(1, WRITES + 1))
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_is_killed_and_run_again_is_on_main_once(
    tmp_path: Path, here: FolderCatalog, write: int, moment: str
) -> None:
    dead = catalog(tmp_path)

    def kill(number: int) -> None:
        if number > write or (number, moment) == (write, "before"):
            raise Killed

    dead.before = kill
    dead.after = lambda number: kill(number + 1)
    with pytest.raises(Killed):
        run(dead, "k", 1, 2)
    dead.close()
    published = (write, moment) == (WRITES, "after")
    assert on_main(here) == ([1, 2] if published else [])
    run(here, "k", 1, 2)
    run(here, "k", 1, 2)
    assert on_main(here) == [1, 2]


@pytest.mark.parametrize(
    ("write", "other"),
    [
        pytest.param(1, 3, marks=RARELY),
        pytest.param(2, 3, marks=RARELY),
        (3, 3),
        (4, 3),
        pytest.param(3, None, marks=RARELY),
        (4, None),
    ],
)
def test_a_run_that_is_overtaken_is_on_main_beside_the_other(
    tmp_path: Path, here: FolderCatalog, write: int, other: int | None
) -> None:
    """The other run comes between what this one looked at and what it writes. A bad one does not get in by it."""
    fast = catalog(tmp_path)

    def overtake(number: int) -> None:
        if number == write and other:
            run(fast, "", other)
        elif number == write:
            with pytest.raises(AuditFailed):
                run(fast, "", other)

    here.before = overtake
    run(here, "", 1)
    fast.close()
    assert on_main(here) == ([1, 3] if other else [1])
    assert branches_of(here.load_table(TABLE)) == []


@pytest.mark.parametrize("write", [1, pytest.param(2, marks=RARELY), pytest.param(3, marks=RARELY), 4])
def test_two_runs_of_one_key_publish_once(tmp_path: Path, here: FolderCatalog, write: int) -> None:
    fast = catalog(tmp_path)
    here.before = lambda number: run(fast, "k", 1) if number == write else None
    run(here, "k", 2)
    fast.close()
    assert on_main(here) == [1]
    assert branches_of(here.load_table(TABLE)) == []


@pytest.mark.parametrize("write", [pytest.param(2, marks=RARELY), 3, 4])
@pytest.mark.parametrize("error", [CommitFailedException, CommitStateUnknownException])
def test_an_answer_that_is_lost_or_wrong_is_looked_for(
    here: FolderCatalog, write: int, error: Callable[[str], Exception]
) -> None:
    def lose(number: int) -> None:
        if number == write:
            raise error("the answer is lost")

    here.after = lose
    run(here, "", 1, 2)
    assert on_main(here) == [1, 2]
    assert branches_of(here.load_table(TABLE)) == []
