"""A canary lands like any other file, replaces the one before, and is seen by no reader."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lakegate.access import Operation, Role, may
from lakegate.cli.app import app
from lakegate.contracts import load
from lakegate.errors import ContractFaults
from lakegate.landing import canary
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN, Signal
from lakegate.workflow.receiving.canary import drop_canary
from lakegate.workflow.registry import Registry, contract_name
from tests.world.stories import Story
from tests.world.world import CONTRACT, World


@pytest.fixture
def world() -> World:
    return World()


def landed(world: World) -> FileVersion:
    """The canary that lands now."""
    world.clock.advance(3600)
    drop_canary(world.service)
    file = max((it for it in world.landing.versions() if it.key == canary.KEY), key=lambda it: it.landed_at)
    world.stories[file.id], world.names[file.id] = Story(rows=canary.ROWS), f"canary {file.version_id}"
    return file


def test_a_canary_reaches_main_and_is_told_apart(world: World) -> None:
    world.deliver(landed(world))
    world.run()
    assert (Signal.FILES_PUBLISHED, 1, canary.TABLE) in world.telemetry.signals


def test_a_canary_takes_the_place_of_the_one_before(world: World) -> None:
    for _ in range(2):
        world.deliver(landed(world))
        world.run()
    assert world.telemetry.values(Signal.FILES_PUBLISHED) == [1, 1]
    assert world.telemetry.values(Signal.FILES_REJECTED) == []


def test_every_canary_has_other_bytes_and_as_many_rows_as_its_contract_says(world: World) -> None:
    first, second = (canary.heartbeat(world.clock.time.replace(minute=minute)) for minute in (1, 2))
    assert first != second
    contract = load(canary.CONTRACT, "canary")
    names = {column.name for column in contract.plan.columns}
    rows = pq.read_table(pa.BufferReader(first)).to_pylist()
    assert [set(row) for row in rows] == [names] * canary.ROWS
    assert contract.table == canary.TABLE
    assert contract.route.matches(canary.KEY)


def test_a_contract_that_was_changed_by_hand_is_pushed_again(world: World) -> None:
    world.store.write(contract_name(canary.TABLE), b"changed")
    landed(world)
    assert {it.table for it in Registry.read(world.store).contracts} == {canary.TABLE, "nyc.flights"}


def test_nobody_elses_contract_has_a_namespace_of_lakegates_own() -> None:
    with pytest.raises(ContractFaults, match="is no table"):
        load(CONTRACT.replace("nyc.flights", "_canary.other"), "x")


def test_readers_see_no_canary() -> None:
    assert may(Role.READER, Operation.READ_ENTITY_VALUE, MAIN, "nyc.flights")
    assert not may(Role.READER, Operation.READ_ENTITY_VALUE, MAIN, canary.TABLE)


def test_a_canary_passes_its_own_contract(tmp_path: Path) -> None:
    file, contract = tmp_path / "heartbeat.parquet", tmp_path / "canary.yaml"
    file.write_bytes(canary.heartbeat(datetime(2026, 11, 28, tzinfo=UTC)))
    contract.write_text(canary.CONTRACT)
    tried = CliRunner().invoke(app, ["try", str(file), str(contract)])
    assert (tried.exit_code, "would publish it" in tried.stdout) == (0, True)
