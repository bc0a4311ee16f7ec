"""Partitions as plans spell them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.schema.partitions import Partition, partition

names = st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("`(),. 1"), min_size=1)


@given(name=names)
def test_any_name_of_a_column_is_read_as_it_was_written(name: str) -> None:
    made = [
        Partition(column=name),
        Partition(column=name, transform="days"),
        Partition(column=name, transform="bucket", width=16),
    ]
    assert [partition(str(each)) for each in made] == made


def test_a_plain_word_needs_no_quotes() -> None:
    assert partition("days(placed)") == Partition(column="placed", transform="days")
    assert partition("placed") == Partition(column="placed")


@pytest.mark.parametrize("spelled", ["", "a b", "days(", "days(`a)", "`a`)", "`a", "days(`a`, 4)"])
def test_what_is_no_partition_is_not_taken_for_one(spelled: str) -> None:
    with pytest.raises(ValueError, match="no partition"):
        partition(spelled)


def test_a_partition_goes_by_the_name_that_iceberg_gives_it() -> None:
    found = ("`a b`", "years(a)", "hours(a)", "truncate(4, a)", "bucket(4, a)")
    assert [partition(each).field for each in found] == ["a b", "a_year", "a_hour", "a_trunc", "a_bucket"]
