"""Checks that cannot fail, or cannot pass, are refused; all others are accepted, and each has a file that fails it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import assume, given
from hypothesis import strategies as st
from sqlglot import exp

from lakegate.audit.model.plan import Check, Operator, Plan, Severity, Unit
from lakegate.contracts import load
from lakegate.contracts.regex.portable import portable
from lakegate.contracts.sql.allowlist import NotAllowed
from lakegate.contracts.sql.statements import predicate
from lakegate.duckdb.dialect import STRICTLY
from lakegate.duckdb.dialect import to_duckdb as as_spark
from lakegate.duckdb.macros import MACROS
from lakegate.errors import ContractFaults, Misconfigured
from lakegate.express.plan import spark_only
from lakegate.reading.arrow import arrow_type
from lakegate.synthetic.rows import table_of
from tests.contracts.test_sql import FIELDS
from tests.support import random_tables
from tests.support.duck import translated
from tests.support.synthetic.evaluator import LakeEvaluator

COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"logicalType": "integer"},
    "kind": {"logicalType": "string"},
    "Größe": {"logicalType": "integer", "physicalName": "size of it"},
    "amount": {"physicalType": "decimal(5,2)"},
    "ratio": {"logicalType": "number"},
    "paid": {"logicalType": "boolean"},
    "day": {"logicalType": "date"},
    "tags": {"logicalType": "array", "items": {"logicalType": "string"}},
}


def contract(column: str = "", words: dict[str, Any] | None = None, **table: Any) -> str:
    """A contract with a column of each kind, with these words more at one of them, or at the table."""
    properties = [{"name": name, **shape, **(words or {} if name == column else {})} for name, shape in COLUMNS.items()]
    body = {"name": "events", "physicalName": "shop.events", "properties": properties, **table}
    return random_tables.as_text({**random_tables.HEAD, "servers": [random_tables.SERVER], "schema": [body]})


def of_rule(rule: str) -> str:
    return contract(quality=[{"type": "custom", "engine": "lakegate", "implementation": {"row": rule}}])


def of_query(query: str, **operator: Any) -> str:
    return contract(quality=[{"type": "sql", "query": query, **(operator or {"mustBe": 0})}])


def refused(text: str) -> str:
    """The one fault of a contract."""
    with pytest.raises(ContractFaults) as error:
        load(text, "events.yaml")
    [fault] = error.value.faults
    return fault.message


# ------------------------------------------------------------------ a text that looks like a column


@pytest.mark.parametrize("name", ["kind", "Kind", "KIND", "size of it", "Größe", "größe", "tags"])
def test_a_text_in_double_quotes_that_is_a_column_s_name_is_refused_with_the_line_to_write(name: str) -> None:
    own = {"größe": "size of it"}.get(name.lower(), name.lower())

    said = [refused(of_rule(f"id > 5 or \"{name}\" <> 'bad'")), refused(of_rule(f'id > 5 or kind <> "{name}"'))]
    said.append(refused(of_query(f"SELECT COUNT(*) FROM {{object}} WHERE \"{name}\" = 'bad'")))
    said.append(refused(of_query(f'SELECT COUNT("{name}") FROM {{object}}')))

    assert all(f'"{name}" is a text and no column' in each and f"write `{own}`" in each for each in said)


def test_a_name_that_a_query_in_from_gives_is_a_column_s_name_too() -> None:
    said = refused(of_query("SELECT COUNT(*) FROM (SELECT id AS Other FROM {object}) AS d WHERE \"other\" = 'bad'"))

    assert '"other" is a text and no column' in said


def test_a_column_s_name_behind_the_table_s_is_one_too() -> None:
    assert '"events.kind" is a text' in refused(of_query("SELECT COUNT(*) FROM {object} WHERE \"events.kind\" = 'bad'"))


def test_a_placeholder_in_double_quotes_is_refused() -> None:
    query = {"type": "sql", "query": "SELECT COUNT(*) FROM {object} WHERE \"{property}\" = 'bad'", "mustBe": 0}

    assert "write {property} without them" in refused(contract("kind", {"quality": [query]}))


@pytest.mark.parametrize("text", ["bad", "kinds", "", " kind"])
def test_any_other_text_in_double_quotes_is_a_text(text: str) -> None:
    load(of_rule(f'kind <> "{text}"'), "events.yaml")


def test_a_column_s_name_in_single_quotes_is_a_text() -> None:
    load(of_rule("kind <> 'kind'"), "events.yaml")


# ------------------------------------------------------------------ rules and queries that no row can change

CANNOT_FAIL = [
    "id = id", "id is null or id is not null", "id > 5 or id <= 5", "not id > 5 or id > 5", "id > 5 or true",
    "id in (1, 2) or id not in (1, 2)", "id not between 5 and 3", "coalesce(id, 1) is not null", "id <> 1.5",
    "case when id > 1 then true else true end", "if(id > 1, 1, 1) = 1", "nullif(id, id) is null", "id <=> id",
    "kind like '%'", "kind like '%%'", "kind like 'a%' or kind not like 'a%'", "kind >= ''", "lower(kind) <> 'BAD'",
    "length(kind) >= 0", "contains(kind, '')", "month(day) between 1 and 12", "id >= -2147483648", "id < 2147483648",
    "amount between -999.99 and 999.99", "amount % 0.01 = 0", "id * 0 = 0", "id - id = 0", "abs(id) >= 0",
    "paid or not paid", "paid in (true, false)", "paid is true or paid is false or paid is null", "ratio = ratio",
    "ratio > 0.1 or ratio <= 0.1", "kind = 'a' or kind <> 'a'", "id < `size of it` or `size of it` <= id",
    "day >= '2013-01-01' or day < '2013-01-01'", "greatest(id, 0) >= 0", "length(kind) >= 5 or length(kind) < 5",
    "case id when 1 then 'a' else 'a' end = 'a'", "(id > 1) or (id > 1) is not true",
    "(id) = id", "(id) > 5 or id <= 5", "round(amount, 2) = amount", "amount = round(amount, 3)", "floor(id) = id",
    "cast(id as int) = id", "cast(id as bigint) = id", "cast(amount as decimal(10, 4)) = amount", "id % 2 < 2",
    "id % 2 in (0, 1, -1)", "amount % 10 <= 9.99", "id % -7 > -7", "amount % 0.03 < 0.03", "amount >= -5000000000",
    "id >= -9223372036854775808",
    "abs(id % 10) < 10", "abs(amount % 1) < 1", "id % 5 + 1 between -3 and 5", "id % `size of it` < 3000000000",
    "floor(amount) <= amount", "ceil(amount) >= amount", "floor(amount) > amount - 1", "amount + 1 > amount",
    "amount >= amount - 1", "abs(amount) >= 0", "abs(ratio) >= ratio", "abs(id) >= id", "floor(amount) < 1000",
    "round(amount, 1) < amount + 0.1", "amount / 2 < 600", "id / 2 < 2147483648", "amount * amount >= 0",
    "ratio * ratio >= 0", "sign(id) in (-1, 0, 1)", "id / 0 > 5", "id % 0 = 1", "id + 1 <> 1.5", "-id <> 0.5",
    "id / 1 = id", "ratio / 1 = ratio", "id * 1 = id", "1 * amount = amount", "ratio + 0 = ratio", "id - 0 = id",
    "cast(id as double) = id", "cast(amount as double) = amount", "cast(kind as string) = kind",
    "cast(day as date) = day", "cast(paid as boolean) = paid", "cast(cast(kind as string) as string) = kind",
    "greatest(id, `size of it`) >= id", "least(ratio, 0) <= ratio", "coalesce(id, 0) = id", "nullif(id, 1) <> 1",
    "nullif(kind, '') <> ''", "right(left(kind, 2), 2) = left(kind, 2)", "cast(coalesce(kind, '') as string) = kind",
    "case when paid then amount else amount + 1 end >= amount",
    "concat(kind, 'x') <> ''", "kind || 'x' > ''", "upper(kind) >= ''", "concat(kind, 'x') <> kind",
    "concat(kind, 'x') > kind", "cast(id as string) <> ''", "cast(id as string) <> 'x'",
    "trim(cast(id as string)) <> ''",
    "length(concat(kind, 'x')) >= 1", "length(cast(paid as string)) between 4 and 5", "length(left(kind, 3)) <= 3",
    "length(substring(kind, 1, 3)) < 4", "length(cast(id as string)) <= 11", "length(cast(day as string)) >= 10",
    "length(trim(kind)) <= length(kind)", "length(concat(kind, 'x')) > length(kind)", "length(kind) + 1 > 0",
    "length(coalesce(kind, '')) = length(kind)", "left(kind, 2) <> 'abc'", "left(kind, 3) <= kind",
    "upper(upper(kind)) = upper(kind)", "trim(trim(kind)) = trim(kind)", "ltrim(trim(kind)) = trim(kind)",
    "left(left(kind, 2), 2) = left(kind, 2)", "greatest(greatest(id, 0), 0) = greatest(id, 0)",
    "round(round(ratio, 1), 1) = round(ratio, 1)", "floor(floor(ratio)) = floor(ratio)",
    "startswith(kind, left(kind, 2))", "startswith(concat('a', kind), 'a')", "endswith(kind, substring(kind, 2))",
    "endswith(concat(kind, '-'), '-')", "contains(kind, trim(kind))", "contains(concat(kind, '-', kind), '-')",
    "last_day(day) >= day", "trunc(day, 'month') <= day", "to_date(day) = day", "datediff(day, day) = 0",
]  # fmt: skip
CANNOT_PASS = [
    "id > 5 and id < 3", "id between 5 and 3", "id = 1.5", "id <> id", "kind not like '%'", "lower(kind) = 'BAD'",
    "month(day) = 13", "id > 2147483647", "day > '2013-01-01' and day < '2013-01-02'", "id > 1 and false",
    "id < `size of it` and `size of it` < id", "id in (1) and id not in (1)", "kind < ''", "abs(id) < 0",
    "floor(amount) > amount", "concat(kind, 'x') = ''", "length(left(kind, 3)) > 3", "abs(id % 10) = 10",
    "contains(kind, kind) is false", "upper(upper(kind)) <> upper(kind)", "cast(id as string) = 'x'",
    "((id) between 1 and 0) is true", "(id > 1 and id < 0) is true", "round(amount, 2) <> amount", "id % 2 = 2",
]  # fmt: skip
CAN_DO_BOTH = [
    "id is not null", "id > 5 or id < 5", "id >= -2147483647", "kind like '_%'", "kind > ''", "ratio <= 1e308",
    "ratio - ratio = 0", "id + 1 > id", "id / id = 1", "kind like 'a%' or kind like 'b%'", "coalesce(id, 1) = 1",
    "id > 5 and 1 = 1", "amount <> 0.5", "amount % 0.1 = 0", "length(trim(kind)) > 0 or kind is null", "paid",
    "day > '2013-01-01' and day < '2013-01-03'", "lower(kind) = 'bad'", "lower(kind) = kind", "id <> `size of it`",
    "case when id > 1 then true else kind = 'a' end", "kind <> 'a' or kind is null", "isnan(ratio) or ratio > 0",
    "kind > 'a' and kind < 'b'", "contains(kind, left(kind || kind, 9))", "startswith(kind, upper(kind))",
    "endswith(lower(kind), kind)", "case when id > 1 then contains(kind, left(upper(kind), 9)) else true end",
    "kind <> 'a' and kind <> 'b'", "id is null or id > 0", "id % 2 = 0",
    "round(amount, 1) = amount", "floor(amount) = amount", "cast(amount as int) = amount", "round(amount, -1) = amount",
    "cast(amount as decimal(5, 1)) = amount", "round(ratio, 2) = ratio", "id % 2 < 1", "id % 2 <> -1",
    "amount % 10 <= 9.98", "amount > -999.98", "ratio > -5000000000", "id % 2147483647 = id",
    "abs(id % 10) < 9", "floor(ratio) <= ratio", "ceil(ratio) >= ratio", "ceil(amount) > amount", "id >= id - 1",
    "id + 1 > id", "ratio + 1 > ratio", "ratio * 0 = 0", "id * id >= 0", "abs(id) > id", "exp(ratio) > 0",
    "id / 3 * 3 = id", "cast(id as bigint) * 2 = id * 2", "cast(ratio as float) = ratio",
    "cast(cast(amount as decimal(10, 4)) as string) = cast(amount as string)", "greatest(nullif(ratio, 5), 0) >= ratio",
    "coalesce(nullif(id, 5), 0) = id", "coalesce(id, 0) <=> id", "nullif(id, 1) <> 2",
    "round(greatest(id, 0), -1) >= 0",
    "ratio < 0 or ratio > 0.1 or ratio + 0.2 <= 0.3", "ratio <= 0 or ratio > 1 or ratio * ratio > 0",
    "sign(ratio) in (-1, 0, 1)", "case when paid then amount else amount - 1 end >= amount",
    "concat(kind, 'x') <> 'x'", "length(concat(kind, 'x')) >= 2", "cast(id as string) <> '1'",
    "concat(kind, kind) <> kind",
    "length(lower(kind)) <= length(kind)", "length(substring(kind, 2, 3)) >= 1", "length(left(kind, 3)) < 3",
    "trim(kind) = kind", "lower(upper(kind)) = lower(kind)", "left(kind, 3) < kind", "substring(kind, 2) <= kind",
    "startswith(kind, right(kind, 1))", "startswith(kind, trim(kind))", "endswith(kind, left(kind, 1))",
    "contains(left(kind, 2), kind)", "contains(coalesce(nullif(kind, 'a'), ''), left(kind, 9))", "last_day(day) > day",
]  # fmt: skip


@pytest.mark.parametrize("rule", CANNOT_FAIL)
def test_a_rule_that_no_row_can_fail_is_refused(rule: str) -> None:
    said = refused(of_rule(rule))

    assert "holds for every row" in said
    assert "take the check out" in said


@pytest.mark.parametrize("rule", CANNOT_PASS)
def test_a_rule_that_no_row_can_hold_to_is_refused(rule: str) -> None:
    assert "holds for no row" in refused(of_rule(rule))


@pytest.mark.parametrize("rule", CAN_DO_BOTH)
def test_a_rule_that_some_rows_fail_and_some_hold_to_is_accepted(rule: str) -> None:
    load(of_rule(rule), "events.yaml")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT COUNT(*) FROM {object} WHERE 1 = 2", "WHERE is true of no row"),
        ("SELECT COUNT(*) FROM {object} WHERE 'kind' = 'bad'", "compares no column"),
        ("SELECT COUNT(*) FROM {object} WHERE upper('kind') = 'BAD'", "compares no column"),
        ("SELECT COUNT(*) FROM {object} WHERE id > 5 AND id < 3", "WHERE is true of no row"),
        ("SELECT COUNT(*) FROM {object} WHERE id = id OR id IS NULL", "WHERE is true of every row"),
        ("SELECT COUNT(*) FILTER (WHERE id > 5 AND id < 3) FROM {object}", "FILTER is true of no row"),
        ("SELECT COUNT_IF(paid AND NOT paid) FROM {object}", "COUNT_IF is true of no row"),
        ("SELECT COUNT('kind') FROM {object}", "counts every row"),
        ("SELECT COUNT(NULL) FROM {object}", "counts no row"),
        ("SELECT COUNT(CASE WHEN kind = 'bad' THEN 1 ELSE 0 END) FROM {object}", "counts every row"),
        ("SELECT COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM {object} GROUP BY id) AS d WHERE n < 1", "WHERE is true"),
        ("SELECT COUNT(*) FROM (SELECT id FROM {object} GROUP BY id HAVING COUNT(*) < 1) AS d", "HAVING is true of no"),
        ("SELECT SUM(CASE WHEN id > 5 AND id < 3 THEN 1 ELSE 0 END) FROM {object}", "every number meets it"),
        ("SELECT COUNT_IF(id > 5) * 0 FROM {object}", "every number meets it"),
    ],
)
def test_a_query_with_a_condition_that_no_row_can_change_is_refused(query: str, why: str) -> None:
    assert why in refused(of_query(query))


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT COUNT(*) FROM {object} WHERE kind = 'bad'", {"mustBeGreaterOrEqualTo": 0}),
        ("SELECT COUNT(*) FROM {object}", {"mustNotBe": -1}),
        ("SELECT COUNT(*) FROM {object}", {"mustBeLessThan": 1e30}),
        ("SELECT COUNT(*) FROM {object}", {"mustNotBe": 0.5}),
        ("SELECT COUNT(DISTINCT paid) FROM {object}", {"mustBeLessThan": 3}),
        ("SELECT COUNT(*) >= 0 FROM {object}", {"mustBe": 1}),
        ("SELECT 100.0 * COUNT_IF(paid) / COUNT(*) FROM {object}", {"mustBeLessOrEqualTo": 100}),
        ("SELECT 100 * (COUNT(DISTINCT id) / COUNT(id)) FROM {object}", {"mustBeBetween": [0, 100]}),
        (
            "SELECT SUM(CASE WHEN paid THEN 1 ELSE 0 END) / CAST(COUNT(*) AS DOUBLE) FROM {object}",
            {"mustBeLessOrEqualTo": 1},
        ),
        ("SELECT AVG(CASE WHEN paid THEN 1.0 ELSE 0.0 END) FROM {object}", {"mustBeLessOrEqualTo": 1}),
        ("SELECT MIN(LENGTH(kind)) FROM {object}", {"mustBeGreaterOrEqualTo": 0}),
        ("SELECT MAX(id) FROM {object} WHERE id < 10", {"mustBeLessThan": 10}),
        ("SELECT STDDEV(ratio) FROM {object}", {"mustBeGreaterOrEqualTo": 0}),
        ("SELECT COUNT(*) - COUNT(id) FROM {object}", {"mustBeGreaterOrEqualTo": 0}),
    ],
)
def test_a_bound_that_every_number_meets_is_refused(query: str, operator: dict[str, Any]) -> None:
    said = refused(of_query(query, **operator))

    assert "every number meets it" in said
    assert "write a bound that a file may miss" in said


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT COUNT(*) FROM {object}", {"mustBeLessThan": 0}),
        ("SELECT COUNT(*) FROM {object}", {"mustBe": 0.5}),
        ("SELECT 100.0 * COUNT_IF(paid) / COUNT(*) FROM {object}", {"mustBeGreaterThan": 100}),
        ("SELECT AVG(amount) FROM {object}", {"mustBeGreaterThan": 1000}),
    ],
)
def test_a_bound_that_no_number_meets_is_refused(query: str, operator: dict[str, Any]) -> None:
    assert "no number meets it" in refused(of_query(query, **operator))


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT COUNT(*) FROM {object} WHERE 1 = 1", {"mustBeGreaterThan": 0}),
        ("SELECT COUNT(1) FROM {object}", {"mustBeGreaterThan": 0}),
        ("SELECT COUNT(id) FROM {object} WHERE id IS NOT NULL", {"mustBeGreaterThan": 0}),
        ("SELECT COUNT(DISTINCT kind) FROM {object}", {"mustBeLessThan": 3}),
        ("SELECT MAX(kind = 'a') FROM {object}", {"mustBe": 1}),
        ("SELECT 100.0 * COUNT_IF(paid) / COUNT(*) FROM {object}", {"mustBeLessThan": 100}),
        ("SELECT COUNT_IF(paid) / COUNT(id) FROM {object}", {"mustBeLessOrEqualTo": 1}),
        ("SELECT SUM(id) FROM {object}", {"mustBeGreaterOrEqualTo": 0}),
        ("SELECT SUM(id * 2) FROM {object} WHERE id >= 0", {"mustBeGreaterOrEqualTo": 0}),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT id, kind FROM {object}) AS d", {"mustBeGreaterThan": 0}),
        (
            "SELECT COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM {object} GROUP BY id HAVING COUNT(*) > 1) AS d",
            {"mustBe": 0},
        ),
    ],
)
def test_a_query_that_some_file_fails_is_accepted(query: str, operator: dict[str, Any]) -> None:
    load(of_query(query, **operator), "events.yaml")


# ------------------------------------------------------------------ the words of columns and the library


def _options(**words: Any) -> dict[str, Any]:
    return {"logicalTypeOptions": words}


def _quality(**words: Any) -> dict[str, Any]:
    return {"quality": [words]}


def _ours(unit: str = "", **words: Any) -> dict[str, Any]:
    return _quality(type="custom", engine="lakegate", implementation=words, **({"unit": unit} if unit else {}))


NOTHING_TO_CHECK = [
    ("id", _options(minimum=-(2**31))), ("id", _options(maximum=2**31 - 1)), ("id", _options(multipleOf=1)),
    ("id", _options(exclusiveMinimum=2**31 - 1)), ("id", _options(exclusiveMaximum=-(2**31))),
    ("amount", _options(minimum=-999.99)), ("amount", _options(multipleOf=0.01)),
    ("kind", _options(minLength=0)), ("kind", _options(maxLength=2**31 - 1)),
    ("tags", _options(minItems=0)), ("tags", _options(maxItems=2**31 - 1)),
    ("paid", {"enum": [{"value": True}, {"value": False}]}),
    ("paid", _quality(metric="invalidValues", arguments={"validValues": [True, False]}, mustBe=0)),
    ("paid", _quality(metric="missingValues", arguments={"missingValues": [True, False]}, mustBe=0)),
    ("kind", _quality(metric="invalidValues", arguments={"pattern": ".*"}, mustBe=0)),
    ("kind", _quality(metric="missingValues", arguments={"pattern": "a^"}, mustBe=0)),
    ("kind", _quality(metric="missingValues", arguments={"pattern": "a*"}, mustBe=0)),
    ("kind", _quality(metric="nullValues", mustBeGreaterOrEqualTo=0)),
    ("kind", _quality(metric="nullValues", mustBeLessOrEqualTo=100, unit="percent")),
    ("kind", _quality(metric="duplicateValues", mustBeGreaterOrEqualTo=0, unit="percent")),
    ("kind", _quality(metric="nullValues", mustBeLessThan=0)),
    ("id", _ours(distinctValues=True, mustBeGreaterOrEqualTo=0)),
    ("paid", _ours(distinctValues=True, mustBeLessThan=3)),
    ("id", _ours("percent", distinctValues=True, mustBeLessOrEqualTo=100)),
    ("id", _ours(share=[1, 2], mustBeBetween=[0, 100])), ("id", _ours("rows", share=[1], mustBeGreaterOrEqualTo=0)),
    ("ratio", _ours(standardDeviation=True, mustBeGreaterOrEqualTo=0)), ("id", _ours(mean=True, mustBeLessThan=2**31)),
    ("id", _ours(minimum=True, mustBeGreaterOrEqualTo=-(2**31))), ("id", _ours(median=True, mustBeLessThan=2**31)),
    ("amount", _ours(quantile=0.5, mustBeLessThan=1000)), ("id", _ours(maximum=True, mustNotBe=0.5)),
    ("id", _ours(drift={"of": "nullValues"}, mustBeGreaterOrEqualTo=-100)),
    ("day", _ours(notInFuture=True, mustBeGreaterOrEqualTo=0)),
]  # fmt: skip
SOMETHING_TO_CHECK = [
    ("id", _options(minimum=1 - 2**31)), ("id", _options(multipleOf=2)), ("amount", _options(multipleOf=0.05)),
    ("ratio", _options(minimum=-1e308)), ("kind", _options(minLength=1)), ("kind", _options(maxLength=0)),
    ("tags", _options(minItems=1)), ("paid", {"enum": [{"value": True}]}),
    ("id", _ours(drift={"of": "mean"}, mustBeGreaterThan=-101)),
    ("id", _ours(sum=True, mustBeGreaterOrEqualTo=0)), ("ratio", _ours(standardDeviation=True, mustBeGreaterThan=0)),
    ("kind", _quality(metric="nullValues", mustBeLessThan=100, unit="percent")),
    ("kind", _quality(metric="duplicateValues", mustBeGreaterThan=0)),
]  # fmt: skip


def _shown(case: Any) -> str:
    return json.dumps(case) if isinstance(case, dict) else str(case)


@pytest.mark.parametrize(("column", "words"), NOTHING_TO_CHECK, ids=_shown)
def test_words_that_no_value_of_the_column_can_fail_or_pass_are_refused(column: str, words: dict[str, Any]) -> None:
    said = refused(contract(column, words))

    assert "write" in said
    assert any(f"{who} " in said for who in ("no", "every", "none"))


@pytest.mark.parametrize(("column", "words"), SOMETHING_TO_CHECK, ids=_shown)
def test_words_that_some_value_fails_and_some_passes_are_accepted(column: str, words: dict[str, Any]) -> None:
    load(contract(column, words), "events.yaml")


def test_a_word_of_a_part_of_a_column_is_judged_as_one_of_a_column() -> None:
    items = {"items": {"logicalType": "string", "logicalTypeOptions": {"minLength": 0}}}

    assert "no string can fail it" in refused(contract("tags", items))


def test_the_ends_of_a_type_that_files_may_widen_are_bounds() -> None:
    evolve = [{"property": "widenedTypes", "vendor": "lakegate", "value": "evolve"}]

    load(contract("id", _options(maximum=2**31 - 1), customProperties=evolve), "events.yaml")
    load(contract("amount", _options(minimum=-999.99), customProperties=evolve), "events.yaml")


@pytest.mark.parametrize(
    "pattern",
    [
        ".*",
        "^",
        "$",
        "a*",
        "^a*",
        "a|",
        "(a|)",
        ".*?",
        "(^|a)",
        "a{0,3}",
        r"^(.|\s)*$",
        "",
    ],
)
def test_a_pattern_that_every_text_has_is_refused(pattern: str) -> None:
    assert "every text has it, so that none can fail" in refused(contract("kind", _options(pattern=pattern)))


@pytest.mark.parametrize("pattern", ["a^", "$a", "x(a$|b$)c", "^a^"])
def test_a_pattern_that_no_text_has_is_refused(pattern: str) -> None:
    assert "no text has it, so that none can pass" in refused(contract("kind", _options(pattern=pattern)))


@pytest.mark.parametrize("pattern", ["^.*$", "^a*$", ".", "^$", "^$^", "a?b", "(^a|b$)", r"^(.|\n)*$", r"^[^\s]*$"])
def test_a_pattern_that_some_texts_have_is_accepted(pattern: str) -> None:
    load(contract("kind", _options(pattern=pattern)), "events.yaml")


# ------------------------------------------------------------------ drawn: what is constant is refused

DUCKDB = duckdb.connect(config={"threads": 1})
GRID: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", [None, -(2**31), -1, 0, 1, 2, 3, 2**31 - 1]),
    "s": ("string", [None, "", "0", "A", "B", "a", "ab", "b", "c"]),
    "x": ("double", [None, float("-inf"), -1.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, float("nan")]),
    "d": ("decimal(10,2)", [None, *map(Decimal, ("-99999999.99", "-5", "0", "0.01", "1.5", "1.75", "2", "3"))]),
    "ok": ("boolean", [None, True, False]),
    "day": ("date", [None, date(1, 1, 1), date(2013, 1, 1), date(2013, 1, 2), date(9999, 12, 31)]),
}
_OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
_VALUES = {
    "a": ["0", "1", "2", "1.5", "-2147483648", "2147483647"],
    "s": ["''", "'a'", "'b'", "'A'"],
    "x": ["0", "0.5", "2", "cast('NaN' as double)"],
    "d": ["1.5", "2", "0.005", "-99999999.99"],
    "ok": ["true", "false"],
    "day": ["'2013-01-01'", "'2013-01-02'"],
}
_MADE = {
    "a": ["coalesce(a, 1)", "nullif(a, 1)", "abs(nullif(a, -2147483648))", "case when a > 1 then a else 1 end",
          "greatest(a, 0)", "least(a, 2)", "length(s)", "month(day)", "if(ok, 1, a)", "a % 2"],
    "s": ["lower(s)", "upper(s)", "coalesce(s, 'a')", "trim(s)", "case when ok then 'a' else s end"],
    "x": ["coalesce(x, 0.5)", "abs(x)"], "d": ["nullif(d, 2)", "d % 0.01"],
    "ok": ["a > 1", "s like 'a%'", "contains(s, left(lower(s), 9))", "startswith(s, '')", "endswith(upper(s), s)"],
    "day": ["coalesce(day, date '2013-01-01')"],
}  # fmt: skip


@st.composite
def atom(draw: st.DrawFn, of: str, *, made: bool) -> str:
    subject = f"({draw(st.sampled_from([of, of, *(_MADE[of] if made else [])]))})"
    some = st.sampled_from(_VALUES[of])
    match draw(st.sampled_from(["compare", "compare", "null", "in", "between", "like" if made else "compare"])):
        case "null":
            return f"{subject} is{draw(st.sampled_from(['', ' not']))} null"
        case "like":
            return f"s {draw(st.sampled_from(['', 'not ']))}like '{draw(st.sampled_from(['%', 'a%', '_%']))}'"
        case "in":
            return f"{subject} in ({', '.join(draw(st.lists(some, min_size=1, max_size=3)))})"
        case "between" if of != "ok":
            return f"{subject} between {draw(some)} and {draw(some)}"
    return f"{subject} {draw(_OPERATORS)} {draw(some)}"


@st.composite
def condition(draw: st.DrawFn, columns: list[str], *, made: bool, size: int = 3) -> str:
    if not size or draw(st.booleans()):
        return draw(atom(draw(st.sampled_from(columns)), made=made))
    form = draw(st.sampled_from(["({}) and ({})", "({}) or ({})", "not ({})", "({}) is true", "({}) is not null"]))
    return form.format(*(draw(condition(columns, made=made, size=size - 1)) for _ in range(form.count("{}"))))


def rules(*, made: bool) -> st.SearchStrategy[str]:
    some = st.lists(st.sampled_from(sorted(GRID)), min_size=1, max_size=2, unique=True)
    return some.flatmap(lambda columns: condition(columns, made=made))


def truths(rule: str) -> set[bool | None]:
    """The rule's value for each row of a grid: some values of each of its columns."""
    columns = sorted({column.name for column in sqlglot.parse_one(rule, read="spark").find_all(exp.Column)})
    rows = list(product(*(GRID[name][1] for name in columns)))
    kinds = [(name, arrow_type(GRID[name][0])) for name in columns]
    arrays = [pa.array([row[at] for row in rows], kind, from_pandas=False) for at, (_, kind) in enumerate(kinds)]
    DUCKDB.register("grid", pa.table(arrays, names=columns))
    query = f"SELECT DISTINCT ({translated(rule)}) FROM grid"
    return {row[0] for row in DUCKDB.execute(query).fetchall()}


