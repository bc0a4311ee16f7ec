"""Metrics from data files: what statistics prove, what a query counts, and that both say what the rows say."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.evaluation import samples as chosen
from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.evaluation.verdicts import evaluate
from lakegate.audit.model.plan import Plan, Proof, Scope, Severity
from lakegate.audit.model.report import Source, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.session import LAKE
from spark_jobs.metrics import samples
from spark_jobs.metrics.measure import measure_all
from tests.support.branch_table import Table
from tests.support.plans import ROWS, duplicates, failing, none_of, nulls, plan

pytestmark = pytest.mark.spark
IN_RANGE = Proof(column="x", minimum=0, maximum=10)
OUTSIDE = "x IS NOT NULL AND (x < 0 OR x > 10 OR isnan(x))"


def test_what_statistics_prove_is_not_read(spark: SparkSession) -> None:
    by = plan("nyc.t", {"x": "double"}, [ROWS, nulls("x"), failing("x", OUTSIDE, IN_RANGE)])
    table = Table(spark=spark, plan=by).hold({"f1": [(1.0, None), (None, None)], "f2": [(10.0, None)]})
    seen = {file.file: {name: metric.value for name, metric in file.metrics.items()} for file in table.measured()}
    assert seen == {"f1": {"rows": 2, "nulls-x": 1, "failing-x": 0}, "f2": {"rows": 1, "nulls-x": 0, "failing-x": 0}}
    assert table.reads == 0


def test_what_statistics_leave_open_is_counted_in_one_pass(spark: SparkSession) -> None:
    other = failing("x", "COALESCE(x = 3, FALSE)")
    by = plan("nyc.t", {"x": "double"}, [nulls("x"), failing("x", OUTSIDE, IN_RANGE)])
    by = Plan(**{**vars(by), "metrics": (*by.metrics, other), "checks": (*by.checks, none_of(other))})
    table = Table(spark=spark, plan=by).hold({"f1": [(11.0, None), (3.0, None)], "f2": [(float("nan"), None)]})
    [first, second] = table.measured()
    assert [first.metrics["failing-x"].value, second.metrics["failing-x"].value] == [1, 0]
    assert {metric.source for metric in first.metrics.values()} == {Source.STATISTICS, Source.AGGREGATE}
    assert table.reads == 1


def test_nan_is_counted_though_bounds_leave_it_out(spark: SparkSession) -> None:
    by = plan("nyc.t", {"x": "double"}, [failing("x", OUTSIDE, IN_RANGE)])
    table = Table(spark=spark, plan=by).hold({"f1": [(1.0, None), (float("nan"), None)]})
    assert table.measured()[0].metrics["failing-x"].value == 1


def test_a_value_that_cannot_be_computed_with_fails_its_check_of_its_file_alone(spark: SparkSession) -> None:
    overflows = failing("x", "COALESCE(timestamp_micros(x) + INTERVAL 3 HOURS < timestamp_micros(0), FALSE)")
    three = failing("x", "COALESCE(x = 3, FALSE)")
    by = plan("nyc.t", {"x": "bigint"}, [nulls("x"), overflows, replace(three, id="three")])
    held = {"good": [(1, None)], "far": [(2**63 - 1, None), (3, None)], "bad": [(3, None), (-(10**13), None)]}
    table = Table(spark=spark, plan=by).hold(held)
    seen = {file.file: {name: metric.value for name, metric in file.metrics.items()} for file in table.measured()}
    assert seen == {
        "good": {"nulls-x": 0, "failing-x": 0, "three": 0},
        "far": {"nulls-x": 0, "failing-x": None, "three": 1},
        "bad": {"nulls-x": 0, "failing-x": 1, "three": 1},
    }
    results = table.judged()
    assert [(check.verdict, len(check.sample)) for check in results["far"]] == [
        (Verdict.PASS, 0),
        (Verdict.FAIL, 0),
        (Verdict.FAIL, 1),
    ]
    assert "can't be computed" in results["far"][1].reason


def test_a_text_is_found_beside_one_that_is_not_utf_8(spark: SparkSession) -> None:
    by = plan(
        "nyc.t", {"x": "string"}, [failing("x", "COALESCE(x IN ('é'), FALSE)", Proof(column="x", without=("é",)))]
    )
    table = Table(spark=spark, plan=by).hold({})
    rows = f"SELECT 'é' AS x, 'f1' AS {FILE_COLUMN} UNION ALL SELECT CAST(X'80' AS string), 'f1'"
    spark.sql(rows).coalesce(1).writeTo(f"{LAKE}.nyc.t").append()
    assert table.measured()[0].metrics["failing-x"].value == 1


def test_statistics_reach_beyond_a_hundred_columns(spark: SparkSession) -> None:
    columns = {f"c{number}": "int" for number in range(130)}
    by = plan("nyc.t", columns, [nulls("c129")])
    table = Table(spark=spark, plan=by).hold({"f1": [(*range(129), None, None)]})
    [seen] = table.measured()
    assert (seen.metrics["nulls-c129"].value, seen.metrics["nulls-c129"].source) == (1, Source.STATISTICS)


def test_files_that_come_together_are_judged_as_those_that_do_not(spark: SparkSession) -> None:
    """Files are grouped into batches by timing: without scope table, a key is unique in its file."""
    by = plan("nyc.t", {"a": "int", "b": "string"}, [duplicates("a"), duplicates("a", "b")])
    rows = [(1, "x", None), (2, "x", None)]
    together = Table(spark=spark, plan=by).hold({"f1": rows, "f2": rows, "f3": [*rows, rows[0]]}).judged()
    assert {file: [check.value for check in checks] for file, checks in together.items()} == {
        "f1": [0, 0],
        "f2": [0, 0],
        "f3": [1, 1],
    }
    assert [len(check.sample) for check in together["f3"]] == [2, 2]


def test_duplicates_are_what_reading_a_file_would_say(spark: SparkSession) -> None:
    by = plan("nyc.t", {"a": "int", "b": "string"}, [duplicates("a", "b"), duplicates("a")])
    dice = random.Random(20130131)
    files = {
        f"f{number}": [(dice.choice([None, *range(60)]), dice.choice(["x", "y", None]), None) for _ in range(8)]
        for number in range(6)
    }
    judged = Table(spark=spark, plan=by).hold(files).judged()
    for file, rows in files.items():
        keys = [
            [(a, b) for a, b, _ in rows if a is not None and b is not None],
            [a for a, _, _ in rows if a is not None],
        ]
        said = [sum(key in mine[:at] for at, key in enumerate(mine)) for mine in keys]
        assert [check.value for check in judged[file]] == said


def test_no_duplicates_take_one_look(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    by = plan("nyc.t", {"a": "int"}, [duplicates("a")])
    table = Table(spark=spark, plan=by).hold({"f1": [(1, None), (None, None), (None, None)], "f2": [(2, None)]})
    inspections = looks_from_now_on(spark, monkeypatch)
    found = evaluate(by, *measure_all(by, table.batch, table.base))
    assert ([check.value for checks in found.values() for check in checks], inspections) == ([0, 0], ["isEmpty"])
    again = Table(spark=spark, plan=replace(by, table="nyc.again")).hold({"f1": [(1, None), (1, None)]})
    inspections.clear()
    [[check]] = evaluate(again.plan, *measure_all(again.plan, again.batch, again.base)).values()
    assert (check.value, inspections) == (1, ["isEmpty", "collect"])


def looks_from_now_on(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that are asked of Spark."""
    inspections = list[str]()

    def noting(name: str, method: Callable[[DataFrame], object]) -> Callable[[DataFrame], object]:
        def inspection(frame: DataFrame) -> object:
            inspections.append(name)
            return method(frame)

        return inspection

    frames = type(spark.range(0))  # Spark 4's have a class below the one that everybody names
    for name in ("collect", "count", "isEmpty", "toLocalIterator", "toPandas"):
        monkeypatch.setattr(frames, name, noting(name, getattr(frames, name)))
    return inspections


