"""The next line to write: a contract takes the lines of every advice, and with them in it the file fits."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from textwrap import indent
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lakegate.adapters import slack
from lakegate.audit import text
from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.evaluation.advice import advise
from lakegate.audit.model.limits import Limits, beyond_limits, first_faults
from lakegate.audit.model.plan import Check, Metric, MetricKind, Plan, Severity
from lakegate.audit.schema import faults as kinds
from lakegate.audit.schema import lines
from lakegate.audit.schema.fit import FileColumn, agree
from lakegate.audit.schema.types import Atom, Struct, Type, parse, storage_of
from lakegate.cli import terminal
from lakegate.contracts import load
from lakegate.contracts.odcs.writing import dump
from spark_jobs import formats
from tests.support.catalogue import KINDS, PROMISE

ROOT = Path(__file__).parents[2]
CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: trips
version: 1.0.0
status: active
servers: [{server: landing, type: s3, location: "s3://landing/a/*", format: parquet}]
schema:
  - name: trips
    physicalName: shop.trips
    properties:
      - {name: id, logicalType: integer}
      - {name: date, logicalType: timestamp}
      - {name: at, logicalType: object, properties: [{name: zip, logicalType: string}]}
      - {name: cost, physicalType: "decimal(10,2)"}
"""
SOUND = {"id": "int", "date": "timestamp", "at": "struct<zip:string>", "cost": "decimal(10,2)"}
FREEZE = {"narrowedTypes": "freeze", "reorderedColumns": "freeze"}
EVOLVE = {"newColumns": "evolve"}
NANOS = "INT64 (TIMESTAMP(NANOS,true))"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kind of fault: the constructor, what the file has, and the fault, and what is told to write. With lines that
    are a whole column or setting, the contract is mended by them.
    """

    kind: Callable[..., Fault]
    file: Mapping[str, str | None]
    said: str
    told: str
    policy: Mapping[str, str] = field(default_factory=dict)
    there: str = ""
    neighbours: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    twice: tuple[str, ...] = ()
    mends: bool = True

    @property
    def columns(self) -> list[FileColumn]:
        found = {name: kind for name, kind in {**SOUND, **self.file}.items() if kind}
        strange = [FileColumn(name=name, unreadable=kind) for name, kind in self.unreadable.items()]
        return [*_columns(found), *strange, *_columns({name: found[name] for name in self.twice})]


CASES = [
    Case(
        kind=kinds.wrong_type,
        file={"date": "timestamp_ntz"},
        said='column "date" is timestamp_ntz, the contract says timestamp',
        told=(
            'Ask the vendor to write column "date" as timestamps with a time zone (UTC).\n'
            'If the file is right, write the type of "date" as the file has it:\n'
            "- name: date\n  logicalType: timestamp\n  logicalTypeOptions:\n    timezone: false"
        ),
    ),
    Case(
        kind=kinds.wrong_type,
        file={"date": "timestamp_ntz"},
        there="struct<date:timestamp>",
        said='column "date" is timestamp_ntz, the contract says timestamp',
        told=(
            'Ask the vendor to write column "date" as timestamps with a time zone (UTC).\n'
            "If the file is right, give such files a table of their own, for the table has the other type already, and "
            "a column's type can only widen; there, write:\n"
            "- name: date\n  logicalType: timestamp\n  logicalTypeOptions:\n    timezone: false"
        ),
        mends=False,
    ),
    Case(
        kind=kinds.wrong_type,
        file={"id": "bigint"},
        there="struct<id:int>",
        said='column "id" is bigint, the contract says int',
        told=(
            'Ask the vendor to write column "id" as whole numbers of 32 bits.\n'
            'If the file is right, write the type of "id" as the file has it:\n'
            "- name: id\n  logicalType: integer\n  logicalTypeOptions:\n    format: i64"
        ),
    ),
    Case(
        kind=kinds.wrong_type,
        file={"at": "struct<zip:int>"},
        said='column "at.zip" is int, the contract says string',
        told=(
            'Ask the vendor to write column "at.zip" as text.\n'
            'If the file is right, write the type of "at.zip" as the file has it:\nlogicalType: integer'
        ),
        mends=False,  # a part's lines go to the part
    ),
    Case(
        kind=kinds.wrong_type,
        file={"cost": None},
        unreadable={"cost": "INT64 (TIME(MICROS,true))"},
        said='column "cost" is INT64 (TIME(MICROS,true)), the contract says decimal(10,2)',
        told='Ask the vendor to write column "cost" as decimals of 10 digits, 2 of them after the point.',
    ),
    Case(
        kind=kinds.narrower,
        file={"cost": "decimal(8,2)"},
        policy=FREEZE,
        said='column "cost" is decimal(8,2), narrower than the contract says: decimal(10,2)',
        told=(
            'Ask the vendor to write column "cost" as decimals of 10 digits, 2 of them after the point.\n'
            "If the file is right, let files have narrower types, which lose no value, at the table of the contract:\n"
            "customProperties:\n  - {property: narrowedTypes, vendor: lakegate, value: allow}"
        ),
    ),
    Case(
        kind=kinds.nanoseconds,
        file={"date": None},
        unreadable={"date": NANOS},
        said='column "date" is a timestamp in nanoseconds: write it in microseconds',
        told='Ask the vendor to write the timestamps of column "date" in microseconds.',
    ),
    Case(
        kind=kinds.missing_column,
        file={"id": None},
        said='column "id" is missing',
        told=(
            'Ask the vendor to send column "id" (whole numbers of 32 bits), with nulls where there is no value.\n'
            "If the file is right, let files lack columns, whose values are then null, at the table of the contract:\n"
            "customProperties:\n  - {property: missingColumns, vendor: lakegate, value: allow}"
        ),
    ),
    Case(
        kind=kinds.many_missing,
        file=dict.fromkeys(SOUND),
        said='4 of the contract\'s 4 columns are missing: "id", "date", "at" and 1 more',
        told=(
            "Ask the vendor to send them, with nulls where there is no value.\n"
            "If the file is right, let files lack columns, whose values are then null, at the table of the contract:\n"
            "customProperties:\n  - {property: missingColumns, vendor: lakegate, value: allow}"
        ),
        mends=False,  # a file without any column has no row to take
    ),
    Case(
        kind=kinds.renamed_column,
        file={"id": None, "ID ": "int"},
        said='column "id" is missing (the file calls it "ID ")',
        told=(
            'Ask the vendor to call column "ID " "id".\n'
            'If the file is right, write its name as the file has it:\n- name: id\n  physicalName: "ID "'
        ),
        mends=False,  # the name is mended beside the type: below
    ),
    Case(
        kind=kinds.unknown,
        file={"true: x": "map<string,array<double>>"},
        said='column "true: x" is not in the contract',
        told=(
            'Ask the vendor to leave out "true: x".\n'
            "If the file is right, add it to the contract's properties:\n"
            '- name: "true: x"\n  logicalType: map\n  map:\n    key:\n      logicalType: string\n'
            "    value:\n      logicalType: array\n      items:\n        logicalType: number"
        ),
    ),
    Case(
        kind=kinds.unknown,
        file={},
        unreadable={"clock": "INT64 (TIME(MICROS,true))"},
        said='column "clock" is not in the contract',
        told=(
            'Ask the vendor to leave out "clock".\n'
            "If the file is right, let such a column go unread, at the table of the contract:\n"
            "customProperties:\n  - {property: newColumns, vendor: lakegate, value: discard}"
        ),
    ),
    Case(
        kind=kinds.index,
        file={"__index_level_0__": "bigint"},
        said='column "__index_level_0__" is an index of Pandas, which the contract has not',
        told=(
            "Ask the vendor to write the frame with index=False, or to name its index and write frame.reset_index(), "
            "if it has values."
        ),
    ),
    Case(
        kind=kinds.many_unknown,
        file={"a": "int", "b": "date", "c": "binary", "no": "decimal(5,0)"},
        said='4 columns are not in the contract: "a", "b", "c" and 1 more',
        told=(
            'Ask the vendor to leave out "a", "b", "c" and 1 more.\n'
            "If the file is right, add them to the contract's properties:\n- name: a\n  logicalType: integer\n"
            "- name: b\n  logicalType: date\n- name: c\n  logicalType: string\n  physicalType: binary\n"
            '- name: "no"\n  logicalType: number\n  physicalType: decimal(5,0)'
        ),
    ),
    Case(
        kind=kinds.another_table,
        file={**dict.fromkeys(SOUND), "who": "string", "n": "int"},
        said='this file is of another table: it has none of the contract\'s 4 columns, and "who", "n" beside',
        told=(
            'Ask the vendor to send files with the contract\'s columns ("id", "date", "at" and 1 more) here, and '
            "these to their own table's place.\n"
            "If the file is right, give it a table of its own: a contract with another location, and these "
            'properties:\n- name: who\n  logicalType: string\n- name: "n"\n  logicalType: integer'
        ),
        mends=False,  # of another contract
    ),
    Case(
        kind=kinds.another_table,
        file={"date": None, "at": None, "cost": None, "who": "string", "n": "int", "m": "int", "o": "int", "id": None},
        neighbours={
            "shop.a": ("x", "y"),
            "shop.people": ("who", "n", "m", "o", "p"),
            "shop.wide": ("who", *"abcdefgh"),
        },
        said="this file is of another table: it has none of the contract's 4 columns; its columns are those of "
        "shop.people",
        told=(
            "Ask the vendor to upload it to the place of shop.people's files, and files with the contract's columns "
            "here."
        ),
    ),
    Case(
        kind=kinds.no_text,
        file={"caf\ufffd": "int", "at": "struct<zip:string,`\ufffd`:int>"},
        policy=EVOLVE,
        said='the names of columns "at.\ufffd", "caf\ufffd" are not UTF-8',
        told="Ask the vendor to write the names of its columns as UTF-8.",
    ),
    Case(
        kind=kinds.reserved_name,
        file={"_pos": "int"},
        policy=EVOLVE,
        said='column "_pos" is new and its name is reserved: it is Iceberg\'s own',
        told=(
            'Ask the vendor to leave out "_pos", or to write it under another name, of a type that tables have.\n'
            "If the file is right, let new columns go unread, at the table of the contract:\n"
            "customProperties:\n  - {property: newColumns, vendor: lakegate, value: discard}"
        ),
    ),
    Case(
        kind=kinds.not_new,
        file={"clock": "interval day to second"},
        policy=EVOLVE,
        said='column "clock" is new and is interval day to second, which a table cannot hold',
        told=(
            'Ask the vendor to leave out "clock", or to write it under another name, of a type that tables have.\n'
            "If the file is right, let new columns go unread, at the table of the contract:\n"
            "customProperties:\n  - {property: newColumns, vendor: lakegate, value: discard}"
        ),
    ),
    Case(
        kind=kinds.name_clash,
        file={"at.zip": "int"},
        policy=EVOLVE,
        said='column "at.zip" is new, and a table cannot tell it from "at"."zip"',
        told='Ask the vendor to give "at.zip" another name, without dots and not in other case.',
    ),
    Case(
        kind=kinds.repeated_column,
        file={},
        twice=("id",),
        said='column "id" is there 2 times',
        told='Ask the vendor to write column "id" once.',
    ),
    Case(
        kind=kinds.alike,
        file={"ID": "int"},
        policy=EVOLVE,
        said='columns "id" and "ID" differ in case alone',
        told='Ask the vendor to give them names that differ in more than case, or write "id" alone.',
    ),
    Case(
        kind=kinds.wrong_order,
        file={"id": None},
        policy=FREEZE,
        twice=(),
        said='column "cost" stands where the contract has "date"',
        told=(
            "Ask the vendor to write the columns in the contract's order.\n"
            "If the file is right, let files have their columns in any order, at the table of the contract:\n"
            "customProperties:\n  - {property: reorderedColumns, vendor: lakegate, value: allow}"
        ),
    ),
]


def parsed(text: str) -> Any:
    return YAML(typ="safe").load(text)


def _columns(types: Mapping[str, str]) -> list[FileColumn]:
    return [FileColumn(name=name, type=kind) for name, kind in types.items()]


def contract(policy: Mapping[str, str]) -> Any:
    document = parsed(CONTRACT)
    settings = [{"property": name, "vendor": "lakegate", "value": value} for name, value in policy.items()]
    document["schema"][0] |= {"customProperties": settings} if settings else {}
    return document


def compiled(document: Any) -> Plan:
    return load(dump(document), "mended.yaml").plan


def faults(
    plan: Plan, columns: list[FileColumn], there: str, neighbours: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Fault, ...]:
    table = parse(there) if there else None
    return agree(plan, table, [columns], neighbours or {}).fits[0].faults  # type: ignore[arg-type]


def pasted(document: Any, text: str) -> Any:
    """The contract with these lines in it, in the place of what it has by the same name."""
    said, table = parsed(text), document["schema"][0]
    if isinstance(said, list):
        kept_names = [each for each in table["properties"] if each["name"] not in {new["name"] for new in said}]
        table["properties"] = [*kept_names, *said]
    else:
        new = said["customProperties"]
        old = [it for it in table.get("customProperties", []) if it["property"] not in {it["property"] for it in new}]
        table["customProperties"] = [*old, *new]
    return document


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind.__name__}: {case.said[:40]}")
def test_a_kind_of_fault_says_what_to_write_next_and_that_mends_it(case: Case) -> None:
    columns = case.columns if case.kind is not kinds.wrong_order else [*_columns(SOUND)][::-1][:1] + _columns(SOUND)[:3]
    columns = [it for it in columns if it.name != "id"] if case.kind is kinds.wrong_order else columns
    document = contract({**case.policy, **({"missingColumns": "allow"} if case.kind is kinds.wrong_order else {})})
    found = faults(compiled(document), columns, case.there, case.neighbours)
    fault = next(it for it in found if it == case.said)
    assert "\n".join(_told(fault.advice)) == case.told
    if fault.advice.lines and case.mends:
        assert case.said not in faults(compiled(pasted(document, fault.advice.lines)), columns, case.there)


def _told(advice: Advice) -> Iterator[str]:
    return (step.sentence + (f"\n{step.lines}" if step.lines else "") for step in advice.steps)


def test_every_kind_of_misfit_is_in_the_table() -> None:
    made = {name for name, it in vars(kinds).items() if inspect.isfunction(it) and _is_kind(it)}
    assert {case.kind.__name__ for case in CASES} == made


def _is_kind(function: Callable[..., Any]) -> bool:
    return function.__module__ == kinds.__name__ and get_type_hints(function).get("return") is Fault


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
ATOMS = st.sampled_from([*lines._TYPES, "decimal(38,10)", "tinyint"]).map(Atom)
TYPES: st.SearchStrategy[Type] = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(lambda it: parse(f"array<{it}>")),
        inner.map(lambda it: parse(f"map<string,{it}>")),
        st.dictionaries(st.sampled_from(["a", "b b", "no", 'c"']), inner, min_size=1, max_size=3).map(Struct),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(NAMES, TYPES)
def test_the_lines_of_any_column_are_read_as_that_column(name: str, kind: Type) -> None:
    document = parsed(CONTRACT)
    document["schema"][0]["properties"] = parsed(lines.column(name, kind))
    plan = compiled(document)
    assert [(column.name, parse(column.type)) for column in plan.columns] == [(name, storage_of(kind))]


@settings(max_examples=150, deadline=None)
@given(NAMES, TYPES)
def test_the_lines_of_an_advice_are_those_that_are_written_of_the_same_words(name: str, kind: Type) -> None:
    written = dump({"properties": [{"name": name, **lines.words(kind)}]})
    assert f"properties:\n{indent(lines.column(name, kind), '  ')}\n" == written


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("many", [["n"], ["n", "m", "logicalType: string", "o"], ["n", *"abcdefghijk"]])
def test_columns_of_text_are_told_to_be_typed_by_a_person(form: str, many: list[str]) -> None:
    document = parsed(CONTRACT)
    document["servers"][0]["format"] = form
    document["schema"][0]["properties"] = [
        {"name": "id", "logicalType": "integer"},
        {"name": "o2", "logicalType": "date"},
    ]
    plan = compiled(document)
    for known in ({"id": "int", "o2": "date"}, {"id": "int"}, {}):
        for fault in faults(plan, _columns({**known, **dict.fromkeys(many, "string")}), ""):
            if "- name" in fault.advice.lines:
                assert ("# or the type of its values: text says none" in fault.advice.lines) == (form != "parquet")
                assert [column["name"] for column in parsed(fault.advice.lines)][-len(many) :] == many


def test_many_columns_are_let_be_and_not_listed_one_by_one() -> None:
    many = {f"c{number}": Atom("int") for number in range(21)}
    assert parsed(kinds.many_unknown("", many).advice.lines) == parsed(setting("newColumns", "discard"))
    assert kinds.another_table(many, [], ["a", "b"], {}).advice.lines.endswith("logicalType: integer\n# and 1 more")


def test_a_name_that_no_contract_can_say_has_no_lines() -> None:
    assert (
        lines.column("a\tb", Atom("int")),
        lines.column("x" * 301, Atom("int")),
        lines.renamed_line("a", "a\n"),
    ) == (
        "",
        "",
        "",
    )
    assert kinds.renamed_column("a", "a", "a\n").advice.contract == ""


def test_hostile_names_are_quoted_in_lines() -> None:
    hostile = '"]}, x: !!python/object:os.system {}\u202e\u3164`\U000e0041 # &a *a'
    text = lines.column(hostile, Atom("int"))
    assert parsed(text) == [{"name": hostile, "logicalType": "integer"}]
    assert all(slack.clean(line) == terminal.clean(line) == line for line in text.splitlines())


def test_every_limit_says_the_setting_that_takes_the_file() -> None:
    for name in (each.name for each in Limits.__dataclass_fields__.values()):
        [fault] = beyond_limits(Limits(**{name: 3}), **{name: 5})
        said = parsed(fault.advice.lines)["customProperties"]
        assert [(it["vendor"], it["value"]) for it in said] == [("lakegate", 5)]
        assert fault.advice.vendor
    assert first_faults([Fault(f"{it}", Advice(vendor="x")) for it in range(25)])[-1].advice


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.place}: {kind.word}: {kind.example[:40]}")
def test_a_failed_check_says_whom_to_ask_and_the_line_that_lets_it_through(kind: Any) -> None:
    plan = load(kind.contract, kind.word).plan
    for check in plan.checks:
        advice = advise(plan, check, 3, "none")
        assert advice.vendor
        if plan.metric(check.metric).kind is MetricKind.MALFORMED:  # tests/trial/test_advised_lines.py
            continue
        assert f"line {check.line} of the contract" in advice.contract
        assert ("loosen" in advice.contract) == ("primary key" not in check.name)
        assert bool(advice.lines) == (kind.place != PROMISE and "primary key" not in check.name)
        if advice.lines and "quarantine" not in advice.lines:
            assert _loosened(kind.contract, check) in (None, Severity.WARNING)


def _loosened(text: str, check: Check) -> Severity | None:
    """The severity of the check once its lines are pasted; None if the contract has no such check any more."""
    document = parsed(text)
    table, new = document["schema"][0], parsed(check.lines)
    columns = {f'the column "{column["name"]}"': column for column in table["properties"]}
    owner = columns.get(check.place) or next(it["quality"][0] for it in [table, *columns.values()] if "quality" in it)
    owner |= new
    now = {it.metric: it.severity for it in compiled(document).checks if it.name == check.name}
    return now.get(check.metric)


@pytest.mark.parametrize("kind", MetricKind)
def test_every_metric_kind_says_what_to_ask_of_the_vendor(kind: MetricKind) -> None:
    """A kind without words of its own asks to mend its rows, or to look at the file as a whole."""
    plan = load(CONTRACT.replace("{name: id,", "{name: id, required: true,"), "c").plan
    check = replace(plan.checks[0], metric="m", columns=("id",))
    asking = replace(plan, metrics=(Metric(id="m", kind=kind, columns=("id",)),), checks=(check,))
    vendor = advise(asking, check, 2, "none").vendor
    whole = vendor.startswith(("look at the file as a whole", "send the file with all"))
    assert whole is not kind.counts_rows, vendor


def test_one_row_fails_and_two_fail() -> None:
    plan = load(CONTRACT.replace("{name: id,", "{name: id, required: true, enum: [{value: 1}],"), "c").plan
    told = {number: [advise(plan, check, number, "none").vendor for check in plan.checks] for number in (1, 2)}
    assert told == {
        1: ['write a value of "id" in the row that has none', "mend the row that fails"],
        2: ['write a value of "id" in the 2 rows that have none', "mend the 2 rows that fail"],
    }


KEYED = """
      - {{name: a, logicalType: integer, primaryKey: true, {more}}}
      - {{name: b, logicalType: string, {other}}}
