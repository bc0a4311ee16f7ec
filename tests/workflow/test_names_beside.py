"""Tables of almost the same name, `a.b_c` and `a_b.c`: each has a quarantine and audits of its own, for good."""

from dataclasses import replace

import pytest

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.ports import MAIN, Ref
from lakegate.testing.lake import Key, KeyKind, TableState
from lakegate.workflow.ledger.names import PREFIX
from lakegate.workflow.registry import contract_name, push
from lakegate.workflow.status import status
from tests.world.world import CONTRACT, World

FIRST, SECOND = "nyc.late_flights", "nyc_late.flights"
PLAIN = "_quarantine.nyc_late_flights"


@pytest.fixture
def world() -> World:
    return World()


def push_contract(world: World, table: str) -> None:
    text = CONTRACT.replace("nyc/flights", table).replace("nyc.flights", table).replace("nyc-flights", table)
    push(world.store, [(f"{table}.yaml", text.encode())])


def drop(world: World, table: str, name: str, under: str = "") -> None:
    world.drop(f"{table}/{name}", rows=5, aside=2, absolute=True, under=under)
    world.run()


def files_in(world: World, table: str) -> set[str]:
    """The files that have rows in a table on main, by name."""
    return {world.names[file] for file in world._versions(Ref(MAIN), table)}


def make(world: World, table: str) -> None:
    """As an earlier release left it."""
    state = TableState(identity=world.new_table(), files={f"wap-old/{table}": 1})
    world.lake.commit(MAIN, {Key(kind=KeyKind.TABLE, name=table): state})


@pytest.mark.parametrize(("first", "second"), [(FIRST, SECOND), (SECOND, FIRST)])
def test_the_second_of_two_live_tables_has_a_quarantine_of_a_name_of_its_own(
    world: World, first: str, second: str
) -> None:
    push_contract(world, first)
    push_contract(world, second)  # no table lets go of its contract for this
    for at, table in enumerate((first, second, first, second)):
        drop(world, table, str(at))
    assert files_in(world, PLAIN) == {f"{first}/0", f"{first}/2"}
    assert files_in(world, quarantine_of(second, distinct=True)) == {f"{second}/1", f"{second}/3"}


def test_a_table_whose_contract_is_gone_keeps_its_quarantine_from_one_that_comes_later(world: World) -> None:
    push_contract(world, FIRST)
    drop(world, FIRST, "1")
    world.store.delete(contract_name(FIRST))
    push_contract(world, SECOND)
    drop(world, SECOND, "1")
    assert files_in(world, PLAIN) == {f"{FIRST}/1"}
    assert files_in(world, quarantine_of(SECOND, distinct=True)) == {f"{SECOND}/1"}
    push_contract(world, FIRST)
    drop(world, FIRST, "2")
    assert files_in(world, PLAIN) == {f"{FIRST}/1", f"{FIRST}/2"}


@pytest.mark.parametrize("own", [(FIRST,), (FIRST, PLAIN), (FIRST, "_audits.nyc_late_flights")])
def test_a_table_of_an_earlier_release_keeps_its_plain_name_whoever_comes_first(
    world: World, own: tuple[str, ...]
) -> None:
    for table in own:
        make(world, table)
    push_contract(world, SECOND)
    drop(world, SECOND, "1")
    push_contract(world, FIRST)
    assert world.store.objects[PREFIX + "nyc_late_flights"] == FIRST.encode()
    assert files_in(world, quarantine_of(SECOND, distinct=True)) == {f"{SECOND}/1"}


def test_a_quarantine_of_a_table_that_is_gone_is_no_later_ones(world: World) -> None:
    make(world, PLAIN)
    push_contract(world, SECOND)
    drop(world, SECOND, "1")
    assert world.lake.table(Ref(MAIN), PLAIN).files == {f"wap-old/{PLAIN}": 1}  # type: ignore[union-attr]
    assert files_in(world, quarantine_of(SECOND, distinct=True)) == {f"{SECOND}/1"}


def test_a_newer_version_takes_its_older_ones_rows_out_of_its_own_quarantine(world: World) -> None:
    for table in (FIRST, SECOND):
        push_contract(world, table)
        drop(world, table, "1")
    text = CONTRACT.replace("nyc/flights", SECOND).replace("nyc.flights", SECOND)
    text += "    customProperties: [{property: reuploads, vendor: lakegate, value: replace}]\n"
    push(world.store, [(f"{SECOND}.yaml", text.encode())])
    drop(world, SECOND, "2", under=f"{SECOND}/1")
    assert files_in(world, quarantine_of(SECOND, distinct=True)) == {f"{SECOND}/2"}
    assert files_in(world, PLAIN) == {f"{FIRST}/1"}


def test_a_job_reaches_and_people_are_shown_the_quarantine_of_its_own_name(world: World) -> None:
    world.service = replace(world.service, notes_audits=True)
    push_contract(world, FIRST)
    push_contract(world, SECOND)
    drop(world, FIRST, "1")
    drop(world, SECOND, "1")
    reached = [set(reach.tables) for reach in world.runner.reaches.values()]
    assert {SECOND, quarantine_of(SECOND, distinct=True), audits_of(SECOND, distinct=True)} in reached
    [*_, message] = world.messages()
    assert f"FROM {quarantine_of(SECOND, distinct=True)} WHERE" in message.commands[-1]
    assert len(status(world.service).published) == 2


def test_a_table_that_shares_its_plain_name_with_no_other_needs_no_note(world: World) -> None:
    world.drop("1", rows=5, aside=2)
    world.run()
    assert not world.store.names(PREFIX)
