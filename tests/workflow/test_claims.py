"""Looking for claims: many branches that are kept are asked once each, and what is claimed meanwhile is seen."""

from collections import Counter
from collections.abc import Iterable

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import Ref
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.service import Service
from tests.world.installation import PLANES
from tests.world.world import World

KEPT = ["1", "2", "3"]


@pytest.fixture
def world() -> World:
    """Two tables, and branches that are kept for what was rejected."""
    world = World()
    world.refer_to_planes()
    for name in KEPT:
        world.drop(name, rows=1, bad="broken")
    world.run()
    assert len(world.branches()) == len(KEPT)
    return world


def landed(world: World, *names: str) -> list[FileVersion]:
    return [world.drop(name, rows=3, absolute=True, deliver=False) for name in names]


def test_a_delivery_of_several_tables_asks_each_kept_branch_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, receipts, asked = world.branches(), world.service.ledger.receipts, Counter[str]()

    def counted(ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        asked[ref.branch] += 1
        return receipts(ref, keys)

    monkeypatch.setattr(world.service.ledger, "receipts", counted)
    world.deliver(*landed(world, "nyc/flights/4", "nyc/planes/p"))
    assert [asked[branch] for branch in kept] == [1, 1, 1]
    assert len(world.attempts()) == len(KEPT) + 2


def test_what_another_worker_claims_while_one_table_is_received_is_seen_for_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    flight, one, two = landed(world, "nyc/flights/4", "nyc/planes/p1", "nyc/planes/p2")

    def meanwhile(service: Service, attempt: Attempt, files: list[FileVersion], _around: object) -> Attempt:
        monkeypatch.undo()
        world.deliver(one, two)
        return start_attempt(service, attempt, files)

    monkeypatch.setattr("lakegate.workflow.receive.start_attempt", meanwhile)
    world.deliver(flight, one)
    [planes] = [attempt for attempt in world.attempts() if attempt.table == PLANES]
    assert world.claims(planes) == [one, two]
