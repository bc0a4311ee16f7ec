"""Tests of what becomes of files whose columns are not the contract's, and of the table by them."""

from __future__ import annotations

import pytest

from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance
from lakegate.audit.schema.fit import Agreement, FileColumn, agree
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Struct, parse
from tests.support.plans import plan

FREEZE, ALLOW, EVOLVE, DISCARD = Stance.FREEZE, Stance.ALLOW, Stance.EVOLVE, Stance.DISCARD
CONTRACT = {"id": "int", "name": "string"}


def asked(stances: dict[str, Stance], columns: dict[str, str] | None = None, partitions: tuple[str, ...] = ()) -> Plan:
    return plan("nyc.t", columns or CONTRACT, partitions=partitions, policy=SchemaPolicy(**stances))


def agreed(by: Plan, *files: dict[str, str], there: dict[str, str] | None = None) -> Agreement:
    table = None if there is None else Struct({name: parse(kind) for name, kind in there.items()})
    return agree(by, table, [[FileColumn(name=name, type=kind) for name, kind in file.items()] for file in files])


def faults(by: Plan, *files: dict[str, str], there: dict[str, str] | None = None) -> list[tuple[str, ...]]:
    return [fit.faults for fit in agreed(by, *files, there=there).fits]


def table(agreement: Agreement) -> dict[str, str]:
    return {column.name: column.type for column in agreement.columns}


def test_a_new_column_that_evolves_is_the_tables_and_later_files_need_not_have_it() -> None:
    by = asked({"new_columns": EVOLVE})
    agreement = agreed(by, CONTRACT | {"zip": "smallint"}, CONTRACT, CONTRACT | {"zip": "int"})
    assert [fit.faults for fit in agreement.fits] == [(), (), ()]
    assert table(agreement) == CONTRACT | {"zip": "int"}
    assert agreement.evolves == ('"zip" int',)
    assert [fit.evolves for fit in agreement.fits] == [('"zip" int',), (), ('"zip" int',)]


def test_of_files_that_disagree_on_a_new_column_the_later_is_at_fault() -> None:
    by = asked({"new_columns": EVOLVE})
    assert faults(by, CONTRACT | {"zip": "int"}, CONTRACT | {"zip": "string"}, CONTRACT | {"zip": "bigint"}) == [
        (),
        ('column "zip" is string, the table has int',),
        ('column "zip" is bigint, the table has int',),
    ]


def test_a_file_at_fault_changes_nothing_of_the_table() -> None:
    by = asked({"new_columns": EVOLVE})
    agreement = agreed(by, {"id": "string", "name": "string", "zip": "string"}, CONTRACT | {"zip": "int"})
    assert table(agreement) == CONTRACT | {"zip": "int"}
    assert agreement.fits[0].evolves == ()


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("zip", "INT64 (TIME(MICROS,true))", "is INT64 (TIME(MICROS,true)), which a table cannot hold"),
        ("at", "INT64 (TIMESTAMP(NANOS,true))", "is a timestamp in nanoseconds: write it in microseconds"),
        ("_lakegate_x", "int", "its name is reserved: it is lakegate's own"),
        ("_file", "int", "its name is reserved: it is Iceberg's own"),
        ("_Spec_ID", "int", "its name is reserved: it is Iceberg's own"),
        ("_metadata", "int", "its name is reserved: it is Spark's own"),
        ("_FİLE", "int", "its name is reserved: it is Iceberg's own"),
        ("a\nb", "int", "its name cannot be a column's"),
        ("id_bucket", "int", "the table's partitions have that name"),
    ],
)
def test_not_everything_can_be_a_new_column(name: str, kind: str, said: str) -> None:
    by = asked({"new_columns": EVOLVE}, partitions=("bucket(16, `id`)",))
    found = [FileColumn(name="id", type="int"), FileColumn(name="name", type="string")]
    [fit] = agree(by, None, [[*found, FileColumn(name=name, unreadable=kind)]]).fits
    assert fit.faults[0].endswith(said)


@pytest.mark.parametrize(
    ("stance", "said"),
    [
        (FREEZE, ('column "m" is not in the contract',)),
        (EVOLVE, ('column "m" is new and is interval day to second, which a table cannot hold',)),
        (DISCARD, ()),
    ],
)
def test_a_map_with_values_that_no_table_holds_is_its_files_fault(stance: Stance, said: tuple[str, ...]) -> None:
    by = asked({"new_columns": stance})
    assert faults(by, CONTRACT | {"m": "map<string,interval day to second>"}, CONTRACT) == [said, ()]


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ({"meta": "struct<>"}, "meta"),
        ({"meta": "struct<`x`:int,`e`:array<struct<>>>"}, "meta"),
        ({"meta": "map<string,struct<>>"}, "meta"),
        ({"at": "struct<`zip`:string,`e`:struct<>>"}, "at.e"),
    ],
)
def test_a_struct_without_fields_is_no_part_of_a_table(kind: dict[str, str], label: str) -> None:
    contract = CONTRACT | {"at": "struct<`zip`:string>"}
    said = f'column "{label}" is new and is a struct without fields, which a table cannot hold'
    assert faults(asked({"new_columns": EVOLVE}, contract), contract | kind, contract) == [(said,), ()]


