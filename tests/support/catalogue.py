"""Every kind of check as a table for docs/reference/checks.md; `python -m tests.support.catalogue` writes it.

Each kind has an example; scope and cost are read off the plan that the example is compiled to, not written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lakegate.audit.model.plan import Check, Metric, MetricKind, Scope
from lakegate.contracts import load
from lakegate.contracts.checks.column_rules import COLUMN_RULES, OPTION_RULES
from lakegate.contracts.checks.custom import COLUMN, CUSTOM, TABLE
from lakegate.contracts.checks.quality import LIBRARY
from lakegate.express.plan import spark_only

PAGE = Path(__file__).parents[2] / "docs/reference/checks.md"
BEGIN, END = "<!-- checks: begin -->", "<!-- checks: end -->"
PROMISE, SERVER = "the contract", "the landing server"
HEAD = """\
apiVersion: v3.1.0
kind: DataContract
id: example
version: 1.0.0
status: active
servers: [{{server: landing, type: s3, location: "s3://landing/a/*", format: {format}}}]
{promises}schema:
  - name: things
    physicalName: shop.things
    properties: [{columns}]
{table}"""
REST = "{name: b, logicalType: string}, {name: c, logicalType: integer}"
NONE = "—"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of check: its word at its place, an example there, and what others call it (`—`: nothing of its own)."""

    word: str
    place: str
    example: str
    deequ: str
    soda: str
    gx: str
    dqdl: str
    type: str = "integer"

    @property
    def contract(self) -> str:
        """A whole contract that says the example and nothing else."""
        column = f"name: a, logicalType: {self.type}" + (f", {self.example}" if self.place == COLUMN else "")
        key = REST.replace("{name: b,", "{name: b, primaryKey: true,") if self.word == "primaryKey" else REST
        return HEAD.format(
            format="csv" if self.place == SERVER else "parquet",
            promises=f"{self.example}\n" if self.place == PROMISE else "",
            columns=f"{{{column}}}, {key}",
            table=f"    {self.example}\n" if self.place == TABLE else "",
        )

    @property
    def made(self) -> tuple[Check, Metric]:
        """The first check that the example makes, and its metric."""
        plan = load(self.contract, self.word).plan
        return plan.checks[0], plan.metric(plan.checks[0].metric)


def _ours(word: str, value: str, operator: str = "") -> str:
    said = f"{word}: {value}" + (f", {operator}" if operator else "")
    return f"quality: [{{type: custom, engine: lakegate, implementation: {{{said}}}}}]"


def _option(word: str, value: str, deequ: str, soda: str, gx: str, dqdl: str, kind: str = "integer") -> Kind:
    example = f"logicalTypeOptions: {{{word}: {value}}}"
    return Kind(word=word, place=COLUMN, example=example, type=kind, deequ=deequ, soda=soda, gx=gx, dqdl=dqdl)


def _bound(word: str, deequ: str, soda: str) -> Kind:
    return _option(word, "3", deequ, soda, "expect_column_values_to_be_between", "ColumnValues")


def _statistic(word: str, deequ: str, soda: str, gx: str, dqdl: str, value: str = "true") -> Kind:
    example = _ours(word, value, "mustBeBetween: [1, 50]")
    return Kind(word=word, place=COLUMN, example=example, deequ=deequ, soda=soda, gx=gx, dqdl=dqdl)


