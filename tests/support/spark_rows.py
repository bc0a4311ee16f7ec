"""Predicates over rows in a real Spark: a query for each case, whose rows stand in it. It judges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from spark_jobs.jvm.spark_sql import literal

TIMEZONE = "America/New_York"  # not UTC: a predicate must not depend on it


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Values (as text, cast to the type) of one column, and predicates over it."""

    column: str
    type: str
    values: list[str | None]
    predicates: list[str]


def verdicts(spark: SparkSession, cases: Sequence[Rows]) -> list[list[list[bool | None]]]:
    """For each case, for each predicate, what Spark says of each value."""
    spark.conf.set("spark.sql.session.timeZone", TIMEZONE)
    return [_said(spark, case) for case in cases]


def _said(spark: SparkSession, case: Rows) -> list[list[bool | None]]:
    texts = ["cast(null as string)" if text is None else literal(text) for text in case.values]
    values = ", ".join(f"({at}, {text})" for at, text in enumerate(texts))
    rows = spark.sql(f"select * from values {values} as rows(at, text)")
    typed = rows.select("at", F.col("text").cast(case.type).alias(case.column))
    found: dict[int, list[bool | None]] = dict(typed.select("at", F.array(*map(F.expr, case.predicates))).collect())
    return list(map(list, zip(*(found[at] for at, _ in enumerate(case.values)), strict=True)))
