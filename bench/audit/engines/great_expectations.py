"""Great Expectations: a suite with an expectation a rule, over a data frame asset.

Its fastest options are used: nothing is persisted, and without samples the result is booleans alone.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.data_context.types.base import ProgressBarsConfig
from pyspark.sql import SparkSession

from bench.audit.engines import Told, plain
from bench.audit.rules import Rule


def version() -> str:
    return f"Great Expectations {gx.__version__}"


def auditor(spark: SparkSession, rules: Sequence[Rule], table: str, *, samples: bool) -> Callable[[], Told]:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_spark("spark", persist=False).add_dataframe_asset("rows")
    definition = asset.add_batch_definition_whole_dataframe("all")
    made = [expectation for rule in rules if (expectation := _expectation(rule))]
    beside = [rule for rule in rules if rule.kind == "refers"]
    suite = context.suites.add(gx.ExpectationSuite(name="rules", expectations=made))

    def audit() -> Told:
        rows = spark.read.table(table)
        batch = definition.get_batch(batch_parameters={"dataframe": rows})
        told = batch.validate(suite, result_format="SUMMARY" if samples else "BOOLEAN_ONLY")
        failed = [_named(each.expectation_config) for each in told.results if not each.success]
        return Told(evaluated=len(told.results) + len(beside), failed=(*failed, *plain.failed(spark, rows, beside)))

    return audit


def _named(expectation: Any) -> str:
    return f"{expectation.kwargs.get('column', '')} {expectation.type}"


def _expectation(rule: Rule) -> Any:  # noqa: PLR0911 - a table
    name, given = rule.column, rule.arguments
    match rule.kind:
        case "required":
            return gxe.ExpectColumnValuesToNotBeNull(column=name)
        case "range":
            low, high = (datetime.fromisoformat(each) if isinstance(each, str) else each for each in given)
            return gxe.ExpectColumnValuesToBeBetween(column=name, min_value=low, max_value=high)
        case "one_of":
            return gxe.ExpectColumnValuesToBeInSet(column=name, value_set=list(given))
        case "pattern":
            return gxe.ExpectColumnValuesToMatchRegex(column=name, regex=given[0])
        case "length":
            return gxe.ExpectColumnValueLengthsToBeBetween(column=name, min_value=given[0], max_value=given[1])
        case "rows":
            return gxe.ExpectTableRowCountToBeBetween(min_value=given[0] + 1)
        case "order":
            return gxe.ExpectTableColumnsToMatchOrderedList(column_list=[*given, "_lakegate_file"])
        case "unique":
            return gxe.ExpectColumnValuesToBeUnique(column=name)
    return None