_SOME = "[{metric: %s, mustBeLessThan: 5}]"
_SQL = "UnexpectedRowsExpectation"
KINDS = (
    Kind(
        word="required", place=COLUMN, example="required: true", deequ="isComplete", soda="missing_count",
        gx="expect_column_values_to_not_be_null", dqdl="IsComplete",
    ),
    Kind(
        word="nullValues", place=COLUMN, example="quality: [{metric: nullValues, mustBeLessThan: 5, unit: percent}]",
        deequ="hasCompleteness", soda="missing_percent", gx="expect_column_proportion_of_non_null_values_to_be_between",
        dqdl="Completeness",
    ),
    Kind(
        word="missingValues", place=COLUMN, type="string", deequ="satisfies", soda="missing_count: missing values",
        example='quality: [{metric: missingValues, arguments: {missingValues: ["", NA]}, mustBe: 0}]',
        gx="expect_column_values_to_not_be_in_set", dqdl="ColumnValues",
    ),
    Kind(
        word="missingValues", place=COLUMN, type="string", deequ="satisfies", soda="missing_count: missing regex",
        example='quality: [{metric: missingValues, arguments: {pattern: "^(n/?a|none|-+)$"}, mustBe: 0}]',
        gx="expect_column_values_to_not_match_regex", dqdl="ColumnValues",
    ),
    Kind(
        word="atLeastOneOf", place=TABLE, example=_ours("atLeastOneOf", "[a, b]"), deequ="areAnyComplete",
        soda="failed rows", gx=_SQL, dqdl="CustomSql",
    ),
    Kind(
        word="unique", place=COLUMN, example="unique: true", deequ="isUnique", soda="duplicate_count",
        gx="expect_column_values_to_be_unique", dqdl="IsUnique",
    ),
    Kind(
        word="primaryKey", place=COLUMN, example="primaryKey: true", deequ="isPrimaryKey", soda="duplicate_count",
        gx="expect_compound_columns_to_be_unique", dqdl="IsPrimaryKey",
    ),
    Kind(
        word="duplicateValues", place=COLUMN, example=f"quality: {_SOME % 'duplicateValues'}", deequ="hasUniqueness",
        soda="duplicate_count", gx="expect_column_proportion_of_unique_values_to_be_between", dqdl="Uniqueness",
    ),
    Kind(
        word="duplicateValues", place=TABLE, deequ="hasUniqueness", soda="duplicate_count",
        example="quality: [{metric: duplicateValues, arguments: {properties: [a, b]}, mustBe: 0}]",
        gx="expect_compound_columns_to_be_unique", dqdl="Uniqueness",
    ),
    _statistic(
        "distinctValues", "hasNumberOfDistinctValues", NONE, "expect_column_unique_value_count_to_be_between",
        "DistinctValuesCount",
    ),
    Kind(
        word="enum", place=COLUMN, type="string", example="enum: [{value: open}, {value: paid}]",
        deequ="isContainedIn", soda="invalid_count: valid values", gx="expect_column_values_to_be_in_set",
        dqdl="ColumnValues",
    ),
    Kind(
        word="invalidValues", place=COLUMN, type="string", deequ="isContainedIn", soda="invalid_count: valid values",
        example="quality: [{metric: invalidValues, arguments: {validValues: [open, paid]}, mustBe: 0}]",
        gx="expect_column_values_to_be_in_set", dqdl="ColumnValues",
    ),
    Kind(
        word="invalidValues", place=COLUMN, type="string", deequ="hasPattern", soda="invalid_count: valid regex",
        example='quality: [{metric: invalidValues, arguments: {pattern: "^[A-Z]{3}$"}, mustBe: 0}]',
        gx="expect_column_values_to_match_regex", dqdl="ColumnValues",
    ),
    _bound("minimum", "hasMin", "invalid_count: valid min"),
    _bound("exclusiveMinimum", "hasMin", "failed rows"),
    _bound("maximum", "hasMax", "invalid_count: valid max"),
    _bound("exclusiveMaximum", "hasMax", "failed rows"),
    _option("multipleOf", "5", "satisfies", "failed rows", _SQL, "CustomSql"),
    _option(
        "minLength", "1", "hasMinLength", "invalid_count: valid min length",
        "expect_column_value_lengths_to_be_between", "ColumnLength", "string",
    ),
    _option(
        "maxLength", "9", "hasMaxLength", "invalid_count: valid max length",
        "expect_column_value_lengths_to_be_between", "ColumnLength", "string",
    ),
    _option(
        "pattern", "'^[A-Z]{3}$'", "hasPattern", "invalid_count: valid regex", "expect_column_values_to_match_regex",
        "ColumnValues", "string",
    ),
    _option(
        "format", "email", "containsEmail", "invalid_count: valid format", "expect_column_values_to_match_regex",
        "ColumnValues", "string",
    ),
    *(
        _option(word, value, "satisfies", "failed rows", _SQL, NONE, "array, items: {logicalType: string}")
        for word, value in (("minItems", "1"), ("maxItems", "9"), ("uniqueItems", "true"))
    ),
    Kind(
        word="notInFuture", place=COLUMN, type="timestamp", example=_ours("notInFuture", "true"), deequ="satisfies",
        soda="failed rows", gx=_SQL, dqdl="ColumnValues",
    ),
    Kind(
        word="row", place=TABLE, example=_ours("row", '"a >= c or a is null"'), deequ="satisfies",
        soda="failed rows", gx=_SQL, dqdl="CustomSql",
    ),
    Kind(
        word="rowCount", place=TABLE, example="quality: [{metric: rowCount, mustBeGreaterThan: 0}]", deequ="hasSize",
        soda="row_count", gx="expect_table_row_count_to_be_between", dqdl="RowCount",
    ),
    Kind(
        word="query", place=TABLE, deequ="customSql", soda="user-defined check", gx=_SQL, dqdl="CustomSql",
        example='quality: [{type: sql, query: "SELECT AVG(a) FROM {object} WHERE c > 0", mustBeGreaterThan: 5}]',
    ),
    Kind(
        word="query", place=TABLE, deequ="customSql", soda="user-defined check", gx=_SQL, dqdl="CustomSql",
        example='quality: [{type: sql, query: "SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM {object}) AS d", '
        "mustBeGreaterThan: 5}]",
    ),
    Kind(
        word="relationships", place=COLUMN, example="relationships: [{to: shop.customers.id}]",
        deequ="ReferentialIntegrity.subsetCheck",
        soda="values in … must exist in …", gx=NONE, dqdl="ReferentialIntegrity",
    ),
    _statistic("minimum", "hasMin", "min", "expect_column_min_to_be_between", "ColumnValues"),
    _statistic("maximum", "hasMax", "max", "expect_column_max_to_be_between", "ColumnValues"),
    _statistic("mean", "hasMean", "avg", "expect_column_mean_to_be_between", "Mean"),
    _statistic("median", "hasExactQuantile", "percentile", "expect_column_median_to_be_between", NONE),
    _statistic(
        "quantile", "hasExactQuantile", "percentile", "expect_column_quantile_values_to_be_between", NONE, "0.95"
    ),
    _statistic(
        "standardDeviation", "hasStandardDeviation", "stddev_samp", "expect_column_stdev_to_be_between",
        "StandardDeviation",
    ),
    _statistic("sum", "hasSum", "sum", "expect_column_sum_to_be_between", "Sum"),
    _statistic(
        "share", "hasHistogramValues", "invalid_percent: valid values", "expect_column_values_to_be_in_set: mostly",
        "ColumnValues", "[1, 2]",
    ),
    Kind(
        word="drift", place=TABLE, example=_ours("drift", "{of: rowCount}", "mustBeBetween: [-50, 100]"),
        deequ="addAnomalyCheck", soda="change for row_count", gx=NONE, dqdl="DetectAnomalies",
    ),
    Kind(
        word="drift", place=COLUMN, example=_ours("drift", "{of: mean}", "mustBeBetween: [-20, 20]"),
        deequ="addAnomalyCheck", soda="change for avg", gx=NONE, dqdl="DetectAnomalies",
    ),
    Kind(
        word="latency", place=PROMISE, type="timestamp", soda="freshness", deequ=NONE, gx=NONE, dqdl="DataFreshness",
        example="slaProperties: [{property: latency, element: things.a, value: 4, unit: d}]",
    ),
    Kind(
        word="format: csv", place=SERVER, example="format: csv", deequ=NONE, soda=NONE, gx=NONE, dqdl=NONE,
    ),
)  # fmt: skip


