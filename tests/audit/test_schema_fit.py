"""A file's columns against a plan's."""

import pytest

from lakegate.audit.schema.fit import FileColumn, faults
from lakegate.audit.schema.types import Array, Atom, Map, Struct, canonical, holds, parse
from tests.support.plans import plan

PLAN = plan("nyc.t", {"id": "bigint", "name": "string", "at": "timestamp"})


def found(**types: str) -> list[FileColumn]:
    return [FileColumn(name=name, type=type_name) for name, type_name in types.items()]


def test_columns_in_another_order_fit() -> None:
    assert faults(PLAN, found(at="timestamp", name="string", id="bigint")) == ()


def test_a_missing_and_an_extra_column_are_named() -> None:
    assert faults(PLAN, found(id="bigint", at="timestamp", other="int")) == (
        'column "name" is missing',
        'column "other" is not in the contract',
    )


def test_a_column_that_differs_in_case_is_told_what_the_file_calls_it() -> None:
    assert faults(PLAN, found(id="bigint", Name="string", at="timestamp")) == (
        'column "name" is missing (the file calls it "Name")',
    )


def test_a_wrong_type_says_what_it_is_and_what_the_contract_says() -> None:
    assert faults(PLAN, found(id="string", name="string", at="timestamp_ntz")) == (
        'column "id" is string, the contract says bigint',
        'column "at" is timestamp_ntz, the contract says timestamp',
    )


def test_a_nested_column_is_a_wrong_type() -> None:
    assert faults(PLAN, found(id="bigint", name="struct<a:int,b:string>", at="timestamp")) == (
        'column "name" is struct, the contract says string',
    )


def test_nanoseconds_are_told_to_become_microseconds() -> None:
    at = FileColumn(name="at", unreadable="INT64 (TIMESTAMP(NANOS,true))")
    assert faults(PLAN, [*found(id="bigint", name="string"), at]) == (
        'column "at" is a timestamp in nanoseconds: write it in microseconds',
    )


def test_a_type_that_nobody_reads_is_told_as_the_file_calls_it() -> None:
    at = FileColumn(name="at", unreadable="INT64 (TIME(MICROS,true))")
    assert faults(PLAN, [*found(id="bigint", name="string"), at]) == (
        'column "at" is INT64 (TIME(MICROS,true)), the contract says timestamp',
    )


def test_a_column_that_is_there_twice_is_a_fault() -> None:
    twice = [*found(id="bigint", name="string", at="timestamp"), FileColumn(name="id", type="bigint")]
    assert faults(PLAN, twice) == ('column "id" is there 2 times',)


def test_columns_that_differ_in_case_alone_are_a_fault() -> None:
    assert 'columns "id" and "ID" differ in case alone' in faults(
        PLAN, found(id="bigint", name="string", at="timestamp", ID="bigint")
    )


def test_a_strangers_column_name_stays_one_short_line() -> None:
    [fault] = faults(plan("nyc.t", {}), [FileColumn(name="a\nb" + "c" * 500, type="int")])
    assert "\n" not in fault
    assert len(fault) < 120


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("int", "bigint"),
        ("smallint", "int"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,4)"),
    ],
)
def test_a_type_is_widened_but_never_narrowed(narrow: str, wide: str) -> None:
    assert holds(Atom(wide), Atom(narrow))
    assert not holds(Atom(narrow), Atom(wide))


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("int", "double"),
        ("date", "timestamp"),
        ("string", "binary"),
        ("decimal(10,2)", "decimal(11,4)"),
        ("int", "string"),
    ],
)
def test_no_other_type_is_taken_for_another(there: str, wanted: str) -> None:
    assert not holds(Atom(wanted), Atom(there))


def test_a_type_has_one_spelling() -> None:
    assert [canonical(name) for name in ("INTEGER", "long", "Decimal( 10 , 2 )", "decimal", "numeric(5)")] == [
        "int",
        "bigint",
        "decimal(10,2)",
        "decimal(10,0)",
        "decimal(5,0)",
    ]


def test_a_type_of_several_words_is_one_type_wherever_it_stands() -> None:
    interval = Atom("interval day to second")
    for text, tree in (
        ("interval day to second", interval),
        ("map<string,interval day to second>", Map(Atom("string"), interval)),
        ("array<interval  day to second>", Array(interval)),
        ("struct<`a b`:interval day to second,`c`:int>", Struct({"a b": interval, "c": Atom("int")})),
    ):
        assert parse(text) == tree
        assert parse(str(tree)) == tree


@pytest.mark.parametrize("text", ["map<int>", "map<int,int,int>", "array<>", "array<int,int>", "struct<`a`:map<>>"])
def test_text_that_is_no_type_is_an_atom(text: str) -> None:
    assert parse(text) == Atom(text)
