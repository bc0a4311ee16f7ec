"""The example for Airflow, run by its own scheduler: a failed audit halts the DAG, and a killed task is tried again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.orchestrators.airflow.standalone import Server, standalone
from tests.local.ports import free_ports
from tests.support.nessie import ROOT, Lake
from tests.support.orchestrator_runs import KILLS, Example, Killer
from tests.support.proxy import proxy

pytestmark = pytest.mark.orchestrators
TASKS = ("create", "write", "audit", "publish", "clean_up")


@pytest.fixture(scope="module")
def killer() -> Killer:
    return Killer()


@pytest.fixture(scope="module")
def airflow(lake: Lake, killer: Killer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running Airflow, whose tasks find Nessie behind what kills them."""
    home, [port] = tmp_path_factory.mktemp("airflow"), free_ports(1)
    with proxy(lake.nessie_uri, killer.decide) as network:
        own = {"LAKEGATE_NESSIE_URI": network.uri, "LAKEGATE_WAREHOUSE": lake.warehouse}
        env = {**os.environ, **lake.environment, **own}
        with standalone(home, port, ROOT / ".local/envs/airflow/bin", env) as server:
            yield server


@pytest.fixture
def orders(lake: Lake, tmp_path: Path) -> Example:
    return Example(name="airflow", lake=lake, folder=tmp_path)


def run(airflow: Server, orders: Example, path: str) -> tuple[str, dict[str, str]]:
    """Return the end of a run, and of each of its tasks."""
    name = airflow.trigger(orders.table, path)
    return airflow.result(name), airflow.tasks(name)


def test_the_scheduler_publishes_a_file(airflow: Server, orders: Example) -> None:
    ended = run(airflow, orders, orders.file(1, 2))
    assert ended == ("success", dict.fromkeys(TASKS, "success"))
    assert (orders.ids(), orders.branches()) == ([1, 2], [])


def test_a_null_halts_the_dag_which_says_the_rows_and_the_branch_stays(airflow: Server, orders: Example) -> None:
    run(airflow, orders, orders.file(1))
    name = airflow.trigger(orders.table, orders.file(2, None, name="bad.parquet"))
    assert airflow.result(name) == "failed"
    halted = {"audit": "failed", "publish": "upstream_failed", "clean_up": "upstream_failed"}
    assert airflow.tasks(name) == {"create": "success", "write": "success", **halted}
    [kept] = orders.branches()
    said = airflow.log(name, "audit")
    assert [word for word in ("id required: 1 of 2 rows", "'id': None", kept) if word not in said] == [], said
    assert orders.ids() == [1]


@pytest.mark.parametrize(("write", "moment"), KILLS)
def test_a_task_that_is_killed_is_tried_again_and_the_file_is_published_once(
    write: int, moment: str, airflow: Server, orders: Example, killer: Killer
) -> None:
    killer.begin(write, moment)
    ended = run(airflow, orders, orders.file(1, 2))
    assert killer.seen >= write
    assert (ended[0], orders.ids()) == ("success", [1, 2]), ended


def test_two_runs_at_once_of_one_file_publish_once(airflow: Server, orders: Example) -> None:
    path = orders.file(1, 2)
    both = [airflow.trigger(orders.table, path) for _ in range(2)]
    assert ([airflow.result(each) for each in both], orders.ids()) == (["success", "success"], [1, 2])


def test_the_command_starts_airflow_and_says_how_each_task_has_ended(orders: Example) -> None:
    env = {"AIRFLOW_HOME": str(orders.folder / "home")}
    code, said = orders.run(orders.file(1), "--table", orders.table, env=env)
    assert (code, orders.ids()) == (0, [1]), said
    assert "clean_up: success" in said
