"""The measure itself: it lets what is linear through, and ends what is not."""

import re

import pytest

from tests.hostile.growth import TooSlow, assert_linear


def test_work_in_proportion_to_the_input_passes() -> None:
    assert_linear(lambda size: "a" * size, lambda text: sum(map(ord, text)), 2_000)


def test_work_with_the_square_of_the_input_is_ended() -> None:
    with pytest.raises(TooSlow, match=r"^10 times the input"):
        assert_linear(lambda size: list(range(size)), lambda them: [it for it in them if it + 1 in them], 2_000)


def test_an_expression_that_tries_for_ever_is_ended() -> None:
    with pytest.raises(TooSlow):
        assert_linear(lambda size: "a" * size, re.compile("(a|aa)+b").match, 20)


def test_what_a_limit_refuses_at_once_passes_however_large_it_is() -> None:
    assert_linear(lambda size: "a" * size, lambda text: len(text) > 100 or sorted(text), 50)
