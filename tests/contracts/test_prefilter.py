"""Tests of the cheaper conditions of patterns. Spark is asked that they are true of no other text."""

from __future__ import annotations

from string import ascii_uppercase

import pytest

from lakegate.audit.model.plan import Metric
from lakegate.contracts.columns.fields import column
from lakegate.contracts.regex import prefilter
from tests.contracts.test_predicates import failing, plan_for


def said(pattern: str) -> str | None:
    found = prefilter.has(column("it"), pattern)
    return found.sql(dialect="spark") if found else None


def metrics(**options: object) -> list[Metric]:
    return failing(plan_for({"logicalType": "string", "logicalTypeOptions": options}))


IN_PLACE = f"""\
OCTET_LENGTH(`it`) = 16 AND SUBSTRING(CAST(`it` AS BINARY), 1, 1) = CAST('x' AS BINARY) AND \
NOT CAST(SUBSTRING(CAST(`it` AS BINARY), 2, 15) AS STRING) RLIKE '[^{ascii_uppercase}]'"""
DIGITS = """\
OCTET_LENGTH(`it`) = 17 AND SUBSTRING(CAST(`it` AS BINARY), 9, 1) = CAST('-' AS BINARY) AND \
NOT UNHEX(CAST(CONCAT(SUBSTRING(CAST(`it` AS BINARY), 1, 8), \
SUBSTRING(CAST(`it` AS BINARY), 10, 8)) AS STRING)) IS NULL"""


FOUR = "OCTET_LENGTH(`it`) >= 4 AND OCTET_LENGTH(`it`) <= 4"


@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        ("^[a-c]{2,3}$", "OCTET_LENGTH(`it`) >= 2 AND OCTET_LENGTH(`it`) <= 3 AND NOT `it` RLIKE '[^abc]'"),
        (r"^(?:\d+)$", "OCTET_LENGTH(`it`) >= 1 AND NOT `it` RLIKE '[^0123456789]'"),
        ("^[0-9a-f]{4}$", f"{FOUR} AND LOWER(HEX(UNHEX(`it`))) = `it`"),
        ("^[0-9A-F]{4}$", f"{FOUR} AND HEX(UNHEX(`it`)) = `it`"),
        ("^x[A-Z]{15}$", IN_PLACE),
        ("^[0-9a-fA-F]{8}-[0-9a-fA-F]{8}$", DIGITS),
    ],
)
def test_classes_by_their_number_and_place_have_one(pattern: str, condition: str) -> None:
    assert said(pattern) == condition


@pytest.mark.parametrize(
    "pattern",
    ["a", "^[a-z]{20}", "[a-z]{20}$", "^$", "^(?:){3}$", "^T[0-9]{6}C$", "^[a-z]{20}|x$", "^x[a-z]{9,20}$",
     "^x[^a]{20}$", "^x.{20}$", r"^x\s{20}$", "^x[é]{20}$", "^(?:x[a-z]){20}$", "^(?:[a-z]{2}){20}$",
     "^(?:[a-z]?){20}$", "^x[a-z]{20}?$"],
)  # fmt: skip
def test_others_have_none(pattern: str) -> None:
    assert said(pattern) is None


def test_lengths_are_known_from_octets() -> None:
    assert [metric.passes for metric in metrics(minLength=2, maxLength=9)] == [
        "OCTET_LENGTH(`it`) >= 8",
        "OCTET_LENGTH(`it`) <= 9",
    ]


def test_what_shows_a_pattern_shows_that_no_text_is_shorter_or_longer() -> None:
    short, long, like = metrics(minLength=16, maxLength=20, pattern="^[A-Z]{16,20}$")
    assert short.passes == long.passes == like.passes != ""


def test_a_pattern_without_a_cheaper_condition_shows_lengths_by_itself() -> None:
    short, long, like = metrics(minLength=8, maxLength=8, pattern="^T[0-9]{6}C$")
    assert short.passes == long.passes == like.passes == r"`it` RLIKE '\\AT[0-9]{6}C\\z'"


@pytest.mark.parametrize("pattern", ["^([0-9])+$", "^[a-f]{101}[g-k]{101}.*[l-p]{101}.*[q-z]{101}$"])
def test_what_is_too_long_for_an_engine_is_shown_by_nothing(pattern: str) -> None:
    [like] = metrics(pattern=pattern)
    assert "CASE WHEN LENGTH(`it`) > " in like.sql
    assert like.passes.startswith("OCTET_LENGTH(`it`) <= ")


def test_a_format_shows_lengths() -> None:
    short, long, like = metrics(minLength=7, maxLength=15, format="ipv4")
    assert short.passes == long.passes == like.passes != ""


def test_a_text_that_has_a_pattern_may_be_too_short_or_too_long() -> None:
    short, long, like = metrics(minLength=5, maxLength=15, pattern="^[A-Z]{4,16}$")
    assert (short.passes, long.passes) == ("OCTET_LENGTH(`it`) >= 20", "OCTET_LENGTH(`it`) <= 15")
    assert like.passes.startswith("OCTET_LENGTH(`it`) >= 4 AND")


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^[A-Z]{4,16}$", 4, 16),
        ("^(?:a|bc)d?$", 1, 3),
        ("^a+$", 1, None),
        ("^a{2}", 2, None),
        ("a{2}$", 2, None),
        ("^a|bbb$", 1, None),
        ("", 0, None),
    ],
)
def test_how_long_a_text_with_a_pattern_is(pattern: str, least: int, most: int | None) -> None:
    assert prefilter.lengths(pattern) == (least, most)


def test_a_metric_is_the_same_however_it_is_found() -> None:
    [short] = metrics(maxLength=9)
    assert short.id == "failing-c2961946a111"


@pytest.mark.parametrize("pattern", ["^[0-9a-f]{32}$", "^[A-Z]{6,10}$", "^([0-9])+$"])
def test_what_shows_that_a_text_has_a_pattern_does_not_show_that_it_is_not_missing(pattern: str) -> None:
    arguments = {"pattern": pattern}
    quality = [{"metric": "missingValues", "arguments": arguments, "mustBe": 0}]
    assert [metric.passes for metric in failing(plan_for({"logicalType": "string", "quality": quality}))] == [""]


def test_a_part_of_a_column_has_none() -> None:
    plan = plan_for(
        {"logicalType": "array", "items": {"logicalType": "string", "logicalTypeOptions": {"maxLength": 9}}}
    )
    assert [metric.passes for metric in failing(plan)] == [""]
