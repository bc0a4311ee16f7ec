"""Soda Core for Spark data frames: one scan of SodaCL checks over a temporary view. It always samples failing rows, a
hundred a check.
"""

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version as version_of
from typing import Any

from pyspark.sql import SparkSession
from soda.scan import Scan

from bench.audit.engines import Told
from bench.audit.rules import Rule


def version() -> str:
    return f"Soda Core for Spark {version_of('soda-core-spark-df')}"


def auditor(spark: SparkSession, rules: Sequence[Rule], table: str, *, samples: bool) -> Callable[[], Told]:
    del samples
    checks = json.dumps({"checks for trips": [_check(rule) for rule in rules]})  # JSON is YAML
    tables = {rule.arguments[0] for rule in rules if rule.kind == "refers"}

    def audit() -> Told:
        spark.read.table(table).createOrReplaceTempView("trips")
        for name in tables:
            spark.read.table(f"lake.bench.{name}").createOrReplaceTempView(name)
        scan = Scan()
        scan.disable_telemetry()
        scan.set_scan_definition_name("bench")
        scan.set_data_source_name("spark_df")
        scan.add_spark_session(spark)
        scan.add_sodacl_yaml_str(checks)
        scan.execute()
        scan.assert_no_error_logs()
        failed = tuple(check.name for check in scan.get_checks_fail())
        return Told(evaluated=len(scan.get_scan_results()["checks"]), failed=failed)

    return audit


def _check(rule: Rule) -> Any:  # noqa: PLR0911 - a table
    name, given = rule.column, rule.arguments
    match rule.kind:
        case "required":
            return f"missing_count({name}) = 0"
        case "range" if isinstance(given[0], str):  # valid min and max take only numbers
            outside = f"{name} < timestamp '{given[0]}' or {name} > timestamp '{given[1]}'"
            return {f"{name}_outside = 0": {f"{name}_outside expression": f"count(case when {outside} then 1 end)"}}
        case "range":
            return _valid(name, {"valid min": given[0], "valid max": given[1]})
        case "one_of":
            return _valid(name, {"valid values": list(given)})
        case "pattern":
            return _valid(name, {"valid regex": given[0].replace("'", r"\x27")})  # Soda quotes it without escaping
        case "length":
            return _valid(name, {"valid min length": given[0], "valid max length": given[1]})
        case "rows":
            return f"row_count > {given[0]}"
        case "order":
            return {"schema": {"fail": {"when wrong column index": {name: at for at, name in enumerate(given)}}}}
        case "unique":
            return f"duplicate_count({name}) = 0"
        case _:
            return f"values in ({name}) must exist in {given[0]} ({given[1]})"


def _valid(name: str, rule: dict[str, Any]) -> dict[str, Any]:
    return {f"invalid_count({name}) = 0": rule}
