"""`contract list`, `show` and `delete`: what was pushed, and what becomes of files without it."""

import pytest

from lakegate.cli import registry
from lakegate.cli.exits import Exit
from lakegate.errors import Refused
from lakegate.operations.acts import DeleteContract
from lakegate.operations.operation import Direct
from tests.cli.desk import Desk
from tests.world.world import CONTRACT

NAME = "contracts/nyc.flights.yaml"


def test_a_list_has_each_table_with_its_route_or_its_fault(desk: Desk) -> None:
    desk.run("contract", "push", desk.contract())
    desk.world.store.write("contracts/nyc.weather.yaml", b"not: a contract")
    contracts = {it["table"]: (it["route"], bool(it["fault"])) for it in desk.json("contract", "list")}
    assert contracts == {
        "nyc.flights": ("nyc/flights/**", False),
        "nyc.planes": ("nyc/planes/*.parquet", False),
        "nyc.weather": ("", True),
    }
    shown = desk.run("contract", "list").stdout
    assert "nyc.planes: nyc/planes/*.parquet" in shown
    assert "nyc.weather: does not load" in shown


def test_without_contracts_the_list_says_how_to_push_one(desk: Desk) -> None:
    desk.run("contract", "delete", "nyc.flights")
    assert "lakegate contract push" in desk.run("contract", "list").stdout


def test_a_contract_is_shown_as_it_was_pushed_to_the_byte(desk: Desk) -> None:
    body = desk.world.store.read(NAME)
    assert body is not None
    assert desk.run("contract", "show", "nyc.flights").stdout == body.decode() == CONTRACT


@pytest.mark.parametrize("command", ["show", "delete"])
def test_a_table_without_a_contract_is_misuse(desk: Desk, command: str) -> None:
    told = desk.run("contract", command, "nyc.trains")
    assert told.exit_code == Exit.MISUSE
    assert "lakegate contract list" in told.output


def test_a_deleted_contract_leaves_the_table_and_says_what_becomes_of_its_files(desk: Desk) -> None:
    desk.rejected()
    told = desk.run("contract", "delete", "nyc.flights")
    assert told.exit_code == Exit.SUCCESS
    assert "are unrouted" in told.stdout
    assert "1 rejected file can be approved or discarded" in " ".join(told.stdout.split())
    assert desk.world.store.read(NAME) is None
    desk.run("drop", desk.file("2.parquet"), "--to", "nyc/flights/", "--wait")
    assert len(desk.json("status")["unrouted"]) == 1
    assert len(desk.json("status")["rejected"]) == 1


def test_a_contract_of_files_in_flight_is_kept(desk: Desk) -> None:
    desk.is_working = False
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    told = desk.run("contract", "delete", "nyc.flights", "--yes")
    assert told.exit_code == Exit.REJECTED
    assert "lakegate wait" in told.output
    assert desk.world.store.read(NAME) is not None


def test_a_person_who_says_no_keeps_the_contract(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "is_attended", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda _: False)
    assert "Nothing was deleted" in desk.run("contract", "delete", "nyc.flights").stdout
    assert desk.world.store.read(NAME) is not None


def test_an_installation_without_functions_deletes_in_this_process_and_twice_is_once(desk: Desk) -> None:
    direct = Direct(service=desk.world.service, by="me", sweep=desk.sweep, reading=desk.reading)
    for _ in range(2):
        direct.run(DeleteContract(table="nyc.flights"))
    assert desk.world.store.read(NAME) is None


def test_a_file_that_is_claimed_in_between_keeps_the_contract(desk: Desk) -> None:
    desk.world.drop("1.parquet", rows=3)
    direct = Direct(service=desk.world.service, by="me", sweep=desk.sweep, reading=desk.reading)
    with pytest.raises(Refused, match="in flight"):
        direct.run(DeleteContract(table="nyc.flights"))
