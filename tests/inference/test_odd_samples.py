"""Samples that no contract takes are told by what is wrong with them: moments out of range, and wide encodings."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from itertools import permutations
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.audit.schema.types import canonical
from lakegate.contracts import load
from lakegate.inference.contract import infer
from lakegate.inference.sample import NoContract

DAY = 86_400
UNITS = {
    ("int", "date"): 1,
    ("long", "timestamp-millis"): DAY * 1_000,
    ("long", "timestamp-micros"): DAY * 1_000_000,
    ("long", "local-timestamp-millis"): DAY * 1_000,
    ("long", "local-timestamp-micros"): DAY * 1_000_000,
}
FIRST, END = -719_162, 2_932_897  # days from 1970 of 0001-01-01 and 10000-01-01
SHAPES: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any]]] = {
    "plain": (lambda of: of, lambda value: value),
    "nullable": (lambda of: ["null", of], lambda value: value),
    "list": (lambda of: {"type": "array", "items": of}, lambda value: [value]),
    "map": (lambda of: {"type": "map", "values": of}, lambda value: {"k": value}),
    "record": (
        lambda of: {"type": "record", "name": "part", "fields": [{"name": "in", "type": of}]},
        lambda value: {"in": value},
    ),
}


def number(value: int) -> bytes:
    zigzag, found = (value << 1) ^ (value >> 63), b""
    while zigzag > 0x7F:
        zigzag, found = zigzag >> 7, found + bytes([zigzag & 0x7F | 0x80])
    return found + bytes([zigzag])


def text(said: bytes) -> bytes:
    return number(len(said)) + said


def avro(shape: str, kind: str, logical: str, value: int) -> bytes:
    """A file whose schema says a logical type of a number, which need not be one of it."""
    schema_of, value_of = SHAPES[shape]

    def record(of: dict[str, str]) -> dict[str, Any]:
        fields = [{"name": "id", "type": "int"}, {"name": "at", "type": schema_of(of)}]
        return {"type": "record", "name": "r", "fields": fields}

    row = BytesIO()
    fastavro.schemaless_writer(row, record({"type": kind}), {"id": 1, "at": value_of(value)})
    said = json.dumps(record({"type": kind, "logicalType": logical})).encode()
    meta = number(2) + text(b"avro.schema") + text(said) + text(b"avro.codec") + text(b"null") + number(0)
    return b"Obj\x01" + meta + b"s" * 16 + number(1) + text(row.getvalue()) + b"s" * 16


@pytest.mark.parametrize("of", UNITS, ids=lambda of: of[1])
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_moment_beyond_the_years_of_a_calendar_is_named_with_its_column(
    shape: str, of: tuple[str, str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind, logical = of
    most, first, end = 2 ** (31 if kind == "int" else 63) - 1, FIRST * UNITS[of], END * UNITS[of]
    beyond = st.one_of(st.sampled_from([first - 1, end, -most - 1, most]), st.integers(end, most))
    value = data.draw(st.one_of(beyond, st.integers(-most - 1, first - 1)))
    path = tmp_path_factory.mktemp("avro") / "file.avro"
    path.write_bytes(avro(shape, kind, logical, value))
    with pytest.raises(NoContract) as raised:
        infer([path])
    assert f'column "at" has the {logical} {value}, which is outside the years 1 to 9999' in str(raised.value)


@pytest.mark.parametrize("of", UNITS, ids=lambda of: of[1])
@pytest.mark.parametrize("is_last", [False, True])
def test_the_first_and_the_last_moment_of_the_calendar_are_values(
    of: tuple[str, str], tmp_path: Path, *, is_last: bool
) -> None:
    path = tmp_path / "file.avro"
    path.write_bytes(avro("plain", *of, END * UNITS[of] - 1 if is_last else FIRST * UNITS[of]))
    assert "- name: at" in infer([path])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_wide_letters_are_called_by_their_encoding(encoding: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{ending}"
    said = "id,name\n1,x\n22,yy\n" if ending == "csv" else '{"id": 1}\n{"id": 2}\n'
    path.write_bytes(said.encode(encoding))
    with pytest.raises(NoContract, match=f"it is {encoding[:6].upper()}: write it as UTF-8"):
        infer([path])


BODIES = {
    "ASCII": "id,name\n1,x\n".encode("ascii"),
    "windows-1252": "id,name\n1,€\n".encode("cp1252"),
    "ISO-8859-1": b"id,name\n1,\x81\n",
    "UTF-8": "id,name\n1,é\n".encode(),
}


@pytest.mark.parametrize("pair", [*permutations(BODIES, 2)], ids="-".join)
def test_ascii_goes_with_every_encoding_and_others_with_none_but_their_own(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.csv" for name in pair]
    for path, name in zip(paths, pair, strict=True):
        path.write_bytes(BODIES[name])
    if "ASCII" not in pair:
        with pytest.raises(NoContract, match="written in another way"):
            infer(paths)
        return
    [other] = {*pair} - {"ASCII"}
    assert (f"encoding: {other}\n" in infer(paths)) == (other != "UTF-8")


SPACED = [
    (1, 'id, "name"\n1, "x"\n2, "y"\n'),
    (2, 'id,name\n1, "x, z"\n2, "y"\n'),
    (2, 'id,name\n1, "x"\n2, "y"\n3,\n'),
    (3, 'id,name\n1,"x"\n2, "y"\n'),
    (2, 'id;name;n\n1;\t"x";1\n2;"y";2\n'),
    (2, 'id\tname\n1\t  "x"\n2\t "y"\n'),
]


@pytest.mark.parametrize(("line", "said"), SPACED)
def test_a_space_before_a_quote_is_said_with_its_line(line: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text(said)
    with pytest.raises(NoContract, match=f"line {line} has a space before a quote"):
        infer([path])


def test_a_value_with_a_space_and_quotes_among_others_is_a_value(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    rows = [f"{number},word {number}" for number in range(9)]
    path.write_text("\n".join(["id,said", *rows, '10, "so to say"', '11,a "b" c']) + "\n")
    assert "- name: said" in infer([path])


def test_a_space_before_a_quote_within_quotes_is_not_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text('id,said\n1,"a, ""b"" c"\n2,x,y\n')
    with pytest.raises(NoContract, match="line 3 has 3 fields, not 2"):
        infer([path])


ENUM = {"type": "enum", "name": "E", "namespace": "ns", "symbols": ["A", "B"]}
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
PART = {
    "type": "record",
    "name": "S",
    "fields": [{"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
}
NAMED: list[tuple[dict[str, Any], str, Any, str]] = [
    (ENUM, "ns.E", "A", "string"),
    (PART, "S", {"t": 0}, "struct<t:timestamp>"),
    ({"type": "fixed", "name": "F", "size": 2}, "F", b"ab", "binary"),
    ({"type": "record", "name": "S", "fields": [{"name": "c", "type": CENTS}]}, "S", {"c": Decimal("1.50")},
     "struct<c:decimal(9,2)>"),
]  # fmt: skip


@pytest.mark.parametrize("shape", ["plain", "nullable", "list", "map", "record"])
@pytest.mark.parametrize(("said", "name", "value", "kind"), NAMED)
def test_a_name_of_avro_stands_for_its_type_wherever_it_is_used_again(
    said: dict[str, Any], name: str, value: Any, kind: str, shape: str, tmp_path: Path
) -> None:
    schema_of, value_of = SHAPES[shape]
    fields = [{"name": "first", "type": said}, {"name": "again", "type": schema_of(name)}]
    with (tmp_path / "a.avro").open("wb") as file:
        rows = [{"first": value, "again": value_of(value)}]
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    columns = {column.name: column.type for column in load(infer([tmp_path / "a.avro"]), "a").plan.columns}
    nested = {"list": f"array<{kind}>", "map": f"map<string,{kind}>", "record": f"struct<in:{kind}>"}
    assert columns == {"first": canonical(kind), "again": canonical(nested.get(shape, kind))}


def test_a_record_of_avro_that_is_a_part_of_itself_has_no_contract(tmp_path: Path) -> None:
    fields = [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "node"]}]
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "node", "fields": fields}, [{"v": 1, "next": None}])
    with pytest.raises(NoContract, match='column "next" is node, which is a part of itself'):
        infer([tmp_path / "a.avro"])
