"""Text as rows of the contract's types, with the reasons of those that do not parse.

Such a row is never appended with nulls in it. It is left out, counted, and shown with its line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical
from lakegate.audit.text.scan import value_fault
from spark_jobs.formats.text.lines import AT, BLOCK, TEXT
from spark_jobs.jvm.spark_sql import literal


@dataclass(frozen=True, kw_only=True)
class Value:
    """A column's value in SQL: `sql` is null if it does not parse, `given_sql` is true if the file has one.

    `is_checked` is false if the reader has parsed the value already.
    """

    sql: str
    given_sql: str
    is_checked: bool


@dataclass(frozen=True, kw_only=True)
class ParsedFiles:
    """Rows of text files. `values` has each column's SQL; `fault_conditions` and `wrong` have a condition for each
    fault of a row and of a value. `bad` is the condition that a row has any, and `other_fault` the fault of one that
    has none of these.
    """

    rows: DataFrame
    values: Mapping[str, str]
    fault_conditions: Mapping[str, str]
    wrong: Mapping[str, str]
    bad: str
    other_fault: str

    def good(self) -> DataFrame:
        """Return the rows that parse: the contract's columns and the file version."""
        columns = [F.expr(sql).alias(name) for name, sql in self.values.items()]
        return self.rows.where(f"once >= 0 AND NOT ({self.bad})").select(*columns, FILE_COLUMN)

    def malformed(self) -> DataFrame:
        """Return the other rows: the file version, the place, the text and why."""
        values = ", ".join(f"CASE WHEN {sql} THEN {literal(fault)} END" for fault, sql in self.wrong.items())
        cases = " ".join(f"WHEN {sql} THEN {literal(fault)}" for fault, sql in self.fault_conditions.items())
        other = f"coalesce(nullif(concat_ws('; ', {values}), ''), {literal(self.other_fault)})"
        reason = F.expr(f"CASE {cases} ELSE {other} END").alias("why")
        return self.rows.where(f"once >= 0 AND ({self.bad})").select(FILE_COLUMN, BLOCK, AT, TEXT, reason)


def parsed_rows(
    plan: Plan,
    rows: DataFrame,
    values: Sequence[Value],
    row_faults: Mapping[str, str],
    also_bad: Mapping[str, str] = MappingProxyType({}),
) -> ParsedFiles:
    """Return rows that hold the plan's columns as t0, t1, … with their values, in the plan's order.

    `row_faults` has a condition for each fault of a row. A row with a condition of `also_bad` is left out as well, with
    the faults of its values; without any, with the condition's own.
    """
    # Spark would push the conditions below the parsing and parse each row once for each; it pushes nothing past an id.
    row_id = F.monotonically_increasing_id().alias("once")
    rows = rows.select("*", row_id, *(F.expr(value.sql).alias(f"v{at}") for at, value in enumerate(values)))
    malformed = [f"(t{at} IS NOT NULL AND v{at} IS NULL)" for at, value in enumerate(values) if value.is_checked]
    faults = [value_fault(column.name, canonical(column.type)) for column in plan.columns]
    wrong = {
        fault: f"({value.given_sql} AND v{at} IS NULL)"
        for at, (fault, value) in enumerate(zip(faults, values, strict=True))
    }
    return ParsedFiles(
        rows=rows,
        values={column.name: f"v{at}" for at, column in enumerate(plan.columns)},
        fault_conditions=row_faults,
        other_fault="; ".join(also_bad),
        wrong=wrong,
        bad=" OR ".join(f"({condition})" for condition in (*row_faults.values(), *also_bad.values(), *malformed)),
    )
