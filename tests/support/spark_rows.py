"""Predicates over rows in a real Spark: verdicts of all cases by one query. It judges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

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
    texts = [(number, at, value) for number, case in enumerate(cases) for at, value in enumerate(case.values)]
    rows = spark.createDataFrame(texts, "number int, at int, text string")
    said = reduce(DataFrame.union, (_said(rows, number, case) for number, case in enumerate(cases)))
    found = {(number, at): verdicts for number, at, verdicts in said.collect()}
    by_value = [[found[number, at] for at in range(len(case.values))] for number, case in enumerate(cases)]
    return [list(map(list, zip(*each, strict=True))) for each in by_value]


def _said(rows: DataFrame, number: int, case: Rows) -> DataFrame:
    its = rows.where(F.col("number") == number)
    typed = its.select("number", "at", F.col("text").cast(case.type).alias(case.column))
    return typed.select("number", "at", F.array(*map(F.expr, case.predicates)))
