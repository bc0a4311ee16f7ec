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