def judged(rule: str) -> str:
    try:
        predicate(rule, FIELDS)
    except NotAllowed as error:
        return str(error)
    return ""


@given(rules(made=True))
def test_whatever_rule_is_refused_no_row_can_change_it(rule: str) -> None:
    said = judged(rule)
    assume(said)

    may_be = truths(rule)

    assert ("holds for every row" in said and False not in may_be) or (
        "holds for no row" in said and True not in may_be
    )


@given(rules(made=False))
def test_whatever_rule_is_accepted_some_row_fails_it_and_some_row_holds_to_it(rule: str) -> None:
    assume(not judged(rule))

    assert truths(rule) >= {True, False}


_PIECES = st.sampled_from(["a", ".", r"\s", r"\S", "[^a]", "^", "$", "(?:a|)", "(a|b)", r"(.|\s)", "[a-c]"])
_TIMES = st.sampled_from(["", "", "*", "?", "+", "{0,2}", "{2}"])
_TEXTS = ["", "a", "b", "ab", "aa", " ", "\n", "a\nb", "\u2028", "é", "abcabc", "\r\n", "ba", "A1"]


@given(st.lists(st.tuples(_PIECES, _TIMES), max_size=4))
def test_whatever_pattern_is_said_to_be_every_text_s_or_none_s_is_so(drawn_pieces: list[tuple[str, str]]) -> None:
    pattern = "".join(piece + (times if piece not in ("^", "$") else "") for piece, times in drawn_pieces)
    try:
        found = portable(pattern)
    except ValueError:
        assume(False)  # noqa: FBT003 - no engine is shown it

    has = {re.search(found.text.replace(r"\z", r"\Z"), text) is not None for text in _TEXTS}

    assert has == {True} or not found.of_every
    assert has == {False} or not found.of_none


