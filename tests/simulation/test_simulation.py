"""Thousands of schedules, always the same ones: `make simulate` runs others, a million of them, or one step by step."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.simulation.spark import Leaving
from tests.simulation.volume import run_all
from tests.simulation.worker import OUTCOME_MATTERS, Fate

ROOT = Path(__file__).resolve().parents[2]
DIGEST = "from tests.simulation.volume import run_some; print(run_some(range(12)).digest)"

POOL = """
import os, time
from tests.simulation.volume import pool_of
if __name__ == "__main__":
    with pool_of(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""

SCHEDULES, GATES_SHARE = 10_000, 1_500
COVERED = (
    "branch: expires",
    "main: receipts are archived",
    "main: refuses a merge",
    *(f"call: {fate}" for fate in Fate),
    *(f"calls of {method}" for method in OUTCOME_MATTERS - {"create"}),
    *(f"worker: {kind}" for kind in ("ingest", "settle", "sweep", "retry", "discard", "approve")),
    "clock: goes on",
    "contract: broken",
    "contract: pushed",
    "contract: pushed of tables of one plain name",
    "event of a job: lost",
    "event: lost",
    "event: sent again",
    "files: queued",
    "express lane: goes",
    "job: cut off",
    *(f"job: killed {when}" for when in Leaving if when),
    "job: is invoked twice",
    "job: meets what only Spark can say",
    "job: given up, goes on as a zombie",
    "job: killed",
    "job: ended by its files",
    "job: has a part of a batch that crashed",
    "job: never begins",
    "reminder: comes",
    "reminder: lost",
    "main: commit of what is discarded",
    "main: commit of what is rejected",
    "main: merge of what is published",
    "main: merge of what is rejected",
    "main: merge of what a person lets through",
    "stranger: commits another table to main",
    "stranger: commits to a branch",
    "stranger: compacts flights on main",
    "stranger: gives the columns on main other field ids",
    "vendor: deletes",
    "worker: its time is up",
)


@pytest.mark.schedules
def test_thousands_of_schedules_keep_every_promise_and_cover_what_they_are_to_cover(*, extended: bool) -> None:
    schedules = SCHEDULES if extended else GATES_SHARE
    tally = run_all(range(schedules))
    assert not tally.failed, tally
    assert tally.schedules == schedules
    assert [what for what in COVERED if not tally.counted[what]] == []


def test_the_same_seed_does_the_same_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_a_pools_processes_end_with_the_one_that_made_them_and_was_killed(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(POOL)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, tmp_path / "made.py"], env=environment, stdout=subprocess.PIPE) as maker:
        assert maker.stdout
        made = psutil.Process(int(maker.stdout.readline()))
        maker.kill()
    made.wait(timeout=300)
