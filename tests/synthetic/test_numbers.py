"""Numbers about all rows come out as their checks want them: plain Python adds up what was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from statistics import mean, median

import pytest

from lakegate.audit.model.plan import Plan
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from tests.support.synthetic.rows import Maker
from tests.synthetic.test_rows import HEAD

pytestmark = pytest.mark.extended

NUMBER = "logicalType: number"
WHOLE = "logicalType: integer, logicalTypeOptions: {minimum: 0}"
DRIFT = "drift: {of: %s, files: 3}, mustBeBetween: %s"


def plan_of(column: str, rule: str) -> Plan:
    said = f"quality: [{{type: custom, engine: lakegate, implementation: {{{rule}}}}}]"
    return load(f"{HEAD}      - {{name: a, {column}, {said}}}\n", "numbers.yaml").plan


@pytest.mark.parametrize("column", [NUMBER, WHOLE])
@pytest.mark.parametrize(("rule", "of"), [("mean", mean), ("sum", sum), ("median", median)])
@pytest.mark.parametrize(("low", "high"), [(30_000, 90_000), (5_000_000, 5_000_100)], ids=["wide", "narrow"])
def test_a_number_far_from_usual_values_is_met_and_missed(
    column: str, rule: str, of: Callable[[Sequence[float]], float], low: int, high: int
) -> None:
    plan = plan_of(column, f"{rule}: true, mustBeBetween: [{low}, {high}]")
    good, bad = Maker(plan=plan, seed=1).good(20), Maker(plan=plan, seed=1).failing(20, plan.checks[-1])
    numbers = [of([value for value in rows["a"].to_pylist() if value is not None] or [0]) for rows in (good, bad)]
    assert [low <= number <= high for number in numbers] == [True, False]


def test_so_is_one_that_drifts_from_far_away() -> None:
    plan = plan_of(NUMBER, DRIFT % ("mean", "[-20, 20]"))
    past = {plan.checks[0].metric: (5000.0, 5100.0, 5050.0)}
    values = Maker(plan=plan, seed=1, past=past).good(20)["a"].to_pylist()
    assert 4040 <= mean(value for value in values if value is not None) <= 6060


def test_as_many_nulls_as_files_had_before_are_made() -> None:
    plan = plan_of("logicalType: string", DRIFT % ("nullValues", "[-5, 5]"))
    maker = Maker(plan=plan, seed=1, past={plan.checks[0].metric: (37.0, 38.0, 39.0)})
    assert 37 <= maker.good(1000)["a"].null_count <= 39
    with pytest.raises(Misconfigured, match=r"no rows were found that pass .*--past.*--rows"):
        maker.good(20)


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_a_file_is_made_to_be_older_than_it_may_be(kind: str) -> None:
    column = f"      - {{name: a, logicalType: {kind}, required: true}}\n"
    promise = "slaProperties: [{property: latency, value: 800, unit: d, element: things.a}]\n"
    plan = load(HEAD + column + promise, "late.yaml").plan
    newest = max(Maker(plan=plan, seed=1).failing(20, plan.checks[-1])["a"].to_pylist())
    assert (datetime.now(UTC).date() - (newest.date() if kind == "timestamp" else newest)).days >= 800


def test_a_number_that_no_values_give_is_told_with_what_may_help() -> None:
    plan = plan_of(WHOLE, "standardDeviation: true, mustBe: 12345.678")
    with pytest.raises(Misconfigured, match="a minimum and a maximum for it may help"):
        Maker(plan=plan, seed=1).good(20)
