"""The tables of costs are what the script makes of the prices, each of which has its source."""

from __future__ import annotations

import json
from datetime import date

from lakegate.ports import Signal
from tests.support.pages import DOCS
from tools import costs

PAGE = DOCS / "explanation/costs.md"


def test_the_page_s_tables_are_what_the_script_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- tools/costs.py: ") == 4
    assert costs.page(text) == text, "run: make reference"


def test_the_page_begins_with_the_sums_of_its_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    first = text.split("\n\n")[1]
    sums = [word.strip("*").removeprefix("about ") for word in costs.month().splitlines()[-1].split(" | ")[1:]]
    assert all(amount.rstrip("* |") in first for amount in sums)
    assert costs.express().rsplit("**", 2)[1] in first


def test_every_price_has_its_unit_and_its_source_and_the_list_its_date() -> None:
    listed = json.loads((costs.FOLDER / "prices.json").read_text())
    assert date.fromisoformat(listed["of"]) <= date(2027, 12, 31)
    assert all(price["unit"] and price["usd"] > 0 for price in listed["prices"].values())
    assert {price["source"] for price in listed["prices"].values()} == listed["sources"].keys()


def test_a_price_that_is_changed_changes_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, part in (("nat_gateway", costs.month), ("write", costs.express), ("emr_vcpu", costs.spark)):
        before, usd = part(), costs.USD[name]
        try:
            costs.USD[name] = 2 * usd
            assert part() != before
        finally:
            costs.USD[name] = usd
    assert costs.page(text) == text


def test_as_many_metrics_are_reckoned_as_the_functions_write() -> None:
    assert len(Signal) == costs.SIGNALS