SPARKS = duckdb.connect(config={"threads": 1})
for _statement in (*MACROS, STRICTLY):
    SPARKS.execute(_statement)
WIDER: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", [None, 1 - 2**31, -7, -1, 0, 1, 2, 5, 9, 10, 2**31 - 1]),
    "d": (
        "decimal(10,2)",
        [None, *map(Decimal, ("-99999999.99", "-5", "-1.55", "0", "0.01", "0.99", "1", "1.5", "4.99", "99999999.99"))],
    ),
    "x": ("double", [None, float("-inf"), -1e300, -1.5, 0.0, 0.25, 1.0, 1.005, 2.0, 1e300, float("inf"), float("nan")]),
    "s": ("string", [None, "", " ", "0", "A", "a", "ab", "x", "ax", "xa", "abcd", " a", "a ", "zzz"]),
    "ok": GRID["ok"],
}
_OF_NUMBERS = [
    "abs({}) {} {}", "abs(a % 5) {1} {2}", "round({}, 1) {} {}", "{} / 1 {} {}", "{} * 1 {} {}", "{} + 0 {} {}",
    "coalesce({}, 1) {} {}", "nullif({}, 1) {} {}", "greatest({}, 0) {} {}", "least({}, 2) {} {}", "floor({}) {} {}",
    "cast({} as double) {} {}", "sign({}) {} {}", "ceil({}) {} {}",
]  # fmt: skip
_OF_TEXTS = [
    "concat({}, 'x')", "concat('x', {})", "trim({})", "rtrim({})", "left({}, 2)", "right({}, 2)", "substring({}, 1, 2)",
    "substring({}, 2)", "coalesce({}, '')", "nullif({}, 'a')", "cast({} as string)", "upper({})", "lower({})",
]  # fmt: skip
_COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def of_one_function(draw: st.DrawFn) -> str:
    """A function of a column, compared with the column, with another value or with the function done again."""
    if draw(st.booleans()):
        column = draw(st.sampled_from(["a", "d", "x"]))
        return draw(st.sampled_from(_OF_NUMBERS)).format(
            column, draw(_COMPARED), draw(st.sampled_from([column, "0", "1"]))
        )
    function = draw(st.sampled_from(_OF_TEXTS))
    made = function.format("s")
    match draw(st.sampled_from(["text", "length", "part", "again"])):
        case "text":
            return f"{made} {draw(st.sampled_from(['=', '<>']))} {draw(st.sampled_from(['s', repr(''), repr('x')]))}"
        case "length" if "er(" not in made:
            other = draw(st.sampled_from(["0", "2", "length(s)"]))
            return f"length({made}) {draw(_COMPARED)} {other}"
        case "part":
            has = draw(st.sampled_from(["contains", "startswith", "endswith"]))
            return f"{has}({draw(st.sampled_from([f'{made}, s', made + ', ' + repr('x')]))})"
    return f"{function.format(made)} = {made}"


