"""Hostile contracts are loaded or refused in proportion to their size, and never bring their reader down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from lakegate.contracts import Contract, load, reading, table
from lakegate.contracts.odcs import document
from lakegate.contracts.odcs.document import LONGEST_FAULT
from lakegate.errors import ContractFaults, Fault
from tests.hostile import contracts
from tests.hostile.growth import assert_linear


def judged(text: str) -> Contract | ContractFaults:
    """Return what a reader gets: anything else that is raised is a failure."""
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
    load(contracts.of_pattern("(" * 30 + "a" + ")?" * 30 + "b"), "hostile.yaml")


@pytest.mark.parametrize("name", contracts.SQL)
def test_sql_is_read_in_proportion_or_refused(name: str) -> None:
    size, made = contracts.SQL[name]

    assert_linear(made, judged, size)


@pytest.mark.extended
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
        "replace(state, 'long', '') <> replace('a-b', '-', 'x')",
        "replace(state, left(state, 1000), 'x') <> ''",
        "replace(state, 'a', left(state, 50)) <> ''",
        "round(id, -2) <> 0",
    ],
)
def test_an_expression_that_grows_a_little_is_taken(rule: str) -> None:
    load(contracts.of_rule(rule), "hostile.yaml")


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        (f"{grown('state', 3)} <> ''", "is made of 1,000 columns and values"),
        (f"concat({', '.join(['upper(state)'] * 101)}) <> ''", "is made of 101 columns and values"),
        ("replace(state, 'a', left(state, 1000)) <> ''", "is made of 1,002 columns and values"),
        (f"replace(state, 'a', concat(cast(id as string), '{'x' * 200}')) <> ''", "is made of 402 columns and values"),
        ("replace(state, 'a', lower(state)) <> ''", "puts a text of the row in the place of each part of another"),
        (grown("'aaa'", 5) + " <> state", "is made of 1,000 columns and values"),
        (f"IF(id = 1, {grown('state', 3)}, '') <> ''", "is made of 1,000 columns and values"),
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


def test_a_column_of_a_query_may_be_a_long_text_whatever_it_is_made_of() -> None:
    inner = f"SELECT state, '{'x' * 3_000}' AS id FROM {{object}}"
    query = f"SELECT MAX(length(replace(state, 'a', id))) FROM ({inner})"
    assert_refused_or_taken(contracts.of_query(query), "puts a text of the row in the place of each part of another")


def test_columns_of_a_query_in_a_query_grow_too() -> None:
    twice = "(SELECT x||x AS x FROM "
    for times, part in ((6, ""), (7, "is made of 128 columns and values")):
        query = f"SELECT MAX(length(x)) FROM {twice * times}(SELECT state AS x FROM {{object}}){')' * times}"
        assert_refused_or_taken(contracts.of_query(query), part)


def test_a_query_doubles_the_pieces_of_the_one_that_it_reads_from_only_so_often() -> None:
    twice = "(SELECT x + x AS x FROM "
    for times, part in ((10, ""), (20, "and the limit is 2,500")):
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


def _all_of(kind: type[Exception]) -> list[type[Exception]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in _all_of(sub))]


ERRORS = sorted({kind for kind in _all_of(Exception) if kind.__module__ == "builtins"}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("step", ["parse", "check_size", "check_json_schema", "plan_of"])
def test_whatever_a_reader_stumbles_over_is_a_fault_of_the_contract_and_of_nobody_else(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for kind in ERRORS:
        with monkeypatch.context() as patched, capture_logs() as logs:
            patched.setattr(reading, step, _stumbling(kind))

            [message] = refused(contracts.contract())

        assert message == f"lakegate cannot read on from here ({kind.__name__}): a fault of its own, please report it"
        assert [(log["event"], log["error"]) for log in logs] == [("contract_not_readable", kind.__name__)]


def _stumbling(kind: type[Exception]) -> Callable[..., Any]:
    def stumble(*_: object) -> None:
        raise ExceptionGroup("", [ValueError()]) if kind is ExceptionGroup else kind.__new__(kind)

    return stumble


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_a_person_who_ends_the_process_is_no_fault_of_the_contract(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    monkeypatch.setattr(reading, "plan_of", _stumbling(kind))  # type: ignore[arg-type]

    with pytest.raises(kind):
        load(contracts.contract(), "hostile.yaml")


def test_an_unforeseen_error_is_told_at_the_line_that_was_read_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "column_checks", _stumbling(RecursionError))
    text = contracts.contract()

    found = judged(text)

    assert isinstance(found, ContractFaults)
    [fault] = found.faults
    assert "properties" in text.splitlines()[fault.line - 2] or "name" in text.splitlines()[fault.line - 1]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (contracts.contract("      - {name: c}\n" * 4_998), "more than 5,000 columns"),
        (contracts.contract(table=f"    quality: [{'{a: b}, ' * 5_001}]\n"), "more than 5,000 entries of quality"),
        (contracts.contract(root=f"tags: [{'a, ' * 10_001}]\n"), "a list of 10,001 values is too long"),
        (contracts.contract(root=f"tags: [{'[a, b], ' * 20_000}]\n"), "more than 50,000 words and values"),
        (contracts.contract(root=f"description: {{purpose: {'a' * 65_537}}}\n"), "'purpose' has 65,537 characters"),
        (contracts.contract(f"      - {{name: {'a' * 501}, logicalType: date}}\n"), "'name' has 501 characters"),
        (contracts.contract(root=f"? {'a' * 501}\n: b\n"), "a key has 501 characters, and the limit is 500"),
        (contracts.contract(root=f"tags: [&a b{', *a' * 50_000}]\n"), "anchors and aliases are not supported"),
        (contracts.contract(root=f"tags: {'[' * 1_000}{']' * 1_000}\n"), "nested more than 40 deep"),
        (contracts.of_pattern("a?" * 5_001), "it has 10,002 characters, and the limit is 10,000"),
        (contracts.of_query("\\'" * 120_000), "has 240,000 characters, and the limit is"),
        (contracts.of_query("\\'" * 2_001), "has 4,002 characters, and the limit is 4,000"),
    ],
    ids=lambda text: text[:30] if isinstance(text, str) and len(text) < 100 else "",
)
def test_a_contract_beyond_a_limit_is_refused_by_that_alone(text: str, part: str) -> None:
    [message] = refused(text)

    assert part in message


def test_a_contract_of_a_thousand_columns_with_descriptions_is_taken() -> None:
    column = "      - {name: c#, logicalType: integer, description: '" + "words " * 40 + "', required: true}\n"

    load(contracts.contract("".join(column.replace("#", str(at)) for at in range(1_000))), "hostile.yaml")


def test_a_hundred_faults_are_told_and_that_there_are_more() -> None:
    found = refused(contracts.contract(root="".join(f"word{at}: x\n" for at in range(5_000))))

    assert len(found) == 101
    assert found[-1].startswith("and more: the first 100 are listed")


def test_all_of_a_hundred_faults_are_told_without_more() -> None:
    found = refused(contracts.contract(root="".join(f"word{at}: x\n" for at in range(100))))

    assert len(found) == 100
    assert not any("and more" in message for message in found)


@pytest.mark.parametrize("name", ['"a\\nhostile.yaml:1: sound"', '"a\\e[2Jb"', '"a\\u2028b"', '"a\\u202eb"', '"a\\rb"'])
def test_a_name_in_a_fault_begins_no_line_of_its_own(name: str) -> None:
    text = contracts.contract(
        f"      - {{name: {name}, logicalType: nothing}}\n      - {{name: {name}, logicalType: date}}\n"
        "      - {name: c, logicalType: date, relationships: [{to: " + name + "}]}\n"
    )

    with pytest.raises(ContractFaults) as caught:
        load(text, "hostile.yaml")

    assert len(str(caught.value).splitlines()) == len(caught.value.faults)
    assert all(line.startswith("hostile.yaml:") for line in str(caught.value).splitlines())
    assert all(fault.message.isprintable() for fault in caught.value.faults)


def test_a_long_value_in_a_fault_leaves_room_for_what_is_wrong_with_it() -> None:
    [message] = refused(contracts.of_pattern("(" + "a" * 9_000))

    assert len(message) <= LONGEST_FAULT
    assert message.startswith("the pattern '(aaaa")
    assert "unterminated subpattern" in message


@pytest.mark.parametrize(
    "number", ["1.0e-99999999999999999999", "1.0e+99999999999999999999", "1.0e-400", "1." + "0" * 500, ".inf", ".nan"]
)
def test_a_number_beyond_counting_is_refused_by_its_line(number: str) -> None:
    text = contracts.contract(f"      - {{name: c, logicalType: number, logicalTypeOptions: {{minimum: {number}}}}}\n")

    found = judged(text)

    assert isinstance(found, ContractFaults)
    assert all("cannot read on" not in fault.message for fault in found.faults)
    assert "minimum" in text.splitlines()[found.faults[0].line - 1]


@pytest.mark.parametrize("number", ["1e999999999999", "-1e999999999999", "1e-999999999999", "nan", "inf", "1e101"])
def test_a_decimal_beyond_counting_is_refused_by_its_line(number: str) -> None:
    column = f"      - {{name: c, physicalType: 'decimal(38,10)', enum: [{{value: '{number}'}}]}}\n"

    [message] = refused(contracts.contract(column))

    assert f"'{number}' is not a" in message


@pytest.mark.parametrize("name", contracts.DEEP)
def test_what_nests_as_deep_as_it_may_is_taken_however_deep_its_reader_is_called(name: str) -> None:
    assert isinstance(called_within(300, lambda: judged(contracts.DEEP[name])), Contract)


@pytest.mark.parametrize("rule", ["(" * 25 + "id" + ")" * 25 + " = 1", "NOT (" * 13 + "id = 1" + ")" * 13])
def test_sql_that_nests_deeper_is_refused_with_the_limit(rule: str) -> None:
    [message] = refused(contracts.of_rule(rule))

    assert "is nested too deep: the limit is 24 parentheses" in message


def called_within(calls: int, what: Callable[[], Any]) -> Any:
    return what() if not calls else called_within(calls - 1, what)


@pytest.mark.parametrize("rule", [". 1.5BD [ day day", "id[1e999] = 1", "if + \x1b[31m day", "SET \x1b[2J"])
def test_sql_that_the_parser_stumbles_over_is_refused_and_stands_in_no_log(
    caplog: pytest.LogCaptureFixture, rule: str
) -> None:
    [message] = refused(contracts.of_rule(rule))

    assert message.startswith("the rule: ")
    assert "cannot read on" not in message
    assert not caplog.records


def test_the_name_of_a_check_of_many_values_is_short_enough_for_a_report() -> None:
    values = ", ".join(f"{{value: v{at}}}" for at in range(2_000))

    made = load(contracts.contract(f"      - {{name: c, logicalType: string, enum: [{values}]}}\n"), "hostile.yaml")

    [name] = [check.name for check in made.plan.checks]
    assert name.startswith("c one of v0, v1, ")
    assert len(name) == 500


@pytest.mark.parametrize("version", ["1.3", "2.0", "0.0", "9999999999.1", "1." + "9" * 5_000])
def test_another_version_of_yaml_is_refused(version: str) -> None:
    for text in (f"%YAML {version}\n---\n{contracts.contract()}", f"{contracts.contract()}...\n%YAML {version}\n---\n"):
        [message] = refused(text)

        assert "YAML is read in its versions 1.1 and 1.2" in message or "expected a single document" in message


@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_a_version_of_yaml_that_is_read_may_be_said(version: str) -> None:
    load(f"%YAML {version}\n---\n{contracts.contract()}", "hostile.yaml")


@pytest.mark.parametrize("escape", ["\\U00110000", "\\UFFFFFFFF"])
def test_an_escape_beyond_unicode_is_refused_by_its_line(escape: str) -> None:
    text = contracts.contract(root=f'name: "{escape}"\n')

    found = judged(text)

    assert isinstance(found, ContractFaults)
    [fault] = found.faults
    assert fault == Fault(line=text.count("\n"), message="not YAML: an escape here stands for no character")


@pytest.mark.parametrize("letter", ["\n", "\x1b", "\U000e0001", "\ud800", "a"])
def test_a_fault_is_short_and_of_one_line_whatever_it_repeats(letter: str) -> None:
    told = document.one_line(f"begins {letter * 5_000} and ends")

    assert told.isprintable()
    assert len(told) <= LONGEST_FAULT
    assert told.startswith("begins ")
    assert told.endswith(" and ends")
