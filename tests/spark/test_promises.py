"""What a real Spark makes of a promise's age."""

import pytest
from pyspark.sql import SparkSession

from tests.contracts.test_promises import promised

pytestmark = pytest.mark.spark


def test_the_age_is_counted_from_the_newest_value_to_now(spark: SparkSession) -> None:
    plan, check = promised("{property: freshness, value: 4, unit: h, element: placed}")
    age = plan.metric(check.metric).sql
    ages = "3 hours", "90 minutes", "9 days"
    for kind in ("timestamp", "timestamp_ntz", "date"):
        rows = " UNION ALL ".join(f"SELECT CAST(now() - INTERVAL {each} AS {kind}) AS placed" for each in ages)
        [(found,)] = spark.sql(f"SELECT {age} FROM ({rows} UNION ALL SELECT NULL)").collect()
        assert found == pytest.approx(1.5, abs=0.1) if kind != "date" else 0 <= found <= 25.6, kind
    assert spark.sql(f"SELECT {age} FROM (SELECT CAST(NULL AS TIMESTAMP) AS placed)").collect() == [(None,)]