@given(of_one_function())
def test_whatever_function_of_a_column_is_compared_it_is_refused_or_some_row_fails_it(rule: str) -> None:
    columns = sorted({column.name for column in sqlglot.parse_one(rule, read="spark").find_all(exp.Column)})
    kinds = {name: WIDER[name][0] for name in columns}
    rows = list(product(*(WIDER[name][1] for name in columns)))
    arrays = [pa.array([row[at] for row in rows], arrow_type(kinds[name])) for at, name in enumerate(columns)]
    SPARKS.register("grid", pa.table(arrays, names=columns))
    query = f"SELECT DISTINCT ({as_spark(rule, frozenset(kinds.items()))}) FROM grid"
    may_be = {row[0] for row in SPARKS.execute(query).fetchall()}

    said = judged(rule)

    assert (False not in may_be) is ("holds for every row" in said)
    assert True not in may_be or "holds for no row" not in said


# ------------------------------------------------------------------ drawn: each check has a file


def _alone(plan: Plan, check: Check) -> Plan:
    """The plan with that check and no other, so that nothing but the check fails."""
    return replace(
        plan, checks=(replace(check, severity=Severity.ERROR),), metrics=(plan.metric(check.metric),), budget=None
    )


def _files(dice: Random, plan: Plan, check: Check, table: random_tables.Table) -> Iterator[pa.Table]:
    """Files of nulls, of rows alike and of all kinds, with the check's own numbers among them."""
    own = [int(it) if it == int(it) else it for it in check.threshold if abs(it) < 2**31]
    kinds = {column.name: column.type for column in table.columns}
    pools = {
        it.name: [None, *random_tables.POOLS[kinds[it.name]], *(own if it.type in _NUMBERS else [])]
        for it in plan.columns
    }
    sizes = sorted({0, 1, 2, *(int(it) + more for it in own if 0 <= it < 100 for more in (0, 1))})
    for many in (2, 3, 5, 9, 20, 100):
        yield table_of(plan, {name: dice.choices(pool, k=many) for name, pool in pools.items()})
    for many, at in product(sizes, range(max(map(len, pools.values())))):
        yield table_of(plan, {name: [pool[at % len(pool)]] * many for name, pool in pools.items()})
    for many in (2, 3, 5, 9, 20, 100) * 7:
        yield table_of(plan, {name: dice.choices(pool, k=many) for name, pool in pools.items()})


