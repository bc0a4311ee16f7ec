"""A contract that observes: everything is published, what enforcing would have done is told, and one word ends it."""

import pytest

from lakegate.errors import Refused
from lakegate.ports import MessageKind
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.baseline import baseline
from lakegate.workflow.registry import contract_of, push
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.workflow.test_references import PLANE, together
from tests.world.world import CONTRACT, DRIFT, TABLE, World

OBSERVE = "    customProperties: [{property: mode, vendor: lakegate, value: observe}]\n"
DRIFTING = CONTRACT + DRIFT + OBSERVE
WOULD = "observed: it would have been rejected"


@pytest.fixture
def world() -> World:
    world = World()
    world.push_contract(mode="observe")
    return world


def test_a_file_that_fails_is_published_and_its_fault_is_told(world: World) -> None:
    world.drop("1.parquet", rows=5, bad="b required")
    world.run()
    assert (world.rows_on_main(), world.rejected(), world.branches()) == ({"1.parquet": 5}, {}, [])
    [line] = status(world.service).published
    assert (line.would_reject, line.would_quarantine) == (1, 0)
    assert line.reasons == (WOULD, "b required: 1, expected none")
    [message] = world.messages()
    assert (message.kind, message.would_reject, message.published_rows) == (MessageKind.OBSERVE, 1, 5)
    assert message.files[0].reasons == line.reasons
    assert message.commands == (f"lakegate show {line.batch}",)


def test_rows_that_would_go_to_quarantine_stay_and_are_counted(world: World) -> None:
    world.drop("1.parquet", rows=5, aside=2)
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"1.parquet": 7}, {})
    [line] = status(world.service).published
    assert (line.would_reject, line.would_quarantine, line.quarantined) == (0, 2, 0)
    assert line.reasons[0] == "observed: 2 of 7 rows would have gone to quarantine"
    [message] = world.messages()
    assert (message.kind, message.would_quarantine) == (MessageKind.OBSERVE, 2)


def test_a_file_that_cannot_be_read_is_rejected_beside_one_that_is_observed(world: World) -> None:
    world.drop("1.parquet", rows=5, bad="b required", deliver=False)
    world.drop("2.parquet", rows=5, unreadable="it is encrypted", deliver=False)
    world.drop_together("1.parquet", "2.parquet")
    world.run()
    assert (world.rows_on_main(), set(world.rejected())) == ({"1.parquet": 5}, {"2.parquet"})
    assert {message.kind for message in world.messages()} == {MessageKind.OBSERVE, MessageKind.REJECTED}


def test_there_is_nothing_to_approve_or_to_retry_and_a_person_is_told_so(world: World) -> None:
    world.drop("1.parquet", rows=5, bad="b required")
    world.run()
    [line] = status(world.service).published
    for act in (lambda: retry(world.service, line.batch), lambda: approve(world.service, line.batch, "ok", "ann")):
        with pytest.raises(Refused, match="its contract observes, so its files are published"):
            act()


def test_what_was_observed_is_not_published_once_the_contract_enforces(world: World) -> None:
    """The audit's verdicts are of a contract that is gone."""
    world.drop("1.parquet", rows=5, bad="b required")
    world.run(settle_after=False)
    world.push_contract(mode="enforce")
    world.run()
    assert (world.rows_on_main(), set(world.rejected())) == ({}, {"1.parquet"})


def test_a_file_that_is_published_under_observation_is_no_baseline(world: World) -> None:
    """A fault would else hide the next one of its kind: drift from it is none."""
    world.push_text(DRIFTING)
    for number, bad in ((1, ""), (2, "too few"), (3, "")):
        world.drop(f"{number}.parquet", rows=number, bad=bad)
        world.run()
    [values] = baseline(world.service, contract_of(world.store, TABLE).plan).values()
    assert (world.rows_on_main(), values) == ({f"{it}.parquet": it for it in (1, 2, 3)}, (1, 3))


def test_of_a_file_whose_rows_would_have_gone_the_rest_is_baseline(world: World) -> None:
    world.push_text(DRIFTING)
    world.drop("1.parquet", rows=5, aside=2)
    world.run()
    assert list(baseline(world.service, contract_of(world.store, TABLE).plan).values()) == [(5,)]


def test_a_file_waits_for_rows_that_it_refers_to_as_if_its_contract_enforced() -> None:
    """Published at once it would be told to be at fault, and a moment later it were not."""
    world = World()
    world.refer_to_planes()
    flights = (text := world.store.objects["contracts/nyc.flights.yaml"].decode()) + OBSERVE
    assert "relationships" in text
    push(world.store, [("flights.yaml", flights.encode())])
    flying, planes = together(world)
    settle(world.service, flying)
    assert world.rows_on_main() == {}
    settle(world.service, planes)
    settle(world.service, flying)
    world.run()
    assert (world.rows_on_main()["1"], world.messages()) == (2, [])
    assert PLANE in world.files
