"""Tests of what the predicates say of rows: nulls, NaN, bounds and values, judged by DuckDB, and names that survive the
SQL.
"""

from __future__ import annotations

import json
import re
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from lakegate.audit.model.plan import Metric, MetricKind, Plan, Proof
from lakegate.audit.schema.owners import reserved_for
from lakegate.audit.schema.partitions import partition
from lakegate.contracts import load
from lakegate.contracts.regex.portable import portable
from tests.contracts.texts import PATTERNS, REFUSED, TEXTS, Texts
from tests.support.duck import translated

NAN = float("nan")


def plan_for(column: dict[str, Any]) -> Plan:
    """The plan of a contract with the one column. JSON is YAML."""
    contract = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "x",
        "version": "1",
        "servers": [{"server": "landing", "type": "s3", "location": "s3://landing/x/*", "format": "parquet"}],
        "schema": [{"name": "x", "physicalName": "a.x", "properties": [{"name": "it"} | column]}],
    }
    return load(json.dumps(contract), "x.yaml").plan


def failing(plan: Plan) -> list[Metric]:
    return [metric for metric in plan.metrics if metric.kind is MetricKind.FAILING]


def failing_rows(plan: Plan, values: list[Any], kind: pa.DataType) -> list[Any]:
    """The values that some predicate of the plan is true for. A predicate that is null for a row is an error."""
    predicates = [translated(metric.sql) for metric in failing(plan)]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", pa.table({plan.columns[0].name: pa.array(values, kind)}))
        rows = connection.execute(f"SELECT [{', '.join(predicates)}] FROM data").fetchall()
    assert all(verdict is not None for (verdicts,) in rows for verdict in verdicts)
    return [value for value, (verdicts,) in zip(values, rows, strict=True) if any(verdicts)]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"minimum": 2}, [1]),
        ({"exclusiveMinimum": 2}, [1, 2]),
        ({"maximum": 3}, [4]),
        ({"exclusiveMaximum": 3}, [3, 4]),
        ({"minimum": 2, "maximum": 3}, [1, 4]),
        ({"minimum": -5}, []),
    ],
)
def test_bounds_fail_what_is_beyond_them_and_no_null(options: dict[str, int], wrong: list[int]) -> None:
    plan = plan_for({"logicalType": "integer", "logicalTypeOptions": options})

    assert failing_rows(plan, [1, 2, 3, 4, None], pa.int32()) == wrong


@pytest.mark.parametrize(
    ("options", "proof"),
    [
        ({"minimum": 2}, Proof(column="it", minimum=2)),
        ({"exclusiveMinimum": 2}, Proof(column="it", minimum=2, exclusive_minimum=True)),
        ({"maximum": 3}, Proof(column="it", maximum=3)),
        ({"exclusiveMaximum": 3}, Proof(column="it", maximum=3, exclusive_maximum=True)),
    ],
)
def test_a_bound_can_be_proved_by_the_range_of_the_column(options: dict[str, int], proof: Proof) -> None:
    plan = plan_for({"logicalType": "integer", "logicalTypeOptions": options})

    assert [metric.proof for metric in failing(plan)] == [proof]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"minItems": 2}, [[], [1]]),
        ({"maxItems": 2}, [[1, 1, None]]),
        ({"minItems": 1, "maxItems": 1}, [[], [1, 1], [1, 1, None]]),
        ({"uniqueItems": True}, [[1, 1], [1, 1, None]]),
    ],
)
def test_arrays_have_as_many_items_as_they_may_and_null_is_one(options: dict[str, int], wrong: list[Any]) -> None:
    plan = plan_for({"logicalType": "array", "items": {"logicalType": "integer"}, "logicalTypeOptions": options})

    assert failing_rows(plan, [[], [1], [1, 1], [1, 1, None], None], pa.list_(pa.int32())) == wrong


