"""Names that are one to an engine, whatever its case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.schema.names import fold

DOTLESS, DOT, LONG_S, KELVIN = "\u0131", "\u0307", "\u017f", "\u212a"
hard = st.sampled_from(f"iIİ{DOTLESS}{DOT}sSßẞkK{LONG_S}{KELVIN}\u03a3\u03c3\u03c2")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("İSİM", "isim"),
        ("ADI", f"ad{DOTLESS}"),
        ("adi", f"ad{DOTLESS}"),
        ("İ", f"i{DOT}"),
        (LONG_S, "S"),
        (KELVIN, "k"),
        ("\u03a3", "\u03c2"),
        ("ᾳ", "ᾼ"),
        ("𐐀", "𐐨"),
    ],
)
def test_names_are_one_where_engines_take_them_for_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("straße", "strasse"), ("a", "ä"), ("ﬁ", "fi"), ("n", "ñ")])
def test_names_that_engines_tell_apart_are_two(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(name=st.text(hard | st.characters(codec="utf-8")))
def test_a_name_in_small_letters_is_the_same_name(name: str) -> None:
    assert fold(name.lower()) == fold(name)
