"""Routes: which keys they match, and which two routes could match one key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.errors import Misconfigured
from lakegate.landing.routes import Route

PATTERNS = st.text(alphabet="ab/*", min_size=1, max_size=7).filter(lambda text: not text.startswith("/"))
KEYS = st.text(alphabet="ab/", min_size=1, max_size=5)


def route(pattern: str, table: str = "nyc.flights") -> Route:
    return Route(table=table, pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("nyc/flights/*.parquet", "nyc/flights/2013-01.parquet"),
        ("nyc/flights/*.parquet", "nyc/flights/a b+%#?[x]{y}'\"é.parquet"),
        ("nyc/flights/*.parquet", "nyc/flights/line\nbreak.parquet"),
        ("nyc/**.parquet", "nyc/a/b/c.parquet"),
        ("nyc/[1].parquet", "nyc/[1].parquet"),
    ],
)
def test_a_route_matches_keys_of_its_pattern(pattern: str, key: str) -> None:
    assert route(pattern).matches(key)


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("nyc/flights/*.parquet", "nyc/flights/old/2013-01.parquet"),
        ("nyc/flights/*.parquet", "nyc/flights/2013-01.parquet.tmp"),
        ("nyc/flights/*.parquet", "nyc/flights/2013-01xparquet"),
        ("nyc/[1].parquet", "nyc/1.parquet"),
    ],
)
def test_a_route_leaves_other_keys_alone(pattern: str, key: str) -> None:
    assert not route(pattern).matches(key)


@pytest.mark.parametrize("pattern", ["", "/nyc/*.parquet"])
def test_a_pattern_that_no_key_can_match_is_refused(pattern: str) -> None:
    with pytest.raises(Misconfigured, match=r"nyc\.flights"):
        route(pattern)


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        ("nyc/*.parquet", "nyc/f*", True),
        ("nyc/*.parquet", "nyc/*/f*", False),
        ("nyc/**", "nyc/a/b/*.csv", True),
        ("a**", "*/b", True),
        ("nyc/flights/*", "nyc/planes/*", False),
        ("*a", "*b", False),
    ],
)
def test_overlap_of_two_routes(left: str, right: str, *, overlap: bool) -> None:
    assert route(left).overlaps(route(right)) is overlap


@given(PATTERNS, PATTERNS, KEYS)
def test_routes_that_match_one_key_overlap(left: str, right: str, key: str) -> None:
    one, other = route(left), route(right)
    if one.matches(key) and other.matches(key):
        assert one.overlaps(other)


@given(PATTERNS, PATTERNS)
def test_overlap_is_symmetric_and_every_route_overlaps_itself(left: str, right: str) -> None:
    one, other = route(left), route(right)
    assert one.overlaps(other) is other.overlaps(one)
    assert one.overlaps(one)