_NUMBERS = ("int", "double")
_ONE_NUMBER = (Operator.MUST_NOT_BE, Operator.OUT_OF_RANGE)


def _why_none(plan: Plan, check: Check) -> str:
    """Return why no file was drawn that fails the check."""
    if check.operator in _ONE_NUMBER and (check.unit is not Unit.ROWS or check.drift):
        return "one number alone fails it, or few of them"
    return "DuckDB has no arrays as Spark has" if spark_only(plan) else ""


def _fails(judge: LakeEvaluator, rows: pa.Table, check: Check) -> bool:
    try:
        return check.id in judge.failing_checks(rows)
    except (duckdb.InternalException, Misconfigured):  # as the express lane, which then hands the file over
        return False


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(it, marks=pytest.mark.extended) for it in range(2, 60))])
def test_each_check_of_a_contract_that_is_accepted_has_a_file_that_fails_it(seed: int) -> None:
    dice = Random(seed)
    parents = random_tables.parents(dice)
    table = random_tables.table(dice, parents)
    plan = load(random_tables.contract(dice, table).text, "random.yaml").plan
    none = {random_tables.PARENTS: pa.table({it.name: pa.array([], arrow_type(it.type)) for it in parents.columns})}
    past = ([1.0, 2.0, 3.0, 4.0], [1e6, 1e6 + 1, 1e6, 1e6])

    for check in plan.checks:
        one = _alone(plan, check)
        judges = [LakeEvaluator(one, none, {check.metric: each}) for each in (past if check.drift else past[:1])]
        files = product(judges, _files(dice, one, check, table))
        assert any(_fails(judge, rows, check) for judge, rows in files) or _why_none(one, check), check