def test_a_reserved_name_is_a_fault_even_where_the_table_has_it_and_is_never_read() -> None:
    found = CONTRACT | {"_pos": "bigint"}
    said = 'column "_pos" is new and its name is reserved: it is Iceberg\'s own'
    assert faults(asked({"new_columns": EVOLVE}), found, there=found) == [(said,)]
    [fit] = agreed(asked({"new_columns": DISCARD}), found).fits
    assert (fit.faults, fit.discards, [column.name for column in fit.reads]) == ((), ("_pos",), ["id", "name"])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("struct<``:int>", 'its field "" has a name that cannot be a column\'s'),
        ("array<struct<`x`:int,`a\nb`:int>>", 'its field "[].a\N{REPLACEMENT CHARACTER}b" has a name that cannot be'),
    ],
)
def test_the_fields_of_a_new_column_have_names_that_columns_can_have(kind: str, said: str) -> None:
    [found] = faults(asked({"new_columns": EVOLVE}), CONTRACT | {"s": kind})
    assert found[0].startswith(f'column "s" is new and {said}')


@pytest.mark.parametrize(
    ("there", "new", "said"),
    [
        ({}, {"s": "struct<`x`:int,`X`:int>"}, '"s"."X" is new, and a table cannot tell it from "s"."x"'),
        (
            {},
            {"s": "map<int,array<struct<`x`:int,`X`:int>>>"},
            '"s"."value"."element"."X" is new, and a table cannot tell it from "s"."value"."element"."x"',
        ),
        (
            {"s": "struct<`x`:int>"},
            {"s": "struct<`x`:int,`Y`:int,`y`:int>"},
            '"s"."y" is new, and a table cannot tell it from "s"."Y"',
        ),
        ({"a": "struct<`b`:int>"}, {"A.B": "int"}, '"A.B" is new, and a table cannot tell it from "a"."b"'),
        ({"a.b": "int"}, {"a": "struct<`b`:int>"}, '"a"."b" is new, and a table cannot tell it from "a.b"'),
        ({}, {"a": "struct<`b`:int>", "a.b": "int"}, '"a.b" is new, and a table cannot tell it from "a"."b"'),
        (
            {"a": "map<int,struct<`b`:array<struct<`c`:int>>>>"},
            {"a.b.c": "int"},
            '"a.b.c" is new, and a table cannot tell it from "a"."b"."c"',
        ),
    ],
)
def test_a_new_name_is_none_that_something_else_goes_by(there: dict[str, str], new: dict[str, str], said: str) -> None:
    """Iceberg writes the place of a field with dots, may leave out that it is an item's, and is read without case."""
    found = CONTRACT | there | new
    assert faults(asked({"new_columns": EVOLVE}), found, there=CONTRACT | there) == [(f"column {said}",)]


def test_names_with_dots_that_go_by_no_other_name_are_new_columns() -> None:
    by, there = asked({"new_columns": EVOLVE}), CONTRACT | {"a": "array<struct<`b`:int>>", "a.b": "int", "c.d": "int"}
    found = there | {"a": "array<struct<`b`:int,`c`:int>>", "c": "array<struct<`d`:int>>", "a.d": "int"}
    assert faults(by, found, CONTRACT, there=there) == [(), ()]


def test_a_field_of_a_nested_column_may_have_a_reserved_name() -> None:
    assert faults(asked({"new_columns": EVOLVE}), CONTRACT | {"at": "struct<`_pos`:bigint>"}) == [()]


@pytest.mark.parametrize("stance", [FREEZE, EVOLVE, DISCARD])
@pytest.mark.parametrize("name", ["Name", " name", "NAME\t", "name\u00a0"])
def test_a_name_that_differs_in_case_or_spaces_alone_is_a_fault_whatever_the_policy(stance: Stance, name: str) -> None:
    by = asked({"new_columns": stance, "missing_columns": ALLOW})
    told = display_name(name)
    assert faults(by, {"id": "int", name: "string"}) == [(f'column "name" is missing (the file calls it {told})',)]


