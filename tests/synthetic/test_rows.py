"""Made-up rows pass their contract, or fail one check of it: DuckDB says so, through no code of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lakegate.audit.model.plan import Metric, MetricKind, Plan
from lakegate.contracts import load
from lakegate.contracts.metrics.texts import FORMATS
from lakegate.errors import Misconfigured
from tests.support.duck import failed_checks
from tests.support.plans import none_of
from tests.support.plans import plan as plan_by
from tests.support.synthetic.rows import Maker, Rows

HEAD = """
apiVersion: v3.1.0
kind: DataContract
id: made-up
version: 1.0.0
status: active
servers: [{server: landing, type: s3, location: "s3://landing/a/*", format: parquet}]
schema:
  - name: things
    physicalName: made.things
    properties:
"""
ROWS = 30
MANY = ", ".join(f"{{value: v{at}}}" for at in range(99))
COLUMNS = {
    "required": "{name: a, logicalType: integer, required: true}",
    "a few nulls": "{name: a, logicalType: string, quality: [{metric: nullValues, mustBeLessThan: 10, unit: percent}]}",
    "some nulls": "{name: a, logicalType: string, quality: [{metric: nullValues, mustBeBetween: [2, 9]}]}",
    "unique": f"{{name: a, logicalType: string, unique: true, enum: [{MANY}]}}",
    "bounds": "{name: a, logicalType: integer, logicalTypeOptions: {minimum: 5, exclusiveMaximum: 7}}",
    "unique between": "{name: a, logicalType: integer, unique: true, logicalTypeOptions: {minimum: 5, maximum: 99}}",
    "decimal": "{name: a, logicalType: number, physicalType: 'decimal(4,1)', logicalTypeOptions: {minimum: -1.5}}",
    "wide sum": "{name: a, logicalType: number, physicalType: 'decimal(38,18)', quality: [{type: custom, "
    "engine: lakegate, implementation: {sum: true, mustBeBetween: [-5, 5e19]}}]}",
    "float": "{name: a, logicalType: number, logicalTypeOptions: {format: f32, maximum: 0.1}}",
    "date": "{name: a, logicalType: date, logicalTypeOptions: {minimum: '1970-01-01', maximum: '1970-02-01'}}",
    "instant": "{name: a, logicalType: timestamp, unique: true, logicalTypeOptions: {exclusiveMinimum: '2020-02-02'}}",
    "clock": "{name: a, logicalType: timestamp, logicalTypeOptions: {timezone: false, maximum: '2020-02-02'}}",
    "truth": "{name: a, logicalType: boolean, enum: [{value: true}]}",
    "awkward name": "{name: 'se`l\"e.ct', logicalType: integer, required: true, logicalTypeOptions: {minimum: 3}}",
    "pattern": r"{name: a, logicalType: string, logicalTypeOptions: {pattern: '^[A-Z]{2}-\d{4,8}$', maxLength: 9}}",
    "a pattern of a length": "{name: a, logicalType: string, required: true, logicalTypeOptions: "
    "{pattern: '^[0-9]+$', minLength: 9}}",
    "a pattern of a length that need not be": "{name: a, logicalType: string, logicalTypeOptions: "
    "{pattern: '^([A-Z]{2}[0-9]+-?)+$', minLength: 30, maxLength: 33}}",
    "a pattern up to a length": "{name: a, logicalType: string, logicalTypeOptions: "
    "{pattern: '^[A-Z0-9]+$', maxLength: 20}}",
    "a long pattern": "{name: a, logicalType: string, required: true, logicalTypeOptions: {pattern: '^[a-f]{150}$'}}",
    "unique pattern": "{name: a, logicalType: string, unique: true, logicalTypeOptions: {pattern: '^[a-z]{3,5}$'}}",
    "missing by a pattern": "{name: a, logicalType: string, required: true, quality: [{metric: missingValues, "
    "arguments: {pattern: '^(n/?a|none|-+)$'}, mustBe: 0}]}",
    "missing by a list or a pattern": "{name: a, logicalType: string, quality: [{metric: missingValues, "
    r"arguments: {missingValues: ['', null], pattern: '\s*(x|n/a)\s*$'}, mustBeLessThan: 10, unit: percent}]}",
    "missing by a pattern that most of a pattern have": "{name: a, logicalType: string, logicalTypeOptions: "
    "{pattern: '^[a-z]{2,9}$'}, quality: [{metric: missingValues, arguments: {pattern: '^[a-y]+$'}, mustBe: 0}]}",
    "lengths": "{name: a, logicalType: string, logicalTypeOptions: {minLength: 3, maxLength: 5}}",
    "multiples": "{name: a, logicalType: integer, logicalTypeOptions: {multipleOf: 7, minimum: 3}}",
    "tenths": "{name: a, logicalType: number, logicalTypeOptions: {multipleOf: 0.1}}",
    **{
        name: f"{{name: a, logicalType: string, logicalTypeOptions: {{format: {name}}}, required: true}}"
        for name in FORMATS
    },
    "not in the future": "{name: a, logicalType: timestamp, quality: [{type: custom, engine: lakegate, "
    "implementation: {notInFuture: true}}]}",
    "repeats wanted": "{name: a, logicalType: integer, quality: [{metric: duplicateValues, mustBeGreaterThan: 5}]}",
}
TABLES = {
    "compound key": """
      - {name: a, logicalType: integer, logicalTypeOptions: {minimum: 1, maximum: 4}, primaryKey: true}
      - {name: b, logicalType: integer, logicalTypeOptions: {minimum: 1, maximum: 40}, primaryKey: true}
