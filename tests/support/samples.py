"""Sample files as strangers have them, drawn by Hypothesis: odd names, nulls, nested values, decimals, zones, a row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import orc, parquet

from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.types import parse
from tests.support.plans import plan
from tests.support.synthetic.avro import encoded

ODD_NAMES = [
    "id", "ID", "Id", "customer_id", "email", "order id", "a.b", "a:b", "x: y", "# no", "- dash", "'q'", '"dq"', "{x}",
    "[y]", "null", "yes", "true", "1", "1.5", "2013-01-01", "~", "&a", "*a", "!t", "%p", "|", ">", "@", "`tick`", "a,b",
    "é", "e\u0301", "日本", "\u202ertl", "\u200b", "🚀", "a\\b", "x" * 90, " lead", "trail ", "select", "rowid",
    "İ", "\u0131",
]  # fmt: skip
BAD_NAMES = ["", "a\nb", "\x07", "_file", "_lakegate_x", "_metadata"]
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - an aware one is made of it
ATOMS: Mapping[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{
        f"int{bits}": (getattr(pa, f"int{bits}")(), st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        for bits in (8, 16, 32, 64)
    },
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), st.integers(0, 2**bits - 1)) for bits in (8, 16, 32, 64)},
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=12)),
    "few": (pa.string(), st.sampled_from(["open", "paid", "sent"])),
    "large": (pa.large_string(), st.text(st.characters(codec="utf-8"), max_size=4)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "b", "null", "yes", "- x"])),
    "binary": (pa.binary(), st.binary(max_size=6)),
    "date": (pa.date32(), st.dates()),
    "clock": (pa.timestamp("us"), MOMENTS),
    "clock_ms": (pa.timestamp("ms"), MOMENTS.map(lambda it: it.replace(microsecond=0))),
    "instant": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda it: it.replace(tzinfo=UTC))),
    "berlin": (pa.timestamp("us", "Europe/Berlin"), MOMENTS.map(lambda it: it.replace(tzinfo=UTC))),
    "decimal": (pa.decimal128(9, 2), st.integers(-(10**9) + 1, 10**9 - 1).map(lambda it: Decimal(it).scaleb(-2))),
    "wide": (pa.decimal128(38, 0), st.integers(-(10**30), 10**30).map(Decimal)),
    "small": (pa.decimal128(2, 2), st.integers(-99, 99).map(lambda it: Decimal(it).scaleb(-2))),
    "nothing": (pa.null(), st.none()),
}
STRANGE: Mapping[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "nanoseconds": (pa.timestamp("ns"), st.just(datetime(2013, 1, 1))),  # noqa: DTZ001 - a clock's
    "time": (pa.time64("us"), st.just(time(12))),
}
INNER = "y: z"
"""A field's name in a struct. Avro takes plain ones alone."""
Drawn = tuple[pa.DataType, list[Any]]


@st.composite
def column(draw: st.DrawFn, rows: int, *, typed: Mapping[str, Any], inner: str) -> Drawn:
    kind, values = typed[draw(st.sampled_from(sorted(typed)))]
    shape = draw(st.sampled_from(["plain", "plain", "plain", "list", "struct", "map"]))
    if shape != "plain" and kind != pa.null():
        kind, values = _nested(shape, kind, values, inner)
    nulls = draw(st.sampled_from([False, False, True]))
    each = st.one_of(st.none(), values) if nulls else values
    return kind, draw(st.lists(each, min_size=rows, max_size=rows))


def _nested(
    shape: str, kind: pa.DataType, values: st.SearchStrategy[Any], inner: str = INNER
) -> tuple[pa.DataType, Any]:
    some = st.one_of(st.none(), values)
    if shape == "list":
        return pa.list_(kind), st.lists(some, max_size=3)
    if shape == "map":
        return pa.map_(pa.string(), kind), st.dictionaries(st.text("ab", max_size=2), some, max_size=2).map(_pairs)
    fields = {"x": some, inner: st.integers(0, 9)}
    return pa.struct([("x", kind), (inner, pa.int32())]), st.fixed_dictionaries(fields)