@pytest.mark.parametrize("option", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
def test_nan_is_outside_every_range(option: str) -> None:
    plan = plan_for({"logicalType": "number", "logicalTypeOptions": {option: 0.0}})

    assert str(NAN) in [str(value) for value in failing_rows(plan, [NAN, None], pa.float64())]


def test_infinity_is_beyond_a_bound_and_within_an_open_range() -> None:
    plan = plan_for({"logicalType": "number", "logicalTypeOptions": {"minimum": 0}})

    assert failing_rows(plan, [float("inf"), float("-inf"), -0.0], pa.float64()) == [float("-inf")]


def test_a_bound_is_compared_as_the_column_holds_it() -> None:
    plan = plan_for({"logicalType": "number", "logicalTypeOptions": {"format": "f32", "maximum": 0.1}})
    single = pa.scalar(0.1, pa.float32()).as_py()

    assert failing_rows(plan, [single, single * 1.0001], pa.float32()) == [single * 1.0001]
    assert failing(plan)[0].proof == Proof(column="it", maximum=single)


def test_decimals_are_compared_exactly() -> None:
    plan = plan_for({"physicalType": "decimal(20,2)", "logicalTypeOptions": {"maximum": 0.1}})

    assert failing_rows(plan, [Decimal("0.10"), Decimal("0.11")], pa.decimal128(20, 2)) == [Decimal("0.11")]


def test_a_decimal_without_digits_before_the_point_may_be_zero() -> None:
    plan = plan_for({"physicalType": "decimal(4,4)", "logicalTypeOptions": {"minimum": 0, "maximum": 0.5}})

    values = [Decimal("-0.0001"), Decimal("0.0000"), Decimal("0.5000"), Decimal("0.5001")]
    assert failing_rows(plan, values, pa.decimal128(4, 4)) == [values[0], values[-1]]


def test_dates_are_compared_as_dates() -> None:
    plan = plan_for({"logicalType": "date", "logicalTypeOptions": {"minimum": "2013-01-01"}})

    (metric,) = failing(plan)

    assert metric.sql == "COALESCE(`it` < CAST('2013-01-01' AS DATE), FALSE)"
    assert metric.proof == Proof(column="it", minimum="2013-01-01")


def test_a_timestamp_is_an_instant_whatever_the_session_timezone() -> None:
    plan = plan_for(
        {"logicalType": "timestamp", "logicalTypeOptions": {"exclusiveMaximum": "2013-01-01T01:00:00+01:00"}}
    )

    (metric,) = failing(plan)

    assert metric.sql == "COALESCE(`it` >= CAST('2013-01-01T00:00:00+00:00' AS TIMESTAMP), FALSE)"
    assert metric.proof == Proof(column="it", maximum="2013-01-01T00:00:00+00:00", exclusive_maximum=True)


def test_a_local_timestamp_has_no_offset() -> None:
    options = {"timezone": False, "minimum": "2013-01-01T00:00:00"}
    plan = plan_for({"logicalType": "timestamp", "logicalTypeOptions": options})

    (metric,) = failing(plan)

    assert plan.columns[0].type == "timestamp_ntz"
    assert metric.sql == "COALESCE(`it` < CAST('2013-01-01T00:00:00' AS TIMESTAMP_NTZ), FALSE)"


@pytest.mark.parametrize(
    ("column", "kind", "values", "wrong"),
    [
        ({"logicalType": "string"}, pa.string(), ["it's", "a\\b", '"', "`", "%", "é", "\n", "-- x", ""], ["x", "It's"]),
        ({"logicalType": "integer"}, pa.int32(), [1, -2], [2]),
        ({"logicalType": "boolean"}, pa.bool_(), [True], [False]),
        ({"logicalType": "number"}, pa.float64(), [0.1, 1e300, -2.5], [0.2]),
    ],
)
def test_an_enum_fails_all_other_values_and_no_null(
    column: dict[str, Any], kind: pa.DataType, values: list[Any], wrong: list[Any]
) -> None:
    plan = plan_for(column | {"enum": [{"value": value} for value in values]})

    assert failing_rows(plan, [*values, *wrong, None], kind) == wrong
    assert [metric.proof for metric in failing(plan)] == [Proof(column="it", values=tuple(sorted(values)))]


def test_an_enum_of_numbers_fails_nan() -> None:
    plan = plan_for({"logicalType": "number", "enum": [{"value": 1}]})

    assert len(failing_rows(plan, [1.0, NAN], pa.float64())) == 1


names = st.text(
    st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("`'\"\\.;- "), min_size=1, max_size=30
).filter(lambda name: not reserved_for(name))


@given(name=names)
def test_any_name_of_a_column_survives_the_sql(name: str) -> None:
    plan = plan_for({"name": name, "logicalType": "integer", "logicalTypeOptions": {"minimum": 1, "maximum": 9}})

    assert [found(metric.sql) for metric in failing(plan)] == [{name}, {name}]


@given(name=names)
def test_any_name_of_a_column_survives_a_transform(name: str) -> None:
    setting = {"property": "partitionTransform", "vendor": "lakegate", "value": "bucket[16]"}
    plan = plan_for({"name": name, "logicalType": "integer", "partitioned": True, "customProperties": [setting]})

    (transform,) = plan.partitions

    assert transform.startswith("bucket(16, `")
    assert partition(transform).column == name
    assert found(transform) == {name}


@given(value=st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("`'\"\\%_\n\t")))
def test_any_text_survives_an_enum(value: str) -> None:
    plan = plan_for({"logicalType": "string", "enum": [{"value": value}]})

    tree = sqlglot.parse_one(failing(plan)[0].sql, dialect="spark")

    assert [literal.this for literal in tree.find_all(exp.Literal)] == [value]