""",
    "row count": """
      - {name: a, logicalType: integer}
    quality: [{metric: rowCount, mustBeBetween: [20, 40]}]
""",
    "two rules about one metric": """
      - name: a
        logicalType: integer
        quality:
          - {metric: nullValues, mustBeLessThan: 5, unit: percent, severity: warning}
          - {metric: nullValues, mustBeLessThan: 20, unit: percent}
""",
}
CONTRACTS = {name: f"{HEAD}      - {column}\n" for name, column in COLUMNS.items()}
CONTRACTS |= {name: HEAD + table.lstrip("\n") for name, table in TABLES.items()}
IMPOSSIBLE = {("two rules about one metric", "nullValues of a must be less than 20 percent")}


def plan_of(name: str) -> Plan:
    return load(CONTRACTS[name], name).plan


def judged(plan: Plan, rows: pa.Table, folder: Path) -> set[str]:
    parquet.write_table(rows, folder / "rows.parquet")
    return set(failed_checks(plan, folder / "rows.parquet"))


@pytest.mark.share(6)
@pytest.mark.parametrize("name", CONTRACTS)
def test_good_rows_pass(name: str, tmp_path: Path) -> None:
    maker = Maker(plan=plan_of(name), seed=7)
    rows = maker.good(ROWS)
    assert (rows.num_rows, maker.only_null(rows)) == (ROWS, [])
    assert judged(plan_of(name), rows, tmp_path) == set()


@pytest.mark.share(6)
@pytest.mark.parametrize("name", CONTRACTS)
def test_every_check_can_be_failed_alone(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    assert plan.checks
    for check in plan.checks:
        if (name, check.name) in IMPOSSIBLE:
            continue
        assert judged(plan, Maker(plan=plan, seed=7).failing(ROWS, check), tmp_path) == {check.name}


def test_a_fault_that_cannot_come_alone_is_refused_with_what_it_brings() -> None:
    plan = plan_of("two rules about one metric")
    with pytest.raises(Misconfigured, match="fail 'nullValues of a must be less than 20 percent' and nothing else"):
        Maker(plan=plan, seed=7).failing(ROWS, plan.checks[1])


def test_the_same_seed_makes_the_same_rows_and_another_one_others() -> None:
    plan = plan_of("compound key")
    assert Maker(plan=plan, seed=1).good(ROWS) == Maker(plan=plan, seed=1).good(ROWS)
    assert Maker(plan=plan, seed=1).good(ROWS) != Maker(plan=plan, seed=2).good(ROWS)


def test_more_unique_rows_than_there_are_values_is_refused() -> None:
    with pytest.raises(Misconfigured, match="must be unique, and its other checks leave only 95 values"):
        Maker(plan=plan_of("unique between"), seed=1).good(96)


def test_a_row_count_that_the_contract_forbids_is_refused() -> None:
    with pytest.raises(Misconfigured, match="no rows were found that pass 'rowCount must be between 20 and 40 rows'"):
        Maker(plan=plan_of("row count"), seed=1).good(ROWS * 2)


DRIFTING = "{type: custom, engine: lakegate, name: %s, implementation: {drift: {of: %s, files: 3}, mustBeBetween: %s}}"
DRIFT = f"""{HEAD}      - name: a
        logicalType: integer
        quality: [{DRIFTING % ("drifts", "mean", "[-20, 20]")}]
    quality: [{DRIFTING % ("grows", "rowCount", "[-50, 100]")}]
