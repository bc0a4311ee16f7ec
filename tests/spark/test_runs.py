"""A Spark data frame that is given to a run of lakegate.wap becomes the same rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lakegate.errors import Misconfigured
from lakegate.wap.data import files_of

pytestmark = [pytest.mark.spark, pytest.mark.extended]


def test_a_spark_data_frame_is_the_same_rows_as_parquet(spark: SparkSession) -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    rows = [(1, "a", 1.5, Decimal("1.25"), date(2026, 1, 1), at), (2, None, None, None, None, None)]
    kinds = "id bigint, note string, x double, amount decimal(9,2), day date, at timestamp"
    [given] = files_of(spark.createDataFrame(rows, kinds))
    found = pq.read_table(pa.BufferReader(given.body))
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
    assert str(found.schema.field("amount").type) == "decimal128(9, 2)"


def test_a_spark_data_frame_without_rows_is_told(spark: SparkSession) -> None:
    with pytest.raises(Misconfigured, match="has no rows"):
        list(files_of(spark.createDataFrame([], "id bigint")))
