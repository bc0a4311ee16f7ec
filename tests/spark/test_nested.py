"""Nested columns of a contract, judged in real data files: what is in them, what is not, and nothing at all."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.model.plan import Plan
from lakegate.duckdb.dialect import to_duckdb
from tests.contracts.test_predicates import plan_for
from tests.support.branch_table import Table

pytestmark = pytest.mark.spark
IT: dict[str, Any] = {
    "logicalType": "object",
    "required": True,
    "properties": [
        {
            "name": "zip",
            "logicalType": "string",
            "required": True,
            "logicalTypeOptions": {"pattern": "^[0-9]+$", "maxLength": 5},
        },
        {
            "name": "place",
            "physicalName": "it's",
            "logicalType": "object",
            "logicalTypeOptions": {"required": ["x"]},
            "properties": [{"name": "x", "logicalType": "number", "logicalTypeOptions": {"minimum": 0}}],
        },
        {
            "name": "tags",
            "logicalType": "array",
            "logicalTypeOptions": {"minItems": 1, "maxItems": 2, "uniqueItems": True},
            "items": {
                "logicalType": "object",
                "required": True,
                "properties": [{"name": "k", "logicalType": "string", "required": True, "enum": [{"value": "a"}]}],
            },
        },
        {
            "name": "m",
            "logicalType": "map",
            "map": {
                "key": {"logicalType": "string", "enum": [{"value": "k"}]},
                "value": {
                    "logicalType": "array",
                    "items": {"logicalType": "integer", "logicalTypeOptions": {"maximum": 9, "multipleOf": 3}},
                },
            },
        },
    ],
}
A = ("a",)
GOOD = ("10001", (0.5,), [A], {"k": [3, None]})
EMPTY = (None, None, None, None)
FAILING: dict[str, tuple[Any, ...] | None] = {
    "it required": None,
    "it.zip required": (None, None, None, None),
    "it.zip like ^[0-9]+$": ("x", None, None, None),
    "it.zip of 5 characters or fewer": ("100000", None, None, None),
    "it.place.x required": ("1", (None,), None, None),
    "it.place.x ≥ 0": ("1", (float("nan"),), None, None),
    "it.tags of 1 items or more": ("1", None, [], None),
    "it.tags of 2 items or fewer": ("1", None, [A, A, A], None),
    "it.tags without an item twice": ("1", None, [A, A], None),
    "it.tags[] required": ("1", None, [A, None], None),
    "it.tags[].k required": ("1", None, [(None,)], None),
    "it.tags[].k one of a": ("1", None, [("b",), A], None),
    "it.m.key one of k": ("1", None, None, {"k": None, "other": None}),
    "it.m.value[] ≤ 9": ("1", None, None, {"k": [None, 12]}),
    "it.m.value[] a multiple of 3": ("1", None, None, {"k": [1]}),
}


@pytest.mark.parametrize("options", [{}, {"format": "f32"}], ids=["double", "float"])
def test_zero_is_one_item_and_so_is_nan(spark: SparkSession, options: dict[str, str]) -> None:
    items = {"logicalType": "number", "logicalTypeOptions": options}
    by = plan_for({"logicalType": "array", "logicalTypeOptions": {"uniqueItems": True}, "items": items})
    twice: list[tuple[Any, ...]] = [([0.0, -0.0],), ([float("nan")] * 2,), ([None, None],)]
    once: list[tuple[Any, ...]] = [([0.0, float("nan"), None, 1.5],), ([],), (None,)]
    rows = {"f1": [(*row, None) for row in (*twice, *once)]}
    [check] = Table(spark=spark, plan=by).hold(rows).judged()["f1"]
    assert check.failing_rows == len(twice)
    asked = f"SELECT {to_duckdb(by.metrics[0].sql)} FROM (VALUES ([0.0::DOUBLE, -0.0]), ([1, 2])) AS t(it)"
    assert duckdb.execute(asked).fetchall() == [(True,), (False,)]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_for(IT)


def test_every_rule_of_a_nested_column_has_a_case_here(plan: Plan) -> None:
    assert {check.name for check in plan.checks} == set(FAILING)


def test_each_rule_counts_its_own_rows(spark: SparkSession, plan: Plan) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "bad": [(row, None) for row in (*FAILING.values(), GOOD)],
        "good": [(GOOD, None), (("1", None, None, None), None)],
        "nulls": [(EMPTY, None)] * 2,
    }
    results = Table(spark=spark, plan=plan).hold(rows).judged()
    failed = {file: {check.name: check.failing_rows for check in checks} for file, checks in results.items()}
    nothing = dict.fromkeys(FAILING, 0)
    assert failed == {
        "bad": dict.fromkeys(FAILING, 1) | {"it.tags without an item twice": 2},
        "good": nothing,
        "nulls": nothing | {"it.zip required": 2},
    }
    samples = {check.name: [json.loads(str(row["it"] or "null")) for row in check.sample] for check in results["bad"]}
    assert samples["it required"] == [None]
    assert samples["it.tags[].k one of a"] == [{"zip": "1", "tags": [{"k": "b"}, {"k": "a"}]}]
    assert samples["it.m.value[] ≤ 9"] == [{"zip": "1", "m": {"k": [None, 12]}}]
