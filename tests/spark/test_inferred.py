"""An inferred contract says of each column what Spark reads there: no row of its sample is malformed or of another
type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from lakegate.contracts import load
from lakegate.inference.inferred import infer
from spark_jobs.appending.rows import rows_of
from tests.spark.test_text import read
from tests.support import samples
from tests.support.inspected import inspections
from tests.support.samples import WRITERS, of

pytestmark = [pytest.mark.spark, pytest.mark.extended]
EXAMPLES, WIDE = 3, [HealthCheck.function_scoped_fixture, HealthCheck.large_base_example]


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as made:
        yield Path(made)


def assert_spark_reads(spark: SparkSession, rows: pa.Table, form: str) -> None:
    with folder() as here:
        path = here / f"some.{form}"
        WRITERS[form](rows, path)
        plan = load(infer([path]), path.name).plan
        [inspection] = inspections(spark, here, plan, path.read_bytes())
        assert (inspection.faults, inspection.rows) == ((), rows.num_rows)
        assert rows_of(spark, plan, [inspection]).count() == rows.num_rows


@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type())
def test_every_type_of_parquet_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "parquet")


@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type(atoms=of(*samples.IN_ORC)))
def test_every_type_of_orc_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "orc")


@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type(atoms=of(*samples.IN_AVRO), inner="y"))
def test_every_type_of_avro_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "avro")


def assert_spark_parses(spark: SparkSession, text: str, name: str, rows: int) -> None:
    with folder() as here:
        (here / name).write_text(text, encoding="utf-8", newline="")
        plan = load(infer([here / name]), name).plan
        good, bad = read(spark, here, plan, text.encode())
        assert (len(good), bad) == (rows, [])


@settings(max_examples=1, suppress_health_check=WIDE)
@given(samples.every_text())
def test_spark_parses_every_field_of_a_csv_as_the_type_that_was_inferred(spark: SparkSession, text: str) -> None:
    assert_spark_parses(spark, text, "some.csv", rows=8)


@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_json())
def test_spark_parses_every_value_of_json_as_the_type_that_was_inferred(spark: SparkSession, text: str) -> None:
    assert_spark_parses(spark, text, "some.jsonl", rows=8)
