"""Tests of how much of what the contracts of this repository ask for the express engine leaves to Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.plan import Plan
from lakegate.contracts import load
from lakegate.express.plan import spark_only
from lakegate.landing.canary import CONTRACT, TABLE
from lakegate.landing.canary import ROWS as CANARY_ROWS
from tests.support.express_files import ExpressFile, narrowed
from tests.support.synthetic.rows import Maker

ROOT = Path(__file__).parents[2]
FOLDERS = ("contracts", "bench/audit/contracts")
SEEDS, ROWS = (1, 2, 3), 100
MORE = {"nyc.flights": 1_100, TABLE: CANARY_ROWS}  # of fewer the first one's contract warns
MOST = 0.05  # of the files that the lane may take at all


def every_plan() -> Iterator[Plan]:
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.yaml")):
        yield load(path.read_bytes(), path.name).plan
    yield load(CONTRACT.encode(), "canary").plan


def is_handed_over(plan: Plan, seed: int, folder: Path) -> bool:
    """By the checks of the file itself."""
    plan = narrowed(plan)
    made = Maker(plan=plan, seed=seed).good(MORE.get(plan.table, ROWS))
    rows = list(zip(*(column.to_pylist() for column in made.columns), strict=True))
    try:
        there = ExpressFile(plan=plan, file=f"f{seed}", rows=rows, folder=folder)
        there.view(plan, there.numbers(), {}).measure()
    except HandedOver:
        return True
    return False


def test_the_express_lane_takes_the_contracts_of_this_repository_and_hands_hardly_a_file_over(
    tmp_path: Path, *, extended: bool
) -> None:
    plans = list(every_plan())
    taken = [plan for plan in plans if not spark_only(plan)]
    left = [is_handed_over(plan, seed, tmp_path) for plan in taken for seed in (SEEDS if extended else SEEDS[:1])]
    share = sum(left) / len(left)
    said = f"{len(taken)} of {len(plans)} contracts go by express, and {share:.1%} of {len(left)} files are handed over"
    logging.getLogger(__name__).info(said)
    assert taken == plans
    assert share < MOST, said
