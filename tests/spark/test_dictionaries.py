"""What the dictionaries of data files prove, and what they leave to the rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.report import Source
from spark_jobs import dictionaries
from tests.support.held import Table
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
