"""Hostile contracts are loaded or refused in proportion to their size, and never bring their reader down."""

from __future__ import annotations

import pytest

from lakegate.contracts import Contract, load
from lakegate.errors import ContractFaults
from tests.hostile import contracts
from tests.hostile.growth import assert_linear


def judged(text: str) -> Contract | ContractFaults:
    """What a reader gets: anything else that is raised is a failure."""
    try:
        return load(text, "hostile.yaml")
    except ContractFaults as faults:
        return faults


def refused(text: str) -> list[str]:
    found = judged(text)
    assert isinstance(found, ContractFaults)
    return [fault.message for fault in found.faults]


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """The first contract of a process pays for its imports."""
    load(contracts.contract(), "hostile.yaml")


@pytest.mark.parametrize("name", contracts.PATTERNS)
def test_a_pattern_is_taken_apart_in_proportion_or_refused(name: str) -> None:
    size, made = contracts.PATTERNS[name]

    assert_linear(made, judged, size)


@pytest.mark.parametrize("depth", [31, 98, 400])
def test_a_pattern_of_nested_groups_is_refused_with_its_depth(depth: int) -> None:
    [message] = refused(contracts.of_pattern("(" * depth + "a" + ")?" * depth))

    assert f"its groups are nested {depth} deep, and the limit is 30" in message


def test_parentheses_in_classes_and_behind_backslashes_nest_nothing() -> None:
    load(contracts.of_pattern("[(]" * 40 + r"\(" * 40 + "[^\\]((]" * 40 + "(a)" * 40), "hostile.yaml")


def test_a_pattern_of_nested_groups_within_the_limit_is_taken() -> None:
    load(contracts.of_pattern("(" * 30 + "a" + ")?" * 30), "hostile.yaml")


@pytest.mark.parametrize("name", contracts.SQL)
def test_sql_is_read_in_proportion_or_refused(name: str) -> None:
    size, made = contracts.SQL[name]

    assert_linear(made, judged, size)


@pytest.mark.parametrize("name", contracts.DOCUMENTS)
def test_a_document_is_read_in_proportion_or_refused(name: str) -> None:
    size, made = contracts.DOCUMENTS[name]

    assert_linear(made, judged, size)


def grown(text: str, times: int) -> str:
    """The text, ten times as long for each time."""
    return "replace(" * times + text + ", 'a', 'aaaaaaaaaa')" * times


@pytest.mark.parametrize(
    "rule",
    [
        f"{grown('state', 2)} <> ''",
        f"{'||'.join(['state'] * 90)} <> ''",
        "CASE WHEN concat(state, state) = 'x' THEN state ELSE 'y' END <> ''",
        "replace(state, 'x', cast(id as string)) <> ''",
        "replace(state, 'long', '') <> replace('a-b', '-', state)",
        "replace(state, state, 'x') <> ''",
        "round(id, -2) <> 0",
    ],
)
def test_an_expression_that_grows_a_little_is_taken(rule: str) -> None:
    load(contracts.of_rule(rule), "hostile.yaml")


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        (f"{grown('state', 3)} <> ''", "may be 1,000 times as long as a text of the row"),
        (f"concat({', '.join(['upper(state)'] * 101)}) <> ''", "may be 101 times as long"),
        ("replace(state, 'a', lower(state)) <> ''", "puts a text of the row in the place of each part of another"),
        (grown("'aaa'", 5) + " <> state", "300,000 characters more"),
        (f"IF(id = 1, {grown('state', 3)}, '') <> ''", "1,000 times"),
        ("round(id, 9999) <> 0", "wants up to 99 places"),
    ],
)
def test_an_expression_that_grows_past_a_limit_is_refused_by_its_line(rule: str, part: str) -> None:
    text = contracts.of_rule(rule)

    found = judged(text)

    assert isinstance(found, ContractFaults)
    [fault] = found.faults
    assert part in fault.message
    assert "row" in text.splitlines()[fault.line - 1]


def test_columns_of_a_query_in_a_query_grow_too() -> None:
    twice = "(SELECT x||x AS x FROM "
    for times, part in ((6, ""), (7, "may be 128 times as long")):
        query = f"SELECT MAX(length(x)) FROM {twice * times}(SELECT state AS x FROM {{object}}){')' * times}"
        assert_refused_or_taken(contracts.of_query(query), part)


def test_a_query_doubles_the_pieces_of_the_one_that_it_reads_from_only_so_often() -> None:
    twice = "(SELECT x + x AS x FROM "
    for times, part in ((10, ""), (20, "more than 10,000 pieces")):
        query = f"SELECT MAX(x) FROM {twice * times}(SELECT id AS x FROM {{object}}){')' * times}"
        assert_refused_or_taken(contracts.of_query(query), part)


def test_a_condition_is_put_to_so_many_aggregates_and_no_more() -> None:
    for times, part in ((20, ""), (90, "puts its WHERE to 90 aggregates")):
        many = f"SELECT GREATEST({', '.join(['MAX(id)'] * times)}) FROM {{object}} WHERE id IN ({'1, ' * 200}2)"
        assert_refused_or_taken(contracts.of_query(many), part)


def assert_refused_or_taken(text: str, part: str) -> None:
    """Taken where nothing is expected to be said."""
    found = judged(text)
    assert (
        [part] == [part for fault in found.faults if part in fault.message]
        if isinstance(found, ContractFaults)
        else not part
    )
