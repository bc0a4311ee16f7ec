"""Tests of what `make chaos` makes of what it saw."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.chaos.__main__ import Play, verdict
from tests.chaos.outcomes import BY_ITSELF, BY_RETRY, EXPRESS, HANDED_OVER, SPARK, Outcome, write
from tests.local.installation import DONE, REJECTED
from tests.world.world import World


def outcome(**changes: Any) -> Outcome:
    return Outcome(
        **{
            "month": "flights-2013-01-a",
            "way": SPARK,
            "fault": "a kill",
            "point": "job started",
            "became": BY_ITSELF,
            "lanes": (SPARK,),
            **changes,
        }
    )


def test_a_year_in_which_every_month_came_to_its_end_is_well() -> None:
    handed_over = outcome(way=HANDED_OVER, lanes=(EXPRESS, SPARK))
    assert verdict([outcome(), handed_over, outcome(became=BY_RETRY, messages=1)], [], 1) == DONE


@pytest.mark.parametrize(
    "amiss",
    [
        {"became": "rejected again"},
        {"became": "failed: there was nothing to kill"},
        {"messages": 1},
        {"became": BY_RETRY, "messages": 2},
        {"became": BY_RETRY, "messages": 0},
        {"lanes": (EXPRESS,)},
        {"lanes": ()},
        {"way": EXPRESS},
        {"way": HANDED_OVER, "lanes": (EXPRESS,)},
        {"way": HANDED_OVER, "lanes": (EXPRESS, EXPRESS)},
    ],
)
def test_one_month_that_is_amiss_fails_the_run(amiss: dict[str, Any]) -> None:
    assert verdict([outcome(), outcome(**amiss)], [], 1) == REJECTED


def test_rows_that_are_missing_fail_a_run_whose_months_are_all_well() -> None:
    assert verdict([outcome()], ["month 1: (0, 0) rows and files, and not (27004, 1)"], 1) == REJECTED


def test_a_table_that_cannot_be_read_is_told_as_what_is_wrong() -> None:
    class Made:
        def json(self, *_: object) -> dict[str, Any]:
            return {"in_flight": [], "unrouted": [], "rejected": []}

        def query(self, sql: str) -> list[dict[str, Any]]:
            raise AssertionError(f"{sql} ended with 2: there is no table nyc.flights")

    play = Play(cloud=cast("Any", None), made=cast("Any", Made()), service=World().service, months=(), contracts={})
    (line,) = play.wrong()
    assert "there is no table nyc.flights" in line


def test_outcomes_are_kept_with_the_waits_that_they_rest_on(tmp_path: Path) -> None:
    write(tmp_path / "chaos.json", [outcome(seconds=12.3)], {"grace_seconds": 20}, 600.4)
    kept = json.loads((tmp_path / "chaos.json").read_text())
    assert (kept["settings"], kept["seconds"]) == ({"grace_seconds": 20}, 600)
    assert [it["seconds"] for it in kept["outcomes"]] == [12.3]
