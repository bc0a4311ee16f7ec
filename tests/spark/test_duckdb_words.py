"""Tests of what a contract's SQL says on Spark, its translation says in DuckDB: every function, over values at the
edges.

Where DuckDB cannot say it, the row is handed over. Not held to that is what Spark reckons in 32 bits and says in as
many digits (a `float` as text).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
import sqlglot
from pyspark.sql import SparkSession
from sqlglot import exp

from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.sql.allowlist import Reader, columns_of
from tests.support import engines
from tests.support.engines import HANDED_OVER

pytestmark = pytest.mark.spark
NAN, INFINITY = float("nan"), float("inf")
WHOLE = [0, 1, -1, 2, 3, -7, 100, 2**31 - 1, -(2**31)]
REALS = [0.0, -0.0, 1.5, -1.5, 2.5, 0.1, 1.7, 2.675, 1e10, 1e-5, 1e300, NAN, INFINITY, -INFINITY]
TEXTS = [
    *("", " ", "a_b", "axb", "a\\b", "Abc", " pad ", "\tx\u00a0", "100%", "ü", "Straße", "𝄞x"),
    *("1", " -1.5 ", "1e2", "+7", ".5", "5.", "1d", "2147483648", "nan", "Infinity", "yes", "T", "0x1", "1_000"),
    *("2013-01-31", "2013-1-3", "2013", "2013-01-31T12:30:15Z", "2013-02-30", "31.12.2013"),
]
DAYS = [date(2012, 2, 29), date(2013, 12, 31), date(2013, 1, 1), date(2013, 1, 6), date(4, 1, 1), date(1969, 7, 20)]
MOMENTS = [
    datetime(2013, 1, 31, 12, 30, 15, 500000, tzinfo=UTC),
    datetime(2013, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2012, 2, 29, tzinfo=UTC),
]
VALUES: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", WHOLE),
    "b": ("bigint", [*WHOLE, 2**63 - 1, -(2**63)]),
    "x": ("double", REALS),
    "f": ("float", [value if value != 1e300 else 1e20 for value in REALS]),
    "d": ("decimal(10,2)", [Decimal(text) for text in ("0", "1.50", "-1.50", "2.55", "0.01", "99999999.99", "-0.05")]),
    "s": ("string", TEXTS),
    "ok": ("boolean", [True, False]),
    "day": ("date", DAYS),
    "at": ("timestamp", MOMENTS),
    "clock": ("timestamp_ntz", [moment.replace(tzinfo=None) for moment in MOMENTS]),
}
OTHERS = {"c": "a", "y": "x", "e": "d", "t": "s", "later": "day", "since": "at"}
"""A second column of a kind, whose values come in another order."""
TYPES = {name: kind for name, (kind, _) in VALUES.items()} | {new: VALUES[of][0] for new, of in OTHERS.items()}
FIELDS = [Field(label=name, name=name, type=physical(kind)) for name, kind in TYPES.items()]

NUMBERS = ("a", "b", "x", "f", "d")
TIMES = ("day", "at", "clock")
EXPRESSIONS = (
    *(f"{n} {sign} {m}" for n in NUMBERS for m in ("c", "y", "e", "2", "1.5") for sign in "+-*/%" if n + sign != "f%"),
    *(f"f % {m}" for m in ("y", "e", "2", "1.5")),
    *(f"{n} {sign} {m}" for n in NUMBERS for m in ("c", "y", "e", "0.1") for sign in ("=", "<", ">=", "<>", "<=>")),
    *(f"{name}({n})" for n in NUMBERS for name in ("abs", "ceil", "floor", "sqrt", "exp", "ln", "sign", "isnan", "-")),
    *(f"round({n}{places})" for n in NUMBERS for places in ("", ", 1", ", 2", ", -1")),
    *(f"power({n}, {m})" for n in NUMBERS for m in ("2", "0.5", "-1", "y")),
    *(f"cast({n} as {kind})" for n in NUMBERS for kind in ("int", "bigint", "boolean", "decimal(4,1)")),
    *(f"cast({n} as string)" for n in NUMBERS if n != "f"),
    *(f"cast({n} as {kind})" for n in NUMBERS for kind in ("double", "float")),
    *(f"{n} between c and y or {n} in (1, 2.5) or {n} not in (0, 1)" for n in NUMBERS),
    *(f"cast(s as {kind})" for kind in ("int", "bigint", "double", "float", "decimal(6,1)", "boolean", "date")),
    *(f"cast(s as {kind})" for kind in ("timestamp", "timestamp_ntz")),
    *(f"cast({n} as string)" for n in (*TIMES, "ok")),
    *(f"cast(ok as {kind})" for kind in ("int", "bigint", "double", "decimal(4,1)")),
    *(f"cast({one} as {kind})" for one in TIMES for kind in ("date", "timestamp", "timestamp_ntz")),
    "greatest(a, c, d)", "least(x, y, f)", "greatest(day, later)", "coalesce(a, d, x)", "nvl(s, 'x')", "nullif(a, c)",
    "ifnull(day, later)", "if(ok, a, d)", "case when a > 1 then d when ok then x end",
    "case s when 'ü' then 1 else 2 end",
    "ok = (a > 1)", "ok <=> (a > 1)", "ok is true", "ok is not false", "a is null", "not ok", "ok and a > 1",
    "ok or x > 1", "length(s)", "length(s) * 2000000000", "lower(s)", "upper(s)", "trim(s)", "ltrim(s)", "rtrim(s)",
    "trim(both 'a' from s)", "trim(leading ' a' from s)", "concat(s, t)", "s || t", "replace(s, 'a', 'bb')",
    "replace(s, 'a')", "replace(s, '', 'x')", "replace(s, t, '-')", "locate('b', s)", "locate('', s)", "instr(s, t)",
    "startswith(s, t)", "endswith(s, t)", "contains(s, t)", "startswith(s, 'a')", "s < t", "s = t", "s in ('ü', ' ')",
    "s like 'a_b'", "s like 'a\\\\_b'", "s like 'a\\\\\\\\b'", "s like '%!%' escape '!'", "s like '%!%%' escape '!'",
    "s not like '%b'", "s like '%a%b%'", "s not like '%a%b%'",
    *(f"substring(s, {start}{more})" for start in (0, 1, 2, -1, -2, -9, "c") for more in ("", ", 2", ", 0", ", -1")),
    *(f"{side}(s, {many})" for side in ("left", "right") for many in (-1, 0, 2, 99, "c", "x")),
    *(f"{part}({one})" for one in TIMES for part in ("year", "quarter", "month", "day", "dayofmonth", "dayofweek")),
    *(f"{part}({one})" for one in TIMES for part in ("dayofyear", "weekofyear", "hour", "minute", "second")),
    *(f"{part}({one})" for one in TIMES for part in ("last_day", "to_date")),
    *(f"datediff({one}, {other})" for one in TIMES for other in ("later", "since")),
    *(f"date_add({one}, {days})" for one in TIMES for days in (1, -400)),
    *(f"date_sub({one}, 3)" for one in TIMES),
    *(f"add_months({one}, {many})" for one in TIMES for many in (1, 12, -2)),
    *(f"date_trunc('{unit}', {one})" for one in TIMES for unit in ("year", "quarter", "month", "week", "day", "hour")),
    *(f"trunc({one}, '{unit}')" for one in TIMES for unit in ("year", "quarter", "month", "week")),
    *(f"{one} {sign} interval 3 {unit}" for one in TIMES for sign in "+-" for unit in ("hours", "days", "months")),
    *(f"{one} {sign} later" for one in TIMES for sign in ("<", "=", ">=")),
    *(f"{one} > '2013-01-01'" for one in TIMES),
    "d / 3 * 3 = d", "cast(x as int) <= 1", "year(day) * 10000000 > 0", "a * c >= 0",
)  # fmt: skip
AGGREGATES = (
    *(f"{name}({n})" for n in ("a", "x", "d") for name in ("sum", "avg", "min", "max", "median", "count")),
    *(f"{name}({n})" for n in ("a", "d") for name in ("stddev", "stddev_pop", "variance", "var_pop", "stddev_samp")),
    *(f"percentile({n}, 0.25)" for n in ("a", "x", "d")),
    *("max(s)", "min(day)", "max(ok)", "count(*)", "count(distinct a, s)", "count_if(a > 0)"),
    *("sum(a) filter (where a < 2) / count(*)", "sum(cast(b as decimal(19,0)))", "datediff(max(day), min(later))"),
)
MANY = 600
MOST_HANDED_OVER = 0.07


def rows() -> dict[str, list[Any]]:
    """Columns in which every value comes beside many others, and beside none."""
    random = Random(7)
    drawn = [(name, VALUES[OTHERS.get(name, name)][1]) for name in TYPES]
    return {name: random.choices([None, *values], k=MANY) for name, values in drawn}


def written(text: str, *, aggregates: bool = False) -> str:
    """The expression as it reaches Spark."""
    holder = exp.Paren(this=sqlglot.parse_one(text, read="spark"))
    Reader(columns=columns_of(FIELDS), aggregates=aggregates).kind(holder.this)
    return str(holder.this.sql(dialect="spark"))


def bare(value: Any) -> Any:
    """A day as its number since 1970, a moment as its microseconds since then, whatever clock it is of."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def same(one: Any, other: Any, off: float) -> bool:
    if one is None or other is None or isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return math.isclose(one, other, rel_tol=off) or str(float(one)) == str(float(other))


