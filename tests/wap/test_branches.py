"""The place of a table, in Iceberg's own branches and in Nessie's. The tests do not see which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.ref import Ref
from lakegate.errors import Conflict, Refused
from lakegate.express.creating import create
from lakegate.landing.attempts import Attempt
from lakegate.landing.receipts import Receipt
from lakegate.wap import Branch, discard_abandoned, resume, start
from lakegate.wap.nessie import NessiePlace
from lakegate.wap.place import Open, Place
from lakegate.wap.publishing import discard, make, merge
from tests.support.runs import World, ids_of, orders

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def begun(world: World, *ids: int, now: datetime = THEN) -> Branch:
    """A run with rows on its branch."""
    run = start(world.opened(), world.contract, now=lambda: now)
    run.append(orders(*ids))
    return run


def place(run: Branch) -> Place:
    """The place of the run's table."""
    return run._terms.place


def found(run: Branch) -> Open:
    there = place(run).find(run.name)
    assert there
    return there


def test_what_is_on_a_branch_is_there_alone(world: World) -> None:
    one, other = begun(world, 1), begun(world, 2)
    assert [ids_of(found(it).head) for it in (one, other)] == [[1], [2]]
    assert (world.ids(), world.branches()) == ([], sorted([one.name, other.name]))


def test_a_branch_is_published_as_it_was_found_and_is_gone(world: World) -> None:
    run = begun(world, 1)
    merge(place(run), found(run), {})
    assert (world.ids(), world.branches()) == ([1], [])
    assert place(run).find(run.name) is None
    run.discard()  # an absent one is fine


def test_a_branch_of_what_main_was_before_is_not_published(world: World) -> None:
    first, second = begun(world, 1), begun(world, 2)
    before = found(second)
    merge(place(first), found(first), {})
    with pytest.raises(Conflict):
        merge(place(second), before, {})
    assert (world.ids(), world.branches()) == ([1], [second.name])
    assert ids_of(before.base) == []


def test_a_branch_that_was_changed_since_it_was_found_is_not_published_or_appended_to(world: World) -> None:
    run = begun(world, 1)
    before = found(run)
    run.append(orders(2))
    with pytest.raises(Conflict):
        merge(place(run), before, {})
    with pytest.raises(Conflict):
        place(run).append(before, [], {})
    assert (world.ids(), ids_of(found(run).head)) == ([], [1, 2])


@pytest.mark.parametrize("world", [pytest.param("nessie", marks=pytest.mark.nessie)], indirect=True)
@pytest.mark.parametrize("strange", ["a table", "a receipt"])
def test_a_branch_of_the_whole_catalog_that_changes_more_than_its_table_is_not_published(
    world: World, strange: str
) -> None:
    run = begun(world, 1)
    here = place(run)
    assert isinstance(here, NessiePlace)
    if strange == "a table":
        other = replace(world.contract.plan, table=f"{run.table}_others")
        create(RefCatalog(here.uri, here.warehouse, Ref(run.name)), other, other.columns)
    else:
        receipt = Receipt(bucket="landing", key="orders/1.parquet")
        here.branches.commit_receipts(run.name, found(run).at, [receipt])
    with pytest.raises(Refused, match="also changes"):
        run.publish()
    assert (world.ids(), world.branches()) == ([], [run.name])


def test_a_branch_is_discarded_whatever_it_holds(world: World) -> None:
    run = begun(world, 1)
    run.discard()
    assert (world.ids(), world.branches()) == ([], [])


def test_branches_that_were_abandoned_are_told_by_when_they_were_begun(world: World) -> None:
    old, new = begun(world, 1), begun(world, 2, now=THEN + timedelta(days=6))
    now = THEN + timedelta(days=8)
    assert discard_abandoned(world.opened(), world.contract.table, now=lambda: now) == [old.name]
    assert world.branches() == [new.name]


def foreign(world: World) -> list[str]:
    """Names that a task's parameters may bring, of branches that no run has made."""
    table = world.contract.table
    attempt = Attempt(table=table, batch="20260101T000000-1a2b3c4d", number=1)
    return [
        "main",
        "Main",
        "",
        "feature",
        f"wap-{table}",
        attempt.branch,
        "wap-shop.others-20260101T000000-1a2b3c4d",
        f"wap-{table}-20261301T000000-1a2b3c4d",
        f" wap-{table}-20260101T000000-1a2b3c4d",
    ]


def test_a_branch_that_no_run_has_made_is_never_written_to(world: World) -> None:
    """Once `resume(…, name="main")` appended unaudited rows to main, and `discard` emptied it."""
    run = begun(world, 1)
    merge(place(run), found(run), {})
    plan = world.contract.plan
    for name in foreign(world):
        with pytest.raises(Refused, match="is no branch of a run"):
            resume(world.opened(), world.contract, name)
        strange = replace(found_main(world, run), name=name)
        changes: list[Callable[[Open], object]] = [
            lambda it: make(place(run), it.name),
            lambda it: place(run).fit(it, plan, plan.columns, ()),
            lambda it: place(run).append(it, [], {}),
            lambda it: merge(place(run), it, {}),
            lambda it: discard(place(run), it.name),
        ]
        for change in changes:
            with pytest.raises(Refused, match="is no branch of a run"):
                change(strange)
    assert world.ids() == [1]


def found_main(world: World, run: Branch) -> Open:
    main = place(run).other(world.contract.table)
    return Open(name="main", base=main, head=main, at="")