def test_failing_rows_are_shown_as_json_can_say_them(spark: SparkSession) -> None:
    columns = {"x": "double", "d": "decimal(5,2)", "at": "timestamp", "local": "timestamp_ntz", "day": "date"}
    by = plan("nyc.t", columns | {"s": "string", "b": "binary"}, [failing("x", OUTSIDE)])
    at = datetime(2013, 1, 1, 5, 30, tzinfo=UTC)
    row = (11.0, Decimal("1.50"), at, at.replace(tzinfo=None), date(2013, 1, 1), "long " * 100, b"\x00\xff", None)
    nothing = (float("nan"), None, None, None, None, None, None, None)
    [check] = Table(spark=spark, plan=by).hold({"f1": [row, nothing]}).judged()["f1"]
    assert check.sample == (
        {
            "x": 11.0,
            "d": "1.50",
            "at": "2013-01-01T05:30:00Z",
            "local": "2013-01-01T05:30:00",
            "day": "2013-01-01",
            "s": "long " * 40,
            "b": "00FF",
        },
        {"x": "NaN", "d": None, "at": None, "local": None, "day": None, "s": None, "b": None},
    )


def test_up_to_a_hundred_rows_of_each_check_and_file_are_shown_after_one_look(spark: SparkSession) -> None:
    rules = [nulls("x"), failing("y", "COALESCE(y < 1000, FALSE)")]
    by = plan("nyc.t", {"x": "int", "y": "int"}, rules)
    files: dict[str, list[tuple[object, ...]]]
    files = {"f1": [(None, y, None) for y in range(2000)], "f2": [(1, 5, None)], "f3": [(1, 5000, None)]}
    table = Table(spark=spark, plan=by).hold(files)
    results = evaluate(by, table.measured(), {})
    before = table.reads
    judged = samples.with_samples(by, results, table.batch, table.base)
    assert table.reads == before + 1
    assert [(len(check.sample), check.failing_rows) for checks in judged.values() for check in checks] == [
        *[(100, 2000), (100, 1000)],
        *[(0, 0), (1, 1)],
        *[(0, 0), (0, 0)],
    ]
    shown = [row["y"] for row in judged["f1"][1].sample]
    assert len(set(shown)) == 100
    assert max(shown) < 1000
    assert [any(low <= y < low + 250 for y in shown) for low in (0, 250, 500, 750)] == [True] * 4


