"""The example for Dagster: the audit is a blocking check of the orders on their branch, and what is downstream of them
is main.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.nessie import Lake
from tests.support.orchestrator_runs import KILLS, Example, check_it_is_killed_and_run_again, ended

pytestmark = pytest.mark.orchestrators
ALONE = """
import sys
import dagster as dg
from examples.orchestrators.dagster.definitions import orders, orders_on_branch
assets = [orders_on_branch, orders]
with dg.DagsterInstance.get() as instance:
    done = dg.materialize(
        assets, selection=[orders], partition_key=sys.argv[1], instance=instance, raise_on_error=False
    )
sys.exit(0 if done.success else 1)
"""


@pytest.fixture
def dagster(lake: Lake, tmp_path: Path) -> Example:
    home = tmp_path / "dagster"
    home.mkdir()
    return Example(name="dagster", lake=lake, folder=tmp_path, env={"DAGSTER_HOME": str(home)})


def test_a_file_is_published(dagster: Example) -> None:
    code, said = dagster.run(dagster.file(1, 2), "--table", dagster.table)
    assert (code, dagster.ids(), dagster.branches()) == (0, [1, 2], []), said
    assert "passed" in said


def test_a_null_fails_the_check_and_what_is_downstream_is_not_made(dagster: Example) -> None:
    dagster.run(dagster.file(1), "--table", dagster.table)
    code, said = dagster.run(dagster.file(2, None, name="bad.parquet"), "--table", dagster.table)
    [kept] = dagster.branches()
    assert (code, dagster.ids()) == (1, [1]), said
    assert "id required: 1 of 2 rows" in said
    assert "'id': None" in said
    assert kept in said
    assert "Dependencies for step orders failed" in said


@pytest.mark.parametrize(("write", "moment"), KILLS)
def test_a_run_that_is_killed_and_made_again_publishes_once(write: int, moment: str, dagster: Example) -> None:
    check_it_is_killed_and_run_again(dagster, write, moment)


def test_two_runs_at_once_publish_each_file_once(dagster: Example) -> None:
    dagster.run(dagster.file(0), "--table", dagster.table)  # which makes Dagster's home: two at once may not
    files = [dagster.file(1, name="one.parquet"), dagster.file(1, name="one.parquet"), dagster.file(2, name="two.csv")]
    ends = [ended(it) for it in [dagster.start(path, "--table", dagster.table) for path in files]]
    assert ([code for code, _ in ends], dagster.ids()) == ([0, 0, 0], [0, 1, 2]), ends


def test_main_s_asset_alone_does_not_publish_what_has_failed_its_check(dagster: Example) -> None:
    path = dagster.file(None)
    dagster.run(path, "--table", dagster.table)
    [key] = [it.name for it in (dagster.folder / "dagster/storage/orders_on_branch").iterdir()]
    code, said = ended(dagster.start(key, program=("-c", ALONE)))
    assert (code, dagster.ids()) == (1, []), said
    assert "AuditFailed" in said
