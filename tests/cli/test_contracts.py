"""`contract check` and `contract push`: every fault by its line, all or nothing, and unrouted files taken up."""

import json
from pathlib import Path

import pytest

from lakegate.contracts import reading
from lakegate.contracts.odcs.examples import WHOLE
from lakegate.errors import Retryable
from lakegate.workflow.registry import Registry
from tests.cli.desk import Desk


def broken(desk: Desk) -> str:
    path = desk.contract(name="broken.yaml")
    path.write_text(path.read_text().replace("logicalType: integer", "logicalTipe: integer"))
    return str(path)


def test_a_sound_contract_is_said_to_be_sound(desk: Desk) -> None:
    told = desk.run("contract", "check", desk.contract())
    assert told.exit_code == 0
    assert "nyc.planes is sound" in told.stdout


def test_check_needs_no_installation(desk: Desk) -> None:
    desk.world.service.store.objects.clear()  # type: ignore[attr-defined]
    assert desk.run("contract", "check", desk.contract()).exit_code == 0


def test_every_fault_of_a_broken_contract_is_named_by_its_line(desk: Desk) -> None:
    path = broken(desk)
    told = desk.run("contract", "check", path)
    lines = [at for at, line in enumerate(desk.contract().read_text().splitlines(), 1) if "logicalType" in line]
    assert told.exit_code == 1
    for line in lines:
        assert f"{path}:{line}: " in told.stdout


def test_faults_as_json_carry_their_lines(desk: Desk) -> None:
    told = desk.json("contract", "check", broken(desk), desk.contract())
    assert [bool(contract["faults"]) for contract in told["contracts"]] == [True, False]
    assert all(fault["line"] > 0 for fault in told["contracts"][0]["faults"])


def test_contracts_whose_routes_overlap_are_refused_together(desk: Desk) -> None:
    one = desk.contract()
    other = desk.contract(table="nyc.more", route="nyc/planes/**", name="more.yaml")
    told = desk.run("contract", "check", one, other)
    assert told.exit_code == 1
    assert "overlaps" in told.stdout


def test_a_broken_contract_keeps_all_from_being_pushed(desk: Desk) -> None:
    told = desk.run("contract", "push", desk.contract(), broken(desk))
    assert told.exit_code == 1
    assert "nothing was pushed" in told.stdout
    assert desk.world.store.names("contracts/") == ["contracts/nyc.flights.yaml"]


def test_a_route_that_overlaps_a_pushed_one_is_refused(desk: Desk) -> None:
    told = desk.run("contract", "push", desk.contract(route="nyc/flights/*.parquet"))
    assert told.exit_code == 1
    assert "overlaps" in told.stderr


def test_a_pushed_contract_takes_up_the_files_that_waited_for_it(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), desk.file("2.txt"), "--to", "nyc/planes/", "--wait")
    told = desk.run("contract", "push", desk.contract())
    assert told.exit_code == 0
    assert "1 unrouted file taken up" in told.stdout
    held = [entry["files"] for entry in desk.json("status")["unrouted"]]
    assert held == [["nyc/planes/2.txt"]]


def test_a_push_that_routes_nothing_unrouted_runs_no_sweep(desk: Desk) -> None:
    assert desk.run("contract", "push", desk.contract()).exit_code == 0
    assert desk.sweeps == 0


def test_a_contract_file_that_is_not_there_is_misuse(desk: Desk) -> None:
    assert desk.run("contract", "check", desk.folder / "none.yaml").exit_code == 2


def test_a_push_whose_sweep_fails_says_that_it_is_pushed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.run("drop", desk.file("1.parquet"), "--to", "nyc/planes/", "--wait")

    def silent() -> None:
        raise Retryable("the function reconcile failed")

    monkeypatch.setattr(desk, "sweep", silent)
    told = desk.run("contract", "push", desk.contract())
    assert told.exit_code == 3
    assert "the contracts are pushed" in told.stderr
    assert "1 unrouted file was not taken up" in told.stderr
    assert "lakegate reconcile" in told.stderr
    assert "nyc.planes" in [contract.table for contract in Registry.read(desk.world.store).contracts]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_push_whose_sweep_fails_at_something_else_has_taken_up_what_waited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, as_json: bool
) -> None:
    desk.run("drop", desk.file("1.parquet"), "--to", "nyc/planes/", "--wait")
    sweep = desk.sweep

    def fails_too() -> None:
        sweep()
        raise Retryable("Slack does not answer")

    monkeypatch.setattr(desk, "sweep", fails_too)
    if as_json:
        told = desk.json("contract", "push", desk.contract())
        assert (told["taken_up"], told["left"]) == (["nyc/planes/1.parquet"], [])
        assert told["sweep_failed"] == "Slack does not answer"
        return
    said = desk.run("contract", "push", desk.contract())
    assert said.exit_code == 0
    for words in ("1 unrouted file taken up", "Slack does not answer"):
        assert words in said.stdout


def test_a_push_for_more_unrouted_files_than_a_sweep_takes_up_says_how_many_are_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("drop", *(desk.file(f"{n}.parquet") for n in range(3)), "--to", "nyc/planes/", "--wait")
    monkeypatch.setattr("lakegate.workflow.reconcile.AT_ONCE", 2)
    told = desk.run("contract", "push", desk.contract())
    assert told.exit_code == 0
    assert "2 unrouted files taken up" in told.stdout
    assert "1 unrouted file is left for the next sweep" in told.stdout
    desk.sweep()
    assert {line["state"] for line in desk.json("status")["in_flight"]} == {"waiting for a job"}


def test_a_contract_that_its_reader_stumbles_over_is_a_fault_beside_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(reading, "check_json_schema", stumble)

    told = desk.json("contract", "check", desk.contract())

    [fault] = told["contracts"][0]["faults"]
    assert "cannot read on from here (RecursionError): a fault of its own" in fault["message"]


def test_a_name_in_a_fault_feigns_no_line_of_the_answer(desk: Desk) -> None:
    path = desk.contract()
    path.write_text(path.read_text() + '"x\\n/c.yaml: nyc.planes is sound": 1\n')

    told = desk.run("contract", "check", path)

    assert told.exit_code == 1
    assert all(line.startswith(f"{path}:") for line in told.stdout.splitlines())


def test_contract_check_prints_the_lines_to_write(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(WHOLE.replace("        logicalType: integer", "        required: true"))
    told = desk.run("contract", "check", tmp_path / "c.yaml").stdout
    assert "a column needs a type: logicalType or physicalType\n    Write:\n        logicalType: string\n" in told
    said = json.loads(desk.run("contract", "check", tmp_path / "c.yaml", "--json").stdout)
    assert [fault["write"] for fault in said["contracts"][0]["faults"]] == ["logicalType: string"]


@pytest.mark.parametrize("command", ["check", "push"])
def test_a_check_that_no_row_can_fail_is_refused_wherever_a_contract_is_read(desk: Desk, command: str) -> None:
    path = desk.contract(name="quoted.yaml")
    rule = """{type: custom, engine: lakegate, implementation: {row: "\\"A\\" <> 'bad'"}}"""
    path.write_text(path.read_text() + f"    quality:\n      - {rule}\n")

    told = desk.run("contract", command, path)

    assert told.exit_code != 0
    assert "is a text and no column" in " ".join((told.stdout + told.stderr).split())
