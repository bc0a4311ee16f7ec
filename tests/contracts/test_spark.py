"""Tests of what a real Spark makes of the predicates: bounds of every type, awkward texts and awkward names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.contracts.test_predicates import counted, failing, plan_for, too_long
from tests.contracts.texts import PATTERNS
from tests.contracts.texts import TEXTS as TEXTS_BY_OPTION
from tests.support.spark import fresh
from tests.support.spark_rows import Rows, verdicts

pytestmark = [pytest.mark.spark, pytest.mark.extended]

TEXTS = [
    "it's",
    "a\\b",
    '"',
    "`",
    "%",
    "\\%",
    "é",
    "😀",
    "\n",
    "\r\n",
    "-- x",
    "",
    "\\u0041",
    "\\101",
    "\\'",
    "''",
    "/*",
]
NAMES = ["select", "a.b", "a b", "`", "a``b", "x' OR 1=1 --", 'a"b', "é", "\\n", " ", "a.`b`.c", "year"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A column of a contract, rows of it as text, and those that must fail."""

    column: dict[str, Any]
    type: str
    values: list[str | None]
    wrong: list[str] | list[str | None]


def bounded(logical: str, **options: Any) -> dict[str, Any]:
    return {"logicalType": logical, "logicalTypeOptions": options}


