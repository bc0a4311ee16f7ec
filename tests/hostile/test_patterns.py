"""Patterns that an engine could be busy with are refused, each with a pattern that says the same and is taken."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakegate.contracts import Contract
from lakegate.contracts.regex.charset import ASCII, characters
from lakegate.contracts.regex.portable import parse, portable
from lakegate.contracts.regex.repetition import LENGTHS
from tests.hostile import contracts
from tests.hostile.patterns import PATTERNS, PIECES, USUAL
from tests.hostile.test_contracts import judged, refused

NEIGHBOURS = "two of its repetitions without an end stand side by side"
NESTED = "it repeats a group without an end that could match the same characters in many ways"


def refusal(pattern: str) -> str:
    """Return the reason to refuse the pattern, or nothing if it is taken."""
    try:
        portable(pattern)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("pattern", USUAL)
def test_a_pattern_that_people_write_is_taken(pattern: str) -> None:
    portable(pattern)


@pytest.mark.parametrize(
    ("pattern", "why", "instead"),
    [
        ("^(a+)+$", NESTED, "^a+$"),
        ("^(a*)*$", NESTED, "^a*$"),
        ("(a+)+b", NESTED, "a+b"),
        ("^(a+)+?$", NESTED, "^a+$"),
        ("^(?:(?:a+)+)+$", NESTED, "^a+$"),
        ("^([a-z]+ ?)+$", NESTED, "^[a-z]+( [a-z]+)* ?$"),
        ("^([a-z]+ ?){2,}$", NESTED, "^[a-z]+( [a-z]+)+ ?$|^[a-z]{2,} ?$"),
        (r"^(\w+\s?)*$", NESTED, r"^(\w+(\s\w+)*\s?)?$"),
        ("^[A-Za-z]+([ '-]?[A-Za-z]+)*$", NESTED, "^[A-Za-z]+([ '-][A-Za-z]+)*$"),
        ("^((a|ab|b)+,)*$", NESTED, "^([ab]+,)*$"),
        ("^((a|ab|b)+,)?x", NESTED, "^([ab]+,)?x"),
        ("^(?:a|ab|b)+?x", NESTED, "^[ab]+x"),
        ("^[A-Za-z]+[A-Za-z0-9_]*$", NEIGHBOURS, "^[A-Za-z][A-Za-z0-9_]*$"),
        (r"^\w*\d+$", NEIGHBOURS, r"^\w*\d$"),
        (r"^(\d+)(\d+)$", NEIGHBOURS, r"^\d{2,}$"),
        ("^.*.*=$", NEIGHBOURS, "^.*=$"),
        ("^a+?a*b$", NEIGHBOURS, "^a+b$"),
        ("(x+x+)+y", NEIGHBOURS, "x{2,}y"),
    ],
)
def test_a_pattern_that_repeats_within_or_beside_a_repetition_is_refused_and_another_says_the_same(
    pattern: str, why: str, instead: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        portable(pattern)
    portable(instead)
    [message] = refused(contracts.of_pattern(pattern))
    assert " does in " in message
    texts = ["", "a", "ab", "a b ", "aa,ab,", "a1", "1", "12", "abx", "ab,x", "xxy", "O'Neil-x y", "==", "a=", "aab"]
    assert [bool(re.search(pattern, text)) for text in texts] == [bool(re.search(instead, text)) for text in texts]


@given(PIECES, PIECES, st.sampled_from("*+"), st.sampled_from("*+"))
def test_two_repetitions_side_by_side_are_taken_if_no_character_could_be_either_s(
    one: str, other: str, times: str, again: str
) -> None:
    taken, others = (characters(*parse(piece)[0]) & ASCII for piece in (one, other))
    assume(taken and others)
    why = refusal(f"^{one}{times}{other}{again}$")
    assert why.startswith(NEIGHBOURS) if taken & others else not why


@given(PIECES, PIECES, st.sampled_from("*+"), st.sampled_from(["*", "+", "{3,}"]))
def test_a_repetition_in_a_repetition_is_taken_if_its_rounds_are_told_apart(
    inner: str, mark: str, times: str, rounds: str
) -> None:
    """Each round begins with the mark. If the inner piece takes it too, nobody can tell where a round begins."""
    taken, marks = (characters(*parse(piece)[0]) for piece in (inner, mark))
    why = refusal(f"^({mark}{inner}{times}){rounds}$")
    assert why.startswith(NESTED) if taken & marks else not why


@given(PATTERNS)
def test_a_pattern_is_taken_for_texts_of_a_length_that_is_told_or_refused_with_what_to_write(pattern: str) -> None:
    why = refusal(pattern)
    assert re.search("such as|as .* does in|multiply", why) if why else portable(pattern).longest in (None, *LENGTHS)


@pytest.mark.parametrize(
    "search",
    [
        "contains(state, note) = true",
        "locate(note, state) > 0",
        "replace(state, note, '') = 'x'",
        "trim(note from state) = 'x'",
        "case when id > 1 then contains(upper(state), concat(note, 'x')) else true end",
        "contains(state, left(note, 1001))",
        "contains(state, left(note, id))",
    ],
)
def test_a_search_for_one_text_of_a_row_in_another_is_refused_unless_it_is_cut(search: str) -> None:
    note = "      - {name: note, logicalType: string}\n"
    [message] = refused(with_rule(search, note))
    assert "looks for a text of the row in another" in message
    assert ", 100), up to 1,000" in message


@pytest.mark.parametrize(
    "search",
    [
        "contains(state, left(note, 1000))",
        "locate(substring(note, 1, 20), state) > 0",
        "contains(left(state, 100), note)",
        "contains(state, cast(id as string))",
        "locate(state, 'NY,NJ,CA') > 0",
        "startswith(state, note)",
        "replace(state, '-', '') = note",
        "state like '%foo%bar%'",
        "trim(state) = note",
    ],
)
def test_a_search_whose_work_grows_with_the_text_alone_is_taken(search: str) -> None:
    assert isinstance(judged(with_rule(search, "      - {name: note, logicalType: string}\n")), Contract)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT_IF(CONTAINS(state, note)) FROM {object}",
        "SELECT COUNT(*) FROM {object} WHERE CONTAINS(state, note)",
        "SELECT COUNT(*) FROM (SELECT state, MAX(note) AS id FROM {object} GROUP BY state) WHERE CONTAINS(state, id)",
        "SELECT SUM(p) FROM (SELECT LOCATE(note, state) AS p FROM {object})",
    ],
)
def test_a_query_that_looks_for_one_text_of_a_row_in_another_is_refused(query: str) -> None:
    text = contracts.of_query(query).replace("    quality:", "      - {name: note, logicalType: string}\n    quality:")
    [message] = refused(text)
    assert "looks for a text of the row in another" in message


def with_rule(rule: str, column: str) -> str:
    return contracts.of_rule(rule).replace("    quality:", f"{column}    quality:")