def enforced() -> set[tuple[str, str]]:
    """Each kind that the code has: a word and its place."""
    words = {(rule.word, COLUMN) for rule in (*COLUMN_RULES, *OPTION_RULES)}
    elsewhere = {("unique", COLUMN), ("primaryKey", COLUMN), ("relationships", COLUMN), ("query", TABLE)}
    return words | set(LIBRARY) | set(CUSTOM) | elsewhere | {("latency", PROMISE), ("format: csv", SERVER)}


def cost(metric: Metric) -> str:
    """Return where the metric comes from, as the job has it."""
    match metric.kind:
        case MetricKind.ROWS | MetricKind.NULLS:
            return "statistics"
        case MetricKind.DUPLICATES | MetricKind.ORPHANS | MetricKind.QUERY:
            return "a query of its own"
        case MetricKind.MALFORMED:
            return "reading the file"
    if metric.alone:
        return "a pass of its own"
    return "statistics, else the one pass" if metric.proof or metric.bound else "the one pass"


def scope(kind: Kind, metric: Metric) -> str:
    if metric.kind in (MetricKind.DUPLICATES, MetricKind.ROWS) and kind.word != "drift":
        return "batch or table"
    return "history" if kind.word == "drift" else "table" if metric.scope is Scope.TABLE else "batch"


def express(kind: Kind) -> str:
    """Return True if the express lane runs the example, by what chooses the lane."""
    return "Spark only" if spark_only(load(kind.contract, kind.word).plan) else "yes"


def table() -> str:
    """The whole table."""
    head = ["check", "of", "example", "scope", "costs", "express", "Deequ", "Soda", "Great Expectations", "Glue DQDL"]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *map(_row, KINDS)]
    return "\n".join(rows)


def _row(kind: Kind) -> str:
    _, metric = kind.made
    ours = [scope(kind, metric), cost(metric), express(kind)]
    theirs = [name if name == NONE else f"`{name}`" for name in (kind.deequ, kind.soda, kind.gx, kind.dqdl)]
    said = kind.example.replace("|", "\\|")
    return f"| {' | '.join([f'`{kind.word}`', kind.place, f'`{said}`', *ours, *theirs])} |"


def written() -> str:
    """Return what stands in the page between the marks."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()


def main() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