def _pairs(entries: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(entries.items())


@st.composite
def names(draw: st.DrawFn, most: int = 5) -> list[str]:
    one = st.one_of(
        st.sampled_from(ODD_NAMES),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8),
    )
    return draw(st.lists(one, min_size=1, max_size=most, unique=True))


@st.composite
def tables(draw: st.DrawFn, *, atoms: Mapping[str, Any] = ATOMS, strange: bool = False, inner: str = INNER) -> pa.Table:
    rows = draw(st.sampled_from([0, 1, 2, 5, 25, 45]))
    called = draw(names())
    if draw(st.integers(0, 9)) == 0:
        called = [*called, draw(st.sampled_from(BAD_NAMES))]
    types = {**atoms, **(STRANGE if strange and draw(st.integers(0, 14)) == 0 else {})}
    columns = [draw(column(rows, typed=types, inner=inner)) for _ in called]
    arrays = [pa.array(values, kind) for kind, values in columns]
    return pa.Table.from_arrays(arrays, names=called)


@st.composite
def every_type(draw: st.DrawFn, *, atoms: Mapping[str, Any] = ATOMS, inner: str = INNER, rows: int = 4) -> pa.Table:
    """A table with a column of each type, and with each type as a part of nested ones."""
    arrays = {}
    for name, (kind, values) in atoms.items():
        shapes = ("plain",) if kind == pa.null() else ("plain", "list", "struct", "map")
        for shape in shapes:
            of_shape = (kind, values) if shape == "plain" else _nested(shape, kind, values, inner)
            each = st.lists(st.one_of(st.none(), of_shape[1]), min_size=rows, max_size=rows)
            arrays[f"{name}_{shape}"] = pa.array(draw(each), of_shape[0])
    return pa.table(arrays)


UNQUOTED = "\0\r"  # csv leaves them out of quotes, where they end lines or stop readers
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters=UNQUOTED), max_size=10),
    st.sampled_from(["", " ", "NA", "null", "007", "+5", "1e5", "nan", "true", "12:30", "'", '"', "a,b", "2013-02-30"]),
)
COLUMNS_OF_TEXT: Mapping[str, st.SearchStrategy[str]] = {
    "text": TEXTS,
    "int": st.integers(-(2**31), 2**31 - 1).map(str),
    "bigint": st.integers(-(2**63), 2**63 - 1).map(str),
    "huge": st.integers(2**63, 2**70).map(str),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "any double": st.floats().map(repr),
    "spaced": st.integers(0, 99).map(lambda it: f" {it} "),
    "padded": st.integers(0, 99).map(lambda it: f"{it:05}"),
    "plus": st.integers(0, 99).map(lambda it: f"+{it}"),
    "boolean": st.sampled_from(["true", "False", "TRUE"]),
    "yes": st.sampled_from(["yes", "no"]),
    "date": st.dates().map(str),
    "clock": MOMENTS.map(str),
    "iso": MOMENTS.map(lambda it: it.isoformat()),
    "minutes": MOMENTS.map(lambda it: f"{it:%Y-%m-%d %H:%M}".rjust(16, "0")),
    "instant": MOMENTS.map(lambda it: f"{it.isoformat()}Z"),
    "offset": MOMENTS.map(lambda it: f"{it.isoformat()}+05:30"),
    "midnight": st.just("2013-01-01 24:00:00"),
    "no day": st.just("2013-02-30"),
    "year zero": st.just("0000-01-01"),
    "german": st.dates().map(lambda it: f"{it.day:02}.{it.month:02}.{it.year:04}"),
    "short german": st.dates().map(lambda it: f"{it.day}.{it.month}.{it.year:04}"),
    "slashes": st.dates().map(lambda it: f"{it.day:02}/{it.month:02}/{it.year:04}"),
    "american": st.dates().map(lambda it: f"{it.month}/{it.day}/{it.year:04}"),
    "NA": st.one_of(st.just("NA"), st.integers(0, 9).map(str)),
    "dash": st.one_of(st.just("-"), st.integers(0, 9).map(str)),
    "few": st.sampled_from(["open", "paid"]),
    "empty": st.just(""),
}


