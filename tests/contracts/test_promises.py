"""Promises of an age: how old the newest value of a column may be when its file is audited."""

from pathlib import Path

import pytest

from lakegate.audit.model.plan import Check, MetricKind, Operator, Plan
from lakegate.contracts import load
from lakegate.errors import ContractFaults

GOOD = (Path(__file__).parent / "shop.yaml").read_text()


def promised(text: str) -> tuple[Plan, Check]:
    plan = load(GOOD + f"\nslaProperties: [{text}]\n", "orders.yaml").plan
    [check] = [check for check in plan.checks if plan.metric(check.metric).kind is MetricKind.VALUE]
    return plan, check


@pytest.mark.parametrize("element", ["placed", "orders.placed"])
def test_a_latency_is_a_check_on_the_age_of_the_newest_value(element: str) -> None:
    _, check = promised(f"{{property: latency, value: 4, unit: d, element: {element}}}")
    assert (check.name, check.operator, check.threshold) == (
        "latency of placed in d",
        Operator.LESS_OR_EQUAL,
        (4,),
    )


def test_a_promise_is_part_of_what_a_contract_means() -> None:
    plan, _ = promised("{property: latency, value: 4, unit: d, element: placed}")
    other, _ = promised("{property: latency, value: 5, unit: d, element: placed}")
    assert len({plan.contract_hash, other.contract_hash, load(GOOD, "orders.yaml").plan.contract_hash}) == 3


def test_promises_about_people_change_nothing() -> None:
    text = GOOD + "\nslaProperties: [{property: timeToRepair, value: 4, unit: h}]\n"
    assert load(text, "orders.yaml").plan == load(GOOD, "orders.yaml").plan


def test_an_age_that_no_value_can_have_is_refused() -> None:
    with pytest.raises(ContractFaults, match=r"no value is as old as 1e\+30 d: write an age that one may have"):
        promised("{property: latency, value: 1e30, unit: d, element: placed}")