@pytest.mark.parametrize("stance", [FREEZE, EVOLVE, DISCARD])
def test_a_name_that_differs_in_case_alone_from_a_column_of_the_table_is_no_new_one(stance: Stance) -> None:
    by = asked({"new_columns": stance, "missing_columns": ALLOW})
    assert faults(by, CONTRACT | {"ZIP": "int"}, there=CONTRACT | {"zip": "int"}) == [
        {
            FREEZE: ('column "ZIP" is not in the contract',),
            EVOLVE: ('column "ZIP" is new and differs in case or spaces alone from "zip", which the table has',),
            DISCARD: (),
        }[stance]
    ]


@pytest.mark.parametrize("stance", [FREEZE, EVOLVE, DISCARD])
@pytest.mark.parametrize("name", ["İSİM", "\u0131s\u0131m", "i\u017fim", "i\u0307sim"])
def test_a_name_that_an_engine_takes_for_a_columns_is_a_fault_whatever_the_policy(stance: Stance, name: str) -> None:
    by = asked({"new_columns": stance, "missing_columns": ALLOW}, {"id": "int", "isim": "string"})
    [found] = faults(by, {"id": "int", name: "string"})
    assert found[0] == f'column "isim" is missing (the file calls it {display_name(name)})'
    there = {"id": "int", "isim": "string", "kalan": "int"}
    assert faults(by, {"id": "int", "isim": "string", "\u212aalan": "int"}, there=there) == [
        {
            FREEZE: ('column "\u212aalan" is not in the contract',),
            EVOLVE: (
                'column "\u212aalan" is new and differs in case or spaces alone from "kalan", which the table has',
            ),
            DISCARD: (),
        }[stance]
    ]


def test_a_column_without_a_type_has_nothing_but_nulls() -> None:
    """Such as pandas writes where it has no values: it fits every type, and makes no column of the table."""
    agreement = agreed(asked({"new_columns": EVOLVE}), {"id": "int", "name": "void", "zip": "void"})
    [fit] = agreement.fits
    assert (fit.faults, fit.discards, fit.evolves) == ((), ("zip",), ())
    assert [column.name for column in fit.reads] == ["id"]
    assert table(agreement) == CONTRACT
    assert faults(asked({}), CONTRACT | {"zip": "void"}) == [('column "zip" is not in the contract',)]


def test_a_discarded_column_is_not_read_even_where_the_table_has_it() -> None:
    agreement = agreed(asked({"new_columns": DISCARD}), CONTRACT | {"zip": "int"}, there=CONTRACT | {"zip": "int"})
    [fit] = agreement.fits
    assert (fit.faults, fit.discards, fit.evolves) == ((), ("zip",), ())
    assert [column.name for column in fit.reads] == ["id", "name"]
    assert table(agreement) == CONTRACT | {"zip": "int"}


def test_a_column_that_came_with_files_is_no_contracts_column() -> None:
    assert faults(asked({}), CONTRACT, CONTRACT | {"zip": "int"}, there=CONTRACT | {"zip": "int"}) == [
        (),
        ('column "zip" is not in the contract',),
    ]


def test_missing_columns_are_allowed_unless_all_are() -> None:
    by = asked({"missing_columns": ALLOW})
    assert faults(by, {"id": "int"}, {}) == [(), ('column "id" is missing', 'column "name" is missing')]


@pytest.mark.parametrize(
    ("contract", "file", "wider"),
    [
        ("int", "bigint", "bigint"),
        ("float", "double", "double"),
        ("decimal(10,2)", "decimal(12,2)", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,0)", "decimal(14,2)"),
        ("struct<`a`:int>", "struct<`a`:bigint>", "struct<`a`:bigint>"),
        ("array<float>", "array<double>", "array<double>"),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
    ],
)
def test_a_wider_type_widens_the_table_or_rejects_the_file(contract: str, file: str, wider: str) -> None:
    columns = {"id": contract}
    agreement = agreed(asked({"widened_types": EVOLVE}, columns), {"id": file}, {"id": contract})
    assert table(agreement) == {"id": wider}
    assert [bool(fit.evolves) for fit in agreement.fits] == [True, False]
    assert len(faults(asked({}, columns), {"id": file})[0]) == 1


