"""Tests of what a real Spark makes of a promise's age."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import TYPES
from lakegate.contracts.metrics.rows import age
from tests.contracts.test_promises import promised

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((kind, value) for kind in ("timestamp", "timestamp_ntz") for value in (-(2**63) + 1, -(2**63), 2**63 - 1)),
        *(("date", value) for value in (-(2**31), 2**31 - 1)),
    ],
)
def test_the_age_of_a_value_at_the_end_of_its_type_is_as_large_as_it_is(
    spark: SparkSession, kind: str, value: int
) -> None:
    """A plain difference would begin again from the other end, and a cast of such a date end the pass of all files."""
    metric = age(Field(label="x", name="x", type=TYPES[kind]), 86_400)
    made = f"date_from_unix_date({value})" if kind == "date" else f"timestamp_micros(bigint('{value}'))"
    [(found,)] = spark.sql(f"SELECT {metric.sql} FROM (SELECT CAST({made} AS {kind}) AS x)").collect()
    days = value if kind == "date" else value / 86_400_000_000
    assert found == pytest.approx(datetime.now(UTC).timestamp() / 86_400 - days, rel=1e-9)


def test_the_age_is_counted_from_the_newest_value_to_now(spark: SparkSession) -> None:
    plan, check = promised("{property: freshness, value: 4, unit: h, element: placed}")
    assert plan.metric(check.metric) == age(Field(label="placed", name="placed", type=TYPES["timestamp"]), 3_600)
    ages = "3 hours", "90 minutes", "9 days"
    for kind in ("timestamp", "timestamp_ntz", "date"):
        rows = " UNION ALL ".join(f"SELECT CAST(now() - INTERVAL {each} AS {kind}) AS placed" for each in ages)
        sql = age(Field(label="placed", name="placed", type=TYPES[kind]), 3_600).sql
        [(found,)] = spark.sql(f"SELECT {sql} FROM ({rows} UNION ALL SELECT NULL)").collect()
        assert found == pytest.approx(1.5, abs=0.1) if kind != "date" else 0 <= found <= 25.6, kind
        assert spark.sql(f"SELECT {sql} FROM (SELECT CAST(NULL AS {kind}) AS placed)").collect() == [(None,)], kind
