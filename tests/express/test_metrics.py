"""DuckDB measures rows as Spark would, or leaves them to Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.samples import evenly
from lakegate.audit.model.plan import Check, Metric, MetricKind, Operator, Plan, Severity, TableColumn, Unit
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB, check_near_limits, is_exact
from lakegate.express.samples import to_display
from tests.support.plans import ROWS, duplicates, failing, nulls, plan


@pytest.fixture
def duck() -> Iterator[DuckDB]:
    opened = DuckDB(Limits())
    yield opened
    opened.close()


def value(sql: str, *columns: str) -> Metric:
    return Metric(id="value", kind=MetricKind.VALUE, columns=columns, sql=sql)


def query(sql: str) -> Metric:
    return Metric(id="query", kind=MetricKind.QUERY, sql=sql)


TABLE = pa.table({"id": [1, 2, 2, None], "x": [1.5, -1.0, None, 4.0], "s": ["a", "b", None, "1e3"]})


def test_all_numbers_come_of_one_query(duck: DuckDB) -> None:
    metrics = [
        ROWS, nulls("id"), failing("x", "COALESCE(x < 0, FALSE)"), duplicates("id"), value("AVG(`x`)", "x"),
        query("SELECT COUNT(*) FROM (SELECT DISTINCT id FROM _lakegate_rows) AS d"),
    ]  # fmt: skip
    found = duck.numbers(metrics, TABLE)
    assert found == {
        "rows": 4, "nulls-id": 1, "failing-x": 1, "duplicates-id": 1, "value": 1.5, "query": 3,
    }  # fmt: skip


def test_a_query_of_its_own_alone_is_asked_once(duck: DuckDB) -> None:
    assert duck.numbers([duplicates("id")], TABLE) == {"duplicates-id": 1}


def test_the_mean_of_nothing_is_no_number(duck: DuckDB) -> None:
    assert duck.numbers([value("AVG(`x`)", "x")], TABLE.slice(2, 1)) == {"value": None}


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("COUNT_IF(`x` > 1)", 0),
        ("100 * COUNT_IF(`x` IN (1, 2)) / COUNT(*)", 0),
        ("COUNT_IF(`x` > 1) FILTER(WHERE `id` > 9)", 0),
        ("PERCENTILE(`d`, 0.25)", 25.0075),
    ],
)
def test_counts_of_nothing_and_quantiles_of_decimals_are_as_sparks(duck: DuckDB, sql: str, number: float) -> None:
    rows = pa.table({
        "id": [1, 2], "x": pa.nulls(2, pa.float64()), "d": pa.array([Decimal("0.01"), Decimal("100.00")]),
    })  # fmt: skip
    assert duck.numbers([value(sql)], rows)["value"] == pytest.approx(number)


@pytest.mark.parametrize(
    "metric",
    [
        failing("s", "COALESCE(CAST(s AS TIMESTAMP) < CAST('2013-01-01' AS TIMESTAMP), FALSE)"),
        failing("id", "COALESCE(id * 9223372036854775807 > 0, FALSE)"),
        value("SUM(`id` * 9223372036854775807)", "id"),
        value("AVG(`d`)", "d"),
        value("AVG(`id` * 1.5)", "id"),
    ],
)
def test_what_only_spark_knows_is_handed_over(duck: DuckDB, metric: Metric) -> None:
    with pytest.raises(HandedOver):
        duck.numbers([metric], pa.table({"id": [2, 3], "s": ["2013-1-1 5:00", "a"], "d": [Decimal("1.1")] * 2}))


def test_what_does_not_fit_in_its_memory_is_handed_over() -> None:
    small, numbers = DuckDB(Limits(memory=16 * 1024**2, threads=1)), range(3_000_000)
    with pytest.raises(HandedOver):
        small.numbers([duplicates("id")], pa.table({"id": pa.array(numbers, pa.int64())}))
    small.close()


def test_it_opens_no_file(duck: DuckDB) -> None:
    with pytest.raises(HandedOver):
        duck.numbers([query("SELECT COUNT(*) FROM read_text('/etc/passwd')")], TABLE)


def test_rows_to_show_are_those_that_fail_and_the_first_keys_that_repeat(duck: DuckDB) -> None:
    rows = pa.table({"id": [5, 3, 5, 3, None, None, 4], "x": [-1.0, 1.0, -2.0, None, 1.0, 1.0, 1.0]})
    assert duck.places(failing("x", "COALESCE(x < 0, FALSE)"), rows, 2) == [0, 2]
    assert duck.places(nulls("id"), rows, 2) == [4, 5]
    assert duck.places(duplicates("id"), rows, 1) == [1]  # as many rows of a key as keys
    assert duck.places(duplicates("id"), rows, 2) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("sql", "exact"),
    [
        ("COUNT(DISTINCT `x`)", True),
        ("MAX(`x`)", True),
        ("SUM(CAST(`n` AS DECIMAL(19, 0)))", True),
        ("SUM(`x`)", False),
        ("SUM(`n` / 3)", False),
        ("MAX(EXP(`n`))", False),
        ("AVG(`n`)", False),
        ("STDDEV_SAMP(`n`)", False),
        ("PERCENTILE(`n`, 0.5)", False),
    ],
)
def test_sums_of_floats_depend_on_their_order(sql: str, exact: bool) -> None:  # noqa: FBT001 - a case
    assert is_exact(value(sql), {"x": "double", "n": "bigint"}) is exact


def told(operator: Operator, *threshold: float) -> Plan:
    check = Check(
        id="c", name="c", metric="value", operator=operator, threshold=threshold, unit=Unit.NUMBER,
        severity=Severity.ERROR,
    )  # fmt: skip
    return replace(plan("nyc.t", {"x": "double"}, [value("AVG(`x`)", "x")]), checks=(check,))


def test_a_number_at_its_limit_is_handed_over() -> None:
    metric = value("AVG(`x`)", "x")
    for limit in (5.0, 5.000000001, 4.9999999999):
        with pytest.raises(HandedOver, match="near"):
            check_near_limits(told(Operator.LESS_THAN, limit), metric, 5.0, 10, {})
    check_near_limits(told(Operator.LESS_THAN, 5.1), metric, 5.0, 10, {})
    check_near_limits(told(Operator.LESS_THAN, 4.9), metric, 5.0, 10, {})


def test_a_failing_number_at_the_edge_of_its_spelling_is_handed_over() -> None:
    metric, edge = value("AVG(`x`)", "x"), 1.234567885
    with pytest.raises(HandedOver, match="near"):
        check_near_limits(told(Operator.LESS_THAN, 1.0), metric, edge, 10, {})
    check_near_limits(told(Operator.LESS_THAN, 2.0), metric, edge, 10, {})  # nobody is told


@pytest.mark.parametrize(
    ("kind", "given", "seen"),
    [
        ("string", "é" * 201, "é" * 200),
        ("binary", b"\x01\xff", "01FF"),
        ("float", 1.100000023841858, 1.1),
        ("double", float("nan"), "NaN"),
        ("double", float("-inf"), "-Infinity"),
        ("decimal(38,10)", Decimal("0E-10"), "0E-10"),
        ("boolean", True, True),
        ("bigint", 2**60, 2**60),
        ("bigint", None, None),
    ],
)
def test_a_value_is_shown_as_spark_spells_it(kind: str, given: Any, seen: Any) -> None:
    assert to_display(TableColumn(name="x", type=kind), given) == seen


def test_a_masked_value_is_not_shown_and_a_null_is() -> None:
    column = TableColumn(name="x", type="string", masked=True)
    assert (to_display(column, "secret"), to_display(column, None)) == ("•••", None)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 7, 100, 101, 1_000])
def test_of_many_rows_that_fail_some_are_shown_from_all_of_them(duck: DuckDB, number: int) -> None:
    rows = pa.table({"id": pa.array([at if at % 3 else None for at in range(3 * number)], pa.int64())})
    fails = range(0, 3 * number, 3)
    for most in (1, 2, 3, 6, 7, 99, 100):
        assert duck.places(nulls("id"), rows, most) == evenly(list(fails), most)
