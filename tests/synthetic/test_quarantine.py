"""A fault that quarantines comes alone only where its rows may leave, and where what is left passes."""

from __future__ import annotations

import pytest

from lakegate.audit.model.plan import Plan
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from tests.support.synthetic.rows import Maker
from tests.synthetic.test_rows import HEAD

KNOWN = "quality: [{metric: invalidValues, arguments: {validValues: [1, 2, 3]}, mustBe: 0, severity: quarantine}]"
ONE_OF = "{name: %s, logicalType: string, required: true, enum: [{value: x}, {value: y}]}"


def budgeted(columns: str, budget: str, quality: str = "") -> Plan:
    settings = f"[{{property: quarantineBudget, vendor: lakegate, value: {{{budget}}}}}]"
    text = f"{HEAD}{columns}\n    quality: [{quality}]\n    customProperties: {settings}\n"
    if not quality:
        text = text.replace("    quality: []\n", "")
    return load(text, "budgeted.yaml").plan


def amounts(budget: str, quality: str = "") -> Plan:
    return budgeted(f"      - {{name: a, logicalType: integer, {KNOWN}}}", budget, quality)


def sums() -> Plan:
    columns = "\n".join(f"      - {{name: {name}, logicalType: integer, required: true}}" for name in "abc")
    rule = "{type: custom, engine: lakegate, severity: quarantine, implementation: {row: c = a + b}}"
    return budgeted(columns, "rows: 5", rule)


def pairs() -> Plan:
    columns = "\n".join(f"      - {ONE_OF % name}" for name in "ab")
    rule = "{metric: duplicateValues, arguments: {properties: [a, b]}, mustBe: 0, severity: quarantine}"
    return budgeted(columns, "percent: 10", rule)


@pytest.mark.parametrize(("plan", "said"), [(sums(), "'c = a . b'"), (pairs(), "'duplicateValues of a, b")])
def test_more_failing_rows_than_the_budget_takes_are_told_with_their_check(plan: Plan, said: str) -> None:
    with pytest.raises(Misconfigured, match=f"no rows were found that pass {said}.*more rows fail than the quarantine"):
        Maker(plan=plan, seed=1).good(20)


def test_one_row_that_is_over_the_budget_already_is_told() -> None:
    plan = amounts("percent: 1")
    with pytest.raises(Misconfigured, match=r"one row of 20 is over the quarantineBudget already; ask for .*--rows"):
        Maker(plan=plan, seed=1).failing(20, plan.checks[0])
    assert Maker(plan=plan, seed=1).failing(100, plan.checks[0]).num_rows == 100


def test_so_is_a_row_that_does_not_parse() -> None:
    landing = "format: csv, customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
    text = f"""{HEAD.replace("format: parquet", landing)}      - {{name: a, logicalType: integer}}
      - {{name: b, logicalType: integer}}
    customProperties: [{{property: quarantineBudget, vendor: lakegate, value: {{percent: 1}}}}]
"""
    plan = load(text, "lines.yaml").plan
    with pytest.raises(Misconfigured, match="one row of 20 is over the quarantineBudget already"):
        Maker(plan=plan, seed=1).failing(20, plan.checks[0])
    assert Maker(plan=plan, seed=1).failing(100, plan.checks[0]).num_rows == 100


def test_what_is_left_is_judged_once_failing_rows_have_left() -> None:
    plan = amounts("percent: 5", "{metric: rowCount, mustBeGreaterOrEqualTo: 20}")
    fault = next(check for check in plan.checks if check.name.startswith("invalid"))
    with pytest.raises(Misconfigured, match=r"also fails 'rowCount .*with another number of rows \(--rows\)"):
        Maker(plan=plan, seed=1).failing(20, fault)
    assert Maker(plan=plan, seed=1).failing(21, fault).num_rows == 21


def test_of_rows_with_the_same_key_the_first_stays() -> None:
    unique = "{metric: duplicateValues, mustBe: 0, severity: quarantine}"
    column = f"      - {{name: a, logicalType: integer, required: true, quality: [{unique}]}}"
    plan = budgeted(column, "rows: 5", "{metric: rowCount, mustBeGreaterOrEqualTo: 19}")
    fault = next(check for check in plan.checks if check.name.startswith("duplicate"))
    values = Maker(plan=plan, seed=1).failing(20, fault)["a"].to_pylist()
    assert len(set(values)) == 19
