"""Spark's SQL in DuckDB's words, as text; tests/spark holds what both say of rows to each other."""

import pytest

from lakegate.duckdb.dialect import to_duckdb


@pytest.mark.parametrize(
    ("spark", "duckdb"),
    [
        ("trim(`a`)", """TRY(TRIM("a", ' '))"""),
        ("trim(BOTH 'x' FROM `a`)", """TRY(TRIM("a", 'x'))"""),
        ("replace(`a`, 'b')", """TRY(REPLACE("a", 'b', ''))"""),
        ("replace(`a`, 'b', 'c')", """TRY(REPLACE("a", 'b', 'c'))"""),
    ],
)
def test_what_is_given_stays_and_what_is_left_out_is_what_spark_takes_for_it(spark: str, duckdb: str) -> None:
    assert to_duckdb(spark) == duckdb
