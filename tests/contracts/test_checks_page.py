"""docs/checks.md has every kind of check, each with an example that makes just that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.plan import MetricKind
from lakegate.contracts import load
from lakegate.contracts.custom import COLUMN, TABLE
from tests.support.catalogue import KINDS, Kind, enforced, table, written

NAMES = [f"{kind.word} of {kind.place}" for kind in KINDS]


def test_every_kind_of_check_has_a_row_and_no_row_is_of_a_kind_that_is_not_there() -> None:
    rows = [(kind.word, kind.place) for kind in KINDS]
    said = set(rows)
    # Each of these is measured in two ways.
    both = {("minimum", COLUMN), ("maximum", COLUMN), ("missingValues", COLUMN), ("query", TABLE)}
    assert said == enforced()
    assert {row for row in rows if rows.count(row) > 1} == both


def test_the_page_has_the_table() -> None:
    assert written() == table(), "run: .venv/bin/python -m tests.support.catalogue"


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_an_example_makes_its_check_and_no_other(kind: Kind) -> None:
    checks = load(kind.contract, kind.word).plan.checks
    assert kind.word in kind.example
    assert len([check for check in checks if not check.name.endswith("required (primary key)")]) == 1


def test_what_stands_around_an_example_makes_no_check() -> None:
    nothing = replace(KINDS[0], example="description: nothing")
    assert not load(nothing.contract, "nothing").plan.checks


def test_each_way_to_measure_that_a_check_can_ask_for_has_an_example() -> None:
    kinds = {kind.made[1].kind for kind in KINDS}
    assert kinds == set(MetricKind)
