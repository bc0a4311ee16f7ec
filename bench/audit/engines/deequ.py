"""PyDeequ: one check with a constraint a rule, run by a VerificationSuite. It has no constraint for a foreign key and
the columns' order, and shows no rows.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version as version_of

import pydeequ
from pydeequ.checks import Check, CheckLevel
from pydeequ.verification import VerificationResult, VerificationSuite
from pyspark.sql import SparkSession

from bench.audit.engines import Told, plain
from bench.audit.rules import Rule


def version() -> str:
    return f"PyDeequ {version_of('pydeequ')} with Deequ {pydeequ.deequ_maven_coord.rsplit(':', 1)[-1]}"


def auditor(spark: SparkSession, rules: Sequence[Rule], table: str, *, samples: bool) -> Callable[[], Told]:
    del samples
    beside = [rule for rule in rules if rule.kind in ("order", "refers")]

    def audit() -> Told:
        rows = spark.read.table(table)
        check = Check(spark, CheckLevel.Error, "rules")
        for rule in rules:
            _add(check, rule)
        result = VerificationSuite(spark).onData(rows).addCheck(check).run()
        told = VerificationResult.checkResultsAsDataFrame(spark, result).collect()
        failed = [row["constraint"] for row in told if row["constraint_status"] != "Success"]
        return Told(evaluated=len(told) + len(beside), failed=(*failed, *plain.failed(spark, rows, beside)))

    return audit


def _add(check: Check, rule: Rule) -> None:
    match rule.kind:
        case "required":
            check.isComplete(rule.column)
        case "range" if isinstance(rule.arguments[0], str):  # hasMin takes only numbers
            low, high = rule.arguments
            check.satisfies(f"{rule.column} between timestamp '{low}' and timestamp '{high}'", rule.name, _all)
        case "range":
            low, high = rule.arguments
            check.hasMin(rule.column, lambda least: least >= low)
            check.hasMax(rule.column, lambda most: most <= high)
        case "one_of":
            check.isContainedIn(rule.column, list(rule.arguments))
        case "pattern":
            check.hasPattern(rule.column, rule.arguments[0], _all)
        case "length":
            shortest, longest = rule.arguments
            check.hasMaxLength(rule.column, lambda most: most <= longest)
            if shortest:
                check.hasMinLength(rule.column, lambda least: least >= shortest)
        case "rows":
            check.hasSize(lambda rows: rows > rule.arguments[0])
        case "unique":
            check.isUnique(rule.column)


def _all(share: float) -> bool:
    return share == 1