def found(sql: str) -> set[str]:
    return {column.name for column in sqlglot.parse_one(sql, dialect="spark").find_all(exp.Column)}


@pytest.mark.parametrize("name", ["select", "a.b", "a b", "`", "x' OR 1=1 --", 'a"b'])
def test_an_awkward_column_is_judged_like_any_other(name: str) -> None:
    plan = plan_for({"name": name, "logicalType": "integer", "logicalTypeOptions": {"minimum": 2}})

    assert failing_rows(plan, [1, 2, None], pa.int32()) == [1]


@pytest.mark.parametrize("texts", TEXTS, ids=lambda texts: f"{texts.option} {texts.value}")
def test_texts_are_right_or_wrong_by_their_option_and_no_null_is_wrong(texts: Texts) -> None:
    plan = plan_for({"logicalType": "string", "logicalTypeOptions": {texts.option: texts.value}})

    assert failing_rows(plan, [*texts.right, *texts.wrong, None], pa.string()) == list(texts.wrong)


SHORTEST_LIMIT = 250  # characters


@pytest.mark.parametrize("texts", PATTERNS, ids=lambda texts: texts.value)
def test_a_pattern_means_what_its_author_reads(texts: Texts) -> None:
    """Python reads these as ECMA-262 does, but for what its `$`, `.` and classes take in."""
    warnings.simplefilter("ignore", FutureWarning)  # of brackets in brackets, as other languages have them
    ends = str(texts.value).replace("$|", r"\Z|").removesuffix("$") + (r"\Z" if str(texts.value).endswith("$") else "")
    short = [text for text in (*texts.right, *texts.wrong) if len(text) <= SHORTEST_LIMIT]
    plain = [text for text in short if text.isascii() and not {"\r", "\n"} & set(text)]

    assert [text for text in plain if not re.search(ends, text)] == [text for text in plain if text in texts.wrong]


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_engines_read_in_different_ways_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=re.escape(REFUSED[pattern])):
        portable(pattern)


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        ("^[a-z]+$", None),
        ("^[a-z]{1,50}@[a-z]{1,50}$", None),
        (r"^\d+-\d+$", None),
        (r"^\d+-\w*-\d+$", None),
        (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", 1_000),
        (r"\s+$", None),
        (r"\s+a\s+$", 1_000),
        (r"^\s*\S+\s*$", None),
        (r"^\d+\.?\d*$", 1_000),
        (r"^\S(.*\S)?$", None),
        (".*foo.*", None),
        (r"^.*foo.*", None),
        ("^.*a.*=$", 1_000),
        ("a.*b.*=$", 250),
        ("^(?:ab|c)+$", 500),
        ("^(?:abc,)+$", 1_000),
        ("^(?:(?:(?:a|bc)x)+y)+$", 500),
        ("^(?:(?:(?:(?:a|bc)|de)|fg)|hi)+$", 250),
        ("^(?:(?:(?:(?:(?:(?:(?:(?:a|bc)|de)|fg)|hi)|jk)|lm)|no)|pq)+$", 100),
        ("^(?:ab|c){3}$", None),
        ("^(?:ab|c){1000}(?:de|f){1000}$", 250),
        ("^(?:[0-9]{4}-[0-9]{2}-[0-9]{2},?){1,250}$", None),
        ("^(?:[0-9][0-9]-[0-9][0-9],?){1,1000}$", 1_000),
        (r"^(?:\w+ ){0,4}\w+$", None),
        ("^[a-z]+( [a-z]+)*$", 1_000),
        ("^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z]{2,}$", 500),
        ("^(?:[0-9]{1,3} ?)+$", 1_000),
        ("^[^,]*(?:ab|cd|ef|gh|ij|kl|mn|op|qr)*-$", 1_000),
        (r"^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?$", None),
        (r"^(\d{3}-)?\d{3}-\d{4}(,(\d{3}-)?\d{3}-\d{4})?$", None),
        ("x|y|", None),
        ("^" + "a" * 4_000, None),
        ("", None),
    ],
)
def test_the_more_a_pattern_may_try_the_shorter_the_texts_it_is_shown(pattern: str, longest: int | None) -> None:
    assert portable(pattern).longest == longest


