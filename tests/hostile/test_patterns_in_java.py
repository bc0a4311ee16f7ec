"""Java's own engine reads a bounded number of letters for patterns that are taken, and its stack never overflows."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from pyspark.sql import SparkSession

from lakegate.contracts.regex.portable import portable
from lakegate.contracts.regex.repetition import ANY_LENGTH, LENGTHS, MOST_TRIES
from tests.hostile.patterns import PATTERNS, TEXTS, USUAL
from tests.hostile.reads import OVERFLOWS, Java

pytestmark = pytest.mark.spark
LONG = 10 * LENGTHS[0]


@pytest.fixture(scope="module")
def java(cluster: SparkSession) -> Java:
    return Java(cluster)


def assert_bounded(java: Java, pattern: str, begin: str, unit: str, end: str) -> None:
    found = portable(pattern)
    length = found.longest or LONG
    text = (begin + unit * length)[: length - len(end)] + end
    most = MOST_TRIES if found.longest else LONG * MOST_TRIES // ANY_LENGTH  # in proportion, where any text may come
    assert OVERFLOWS < java.reads(found.text, text, most) <= most


@pytest.mark.parametrize("pattern", USUAL)
@pytest.mark.parametrize("text", [("", "a", "!"), ("", "1.", "§"), ("", "ab", ""), ("", "a-", ","), ("", " ", "a")])
def test_java_is_done_in_bounds_with_what_people_write(java: Java, pattern: str, text: tuple[str, str, str]) -> None:
    assert_bounded(java, pattern, *text)


@given(PATTERNS, TEXTS, TEXTS, TEXTS)
def test_java_is_done_in_bounds_with_whatever_is_taken(
    java: Java, pattern: str, one: tuple[str, str, str], another: tuple[str, str, str], third: tuple[str, str, str]
) -> None:
    try:
        portable(pattern)
    except ValueError:
        assume(False)  # noqa: FBT003 - no engine is shown it
    for text in (one, another, third):
        assert_bounded(java, pattern, *text)


def test_reads_are_counted_and_cut(java: Java) -> None:
    assert java.reads("ab", "xab", 1_000_000) == len("xab")
    assert java.reads(r"\A(?:a|aa)+?b", "a" * 60, 1_000_000) == 1_000_001


def test_an_overflow_of_the_stack_is_seen(java: Java) -> None:
    assert java.reads(r"\A(?:a|bc)*\z", "a" * 100_000, MOST_TRIES) == OVERFLOWS
