"""Drift in contracts: which number, against how many files, in which comparison, and what is refused by line."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.audit.model.plan import Comparison, Drift, MetricKind, Operator, Unit
from lakegate.errors import ContractFaults
from tests.contracts.test_faults import GOOD, faults_of
from tests.contracts.test_rules import NUMBER, custom, of_column, of_table

ON_TABLE = "{type: custom, engine: lakegate, implementation: {drift: %s, %s}}"


def test_a_drift_is_a_rate_in_percent_against_thirty_files_where_nothing_is_said() -> None:
    check, metric = of_table(ON_TABLE % ("{}", "mustBeBetween: [-50, 300]"))

    assert metric.kind is MetricKind.ROWS
    assert check.drift == Drift(comparison=Comparison.RATE, files=30, at_least=5)
    assert (check.unit, check.operator, check.threshold) == (Unit.PERCENT, Operator.IN_RANGE, (-50, 300))
    assert check.name == "rowCount against the last 30 files must be between -50 and 300 percent"


def test_a_drift_of_a_column_is_of_its_mean_or_of_another_number() -> None:
    check, metric = of_column(custom({"drift": {"as": "zScore", "files": 3}, "mustBeBetween": [-3, 3]}))
    other, nulls = of_column(custom({"drift": {"of": "nullValues", "as": "difference"}, "mustBeLessThan": 5}))

    assert (metric.kind, metric.sql) == (MetricKind.VALUE, "AVG(`it`)")
    assert check.drift == Drift(comparison=Comparison.Z_SCORE, files=3, at_least=3)
    assert (check.unit, check.name) == (Unit.NUMBER, "mean of it against the last 3 files must be between -3 and 3")
    assert (nulls.kind, other.unit) == (MetricKind.NULLS, Unit.NUMBER)


def test_a_drift_is_part_of_what_a_contract_means() -> None:
    one, _ = of_table(ON_TABLE % ("{files: 3}", "mustBeLessThan: 5"))
    other, _ = of_table(ON_TABLE % ("{files: 4}", "mustBeLessThan: 5"))

    assert one.id != other.id


@pytest.mark.parametrize(
    ("drift", "fault"),
    [
        ({"of": "men"}, "no drift of 'men' here (did you mean 'mean'?)"),
        ({"of": "rowCount"}, "no drift of 'rowCount' here"),
        ({"as": "zscroe"}, "as is 'zscroe', and it can be difference, rate or zScore (did you mean 'zScore'?)"),
        ({"files": 1}, "files is 1, and it is a whole number from 2 to 1,000"),
        ({"files": 3, "atLeast": 4}, "atLeast is 4, and only 3 files are looked at"),
        ({"file": 3}, "'file' is not a word of a drift (did you mean 'files'?)"),
        ("mean", "drift takes a mapping"),
    ],
)
def test_what_makes_no_sense_is_refused(drift: Any, fault: str) -> None:
    said = faults_of_column(custom({"drift": drift, "mustBeLessThan": 5}))

    assert any(fault in text for text in said), said


def test_a_drift_of_text_needs_a_number_that_texts_have() -> None:
    asked = custom({"drift": {"of": "mean"}, "mustBeLessThan": 5})

    assert any("mean is of numbers" in text for text in faults_of_column(asked, {"logicalType": "string"}))


def test_a_unit_of_its_own_is_refused() -> None:
    asked = custom({"drift": {}, "mustBeLessThan": 5}, unit="percent")

    assert any("unit is 'percent', and its number has none" in text for text in faults_of_column(asked))


def test_a_drift_without_an_operator_is_refused() -> None:
    assert any(
        "an operator is missing" in text for _, text in faults_of(f"{GOOD}      - {ON_TABLE % ('{}', 'x: 1')}\n")
    )


def faults_of_column(quality: dict[str, Any], column: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(ContractFaults) as refusal:
        of_column(quality, column or NUMBER)
    return [fault.message for fault in refusal.value.faults]
