"""docs/reference/checks.md has every kind of check, each with an example that makes just that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.model.plan import MetricKind
from lakegate.contracts import load
from lakegate.contracts.checks.custom import COLUMN, TABLE
from tests.support.catalogue import KINDS, Kind, enforced, table, written

NAMES = [f"{kind.word} of {kind.place}" for kind in KINDS]
NONE, WITHIN = "mustBe 0 rows", "mustBeBetween 1 50"
MADE = [  # by each example, in their order: what the check is called, what it measures, and what that must be
    ("a required", "nulls", NONE),
    ("nullValues of a must be less than 5 percent", "nulls", "mustBeLessThan 5 percent"),
    ("missingValues of a must be 0 rows", "failing", NONE),
    ("missingValues of a must be 0 rows", "failing", NONE),
    ("at least one of a, b", "failing", NONE),
    ("a unique", "duplicates", NONE),
    ("primary key a, b unique", "duplicates", NONE),
    ("duplicateValues of a must be less than 5 rows", "duplicates", "mustBeLessThan 5 rows"),
    ("duplicateValues of a, b must be 0 rows", "duplicates", NONE),
    ("distinctValues of a must be between 1 and 50 rows", "value", f"{WITHIN} rows"),
    ("a one of open, paid", "failing", NONE),
    ("invalidValues of a must be 0 rows", "failing", NONE),
    ("invalidValues of a must be 0 rows", "failing", NONE),
    ("a ≥ 3", "failing", NONE),
    ("a > 3", "failing", NONE),
    ("a ≤ 3", "failing", NONE),
    ("a < 3", "failing", NONE),
    ("a a multiple of 5", "failing", NONE),
    ("a of 1 characters or more", "failing", NONE),
    ("a of 9 characters or fewer", "failing", NONE),
    ("a like ^[A-Z]{3}$", "failing", NONE),
    ("a of the format email", "failing", NONE),
    ("a of 1 items or more", "failing", NONE),
    ("a of 9 items or fewer", "failing", NONE),
    ("a without an item twice", "failing", NONE),
    ("notInFuture of a must be 0 rows", "failing", NONE),
    ("a >= c or a is null", "failing", NONE),
    ("rowCount must be greater than 0 rows", "rows", "mustBeGreaterThan 0 rows"),
    ("SELECT AVG(a) FROM {object} WHERE c > 0 must be greater than 5", "value", "mustBeGreaterThan 5 number"),
    (
        "SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM {object}) AS d must be greater than 5",
        "query",
        "mustBeGreaterThan 5 number",
    ),
    ("a refers to shop.customers.id", "orphans", NONE),
    ("minimum of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("maximum of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("mean of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("median of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("quantile 0.95 of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("standardDeviation of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("sum of a must be between 1 and 50", "value", f"{WITHIN} number"),
    ("share of 1, 2 in a must be between 1 and 50 percent", "value", f"{WITHIN} percent"),
    ("rowCount against the last 30 files must be between -50 and 100 percent", "rows", "mustBeBetween -50 100 percent"),
    ("mean of a against the last 30 files must be between -20 and 20 percent", "value", "mustBeBetween -20 20 percent"),
    ("latency of a in d", "value", "mustBeLessOrEqualTo 4 rows"),
    ("rows that do not parse", "malformed", NONE),
]


def test_every_kind_of_check_has_a_row_and_no_row_is_of_a_kind_that_is_not_there() -> None:
    rows = [(kind.word, kind.place) for kind in KINDS]
    said = set(rows)
    # Each of these is measured in two ways.
    both = {("query", TABLE)} | {(word, COLUMN) for word in ("minimum", "maximum", "missingValues", "invalidValues")}
    assert said == enforced()
    assert {row for row in rows if rows.count(row) > 1} == both


def test_the_page_has_the_table() -> None:
    assert written() == table(), "run: make reference"


@pytest.mark.parametrize(("kind", "made"), list(zip(KINDS, MADE, strict=True)), ids=NAMES)
def test_an_example_makes_its_check_and_no_other(kind: Kind, made: tuple[str, str, str]) -> None:
    plan = load(kind.contract, kind.word).plan
    assert kind.word in kind.example
    [check] = [check for check in plan.checks if not check.name.endswith("required (primary key)")]
    must = " ".join([check.operator, *(f"{limit:g}" for limit in check.threshold), check.unit])
    assert (check.name, plan.metric(check.metric).kind, must) == made


def test_what_stands_around_an_example_makes_no_check() -> None:
    nothing = replace(KINDS[0], example="description: nothing")
    assert not load(nothing.contract, "nothing").plan.checks


def test_each_way_to_measure_that_a_check_can_ask_for_has_an_example() -> None:
    kinds = {kind.made[1].kind for kind in KINDS}
    assert kinds == set(MetricKind)
