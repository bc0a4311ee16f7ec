"""Plain Spark for a rule that an engine lacks, as a user would write it."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from bench.audit.rules import Rule


def failed(spark: SparkSession, rows: DataFrame, rules: Sequence[Rule]) -> list[str]:
    """Return the names of the rules that do not hold."""
    return [rule.name for rule in rules if not _holds(spark, rows, rule)]


def _holds(spark: SparkSession, rows: DataFrame, rule: Rule) -> bool:
    if rule.kind == "order":
        return rows.columns[: len(rule.arguments)] == list(rule.arguments)
    table, column = rule.arguments
    there = spark.read.table(f"lake.bench.{table}")
    return (
        rows.join(there, rows[rule.column] == there[column], "left_anti").where(f"{rule.column} is not null").isEmpty()
    )
