"""Routes against keys and patterns that are made to be slow: each takes time in proportion to its length."""

import re
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.errors import Misconfigured
from lakegate.landing.routes import LONGEST, Route
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from lakegate.workflow.status import status
from tests.hostile.growth import assert_linear
from tests.hostile.names import PATTERNS_AND_KEYS
from tests.world.world import CONTRACT, World

PATTERNS = st.text(alphabet="a/_**", min_size=1, max_size=9).filter(lambda text: not text.startswith("/"))
KEYS = st.text(alphabet="a/_", max_size=12)


def route(pattern: str) -> Route:
    return Route(table="shop.orders", pattern=pattern)


def tokens(pattern: str) -> list[str]:
    return re.findall(r"\*\*|\*|[^*]", pattern)


def expression(pattern: str) -> str:
    """A route as an engine that tries one way after the other reads it: exact, and slow where it is long."""
    spelling = {"*": "[^/]*", "**": ".*"}
    return "".join(spelling.get(token, re.escape(token)) for token in tokens(pattern))


def share_a_key(one: list[str], other: list[str]) -> bool:
    """By trying every step of either: as slow as it is plain."""

    @cache
    def shared(at: int, its: int) -> bool:
        left, right = one[at : at + 1], other[its : its + 1]
        if not left and not right:
            return True
        if left and left[0].startswith("*"):
            takes = right and (left[0] == "**" or right[0] != "/")
            return shared(at + 1, its) or bool(takes and shared(at, its + 1))
        if right and right[0].startswith("*"):
            takes = left and (right[0] == "**" or left[0] != "/")
            return shared(at, its + 1) or bool(takes and shared(at + 1, its))
        return left == right and shared(at + 1, its + 1)

    return shared(0, 0)


@given(PATTERNS, KEYS)
@settings(max_examples=1000)
def test_a_route_matches_what_its_regular_expression_matches(pattern: str, key: str) -> None:
    assert route(pattern).matches(key) is bool(re.fullmatch(expression(pattern), key, re.DOTALL))


@given(PATTERNS, PATTERNS)
@settings(max_examples=1000)
def test_two_routes_overlap_where_a_walk_over_both_finds_a_shared_key(one: str, other: str) -> None:
    assert route(one).overlaps(route(other)) is share_a_key(tokens(one), tokens(other))


@pytest.mark.parametrize("kind", PATTERNS_AND_KEYS)
def test_a_key_is_matched_in_time_that_grows_with_its_length_alone(kind: str) -> None:
    pattern, key = PATTERNS_AND_KEYS[kind]
    wanted = route(pattern)
    assert_linear(key, wanted.matches, 2000)


@pytest.mark.parametrize("stars", ["*", "**"])
def test_two_routes_are_compared_in_time_that_grows_with_their_length_alone(stars: str) -> None:
    def two(size: int) -> tuple[Route, Route]:
        return route((stars + "a") * min(size, LONGEST // 3)), route("a" + "*a" * min(size, LONGEST // 3))

    assert_linear(two, lambda them: them[0].overlaps(them[1]), 50)


def test_a_hundred_routes_of_the_longest_kind_are_compared_each_with_each() -> None:
    """It would take an hour where the time for a pair grew with the product of their lengths."""
    routes = [route("*a" * (500 - number)) for number in range(50)]
    routes += [route("**b" * (340 - number) + "**a") for number in range(50)]
    assert all(one.overlaps(other) for one, other in combinations(routes, 2))


@pytest.mark.parametrize("pattern", ["a" * (LONGEST + 1), "é" * (LONGEST // 2 + 1), "**" * LONGEST, "*a" * 10**6])
def test_a_route_longer_than_a_key_can_be_is_refused_with_its_length_and_the_limit(pattern: str) -> None:
    with pytest.raises(Misconfigured, match=rf"has {len(pattern.encode()):,} bytes, and no key has more than 1,024"):
        route(pattern)


def test_a_route_as_long_as_the_longest_key_is_taken() -> None:
    assert route("a" * LONGEST).matches("a" * LONGEST)


@pytest.mark.parametrize("kind", PATTERNS_AND_KEYS)
def test_a_key_that_is_made_to_be_slow_holds_up_neither_an_event_nor_a_sweep(kind: str) -> None:
    """Nor the people who look, while a good file of another table is published."""
    pattern, key = PATTERNS_AND_KEYS[kind]

    def made(size: int) -> World:
        world = World()
        text = CONTRACT.replace("nyc.flights", "shop.slow").replace("landing/nyc/flights/**", f"landing/slow/{pattern}")
        push(world.store, [("slow.yaml", text.encode())])
        for name in (f"slow/{key(size)}", f"slow/{key(size)}.parquet"):
            world.drop(name, rows=1, absolute=True, deliver=False)
        return world

    def held_up(world: World) -> None:
        good = world.drop("good", rows=2, deliver=False)
        world.deliver(*world.landing.files.values())
        world.run()
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
        published = {file for line in status(world.service).published for file in line.files}
        assert world.rows_on_main() == {"good": 2}
        assert good.key in published

    assert_linear(made, held_up, 300)
