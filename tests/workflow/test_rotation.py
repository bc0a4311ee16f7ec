"""Tests of what a sweep does not come to, another one begins with."""

from datetime import UTC, datetime, timedelta

import pytest

from lakegate.landing.chunks import rotate


@pytest.mark.parametrize("many", [1, 2, 5, 10, 60])
@pytest.mark.parametrize("minutes", [1, 5, 10, 60])
def test_each_of_many_things_is_the_first_before_long_however_often_sweeps_come(many: int, minutes: int) -> None:
    began, things = datetime(2013, 1, 1, tzinfo=UTC), list(range(many))
    firsts = {rotate(things, began + timedelta(minutes=minutes * number))[0] for number in range(10 * many)}
    assert firsts == set(things)


def test_they_follow_each_other_as_they_are_and_none_is_left_out() -> None:
    now = datetime(2013, 1, 1, tzinfo=UTC)
    turned = rotate([0, 1, 2, 3], now)
    assert [(it - turned[0]) % 4 for it in turned] == [0, 1, 2, 3]
    assert rotate([], now) == []
