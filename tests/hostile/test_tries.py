"""How often patterns may be tried with a file's texts: a plan says it of those whose work grows faster than a text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.limits import DEFAULTS, Limits
from lakegate.audit.model.plan import Metric, MetricKind, Plan
from lakegate.contracts import load
from lakegate.contracts.metrics.metric import identified
from lakegate.contracts.regex.cost import worst
from lakegate.contracts.regex.portable import portable

CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: t
version: 1.0.0
status: active
servers: [{server: landing, type: s3, location: "s3://landing/a/*", format: parquet}]
schema:
  - name: t
    physicalName: shop.t
    properties:
      - {name: a, COLUMN}
"""


def metrics(column: str) -> list[Metric]:
    plan = load(CONTRACT.replace("COLUMN", column), "t.yaml").plan
    return [metric for metric in plan.metrics if metric.kind is MetricKind.FAILING]


def of_pattern(pattern: str) -> Metric:
    [metric] = metrics(f"logicalType: string, logicalTypeOptions: {{pattern: '{pattern}'}}")
    return metric


LINEAR = (
    r"^\d+$",
    "^[A-Z]{3}$",
    "foo",
    r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
    r"^\d{4}-\d{2}-\d{2}$",
    "^https?://.*$",
    ".*foo.*",
    r"\s+$",
    r"\d+x",
)
MORE = (r"\d+\d+x", "^.*foo.*bar$", r"x.*\s+$", "^[a-z]+( [a-z]+)*$")


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_pattern_that_is_done_in_time_with_its_text_is_not_counted(pattern: str) -> None:
    assert of_pattern(pattern).tries == ""


@pytest.mark.parametrize("format_name", ["email", "uuid", "uri", "hostname", "ipv4", "ipv6", "date-time"])
def test_a_format_is_not_counted(format_name: str) -> None:
    [metric] = metrics(f"logicalType: string, logicalTypeOptions: {{format: {format_name}}}")
    assert metric.tries == ""


@pytest.mark.parametrize("pattern", MORE)
def test_a_pattern_that_goes_back_and_tries_on_says_how_often(pattern: str) -> None:
    assert of_pattern(pattern).tries.startswith("COALESCE(CASE WHEN LENGTH(`a`) > ")


@pytest.mark.parametrize(
    "column",
    [
        r"logicalType: array, items: {logicalType: string, logicalTypeOptions: {pattern: '\d+\d+x'}}",
        r"logicalType: object, properties: [{name: b, logicalType: string, logicalTypeOptions: {pattern: '\d+\d+x'}}]",
        r"logicalType: string, quality: [{metric: missingValues, arguments: {pattern: '\d+\d+x'}, mustBe: 0}]",
        r"logicalType: string, quality: [{metric: invalidValues, arguments: {pattern: '\d+\d+x'}, mustBe: 0}]",
        (
            r"logicalType: string, quality: [{metric: invalidValues, mustBe: 0, "
            r"arguments: {pattern: '\d+\d+x', validValues: [a]}}]"
        ),
    ],
)
def test_the_tries_are_counted_wherever_the_pattern_stands(column: str) -> None:
    assert [bool(metric.tries) for metric in metrics(column)] == [True]


def test_what_may_be_repeated_often_is_tried_no_oftener_than_a_short_text_has_letters() -> None:
    label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    bounds = portable(f"^{label}(?:[.]{label})*$").tries
    assert worst(bounds, 30) < worst(bounds[:1], 30) / 100


def test_a_plan_and_its_limits_are_read_as_they_were_written() -> None:
    contract = CONTRACT.replace("COLUMN", r"logicalType: string, logicalTypeOptions: {pattern: '^\d+$'}")
    plan, limits = load(contract, "t.yaml").plan, Limits(tries=5)
    assert from_json(Plan, to_json(plan)) == plan
    assert from_json(Limits, to_json(limits)) == limits
    assert from_json(Limits, "{}") == DEFAULTS


def test_how_often_a_pattern_is_tried_is_no_part_of_what_it_is() -> None:
    metric = of_pattern(r"\d+\d+x")
    assert metric.id == identified(replace(metric, tries="")).id


def of_sql(rule: str) -> Metric:
    text = (
        CONTRACT
        + f"""      - {{name: b, logicalType: string}}
      - {{name: n, logicalType: integer}}
    quality: [{{type: custom, engine: lakegate, implementation: {{row: "{rule}"}}}}]
"""
    )
    plan = load(text.replace("COLUMN", "logicalType: string"), "t.yaml").plan
    return next(metric for metric in plan.metrics if metric.kind is MetricKind.FAILING)


SLOW = (
    "CONTAINS(a, b)",
    "LOCATE(b, a) > 0",
    "REPLACE(a, b, '') = 'x'",
    "TRIM(b FROM a) = ''",
    f"a LIKE '%{'_' * 200}x%'",
    f"a LIKE '%x%{'_' * 200}y%'",
    f"TRIM('{'x' * 200}' FROM a) = ''",
    "CASE WHEN n > 1 THEN CONTAINS(UPPER(a), CONCAT(b, 'x')) ELSE TRUE END",
)
FAST = (
    "a LIKE '%foo%bar%'",
    "CONTAINS(a, 'foo')",
    "STARTSWITH(a, b)",
    "TRIM(a) = b",
    "REPLACE(a, '-', '') = b",
)


@pytest.mark.parametrize("rule", SLOW)
def test_a_rule_that_looks_for_one_text_at_every_place_of_another_says_how_often(rule: str) -> None:
    assert "CAST(COALESCE(" in of_sql(rule).tries


@pytest.mark.parametrize("rule", FAST)
def test_a_rule_that_is_done_in_time_with_its_texts_is_not_counted(rule: str) -> None:
    assert of_sql(rule).tries == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT_IF(CONTAINS(a, b)) FROM {object}",
        "SELECT COUNT(*) FROM {object} WHERE CONTAINS(a, b)",
        "SELECT COUNT(*) FROM (SELECT a, MAX(b) AS m FROM {object} GROUP BY a) WHERE CONTAINS(a, m)",
        "SELECT SUM(p) FROM (SELECT LOCATE(b, a) AS p FROM {object})",
    ],
)
def test_a_query_that_looks_for_one_text_in_another_says_how_often(query: str) -> None:
    text = (
        CONTRACT
        + f"""      - {{name: b, logicalType: string}}
    quality: [{{type: sql, query: "{query}", mustBe: 0}}]
"""
    )
    plan = load(text.replace("COLUMN", "logicalType: string"), "t.yaml").plan
    [metric] = [metric for metric in plan.metrics if metric.kind is not MetricKind.ROWS]
    assert "GREATEST(LENGTH(`a`), LENGTH(`b`))" in metric.tries or "GREATEST(LENGTH(`b`), LENGTH(`a`))" in metric.tries