"""


@pytest.mark.parametrize("more", ["required: true", "unique: true", "required: true, unique: true", "description: x"])
@pytest.mark.parametrize("other", ["primaryKey: true", "required: true"])
def test_no_advice_loosens_what_a_primary_key_says(more: str, other: str) -> None:
    document = parsed(CONTRACT)
    document["schema"][0]["properties"] = parsed(KEYED.format(more=more, other=other))
    plan = compiled(document)
    own = f"{plan.key[0]} unique"  # of one column of two, it is no word of the key
    of_key = [it for it in plan.checks if {*it.columns} <= {*plan.key} and (len(plan.key) == 1 or it.name != own)]
    assert len(of_key) >= 2
    for check in of_key:
        advice = advise(plan, check, 3, "none")
        assert advice.contract == f"choose other columns as the primary key, at line {check.line} of the contract"
        assert advice.lines == ""


def _advices() -> Iterator[tuple[str, Advice]]:
    """Every advice that stands in a module of Spark's formats, or of the rules of text, and where."""
    for module in (each for room in (formats, text) for each in walk_packages(room.__path__, f"{room.__name__}.")):
        for name, value in vars(import_module(module.name)).items():
            for each in value.values() if isinstance(value, dict) else (value,):
                if isinstance(each, Advice | Fault):
                    yield f"{module.name}.{name}", each if isinstance(each, Advice) else each.advice


def test_lines_that_formats_tell_to_write_are_lines_of_a_contract() -> None:
    told = [(place, advice) for place, advice in _advices() if advice.lines]
    for place, advice in told:
        document = parsed(CONTRACT)
        server, said = document["servers"][0], parsed(advice.lines)
        server |= {"format": "csv"} | said
        document["schema"][0]["properties"] = [{"name": "id", "logicalType": "integer"}]
        assert compiled(document).files.kind, place
    assert len(told) > 5


WAYS = {"vendor", "contract", "operator"}


def test_no_advice_of_the_product_is_empty() -> None:
    """A fault needs an advice, says the type checker, and each of them says something, says this."""
    sources = [path for folder in ("lakegate", "spark_jobs") for path in (ROOT / folder).rglob("*.py")]
    made = [
        (f"{path.relative_to(ROOT)}:{call.lineno}", {word.arg for word in call.keywords})
        for path in sources
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Advice"
    ]
    empty = [place for place, words in made if not words & WAYS]
    assert len(made) > 30
    assert [place.split(":")[0] for place in empty] == ["lakegate/audit/advice.py"]  # NO_ADVICE, of older reports