@pytest.mark.parametrize(
    "pattern",
    [
        "^.*a.*b.*c.*d.*=$",
        "^(?:[a-z]+ ?){1,10}$",
        r"^(?:\w+ ?){1,5}$",
        "x[a-z]{0,100}[a-z]{0,100}[a-z]{0,100}@",
        "^[a-z]{0,100}[a-z]{0,100}[a-z]{0,100}[a-z]{0,100}[a-z]{0,100}@",
        ".{0,20}x.{0,20}x.{0,20}x.{0,20}x.{0,20}x.{0,20}x.{0,20}x.{0,20}xy",
        "^(?:a|a){40}$",
        "^" + r"[^\x80]*é" * 6 + "$",
        "^(?:a?){30}$",
    ],
)
def test_a_pattern_that_may_never_be_done_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"an engine may be busy for ever or overflow|in many ways"):
        portable(pattern)


def test_a_text_that_is_not_empty_can_be_proved_by_the_lower_bound() -> None:
    plan = plan_for({"logicalType": "string", "logicalTypeOptions": {"minLength": 1}})

    assert [metric.proof for metric in failing(plan)] == [Proof(column="it", minimum="", exclusive_minimum=True)]


def test_formats_that_say_nothing_about_texts_are_no_checks() -> None:
    plan = plan_for({"logicalType": "string", "logicalTypeOptions": {"format": "password"}})

    assert plan.checks == ()


@pytest.mark.parametrize(
    ("column", "kind", "values", "wrong"),
    [
        (
            {"logicalType": "integer", "logicalTypeOptions": {"multipleOf": 3}},
            pa.int32(),
            [-3, 0, 4, -1, None],
            [4, -1],
        ),
        (
            {"logicalType": "number", "logicalTypeOptions": {"multipleOf": 0.1}},
            pa.float64(),
            [0.3, 0.7, -1.1, -0.0, 0.25, float("inf"), 1e300, None],
            [0.25, float("inf")],
        ),
    ],
)
def test_multiples(column: dict[str, Any], kind: pa.DataType, values: list[Any], wrong: list[Any]) -> None:
    assert failing_rows(plan_for(column), values, kind) == wrong


def counted(metric: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"metric": metric, "arguments": arguments, "mustBe": 0}]


@pytest.mark.parametrize(
    ("missing", "found", "proof"),
    [
        (["", "N/A"], ["", "N/A"], Proof(column="it", without=("", "N/A"))),
        ([None, ""], ["", None], Proof(column="it", without=("",), nulls=False)),
    ],
)
def test_missing_values_are_those_of_the_list_and_null_only_if_it_is_among_them(
    missing: list[str | None], found: list[str | None], proof: Proof
) -> None:
    plan = plan_for({"logicalType": "string", "quality": counted("missingValues", missingValues=missing)})

    assert failing_rows(plan, ["", "N/A", "n/a", " ", "x", None], pa.string()) == found
    assert failing_rows(plan, [], pa.string()) == []
    assert failing_rows(plan, [None, None], pa.string()) == ([None, None] if None in missing else [])
    assert [metric.proof for metric in failing(plan)] == [proof]


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ({"pattern": "^(n/?a|none|-+)$"}, ["n/a", "none", "--"]),
        ({"pattern": "^(n/?a|none|-+)$", "missingValues": ["", "none"]}, ["", "n/a", "none", "--"]),
        ({"pattern": "^(n/?a|none|-+)$", "missingValues": [None]}, ["n/a", "none", "--", None]),
        ({"pattern": "none", "missingValues": [None, "-"]}, ["none", "none\n", "anonest", None]),
    ],
)
def test_missing_values_are_also_those_that_have_the_pattern(arguments: dict[str, Any], missing: list[str]) -> None:
    plan = plan_for({"name": "a`b.c", "logicalType": "string", "quality": counted("missingValues", **arguments)})

    values = ["", "n/a", "N/A", "none", "none\n", "anonest", "--", None]
    assert failing_rows(plan, values, pa.string()) == missing
    assert failing_rows(plan, [], pa.string()) == []
    assert [(metric.kind, metric.proof, metric.passes) for metric in plan.metrics] == [(MetricKind.FAILING, None, "")]


def too_long(texts: Texts) -> list[str]:
    """Texts of a pattern that are wrong because they are longer than may be asked."""
    limit = portable(str(texts.value)).longest
    return [text for text in texts.wrong if limit is not None and len(text) > limit]