"""


def test_drift_is_made_up_against_what_the_files_before_measured() -> None:
    plan = load(DRIFT, "drift.yaml").plan
    mean, rows = plan.checks
    past = {mean.metric: (90.0, 100.0, 110.0), rows.metric: (30.0, 30.0, 30.0)}
    maker = Maker(plan=plan, seed=7, past=past)
    means = {name: averaged(made) for name, made in (("good", maker.good(ROWS)), ("bad", maker.failing(ROWS, mean)))}
    assert 80 <= means["good"] <= 120
    assert not 80 <= means["bad"] <= 120
    grown = maker.failing(ROWS, rows)
    assert not 15 <= grown.num_rows <= 60
    assert 80 <= averaged(grown) <= 120


def averaged(rows: pa.Table) -> float:
    values = [value for value in rows["a"].to_pylist() if value is not None]
    return float(sum(values) / len(values))


def test_drift_cannot_be_failed_without_files_before() -> None:
    plan = load(DRIFT, "drift.yaml").plan
    with pytest.raises(Misconfigured, match=r"'drifts' compares with files published before.*--past 'drifts=1,2,3'"):
        Maker(plan=plan, seed=7).failing(ROWS, plan.checks[0])


def test_what_only_a_file_without_rows_fails_is_refused() -> None:
    text = (
        f"{HEAD}      - {{name: a, logicalType: integer}}\n    quality: [{{metric: rowCount, mustBeGreaterThan: 0}}]\n"
    )
    plan = load(text, "rows.yaml").plan
    with pytest.raises(Misconfigured, match=r"only a file without rows fails .*: make one with --rows 0"):
        Maker(plan=plan, seed=7).failing(ROWS, plan.checks[0])


def ruled(column: str, rule: str) -> Plan:
    of_rows = f'[{{type: custom, engine: lakegate, implementation: {{row: "{rule}"}}}}]'
    text = f"{HEAD}      - {{name: a, {column}}}\n    quality: {of_rows}\n"
    return load(text, "ruled.yaml").plan


TOGETHER = f"""{HEAD}      - {{name: a, %s}}
      - {{name: b, %s}}
    quality: [{{type: custom, engine: lakegate, implementation: {{row: %s}}}}]