CASES = [
    Case(
        column=bounded("integer", minimum=2, exclusiveMaximum=4),
        type="int",
        values=["1", "2", "3", "4", None],
        wrong=["1", "4"],
    ),
    Case(
        column=bounded("integer", format="i64", minimum=1 - 2**63, maximum=2**63 - 2),
        type="bigint",
        values=["-9223372036854775808", "-9223372036854775807", "9223372036854775806", "9223372036854775807", None],
        wrong=["-9223372036854775808", "9223372036854775807"],
    ),
    Case(
        column=bounded("number", minimum=0, maximum=0.1),
        type="double",
        values=["NaN", None, "0.1", "-0.0", "Infinity", "-1e-320"],
        wrong=["NaN", "Infinity", "-1e-320"],
    ),
    Case(
        column=bounded("number", minimum=-1e-300, maximum=1e300),
        type="double",
        values=["1e300", "1e301", "-1e-300", "-1e-299"],
        wrong=["1e301", "-1e-299"],
    ),
    Case(column=bounded("number", format="f32", maximum=0.1), type="float", values=["0.1", "0.11"], wrong=["0.11"]),
    Case(column=bounded("number", format="f32", exclusiveMaximum=0.1), type="float", values=["0.1"], wrong=["0.1"]),
    Case(
        column={"physicalType": "decimal(20,2)", "logicalTypeOptions": {"maximum": 0.1}},
        type="decimal(20,2)",
        values=["0.10", "0.11", None],
        wrong=["0.11"],
    ),
    Case(
        column=bounded("date", minimum="2013-01-01"),
        type="date",
        values=["2013-01-01", "2012-12-31", None],
        wrong=["2012-12-31"],
    ),
    Case(
        column=bounded("timestamp", minimum="2013-01-01"),
        type="timestamp",
        values=["2013-01-01T00:00:00Z", "2012-12-31T23:59:59.999999Z", None],
        wrong=["2012-12-31T23:59:59.999999Z"],
    ),
    Case(
        column=bounded("timestamp", timezone=False, minimum="2013-01-01"),
        type="timestamp_ntz",
        values=["2013-01-01T00:00:00", "2012-12-31T23:59:59.999999", None],
        wrong=["2012-12-31T23:59:59.999999"],
    ),
    *(
        Case(
            column={"quality": [{"type": "custom", "engine": "lakegate", "implementation": {"notInFuture": True}}]}
            | column,
            type=kind,
            values=["1969-12-31", "2999-12-31", None],
            wrong=["2999-12-31"],
        )
        for column, kind in (
            ({"logicalType": "date"}, "date"),
            ({"logicalType": "timestamp"}, "timestamp"),
            (bounded("timestamp", timezone=False), "timestamp_ntz"),
        )
    ),
    *(
        Case(
            column={"logicalType": kind, "quality": [{"metric": metric, "arguments": arguments, "mustBe": 0}]},
            type=spark,
            values=values,
            wrong=wrong,
        )
        for kind, spark, metric, arguments, values, wrong in (
            ("string", "string", "missingValues", {"missingValues": ["", "N/A"]}, ["", "N/A", " ", None], ["", "N/A"]),
            ("string", "string", "missingValues", {"missingValues": [None, ""]}, ["", " ", None], ["", None]),
            (
                "string",
                "string",
                "missingValues",
                {"missingValues": [None, "\\"], "pattern": r"^(n/?a|-+)$"},
                ["na", "n/a", "--", "\\", None, "n/a\n", "", "an/a"],
                ["na", "n/a", "--", "\\", None],
            ),
            ("number", "double", "missingValues", {"missingValues": [0]}, ["-0.0", "NaN", "1", None], ["-0.0"]),
            (
                "string",
                "string",
                "invalidValues",
                {"validValues": ["7", "\\"], "pattern": r"^[\d\\]+$"},
                ["7", "\\", "42", "7\n", "", None],
                ["42", "7\n", ""],
            ),
        )
    ),
    Case(
        column={"logicalType": "boolean", "enum": [{"value": True}]},
        type="boolean",
        values=["true", "false", None],
        wrong=["false"],
    ),
    *(
        Case(
            column={"logicalType": "string", "enum": [{"value": text}]},
            type="string",
            values=[text, "another", None],
            wrong=["another"],
        )
        for text in TEXTS
    ),
    *(
        Case(column={"name": name, **bounded("integer", minimum=2)}, type="int", values=["1", "2", None], wrong=["1"])
        for name in NAMES
    ),
    *(
        Case(
            column=bounded("string", **{texts.option: texts.value}),
            type="string",
            values=[*texts.right, *texts.wrong, None],
            wrong=list(texts.wrong),
        )
        for texts in TEXTS_BY_OPTION
    ),
    *(
        Case(
            column={"logicalType": "string", "quality": counted("missingValues", pattern=texts.value)},
            type="string",
            values=[*texts.right, *texts.wrong, None],
            wrong=[*texts.right, *too_long(texts)],
        )
        for texts in PATTERNS
    ),
    Case(
        column=bounded("integer", multipleOf=3),
        type="int",
        values=["-3", "0", "4", "-1", None],
        wrong=["4", "-1"],
    ),
    Case(
        column={"physicalType": "decimal(20,2)", "logicalTypeOptions": {"multipleOf": 0.05}},
        type="decimal(20,2)",
        values=["0.15", "0.01", "123456789012345678.05", "123456789012345678.06", None],
        wrong=["0.01", "123456789012345678.06"],
    ),
    Case(
        column=bounded("number", multipleOf=0.1),
        type="double",
        values=["0.3", "0.7", "-1.1", "-0.0", "0.25", "NaN", "Infinity", "1e300", None],
        wrong=["0.25", "NaN", "Infinity"],
    ),
    Case(
        column=bounded("number", format="f32", multipleOf=0.05),
        type="float",
        values=["0.05", "0.15", "0.35", "-19.95", "0.0", "0.01", "19.96", "NaN", None],
        wrong=["0.01", "19.96", "NaN"],
    ),
]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Spark's answers on a case's rows: by predicate, and by the cheaper condition of each, which may be none."""

    fails: list[list[bool | None]]
    passes: list[list[bool | None]]


@pytest.fixture(scope="module")
def judged(cluster: SparkSession) -> list[Judged]:
    asked = [failing(plan_for(case.column)) for case in CASES]
    told = verdicts(
        fresh(cluster),
        [
            Rows(
                column=metrics[0].columns[0],
                type=case.type,
                values=case.values,
                predicates=[*(metric.sql for metric in metrics), *(metric.passes or "false" for metric in metrics)],
            )
            for metrics, case in zip(asked, CASES, strict=True)
        ],
    )
    return [Judged(fails=said[: len(said) // 2], passes=said[len(said) // 2 :]) for said in told]


@pytest.mark.parametrize("at", range(len(CASES)))
def test_spark_fails_just_the_wrong_rows_and_is_never_in_doubt(judged: list[Judged], at: int) -> None:
    case, fails = CASES[at], judged[at].fails

    assert fails
    assert all(verdict is not None for said in fails for verdict in said)
    assert [value for value, said in zip(case.values, zip(*fails, strict=True), strict=True) if any(said)] == case.wrong


@pytest.mark.parametrize("at", range(len(CASES)))
def test_what_passes_a_cheaper_condition_does_not_fail(judged: list[Judged], at: int) -> None:
    rows = zip(judged[at].fails, judged[at].passes, strict=True)

    assert not [at for fails, passes in rows for at, both in enumerate(zip(fails, passes, strict=True)) if all(both)]


def test_texts_that_have_a_pattern_do_pass_its_cheaper_condition(judged: list[Judged]) -> None:
    passed = {
        str(case.column["logicalTypeOptions"].get("pattern")): [*zip(case.values, said.passes[0], strict=True)]
        for case, said in zip(CASES, judged, strict=True)
        if case.type == "string" and "logicalTypeOptions" in case.column
    }

    assert [text for text, passes in passed["^[0-9a-f]{32}$"] if passes] == ["0123456789abcdef" * 2]
    assert [text for text, passes in passed[r"^id-\d{4}-[0-9a-fA-F]{12}$"] if passes] == ["id-2013-00ffAA00ffAA"]
    assert [text for text, passes in passed["^[A-Z0-9]{6,10}$"] if passes] == ["TAXI00", "TAXI001234"]
