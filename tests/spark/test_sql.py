"""Tests of what SQL of contracts is accepted runs on Spark, and says there what the contract's own words would say."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.schema.types import spark_identifier
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.sql.statements import DEEPEST, Form, predicate, scalar

pytestmark = pytest.mark.spark
TYPES = {
    "a": "int",
    "b": "bigint",
    "x": "double",
    "f": "float",
    "d": "decimal(10,2)",
    "s": "string",
    "t": "string",
    "ok": "boolean",
    "day": "date",
    "at": "timestamp",
    "clock": "timestamp_ntz",
    "raw": "binary",
    "sel.ect `x\" '": "int",
}
FIELDS = [Field(label=name, name=name, type=physical(kind)) for name, kind in TYPES.items()]
NOON = datetime(2013, 1, 31, 12, 30, 15, tzinfo=UTC)
ROWS: list[tuple[object, ...]] = [
    (
        1,
        2**40,
        1.5,
        0.5,
        Decimal("1.50"),
        "it's 100%",
        "a\\b",
        True,
        NOON.date(),
        NOON,
        NOON.replace(tzinfo=None),
        b"x",
        7,
    ),
    (-3, -1, float("nan"), -0.0, Decimal("-7.25"), "Abc", " pad ", False, date(2012, 2, 29), NOON, None, b"", 7),
    (0, 0, -0.0, 0.0, Decimal(0), "", "", True, date(1, 1, 1), NOON.replace(year=1969), datetime(2013, 1, 1), b"y", 1),  # noqa: DTZ001
    (None,) * 13,
]
NUMBERS = ("a", "b", "x", "f", "d", "1.5", "-2", "10L", "cast(s as double)", "cast(ok as int)")
TIMES = ("day", "at", "clock", "cast(s as date)")
PREDICATES = (
    *(
        f"{one} {sign} {two}"
        for one in NUMBERS
        for sign, two in (("<", "d"), ("<=>", "x"), ("between -9 and", "b"))
        if one != two
    ),
    *(f"{one} {sign} {two} > 1 or a > 1" for one in NUMBERS for sign, two in (("+", "d"), ("*", "x"), ("%", "b"))),
    *(f"{one} {sign} {two} > 1 or a > 99" for one in NUMBERS for sign, two in (("-", "a"), ("/", "b"))),
    *(f"abs({n}) + ceil({n}) + floor({n}) - sign({n}) > a" for n in NUMBERS),
    *(f"round({n}) + round({n}, 2) + round({n}, -2) > a" for n in NUMBERS),
    *(f"sqrt({n}) + power({n}, 2) + exp({n}) + ln({n}) > a or isnan({n})" for n in NUMBERS),
    *(f"substring(s, {n}, {n}) = s and left(s, {n}) = right(t, {n}) and a = 1" for n in NUMBERS),
    *(f"{one} <= {two} or {one} is null" for one in TIMES for two in (*TIMES, "'2013-01-31'") if one != two),
    *(f"year({one}) * 100 + month({one}) + day({one}) + quarter({one}) > a" for one in TIMES),
    *(f"dayofmonth({one}) + dayofweek({one}) + dayofyear({one}) + weekofyear({one}) > a" for one in TIMES),
    *(f"hour({one}) + minute({one}) + second({one}) > a" for one in TIMES),
    *(f"datediff({one}, date '2013-01-01') > a and to_date({one}) = day" for one in TIMES),
    *(f"date_add({one}, 3) > date_sub({one}, 3) and last_day({one}) >= {one}" for one in TIMES),
    *(f"add_months({one}, 2) > {one} and {one} + interval 3 hours > {one} - interval '2' years" for one in TIMES),
    *(f"date_trunc('{unit}', {one}) = {one}" for one in TIMES for unit in ("month", "HOUR", "quarter", "week")),
    *(f"trunc({one}, '{unit}') = {one}" for one in TIMES for unit in ("month", "YEAR", "quarter", "week")),
    *(f"{one} + interval 99999 {unit} > day" for one in TIMES for unit in ("years", "months", "weeks", "seconds")),
    "a in (1, 2.5) or s not in ('x', 'it\\'s 100%')",
    "not ok or ok is true and s is not null",
    "s like 'it\\'s 100\\\\%' or t like 'a\\\\\\\\b' or s like 'A!%' escape '!' or s not like '%b_'",
    "s like '%t%s%' or (s not like '_%b%_') is true or t like '%\\\\\\\\%b%' or s like '%s%!%' escape '!'",
    "length(s) + locate('b', s) + instr(s, 'b') > a or s || t = concat(s, t, 'x')",
    "lower(s) = upper(s) or trim(t) = ltrim(t) or rtrim(t) = trim(both 'p' from t)",
    "startswith(s, 'A') or endswith(s, t) or contains(s, left(t, 9)) or replace(s, 'A', 'b') = replace(s, 'x')",
    "case when a > 1 then d when ok then x else null end > 0",
    "case s when 'Abc' then day when 'x' then at end >= '2013-01-01'",
    "if(ok, a, d) > coalesce(a, b, 1.5) or nvl(s, 'x') = ifnull(t, nullif(s, t))",
    "greatest(a, x, d) > least(b, f) or greatest(day, at) > day",
    "cast(a as string) = s or try_cast(s as int) > 1 or cast(s as boolean) or cast(s as decimal(5, 2)) > 1",
    "cast(day as timestamp) = at or cast(at as date) = day or cast(at as timestamp_ntz) = clock",
    "raw is not null and raw = raw or cast(raw as string) = s",
    "`sel.ect ``x\" '` >= 7 or timestamp '2013-01-01 00:00:00' < at or date '2013-01-01' < day",
    "at = '2013-01-31T13:30:15+01:00' and clock = '2013-01-31T12:30:15'",
    "s = \"it's 100%\" or s = 'é\\n\\t\\u0041\\\\'",
    " and ".join(["a + 0 = 1"] * (DEEPEST - 3)),
)
SUMMED = ("b", "x", "d")
VALUES = (
    *(f"sum({n}) + avg({n}) + min({n}) - max({n})" for n in SUMMED),
    *(f"stddev({n}) + stddev_pop({n}) + variance({n}) + var_pop({n})" for n in SUMMED),
    *(f"median({n}) + percentile({n}, 0.25)" for n in SUMMED),
    "count(*) + count(s) + count(distinct a, s) + count_if(a > 0)",
    "datediff(max(day), min(day)) + year(max(at))",
    "max(s) >= 'x' and min(ok) and max(raw) is not null",
    "sum(a) filter (where a < 2) / count(*) + coalesce(sum(a), 0)",
)
QUERIES = (
    "SELECT COUNT(*) FROM (SELECT s FROM {object} GROUP BY s HAVING COUNT(*) > 0 AND MAX(a) >= 0)",
    "SELECT MAX(n) FROM (SELECT s AS `a b`, COUNT(*) AS n FROM {object} o WHERE o.a > -9 GROUP BY o.s) d WHERE n < 9",
    "SELECT COUNT(*) FROM (SELECT DISTINCT a, s FROM {object}) AS q",
    "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM (SELECT a % 2 AS odd, day FROM {object}) GROUP BY odd, day)",
)


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    schema = ", ".join(f"{spark_identifier(name)} {kind}" for name, kind in TYPES.items())
    frame = spark.createDataFrame(ROWS, schema)
    frame.createOrReplaceTempView("_lakegate_rows")
    return frame


def same(one: object, other: object) -> bool:
    return one == other or (isinstance(one, float) and str(one) == str(other))


def test_a_rule_says_of_a_row_what_its_text_says(rows: DataFrame) -> None:
    written = [predicate(text, FIELDS)[0].sql(dialect="spark") for text in PREDICATES]

    judged = rows.selectExpr(*(f"{text} AS c{at}" for at, text in enumerate([*PREDICATES, *written]))).collect()

    for at, text in enumerate(PREDICATES):
        assert [row[at] for row in judged] == [row[at + len(PREDICATES)] for row in judged], text
        assert {type(row[at]) for row in judged} <= {bool, type(None)}


def test_a_query_gives_what_its_text_gives(spark: SparkSession, rows: DataFrame) -> None:  # noqa: ARG001 - the view
    texts = [
        *(f"SELECT {value} FROM {{object}} WHERE a > -2 AND (ok OR s = 'x')" for value in VALUES),
        f"SELECT {VALUES[0]} FROM {{object}} WHERE a > 99",
        *QUERIES,
    ]
    found = [scalar(text, FIELDS, ()) for text in texts]
    own = [f"({text.replace('{object}', '_lakegate_rows')})" for text in texts]
    made = [f"({it.sql})" if it.form is Form.QUERY else f"(SELECT {it.sql} FROM _lakegate_rows)" for it in found]

    [row] = spark.sql(f"SELECT {', '.join([*own, *made])}").collect()

    assert [text for at, text in enumerate(texts) if not same(row[at], row[at + len(texts)])] == []
    assert sum(value is None for value in row) == 2  # the sum of nothing


def test_what_looks_like_a_variable_is_text(spark: SparkSession) -> None:
    variable = "${spark.sql.session.timeZone}"
    tree, _ = predicate(f"s = '{variable}'", FIELDS)
    query = scalar(f"SELECT COUNT(*) FROM (SELECT DISTINCT s FROM {{object}} WHERE s = '{variable}')", FIELDS, ())
    frame = spark.createDataFrame([("UTC",), (variable,)], "s string")
    frame.createOrReplaceTempView("_lakegate_rows")

    assert [row.s for row in frame.where(tree.sql(dialect="spark")).collect()] == [variable]
    assert spark.sql(query.sql).collect() == [(1,)]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
