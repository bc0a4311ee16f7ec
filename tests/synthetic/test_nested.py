"""Made-up nested columns pass the rules of their parts, or fail one of them: plain Python says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from lakegate.contracts import load
from tests.support.plans import plan
from tests.support.synthetic.rows import Maker
from tests.synthetic.test_rows import HEAD

pytestmark = pytest.mark.extended

ROWS = 20
PLAN = load(
    HEAD
    + """
      - name: address
        logicalType: object
        logicalTypeOptions: {required: [city]}
        properties:
          - {name: zip, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[0-9]{5}$"}}
          - {name: city, logicalType: string}
      - name: tags
        logicalType: array
        logicalTypeOptions: {minItems: 1, uniqueItems: true}
        items: {logicalType: string, required: true}
      - name: prices
        logicalType: map
        map:
          key: {logicalType: string, enum: [{value: eur}, {value: usd}]}
          value: {logicalType: number, logicalTypeOptions: {minimum: 0}}
""".lstrip("\n"),
    "nested.yaml",
).plan
FAILS: dict[str, Callable[[Any, Any, Any], bool]] = {  # of a row, given what is not null
    "address.city required": lambda address, _, __: bool(address) and address["city"] is None,
    "address.zip required": lambda address, _, __: bool(address) and address["zip"] is None,
    "address.zip like ^[0-9]{5}$": lambda address, _, __: (
        bool(address) and address["zip"] is not None and not re.fullmatch("[0-9]{5}", address["zip"])
    ),
    "tags of 1 items or more": lambda _, tags, __: tags == [],
    "tags without an item twice": lambda _, tags, __: tags is not None and len(set(tags)) < len(tags),
    "tags[] required": lambda _, tags, __: tags is not None and None in tags,
    "prices.key one of eur, usd": lambda _, __, prices: any(key not in ("eur", "usd") for key, _ in prices or ()),
    "prices.value ≥ 0": lambda _, __, prices: any(it is not None and not it >= 0 for _, it in prices or ()),
}


def failed(rows: Any) -> set[str]:
    told = [tuple(row.values()) for row in rows.to_pylist()]
    return {name for name, fails in FAILS.items() if any(fails(*row) for row in told)}


def test_good_rows_pass_the_rules_of_all_parts() -> None:
    assert set(FAILS) == {check.name for check in PLAN.checks}
    rows = Maker(plan=PLAN, seed=7).good(ROWS)
    assert (rows.num_rows, failed(rows)) == (ROWS, set())


@pytest.mark.parametrize("check", PLAN.checks, ids=lambda check: check.name)
def test_each_rule_of_a_part_can_be_failed_alone(check: Any) -> None:
    assert failed(Maker(plan=PLAN, seed=7).failing(ROWS, check)) == {check.name}


PARTS = load(
    HEAD
    + """
      - name: person
        logicalType: object
        properties:
          - {name: zip, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[0-9]{5}$"}}
          - {name: mail, logicalType: string, required: true, logicalTypeOptions: {format: email}}
          - {name: id, logicalType: string, required: true, logicalTypeOptions: {format: uuid}}
          - {name: land, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[A-Z]{2}$"}}
      - name: lines
        logicalType: array
        items:
          logicalType: object
          required: true
          properties:
            - {name: sku, logicalType: string, required: true, logicalTypeOptions: {pattern: "^[0-9]{5}$"}}
            - {name: price, logicalType: number, required: true, logicalTypeOptions: {minimum: 5, maximum: 6}}
""".lstrip("\n"),
    "parts.yaml",
).plan


def test_parts_that_must_all_be_right_are_right_together() -> None:
    rows = Maker(plan=PARTS, seed=7).good(ROWS)
    people = [person for person in rows["person"].to_pylist() if person]
    lines = [line for each in rows["lines"].to_pylist() for line in each or []]
    assert people
    assert lines
    assert all(re.fullmatch("[0-9]{5}", person["zip"]) and "@" in person["mail"] for person in people)
    assert all(re.fullmatch("[0-9]{5}", line["sku"]) and 5 <= line["price"] <= 6 for line in lines)


@pytest.mark.parametrize("check", PARTS.checks, ids=lambda check: check.name)
def test_one_of_them_can_be_wrong_alone(check: Any) -> None:
    assert Maker(plan=PARTS, seed=7).failing(ROWS, check).num_rows == ROWS


@pytest.mark.parametrize("kind", ["map<array<int>,int>", "map<struct<a:int>,array<string>>"])
def test_maps_may_have_nested_keys(kind: str) -> None:
    rows = Maker(plan=plan("nyc.t", {"a": kind}), seed=7).good(ROWS)
    keys = [[repr(key) for key, _ in each] for each in rows["a"].to_pylist() if each]
    assert max(map(len, keys)) > 1
    assert all(len({*each}) == len(each) for each in keys)
