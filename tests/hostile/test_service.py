"""A whole installation in memory, given every hostile name and contract: a good file of another table is published, and
what receiving, a sweep and a status cost grows with what they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from lakegate.landing.files import FileVersion
from lakegate.workflow import registry
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.status import status
from tests.hostile import contracts
from tests.hostile.growth import assert_linear
from tests.hostile.names import PATTERNS_AND_KEYS
from tests.world.world import CONTRACT, World

GOOD = "good"  # of the world's own table
HOSTILE: Mapping[str, tuple[int, Callable[[int], str]]] = {
    **contracts.PATTERNS,
    **contracts.SQL,
    **contracts.DOCUMENTS,
}


def world_with_route(pattern: str) -> World:
    """Another table's contract has this route: it came straight into the store, where nobody asks what it overlaps."""
    world = World()
    other = CONTRACT.replace("nyc/flights/**", pattern).replace("nyc-flights", "other").replace("nyc.flights", "a.b")
    world.store.write("contracts/a.b.yaml", other.encode())
    return world


def bring(world: World, *files: FileVersion) -> World:
    """All that handles them: the event, the sweep, the status."""
    arrivals = [Arrival(key=file.key, version_id=file.version_id) for file in files]
    assert receive(world.service, arrivals) == []
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    status(world.service)
    return world


@pytest.mark.parametrize("name", PATTERNS_AND_KEYS)
def test_a_key_costs_its_length_and_a_good_file_that_comes_with_it_is_published(name: str) -> None:
    pattern, key = PATTERNS_AND_KEYS[name]

    def dropped(size: int) -> tuple[World, list[FileVersion]]:
        world = world_with_route(pattern)
        bad = world.drop("bad", rows=1, under=key(size), deliver=False)
        return world, [bad, world.drop(GOOD, rows=2, deliver=False)]

    def brought(them: tuple[World, list[FileVersion]]) -> None:
        bring(them[0], *them[1])

    assert_linear(dropped, brought, 200)
    world, files = dropped(1_000)
    bring(world, *files).run()
    assert world.rows_on_main()[GOOD] == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_a_contract_that_came_straight_into_the_store_stops_no_file_of_another_table(name: str) -> None:
    size, made = HOSTILE[name]
    world = World()
    world.store.write("contracts/shop.orders.yaml", made(size * 20).encode())
    bring(world, world.drop(GOOD, rows=2, deliver=False)).run()
    assert world.rows_on_main() == {GOOD: 2}


def test_contracts_in_the_store_cost_what_they_are_many() -> None:
    def stored(count: int) -> tuple[World, FileVersion]:
        world = World()
        for at in range(count):
            text = contracts.of_pattern("(" * 98 + "a" + ")?" * 98)
            world.store.write(f"contracts/shop.t{at}.yaml", text.replace("shop.orders", f"shop.t{at}").encode())
        return world, world.drop(GOOD, rows=2, deliver=False)

    def brought(them: tuple[World, FileVersion]) -> None:
        registry._load.cache_clear()
        bring(*them)

    assert_linear(stored, brought, 2)
