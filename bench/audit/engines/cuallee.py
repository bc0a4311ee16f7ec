"""cuallee: one Check with all rules, which also counts the rows. It has no rule for lengths, foreign keys and the
columns' order, and shows no rows.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.metadata import version as version_of

from cuallee import Check, CheckLevel
from pyspark.sql import SparkSession

from bench.audit.engines import Told, plain
from bench.audit.rules import Rule


def version() -> str:
    return f"cuallee {version_of('cuallee')}"


def auditor(spark: SparkSession, rules: Sequence[Rule], table: str, *, samples: bool) -> Callable[[], Told]:
    del samples
    beside = [rule for rule in rules if rule.kind in ("order", "refers")]

    def audit() -> Told:
        rows = spark.read.table(table)
        check = Check(CheckLevel.ERROR, "rules")
        for rule in rules:
            _add(check, rule)
        told = check.validate(rows).collect()
        few = [rule.name for rule in rules if rule.kind == "rows" and told[0]["rows"] <= rule.arguments[0]]
        failed = [f"{row['column']} {row['rule']}" for row in told if row["status"] != "PASS"]
        counted = sum(rule.kind == "rows" for rule in rules)
        return Told(
            evaluated=len(told) + counted + len(beside),
            failed=(*few, *failed, *plain.failed(spark, rows, beside)),
        )

    return audit


def _add(check: Check, rule: Rule) -> None:
    match rule.kind:
        case "required":
            check.is_complete(rule.column)
        case "range":
            check.is_between(rule.column, tuple(_value(value) for value in rule.arguments))
        case "one_of":
            check.is_contained_in(rule.column, rule.arguments)
        case "pattern":
            check.has_pattern(rule.column, rule.arguments[0])
        case "length":
            shortest, longest = rule.arguments
            check.satisfies(rule.column, f"length({rule.column}) between {shortest} and {longest}")
        case "unique":
            check.is_unique(rule.column)


def _value(value: object) -> object:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