def test_very_many_failing_rows_still_make_a_report_of_a_few_megabytes(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "BYTES", 6000)
    by = plan("nyc.t", {"x": "int", "s": "string"}, [nulls("x"), failing("s", "s IS NOT NULL")])
    judged = Table(spark=spark, plan=by).hold({"f1": [(None, "long" * 60, None)] * 60}).judged()
    assert [0 < len(check.sample) < 15 for check in judged["f1"]] == [True, True]


def test_what_is_masked_shows_only_whether_it_is_there(spark: SparkSession) -> None:
    by = plan("nyc.t", {"id": "int", "name": "string", "born": "date"}, [failing("id", "id < 9"), duplicates("name")])
    hidden = tuple(replace(column, masked=column.name != "id") for column in by.columns)
    by = replace(by, columns=hidden, key=("id",))
    rows = [(1, "Ann", date(2001, 1, 1), None), (2, None, None, None), (9, "Ann", None, None)]
    [small, repeated] = Table(spark=spark, plan=by).hold({"f1": rows}).judged()["f1"]
    assert small.sample == ({"id": 1, "name": MASK, "born": MASK}, {"id": 2, "name": None, "born": None})
    assert repeated.sample == ({"id": 1, "name": MASK, "born": MASK}, {"id": 9, "name": MASK, "born": None})
    assert "Ann" not in str((small, repeated))


def test_repeated_keys_are_shown_where_they_are_to_blame(spark: SparkSession) -> None:
    by = plan("nyc.t", {"a": "int", "b": "int"}, [duplicates("a", "b", scope=Scope.TABLE)])
    files: dict[str, list[tuple[object, ...]]] = {
        "f1": [(1, 1, None), (2, 2, None)],
        "f2": [(2, 2, None), (3, 3, None), (None, 4, None), (None, 4, None)],
    }
    judged = Table(spark=spark, plan=by).hold(files).judged()
    assert [checks[0].sample for checks in judged.values()] == [(), ({"a": 2, "b": 2},)]


def test_a_key_may_be_called_as_what_is_counted(spark: SparkSession) -> None:
    by = plan("nyc.t", {"rows": "int", "files": "int", "taken": "int"}, [duplicates("rows", "files", "taken")])
    [check] = Table(spark=spark, plan=by).hold({"f1": [(1, 1, 1, None), (1, 1, 1, None)]}).judged()["f1"]
    assert (check.value, check.sample) == (1, ({"rows": 1, "files": 1, "taken": 1},) * 2)


def test_a_warning_shows_rows_too(spark: SparkSession) -> None:
    by = plan("nyc.t", {"x": "int"}, [nulls("x")])
    by = Plan(**{**vars(by), "checks": (none_of(nulls("x"), Severity.WARNING),)})
    [check] = Table(spark=spark, plan=by).hold({"f1": [(None, None)]}).judged()["f1"]
    assert check.sample == ({"x": None},)