@pytest.mark.parametrize("texts", PATTERNS, ids=lambda texts: texts.value)
def test_what_has_a_pattern_is_missing_and_so_is_what_is_too_long_to_be_asked(texts: Texts) -> None:
    plan = plan_for({"logicalType": "string", "quality": counted("missingValues", pattern=texts.value)})

    found = failing_rows(plan, [*texts.right, *texts.wrong, None], pa.string())
    assert found == [*texts.right, *too_long(texts)]


@pytest.mark.parametrize(
    ("pattern", "texts", "missing"),
    [
        (r"^\s*(n/a)?\s*$", ["x" * 1_000, "x" * 1_001, " " * 1_000], ["x" * 1_001, " " * 1_000]),
        (r"^\s{0,20}(n/a)?\s{0,20}$", [" n/a", " " * 40, " " * 41, "x" * 200_000], [" n/a", " " * 40]),
        ("^(?:ab|c){1000}(?:de|f){1000}$", ["x" * size for size in (250, 251, 4_000, 4_001)], ["x" * 251, "x" * 4_000]),
    ],
)
def test_a_text_that_is_too_long_to_be_asked_is_missing_unless_none_with_the_pattern_is_as_long(
    pattern: str, texts: list[str], missing: list[str]
) -> None:
    plan = plan_for({"logicalType": "string", "quality": counted("missingValues", pattern=pattern)})

    assert failing_rows(plan, texts, pa.string()) == missing


def test_missing_values_that_are_null_alone_are_the_null_values() -> None:
    plan = plan_for({"logicalType": "string", "quality": counted("missingValues", missingValues=[None])})

    assert [metric.kind for metric in plan.metrics] == [MetricKind.NULLS]


def test_numbers_can_be_missing_and_either_zero_is_zero() -> None:
    plan = plan_for({"logicalType": "number", "quality": counted("missingValues", missingValues=[0, -999])})

    assert failing_rows(plan, [0.0, -0.0, -999.0, 1.0, None], pa.float64()) == [0.0, -0.0, -999.0]
    assert failing_rows(plan, [NAN, float("inf")], pa.float64()) == []


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"pattern": r"^\d+$"}, ["", "a", "7\n"]),
        ({"validValues": ["7", "a"]}, ["", "42", "7\n"]),
        ({"validValues": ["7", "a"], "pattern": r"^\d+$"}, ["", "a", "42", "7\n"]),
    ],
)
def test_a_value_is_invalid_that_is_not_among_the_valid_or_lacks_the_pattern(
    arguments: dict[str, Any], wrong: list[str]
) -> None:
    plan = plan_for({"name": "a`b.c", "logicalType": "string", "quality": counted("invalidValues", **arguments)})

    assert failing_rows(plan, ["", "7", "a", "42", "7\n", None], pa.string()) == wrong
    assert failing_rows(plan, [], pa.string()) == failing_rows(plan, [None, None], pa.string()) == []


@pytest.mark.parametrize("option", ["exclusiveMinimum", "exclusiveMaximum"])
@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        ({"logicalType": "number"}, pa.float64(), -0.0),
        ({"physicalType": "decimal(20,2)"}, pa.decimal128(20, 2), Decimal("0.00")),
        ({"logicalType": "integer"}, pa.int32(), 0),
    ],
)
def test_zero_is_neither_above_nor_below_zero(
    option: str, column: dict[str, Any], kind: pa.DataType, value: Any
) -> None:
    plan = plan_for(column | {"logicalTypeOptions": {option: 0}})

    assert failing_rows(plan, [value, None], kind) == [value]


@pytest.mark.parametrize(
    ("column", "kind", "edge", "beyond"),
    [
        ({"logicalType": "date"}, pa.date32(), date(2013, 1, 2), date(2013, 1, 3)),
        (
            {"logicalType": "timestamp"},
            pa.timestamp("us", "UTC"),
            datetime(2013, 1, 2, tzinfo=UTC),
            datetime(2013, 1, 2, microsecond=1, tzinfo=UTC),
        ),
        (
            {"logicalType": "timestamp", "logicalTypeOptions": {"timezone": False}},
            pa.timestamp("us"),
            datetime.fromisoformat("2013-01-02T00:00:00"),
            datetime.fromisoformat("2013-01-02T00:00:00.000001"),
        ),
    ],
    ids=["date", "instant", "clock"],
)
def test_an_exclusive_bound_of_a_moment_fails_at_the_bound_and_not_beyond_it(
    column: dict[str, Any], kind: pa.DataType, edge: date, beyond: date
) -> None:
    options = column.get("logicalTypeOptions", {}) | {"exclusiveMinimum": "2013-01-02"}
    plan = plan_for(column | {"logicalTypeOptions": options})

    assert failing_rows(plan, [edge, beyond, None], kind) == [edge]
