"""Tests of what the dictionaries of data files prove, and what they leave to the rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.model.report import Source
from spark_jobs.metrics import dictionaries
from tests.contracts.test_predicates import counted, plan_for
from tests.support.branch_table import Table
from tests.support.plans import failing, plan

pytestmark = pytest.mark.spark
ODD = "two words"


def test_a_dictionary_proves_and_never_counts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionaries, "_ROWS", 0)
    metrics = [
        failing("few", "COALESCE(NOT few IN ('a', 'b'), FALSE)"),
        failing(ODD, "COALESCE(`two words` > 'b', FALSE)"),
        failing("own", "COALESCE(own = 'none', FALSE)"),
        failing("nulls", "nulls IS NULL"),
    ]
    by = plan("nyc.t", {"few": "string", ODD: "string", "own": "string", "nulls": "string"}, metrics)
    good: list[tuple[object, ...]] = [("ab"[number % 2], "b", f"text {number}", "x", None) for number in range(40)]
    bad = [("c", "a", "none", None, None)]
    table = Table(spark=spark, plan=by).hold({"f1": good, "f2": [*good, *bad]})
    first, second = ([file.metrics[metric.id] for metric in metrics] for file in table.measured())
    rows, proved = Source.AGGREGATE, Source.DICTIONARIES
    assert [metric.value for metric in first] == [0, 0, 0, 0]
    # `own` has as many values as rows, and a dictionary does not say whether there are nulls.
    assert [metric.source for metric in first] == [proved, proved, rows, rows]
    assert [metric.value for metric in second] == [1, 0, 1, 1]
    assert [metric.source for metric in second] == [rows, proved, rows, rows]


def test_a_value_is_what_it_is_whatever_it_is_made_of(spark: SparkSession) -> None:
    odd = ["", " ", '"', "\\", "a\nb", "\x00", "\u2028", "\ud7ff", "\U0001f600", "null", "[", None]
    spark.sparkContext.setJobGroup("dictionaries", "what is asked of values")
    quality = counted("missingValues", missingValues=[None], pattern=r"^\s*$")
    [missing] = plan_for({"name": "v", "logicalType": "string", "quality": quality}).metrics
    asked = ["v = 'null'", "v IS NULL", "LENGTH(v) < 9", missing.sql]
    metrics = [replace(failing("v", sql), id=sql) for sql in asked]
    assert dictionaries._failing_of(spark, "v", odd, metrics) == {
        "v = 'null'": {"null"},
        "v IS NULL": {None},
        "LENGTH(v) < 9": {value for value in odd if value is not None},
        missing.sql: {None, "", " ", "\u2028"},
    }
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("dictionaries")


def test_bytes_that_are_no_text_are_left_to_the_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionaries, "_ROWS", 0)
    table = Table(spark=spark, plan=plan("nyc.t", {"few": "string"}, [failing("few", "few = 'c'")]))
    table.hold({})
    rows = spark.range(40).selectExpr("cast(X'ff61' as string) few", "'f1' _lakegate_file")
    rows.coalesce(1).writeTo("lake.nyc.t").append()
    [file] = table.measured()
    assert [metric.source for metric in file.metrics.values()] == [Source.AGGREGATE]


def test_more_values_than_the_driver_should_ask_are_left_to_the_rows(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dictionaries, "_ROWS", 0)
    monkeypatch.setattr(dictionaries, "_MOST_VALUES", 3)
    metrics = [failing("few", "few = 'c'"), failing("more", "more = 'c'")]
    by = plan("nyc.t", {"few": "string", "more": "string"}, metrics)
    first, second = [("a", "a", None), ("a", "b", None)] * 20, [("b", "d", None), ("b", "e", None)] * 20
    table = Table(spark=spark, plan=by).hold({"f1": first, "f2": second})
    told = [[file.metrics[metric.id].source for metric in metrics] for file in table.measured()]
    assert told == [[Source.DICTIONARIES, Source.AGGREGATE]] * 2