def off(text: str) -> float:
    """Return how far numbers may be from each other. What Spark reckons in 32 bits is reckoned with in 64 here."""
    return 1e-6 if "`f`" in text else 1e-12


def spark_says(spark: SparkSession, columns: dict[str, list[Any]], texts: Sequence[str]) -> list[list[Any]]:
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    frame = spark.createDataFrame(list(zip(*columns.values(), strict=True)), schema)
    answers = frame.selectExpr(*(f"{text} AS c{at}" for at, text in enumerate(texts))).collect()
    return [[bare(value) for value in column] for column in zip(*answers, strict=True)]


def in_rows(columns: dict[str, list[Any]]) -> list[list[Any]]:
    return [[bare(value) for value in row] for row in zip(*columns.values(), strict=True)]


def test_duckdb_says_of_a_row_what_spark_says_or_hands_it_over(spark: SparkSession) -> None:
    columns, texts = rows(), [written(text) for text in EXPRESSIONS]
    table = in_rows(columns)
    compared = [
        (text, row, theirs, ours)
        for text, spoken, own in zip(
            texts, spark_says(spark, columns, texts), engines.answers(TYPES, table, texts), strict=True
        )
        for row, theirs, ours in zip(table, spoken, own, strict=True)
    ]
    wrong = [
        f"{text}: {theirs!r}, and here {ours!r} of {engines.asked(text, TYPES, row)}"
        for text, row, theirs, ours in compared
        if ours is not HANDED_OVER and not same(theirs, ours, off(text))
    ]
    assert wrong == []
    assert sum(ours is HANDED_OVER for *_, ours in compared) < len(compared) * MOST_HANDED_OVER


def test_duckdb_says_of_all_rows_what_spark_says(spark: SparkSession) -> None:
    columns, texts = rows(), [written(text, aggregates=True) for text in AGGREGATES]
    ours = engines.aggregates(TYPES, in_rows(columns), texts)
    wrong = [
        f"{text}: {theirs!r}, and here {own!r}"
        for text, [theirs], own in zip(texts, spark_says(spark, columns, texts), ours, strict=True)
        if not same(theirs, bare(own), off(text))
    ]
    assert wrong == []


def test_the_sum_of_whole_numbers_past_64_bits_is_handed_over() -> None:
    assert engines.aggregates({"b": "bigint"}, [[2**63 - 1]] * 2, ["SUM(`b`)"]) == [HANDED_OVER]
