"""Tests of what a pattern need not repeat at its ends: it is found in the same texts without."""

import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lakegate.contracts.regex.portable import _sequence, parse
from lakegate.contracts.regex.repetition import as_searched

PIECES = st.sampled_from(["a", "b", ".", "[ab]", "(?:ab)", "(?:a|bb)", "^", "$"])
TIMES = st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,3}", "{2,}"])
PATTERNS = st.lists(st.tuples(PIECES, TIMES).filter(lambda it: it[0] not in "^$" or not it[1]), max_size=5).map(
    lambda them: "".join(map("".join, them))
)
TEXTS = st.text(alphabet="ab\n", max_size=8)


def found(tree: Any, text: str) -> bool:
    return re.search(_sequence(tree).replace(r"\z", r"\Z"), text) is not None


@given(PATTERNS, TEXTS)
@example(".*", "")
@example("a+b*", "b")
@example("a{2,}", "a")
@example("a*$", "b")
def test_a_pattern_is_found_in_the_same_texts(pattern: str, text: str) -> None:
    tree = parse(pattern)
    assert found(as_searched(tree), text) is found(tree, text)


def test_what_is_repeated_at_its_ends_is_left_out_or_as_often_as_it_must_be_there() -> None:
    assert _sequence(as_searched(parse(".*a+b.*"))) == "a{1}b"
    assert _sequence(as_searched(parse("^a+b+$"))) == r"\Aa+b+\z"