@pytest.mark.parametrize(
    ("contract", "file"),
    [
        ("int", "double"),
        ("int", "string"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("decimal(38,2)", "decimal(38,0)"),
        ("date", "timestamp"),
        ("map<int,int>", "map<bigint,int>"),
        ("array<int>", "int"),
    ],
)
def test_no_table_is_widened_to_a_type_that_iceberg_cannot_make_of_it(contract: str, file: str) -> None:
    columns = {"id": contract}
    agreement = agreed(asked({"widened_types": EVOLVE}, columns), {"id": file})
    assert len(agreement.fits[0].faults) == 1
    assert table(agreement) == columns


def test_a_type_that_files_widened_is_still_wider_than_the_contract_says() -> None:
    wide = CONTRACT | {"id": "bigint"}
    assert faults(asked({}), CONTRACT, wide, there=wide) == [(), ('column "id" is bigint, the contract says int',)]
    assert faults(asked({"widened_types": EVOLVE}), CONTRACT, wide, there=wide) == [(), ()]
    assert table(agreed(asked({}), CONTRACT, there=wide)) == wide


@pytest.mark.parametrize(
    ("contract", "there"),
    [("int", "struct<`a`:int>"), ("struct<`a`:int>", "int"), ("array<int>", "int"), ("int", "map<string,int>")],
)
def test_a_table_of_quite_another_type_leaves_the_contract_as_it_is(contract: str, there: str) -> None:
    agreement = agreed(asked({}, {"id": contract}), {"id": contract}, there={"id": there})
    assert table(agreement) == {"id": contract}
    assert agreement.fits[0].faults == ()


def test_of_two_wider_files_each_is_known_for_what_it_asked() -> None:
    by = asked({"widened_types": EVOLVE}, {"d": "decimal(5,2)"})
    agreement = agreed(by, {"d": "decimal(8,2)"}, {"d": "decimal(9,2)"})
    eight, nine = (f'"d" decimal({digits},2), was decimal(5,2)' for digits in (8, 9))
    assert agreement.evolves == (nine,)
    assert [fit.evolves for fit in agreement.fits] == [(eight,), (nine,)]


def test_narrower_types_and_another_order_may_be_frozen() -> None:
    found = {"name": "string", "id": "smallint"}
    assert faults(asked({}), found) == [()]
    assert faults(asked({"narrowed_types": FREEZE, "reordered_columns": FREEZE}), found) == [
        (
            'column "name" stands where the contract has "id"',
            'column "id" is smallint, narrower than the contract says: int',
        )
    ]


def test_columns_that_are_new_or_missing_are_not_another_order() -> None:
    by = asked({"reordered_columns": FREEZE, "new_columns": DISCARD, "missing_columns": ALLOW})
    assert faults(by, {"x": "int", "id": "int", "y": "int", "name": "string"}, {"name": "string"}) == [(), ()]


NESTED = {"at": "struct<`zip`:string,`pos`:struct<`x`:double,`y`:double>>", "tags": "array<struct<`k`:string>>"}


def test_fields_of_nested_columns_are_judged_as_columns_are() -> None:
    found = {"at": "struct<`pos`:struct<`x`:float,`z`:int>,`Zip`:string>", "tags": "array<struct<`k`:int>>"}
    assert faults(asked({}, NESTED), found) == [
        (
            'column "at.zip" is missing (the file calls it "Zip")',
            'column "at.pos.y" is missing',
            'column "at.pos.z" is not in the contract',
            'column "tags[].k" is int, the contract says string',
        )
    ]


def test_nested_fields_are_read_in_the_tables_order_with_the_files_types() -> None:
    found = {"tags": NESTED["tags"], "at": "struct<`pos`:struct<`y`:float>,`zip`:string,`new`:int>"}
    [fit] = agreed(asked({"missing_columns": ALLOW, "new_columns": DISCARD}, NESTED), found).fits
    assert (fit.faults, fit.discards) == ((), ("at.new",))
    assert {column.name: column.type for column in fit.reads} == {
        "at": "struct<`zip`:string,`pos`:struct<`x`:double,`y`:float>>",
        "tags": NESTED["tags"],
    }


def test_a_field_that_the_table_has_by_files_is_read_with_its_struct_or_is_a_fault() -> None:
    by = asked({"new_columns": DISCARD}, {"at": "struct<`zip`:string>"})
    there = {"at": "struct<`zip`:string,`n`:int>"}
    one, other = agreed(by, {"at": "struct<`n`:smallint,`zip`:string>"}, {"at": "struct<`n`:string>"}, there=there).fits
    assert (one.faults, one.discards) == ((), ())
    assert [column.type for column in one.reads] == ["struct<`zip`:string,`n`:smallint>"]
    assert 'column "at.n" is string, the table has int' in other.faults


def test_nested_fields_evolve() -> None:
    found = {"at": "struct<`zip`:string,`pos`:struct<`x`:double,`y`:double,`z`:int>>", "tags": NESTED["tags"]}
    agreement = agreed(asked({"new_columns": EVOLVE}, NESTED), found)
    assert agreement.evolves == ('"at.pos.z" int',)
    assert table(agreement)["at"] == found["at"]


def test_a_struct_with_none_of_its_fields_is_a_fault_because_it_would_be_null() -> None:
    by = asked({"missing_columns": ALLOW, "new_columns": DISCARD}, {"at": "struct<`zip`:string>", "id": "int"})
    assert faults(by, {"at": "struct<`other`:int>", "id": "int"}) == [('column "at.zip" is missing',)]
