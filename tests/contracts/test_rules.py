"""Checks in SQL and checks that ODCS has no word for: the metrics they become, and what is refused by line."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from lakegate.audit.evaluation.verdicts import expected
from lakegate.audit.model.plan import Check, Metric, MetricKind, Operator, Unit
from lakegate.contracts import load
from lakegate.errors import ContractFaults
from lakegate.inference.evaluator import Evaluator
from tests.contracts.test_faults import GOOD, faults_of
from tests.contracts.test_predicates import plan_for
from tests.support.duck import measure

NUMBER = {"logicalType": "number"}


def custom(implementation: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "custom", "engine": "lakegate", "implementation": implementation} | more


def of_column(quality: dict[str, Any], column: dict[str, Any] | None = None) -> tuple[Check, Metric]:
    plan = plan_for((column or NUMBER) | {"quality": [quality]})
    [check], [metric] = plan.checks, plan.metrics
    return check, metric


def of_table(quality: str) -> tuple[Check, Metric]:
    """The last check of the shop's contract, with this one at its table's end."""
    plan = load(f"{GOOD}      - {quality}\n", "orders.yaml").plan
    return plan.checks[-1], plan.metric(plan.checks[-1].metric)


NO_NAN = "CASE WHEN COUNT_IF(ISNAN(`it`)) = 0 THEN {} END"


@pytest.mark.parametrize(
    ("word", "sql", "name"),
    [
        ({"mean": True}, "AVG(`it`)", "mean of it"),
        ({"sum": True}, "SUM(`it`)", "sum of it"),
        ({"standardDeviation": True}, "STDDEV_SAMP(`it`)", "standardDeviation of it"),
        ({"median": True}, NO_NAN.format("PERCENTILE(`it`, 0.5)"), "median of it"),
        ({"quantile": 0.95}, NO_NAN.format("PERCENTILE(`it`, 0.95)"), "quantile 0.95 of it"),
        ({"minimum": True}, NO_NAN.format("MIN(`it`)"), "minimum of it"),
        ({"maximum": True}, NO_NAN.format("MAX(`it`)"), "maximum of it"),
    ],
)
def test_a_statistic_is_a_number_of_the_whole_column(word: dict[str, Any], sql: str, name: str) -> None:
    check, metric = of_column(custom(word | {"mustBeLessThan": 5}))

    assert (metric.kind, metric.sql, metric.columns) == (MetricKind.VALUE, sql, ("it",))
    assert check.name == f"{name} must be less than 5"
    assert (check.unit, check.operator, check.threshold) == (Unit.NUMBER, Operator.LESS_THAN, (5,))


@pytest.mark.parametrize("kind", ["int", "bigint"])
def test_a_sum_of_big_numbers_does_not_begin_again_from_below(kind: str) -> None:
    """Files may widen an `int`."""
    _, metric = of_column(custom({"sum": True, "mustBe": 1}), {"physicalType": kind})

    assert metric.sql == "SUM(CAST(`it` AS DECIMAL(19, 0)))"


def test_a_statistic_may_be_below_zero_and_zero_is_a_number() -> None:
    check, _ = of_column(custom({"mean": True, "mustBeBetween": [-5.5, 0]}))
    zero, _ = of_column(custom({"mean": True, "mustBe": 0}))

    assert (check.name, expected(check)) == ("mean of it must be between -5.5 and 0", "-5.5 to 0")
    assert expected(zero) == "exactly 0"


@pytest.mark.parametrize(
    ("of", "unit", "sql"),
    [
        ("open", None, "100 * COUNT_IF(`it` IN ('open')) / COUNT(*)"),
        (["open", "paid"], "percent", "100 * COUNT_IF(`it` IN ('open', 'paid')) / COUNT(*)"),
        ("open", "rows", "COUNT_IF(`it` IN ('open'))"),
    ],
)
def test_a_share_is_of_all_rows(of: Any, unit: str | None, sql: str) -> None:
    more = {"unit": unit} if unit else {}
    check, metric = of_column(custom({"share": of, "mustBeLessThan": 50}, **more), {"logicalType": "string"})

    assert metric.sql == sql
    assert check.unit == (unit or "percent")
    assert check.name.startswith("share of open")


def test_distinct_values_are_counted_apart_from_all_else() -> None:
    check, metric = of_column(custom({"distinctValues": True, "mustBeGreaterThan": 2}))
    percent, ratio = of_column(custom({"distinctValues": True, "mustBeGreaterThan": 99}, unit="percent"))

    assert (metric.sql, metric.alone, check.unit) == ("COUNT(DISTINCT `it`)", True, Unit.ROWS)
    assert (ratio.sql, ratio.alone) == ("100 * COUNT(DISTINCT `it`) / COUNT(`it`)", True)
    assert (percent.name, expected(percent)) == (
        "distinctValues of it must be greater than 99 percent",
        "more than 99%",
    )


def test_the_least_and_the_greatest_are_bounds_that_statistics_can_tell() -> None:
    bounds = [of_column(custom({word: True, "mustBe": 1}))[1].bound for word in ("minimum", "maximum", "mean")]

    assert bounds == ["lower", "upper", ""]


def test_a_rule_about_rows_counts_those_that_it_is_false_for() -> None:
    check, metric = of_table(
        "{type: custom, engine: lakegate, implementation: {row: 'amount > 1 or state = ''paid'''}}"
    )

    assert metric.kind is MetricKind.FAILING
    assert metric.columns == check.columns == ("amount", "state")
    assert metric.sql == "COALESCE(NOT (`amount` > 1 OR `state` = 'paid'), FALSE)"
    assert (check.name, expected(check)) == ("amount > 1 or state = 'paid'", "none")


SHOP = [("amount", pa.float64()), ("state", pa.string())]


@pytest.mark.parametrize(
    ("rows", "broken", "empty"),
    [
        ([(1.0, "a"), (None, "paid"), (2.0, None)], 0, 0),  # a null is no breach
        ([(0.0, "a"), (0.0, "paid"), (0.0, None), (float("nan"), "a")], 1, 0),
        ([(None, None), (None, None)], 0, 2),
        ([], 0, 0),
    ],
)
def test_rows_fail_a_rule_that_is_false_for_them(rows: list[tuple[object, object]], broken: int, empty: int) -> None:
    rule = {"row": "amount > 0 or state = 'paid'"}, {"atLeastOneOf": ["amount", "state"]}
    metrics = [of_table(json.dumps(custom(each)))[1] for each in rule]

    with duckdb.connect() as connection:
        connection.register("data", pa.table([[row[at] for row in rows] for at in (0, 1)], pa.schema(SHOP)))
        assert [measure(connection, metric) for metric in metrics] == [broken, empty]


def test_a_rule_about_rows_may_be_broken_by_some() -> None:
    check, _ = of_table(
        "{type: custom, engine: lakegate, unit: percent, severity: warning, "
        "implementation: {row: amount > 1, mustBeLessThan: 2.5}}"
    )

    assert check.name == "rows against amount > 1 must be less than 2.5 percent"
    assert (check.unit, check.threshold, check.severity.value) == (Unit.PERCENT, (2.5,), "warning")


def test_at_least_one_of_some_columns() -> None:
    check, metric = of_table("{type: custom, engine: lakegate, implementation: {atLeastOneOf: [state, placed]}}")

    assert (metric.kind, metric.sql) == (MetricKind.FAILING, "`state` IS NULL AND `placed` IS NULL")
    assert (check.name, check.columns) == ("at least one of state, placed", ("state", "placed"))


@pytest.mark.parametrize(
    ("query", "kind", "alone"),
    [
        ("SELECT COUNT(*) FROM {object}", MetricKind.ROWS, False),
        ("SELECT SUM(amount) FROM shop.orders", MetricKind.VALUE, False),
        ("SELECT COUNT(DISTINCT state) FROM orders", MetricKind.VALUE, True),
        ("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY state)", MetricKind.QUERY, False),
    ],
)
def test_a_query_becomes_the_cheapest_metric_that_gives_its_number(query: str, kind: MetricKind, alone: bool) -> None:  # noqa: FBT001
    check, metric = of_table(f"{{type: sql, query: '{query}', mustBeGreaterThan: 3}}")

    assert (metric.kind, metric.alone, check.unit) == (kind, alone, Unit.NUMBER)
    assert check.name == f"{query} must be greater than 3"


def test_rows_made_up_are_judged_by_their_statistics_as_spark_would() -> None:
    words: list[dict[str, Any]] = [{"median": True}, {"quantile": 0.75}, {"mean": True}, {"standardDeviation": True}]
    quality = [custom(word | {"mustBe": 1}) for word in words]
    evaluator = Evaluator(plan_for(NUMBER | {"quality": quality}))

    def values(*numbers: float | None) -> list[float | None]:
        return [result.value for result in evaluator.results(pa.table({"it": pa.array(numbers, pa.float64())}))]

    assert values(4, 1, None, 2, 3) == [2.5, 3.25, 2.5, pytest.approx(1.2909944487)]
    assert values(None, None) == values(1, float("nan")) == [None] * 4


def test_a_query_of_a_column_speaks_of_it_and_of_the_others() -> None:
    text = GOOD.replace(
        "          - metric: nullValues\n            unit: percent\n",
        "          - type: sql\n            query: SELECT SUM(amount) FROM {object} WHERE {property} = 'paid'\n",
    )

    plan = load(text, "orders.yaml").plan

    assert [metric.sql for metric in plan.metrics if metric.kind is MetricKind.VALUE] == [
        "SUM(`amount`) FILTER(WHERE `state` = 'paid')"
    ]


def test_a_long_query_is_cut_in_its_name() -> None:
    check, _ = of_table(f"{{type: sql, query: 'SELECT SUM(amount{' + amount' * 30}) FROM orders', mustBe: 1}}")

    assert check.name.endswith("… must be 1")


OURS = "type: custom, engine: lakegate"
REFUSED = {
    f"{OURS}, implementation: {{mean: true, mustBe: 1}}": "mean belongs to a column",
    f"{OURS}, implementation: {{row: reflect(state) = 1}}": "the rule: the function reflect is not allowed",
    f"{OURS}, implementation: {{row: 3}}": "a rule is text",
    f"{OURS}, implementation: {{row: }}": "a rule is text",
    f"{OURS}, implementation: {{row: amount > 1, mustBe: -3}}": "never below 0",
    f"{OURS}, unit: percent, implementation: {{row: amount > 1, mustBe: 300}}": "between 0 and 100",
    f"{OURS}, unit: kg, implementation: {{row: amount > 1}}": "it can be rows or percent",
    f"{OURS}, implementation: {{atLeastOneOf: state}}": "a list of two columns or more",
    f"{OURS}, implementation: {{atLeastOneOf: [state, state]}}": "a list of two columns or more",
    f"{OURS}, implementation: {{atLeastOneOf: [state, plcaed]}}": "did you mean 'placed'?",
    f"{OURS}, query: SELECT 1, implementation: {{row: amount > 1}}": "'query' belongs to a check of type sql",
    "type: sql, mustBe: 1, query: SELECT COUNT(*) FROM other": "the contract names no table 'other'",
    "type: sql, mustBe: 1, query: 'SELECT COUNT({property}) FROM {object}'": "name the column",
    "type: sql, query: SELECT COUNT(*) FROM orders": "an operator is missing",
    "type: sql, mustBe: 1": "'query' is missing",
    "type: sql, mustBe: 1, metric: rowCount, query: SELECT COUNT(*) FROM orders": "'metric' belongs to a check of type",
    "type: library, mustBe: 1, metric: rowCount, query: SELECT 1": "'query' belongs to a check of type sql",
    "type: library, mustBe: 1, metric: rowCount, engine: lakegate": "'engine' belongs to a check of type custom",
    "type: text, mustBe: 1, description: x": "'mustBe' belongs to a check of type library or sql",
}


@pytest.mark.parametrize("quality", REFUSED)
def test_what_is_not_enforced_is_refused_at_its_line(quality: str) -> None:
    text = f"{GOOD}      - {{{quality}}}\n"

    assert [(line, REFUSED[quality] in message) for line, message in faults_of(text)] == [(text.count("\n"), True)]


@pytest.mark.parametrize(
    ("quality", "part"),
    [
        (custom({"mean": True}), "an operator is missing"),
        (custom({"mean": 5, "mustBe": 5}), "write mean: true, or leave it out"),
        (custom({"mean": True, "mustBe": 5}, unit="percent"), "its number has none"),
        (custom({"quantile": 95, "mustBe": 3}), "a number from 0 to 1"),
        (custom({"quantile": True, "mustBe": 3}), "a number from 0 to 1"),
        (custom({"share": "x", "mustBe": 3}), "is not a number"),
        (custom({"share": [], "mustBe": 3}), "a list with something in it"),
        (custom({"share": 1, "mustBeLessThan": 300}), "between 0 and 100"),
        (custom({"distinctValues": True, "mustBe": -1}), "never below 0"),
        (custom({"row": "it > 1"}), "row belongs to the table"),
    ],
)
def test_a_column_s_check_that_makes_no_sense_is_refused(quality: dict[str, Any], part: str) -> None:
    with pytest.raises(ContractFaults) as caught:
        of_column(quality)

    assert [part in fault.message for fault in caught.value.faults] == [True]


@pytest.mark.parametrize("word", ["mean", "median", "standardDeviation", "sum", "minimum", "maximum"])
def test_a_statistic_of_numbers_is_refused_for_text(word: str) -> None:
    with pytest.raises(ContractFaults, match=f"{word} is of numbers, and the column 'it' is string"):
        of_column(custom({word: True, "mustBe": 1}), {"logicalType": "string"})