@st.composite
def csvs(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A CSV's text and its names. A first column counts rows, so that there is a header to be found."""
    rows = draw(st.sampled_from([1, 2, 25, 45]))
    called = ["n", *(name for name in draw(names(4)) if name.strip(" '") == name and name not in ("n", "N"))]
    kinds = [draw(st.sampled_from(sorted(COLUMNS_OF_TEXT))) for _ in called[1:]]
    blank = draw(st.booleans())
    fields = [
        [
            str(at),
            *(
                draw(st.one_of(st.just(""), COLUMNS_OF_TEXT[kind]) if blank else COLUMNS_OF_TEXT[kind])
                for kind in kinds
            ),
        ]
        for at in range(rows)
    ]
    out = StringIO()
    end = draw(st.sampled_from(["\n", "\r\n"]))
    writer = csv.writer(out, delimiter=draw(st.sampled_from(",;\t|")), lineterminator=end)
    writer.writerows([called, *fields])
    return out.getvalue(), called


@st.composite
def every_text(draw: st.DrawFn, *, rows: int = 8) -> str:
    """A CSV with a column of each way to write values."""
    fields = [[str(at), *(draw(values) for values in COLUMNS_OF_TEXT.values())] for at in range(rows)]
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([["n", *COLUMNS_OF_TEXT], *fields])
    return out.getvalue()


JSON_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    **{
        kind: values
        for kind, values in COLUMNS_OF_TEXT.items()
        if kind in ("text", "date", "clock", "instant", "german")
    },
    "number": st.integers(-(2**40), 2**40),
    "huge number": st.integers(2**63, 2**70),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "truth": st.booleans(),
    "mixed": st.one_of(st.integers(), st.text(max_size=3), st.booleans()),
    "object": st.fixed_dictionaries({"a": st.integers(0, 5)}),
    "list": st.lists(st.integers(0, 5), max_size=3),
    "null": st.none(),
}


@st.composite
def json_lines(draw: st.DrawFn) -> str:
    rows, called = draw(st.sampled_from([0, 1, 2, 25])), draw(names(4))
    kinds = [draw(st.sampled_from(sorted(JSON_VALUES))) for _ in called]
    lines = []
    for _ in range(rows):
        there = {name: draw(JSON_VALUES[kind]) for name, kind in zip(called, kinds, strict=True)}
        if draw(st.booleans()):
            there.pop(draw(st.sampled_from(called)))
        lines.append(json.dumps(there, ensure_ascii=draw(st.booleans())))
    return "\n".join(lines)


@st.composite
def every_json(draw: st.DrawFn, *, rows: int = 8) -> str:
    """JSON lines with a key of each way to write values."""
    objects = [{name: draw(values) for name, values in JSON_VALUES.items()} for _ in range(rows)]
    return "\n".join(json.dumps(each, ensure_ascii=draw(st.booleans())) for each in objects)


def _avro(rows: pa.Table, path: Path) -> None:
    path.write_bytes(encoded(rows, avro_plan(rows)))


def avro_plan(rows: pa.Table) -> Plan:
    kinds = {field.name: _avro_type(field.type) for field in rows.schema}
    return plan("nyc.t", kinds)


def _avro_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_avro_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<string,{_avro_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{_avro_type(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    named = {pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double"}
    named |= {pa.bool_(): "boolean", pa.string(): "string", pa.binary(): "binary", pa.date32(): "date"}
    named |= {pa.timestamp("us"): "timestamp_ntz", pa.timestamp("us", "UTC"): "timestamp"}
    return str(parse(named[kind]))


WRITERS: Mapping[str, Callable[[pa.Table, Path], object]] = {
    "parquet": parquet.write_table,
    "orc": orc.write_table,
    "avro": _avro,
}
IN_ORC = ("int8", "int16", "int32", "int64", "float", "double", "bool", "string", "few", "binary", "decimal", "wide")
IN_AVRO = (
    "int32",
    "int64",
    "float",
    "double",
    "bool",
    "string",
    "few",
    "binary",
    "date",
    "clock",
    "instant",
    "decimal",
)


def of(*kinds: str) -> dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]]:
    return {kind: ATOMS[kind] for kind in kinds}
