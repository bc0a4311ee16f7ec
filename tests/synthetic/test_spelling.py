"""Dates are spelled in the letters of a contract, and values that a spelling would lose are not taken."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tests.support.synthetic.spelling import holds, spelled

AT = datetime(2024, 3, 9, 14, 5, 6, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "text", "whole"),
    [
        ("", "2024-03-09T14:05:06.120000Z", True),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-03-09T14:05:06.120Z", True),
        ("d.M.yy, HH:mm:ss,SSS", "9.3.24, 14:05:06,120", True),
        ("MMM d yyyy 'at' hh:mm:ss.SS a xx", "Mar 9 2024 at 02:05:06.12 PM +0000", True),
        ("yyyy/MM/dd HH:mm:ss.S", "2024/03/09 14:05:06.1", False),
        ("yyyyMMdd HH:mm", "20240309 14:05", False),
    ],
)
def test_a_moment_is_spelled_and_what_it_loses_is_known(pattern: str, text: str, whole: bool) -> None:  # noqa: FBT001
    assert spelled(AT, pattern) == text
    assert holds(pattern, AT) is whole


def test_a_year_in_two_digits_is_of_this_century() -> None:
    assert holds("dd/MM/yy", date(2099, 1, 31))
    assert not holds("dd/MM/yy", date(1999, 1, 31))
    assert holds("dd/MM/yyyy", date(1, 1, 1))
    assert spelled(date(1, 2, 3), "dd/MM/yyyy") == "03/02/0001"