"""


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("physicalType: 'decimal(12,2)'", "physicalType: 'decimal(5,3)'", "a <= 10000000 or b < 5"),
        ("physicalType: int, primaryKey: true", "physicalType: bigint", "a > 0 and b >= 1500000000000"),
        ("physicalType: 'decimal(1,0)'", "physicalType: float", "a < 3 or b < 1e300"),
    ],
    ids=["decimals", "whole numbers", "all of a small type"],
)
def test_numbers_that_only_another_column_of_a_rule_can_hold_are_passed_over(one: str, other: str, rule: str) -> None:
    columns = (f"logicalType: {'integer' if 'int' in kind else 'number'}, {kind}" for kind in (one, other))
    plan = load(TOGETHER % (*columns, rule), "together.yaml").plan
    assert Maker(plan=plan, seed=7).good(ROWS).num_rows == ROWS


def test_days_of_the_week_are_counted_as_spark_counts_them() -> None:
    plan = ruled("logicalType: date", "dayofweek(a) between 2 and 6")
    days = {day.isoweekday() for day in Maker(plan=plan, seed=1).good(200)["a"].to_pylist() if day}
    assert days == {1, 2, 3, 4, 5}


def test_a_cast_to_a_whole_number_cuts_off_so_that_nothing_below_two_fails_to_be_one() -> None:
    plan = ruled("logicalType: number, logicalTypeOptions: {minimum: 0, maximum: 1.9}", "cast(a as int) <= 1")
    with pytest.raises(Misconfigured, match="no rows were found that fail"):
        Maker(plan=plan, seed=1).failing(ROWS, plan.checks[-1])


def test_what_begins_again_from_below_is_made_up_neither_as_good_nor_as_bad() -> None:
    plan = ruled("logicalType: integer, logicalTypeOptions: {minimum: -2147483647, maximum: 2147483646}", "a * 2 >= 0")
    for made in (Maker(plan=plan, seed=1).good(ROWS), Maker(plan=plan, seed=1).failing(ROWS, plan.checks[-1])):
        assert all(-(2**31) <= value * 2 < 2**31 for value in made["a"].to_pylist() if value is not None)


UNLIKELY = """{name: a, physicalType: 'decimal(38,0)', required: true, logicalTypeOptions: {
  minimum: 12345678901234567890123456789012345670, maximum: 12345678901234567890123456789012345679}}"""


@pytest.mark.parametrize(
    "column",
    [
        "{name: a, logicalType: string, logicalTypeOptions: {maxLength: 65535}}",
        "{name: a, logicalType: string, required: true, logicalTypeOptions: {minLength: 20000}}",
        "{name: a, logicalType: string, quality: [{metric: nullValues, mustBe: 4}]}",
        "{name: a, logicalType: string, quality: [{metric: nullValues, unit: percent, mustBeBetween: [12, 14]}]}",
        "{name: a, logicalType: string, quality: [{metric: duplicateValues, mustBe: 60}]}",
        UNLIKELY,
    ],
    ids=["long", "very long", "so many nulls", "such a part of nulls", "so many repeats", "38 digits"],
)
def test_what_checks_name_is_tried(column: str) -> None:
    plan = load(f"{HEAD}      - {column}\n", "named.yaml").plan
    assert Maker(plan=plan, seed=7).good(100).num_rows == 100
    assert Maker(plan=plan, seed=7).failing(100, plan.checks[-1]).num_rows == 100


def test_where_no_rows_are_found_it_is_said_what_may_help() -> None:
    few = f"{HEAD}      - {{name: a, logicalType: integer}}\n    quality: [{{metric: rowCount, mustBe: 500}}]\n"
    with pytest.raises(Misconfigured, match=r"pass 'rowCount .*with another number of rows \(--rows\)"):
        Maker(plan=load(few, "few.yaml").plan, seed=1).good(ROWS)
    rare = ruled("logicalType: integer, required: true", "cast(a as string) like '%314159265358%'")
    with pytest.raises(Misconfigured, match="no value of column 'a' was found that passes its checks"):
        Maker(plan=rare, seed=1).good(ROWS)


def test_rows_that_break_a_rule_are_drawn_again_together(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load(f"""{HEAD}      - {{name: a, logicalType: integer, unique: true}}
      - {{name: b, logicalType: integer}}
    quality: [{{type: custom, engine: lakegate, implementation: {{row: a < b}}}}]
""", "two.yaml").plan  # fmt: skip
    drawn: list[str] = []
    redraw = Maker._redraw

    def counted(maker: Maker, rows: Rows, name: str, where: Iterable[int], nulls: float = 0.1) -> None:
        drawn.append(name)
        redraw(maker, rows, name, where, nulls)

    monkeypatch.setattr(Maker, "_redraw", counted)
    Maker(plan=plan, seed=1).good(2000)
    assert 0 < drawn.count("a") <= 60


@pytest.mark.parametrize("rule", ["round(a, 1) = a", "cast(a as string) = '0.1'"])
def test_what_asks_for_the_digits_of_a_float_is_refused(rule: str) -> None:
    column = "logicalType: number, logicalTypeOptions: {format: %s, multipleOf: 0.5}"
    with pytest.raises(Misconfigured, match="cannot be judged here, because only Spark has the digits of a float"):
        Maker(plan=ruled(column % "f32", rule), seed=1)
    Maker(plan=ruled(column % "f64", rule), seed=1)
    Maker(plan=ruled(column % "f32", "a > 1"), seed=1)


def test_a_rule_that_duckdb_cannot_ask_is_told() -> None:
    beyond = Metric(id="m", kind=MetricKind.FAILING, columns=("a",), sql="`a` RLIKE '(b{60}){60}'")
    with pytest.raises(Misconfigured, match=r"DuckDB cannot judge made-up rows by its contract: .*repetition"):
        Maker(plan=replace(plan_by("nyc.t", {"a": "string"}, [beyond]), checks=(none_of(beyond),)), seed=1).good(ROWS)
