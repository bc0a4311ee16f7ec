"""Inputs after public bug reports of other tools: `contract init` says of each what the job would read, or why not."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.contracts import Contract, load
from lakegate.express import metrics
from lakegate.inference import text_types as types
from lakegate.inference import typed_samples
from lakegate.inference.contract import infer
from lakegate.inference.csv_dialect import USUAL
from lakegate.inference.sample import NoContract
from lakegate.reading.values import reader


def inferred(body: bytes | str, name: str, folder: Path) -> Contract:
    path = folder / name
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    return load(infer([path]), name)


def columns(found: Contract) -> dict[str, str]:
    return {column.name: column.type for column in found.plan.columns}


def of_rows(rows: list[list[str]], **dialect: str) -> str:
    out = StringIO()
    csv.writer(out, lineterminator="\n", **dialect).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


UNKNOWN: Mapping[str, dict[str, Any]] = {
    "brotli": {"compression": "brotli"},
    "byte stream split": {"use_byte_stream_split": True, "use_dictionary": False},
}
ORDERS = [["id", "name", "amount"], *([f"{at}", f"client {at}", f"{at}.50"] for at in range(1, 400))]


@pytest.mark.parametrize("sign", USUAL)
@pytest.mark.parametrize(("odd", "has"), [(["777", "short"], 2), (["Total: 399"], 1), (["1", "a", "2", "3"], 4)])
@pytest.mark.parametrize("at", [2, 251, 400])
def test_a_line_with_other_fields_is_told_by_its_number(
    tmp_path: Path, sign: str, odd: list[str], has: int, at: int
) -> None:
    rows = [*ORDERS[: at - 1], odd, *ORDERS[at - 1 :]]
    with pytest.raises(NoContract, match=f"line {at} has {has} fields?, not 3: mend it, or remove it"):
        inferred(of_rows(rows, delimiter=sign), "a.csv", tmp_path)


@pytest.mark.parametrize("sign", USUAL)
def test_no_contract_has_one_column_whose_name_holds_a_delimiter(tmp_path: Path, sign: str) -> None:
    for lines in (["a?b", "1", "2", "3"], ["a?b", "1", "2?3", "4"], ["a", "1?2", "3?4"], ["a?b?c", "1?2", "3?4"]):
        with pytest.raises(NoContract, match="line"):
            inferred("\n".join(lines).replace("?", sign), "a.csv", tmp_path)


@pytest.mark.parametrize(("field", "quote"), [("Ruby Sons", '"'), ("Smith, A", '"'), ("Ruby Sons", "'"), ("a\nb", '"')])
def test_a_quote_far_below_is_a_quote(tmp_path: Path, field: str, quote: str) -> None:
    rows = [f"{at},client {at},{at}" for at in range(30_000)]
    rows[25_000] = f"25000,{quote}{field}{quote},1"
    if quote == "'":
        rows = [f"{at},{quote}client {at}{quote},{at}" for at in range(30_000)]
    found = inferred("\n".join(["id,name,n", *rows]), "a.csv", tmp_path)
    assert (found.plan.files.quote, found.plan.files.multiline) == (quote, "\n" in field)
    assert columns(found) == {"id": "bigint", "name": "string", "n": "bigint"}


def test_text_of_null_is_one_columns_own(tmp_path: Path) -> None:
    body = "id,country,n\n" + "".join(
        f"{at},{'NA' if at % 5 else 'DE'},{'NA' if at == 7 else at}\n" for at in range(60)
    )
    found = inferred(body, "a.csv", tmp_path)
    assert found.plan.files.nulls == ("",)
    assert found.plan.files.column_nulls == {"n": ("", "NA")}
    assert columns(found) == {"id": "bigint", "country": "string", "n": "bigint"}


KEPT = {  # texts of a column, and the type that writes each of them again
    ("1", "20", "-3"): "bigint",
    ("0", "7"): "bigint",
    ("007", "8"): "string",
    ("+5", "6"): "string",
    ("-0", "1"): "string",
    ("9223372036854775807",): "bigint",
    ("9223372036854775808", "1"): "string",
    ("1.5", "2.25", "3"): "double",
    ("1.5", "2.0"): "double",
    ("1.50", "2.25"): "decimal(18,2)",
    ("1.50", "2.5"): "string",
    ("12345678901234568.01", "1.00"): "decimal(19,2)",
    ("12E2", "10E0"): "string",
    ("1e-05", "0.5"): "double",
    ("1.0E10", "1.5"): "double",
    ("1e+16", "2.5"): "double",
    (".5", "1.5"): "string",
    ("5.", "1.5"): "string",
    ("-0.00", "1.00"): "string",
    ("1,5", "2,5"): "string",
    ("1,234.50", "2.50"): "string",
    ("$1", "$2"): "string",
    ("NaN", "1.5"): "double",
    ("NaN", "nan", "1.5"): "string",
    ("inf", "-inf", "1.5"): "double",
    ("True", "False"): "boolean",
    ("TRUE", "False"): "string",
    ("yes", "no"): "string",
    ("t", "f"): "string",
    ("1", "yes"): "string",
    ("2013-01-05", "1999-12-31"): "date",
    ("2013-01-05", "2013-02-30"): "string",
    ("0000-01-01",): "string",
    ("2013-01-05 10:00:00",): "timestamp_ntz",
    ("2013-01-05T10:00:00Z",): "timestamp",
    ("2013-01-05T10:00:00Z", "2013-01-05T10:00:00"): "string",
    ("2013-01-05T10:00:00.123456789",): "string",
    ("24:00",): "string",
    ("31.12.2013", "01.02.2013"): "date",
    ("01/02/2013", "03/04/2013"): "string",
    (" 5", " 7"): "bigint",
    (" 5", "7 "): "string",
    ("   5", "  10"): "bigint",
    ("0x10", "1"): "string",
    ("1_000", "1"): "string",
    ("\u0661", "1"): "string",
}


@pytest.mark.parametrize(("texts", "kind"), KEPT.items(), ids=str)
def test_a_type_writes_each_text_again_or_it_stays_text(texts: tuple[str, ...], kind: str) -> None:
    assert str(types.type_of_texts("c", texts).type) == kind


NUMERALS = st.from_regex(r"\A[+-]?[0-9]{0,20}([.][0-9]{0,20})?([eE][+-]?[0-9]{1,3})?\Z")


@settings(max_examples=200)
@given(st.lists(NUMERALS.filter(bool), min_size=1, max_size=3, unique=True))
def test_a_number_that_is_written_in_two_ways_is_text(texts: list[str]) -> None:
    found = types.type_of_texts("c", texts)
    if str(found.type) != "string":
        read = [reader(str(found.type))(text) for text in texts]
        assert len({str(value) for value in read}) == len(texts)


@pytest.mark.parametrize("ends", ["\r\n \n", "\n \r\n", "\r \n", "\r\n \r \n"])
def test_lines_may_end_in_several_ways(tmp_path: Path, ends: str) -> None:
    several = ends.split(" ")
    body = "".join(f"{line}{several[at % len(several)]}" for at, line in enumerate(["id,name", *["1,a", "2,b"] * 20]))
    assert columns(inferred(body, "a.csv", tmp_path)) == {"id": "bigint", "name": "string"}


def test_line_ends_in_a_field_and_lines_that_end_in_several_ways_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(NoContract, match="end all lines in the same way"):
        inferred('id,name\n1,"a\nb"\r\n2,c\n', "a.csv", tmp_path)


def test_a_field_may_have_three_megabytes(tmp_path: Path) -> None:
    found = inferred("id,name\n1," + "x" * 3_000_000 + "\n2,b\n", "a.csv", tmp_path)
    assert columns(found) == {"id": "bigint", "name": "string"}


def test_parts_of_json_are_spelled_as_the_job_spells_them(tmp_path: Path) -> None:
    objects = [{"id": at, "tags": ["a", "b"] if at % 2 else ["c"], "o": {"x": at % 2, "y": "é"}} for at in range(60)]
    body = "\n".join(json.dumps(each, indent=None) for each in objects)
    found = inferred(body, "a.jsonl", tmp_path)
    assert columns(found) == {"id": "bigint", "tags": "string", "o": "string"}
    assert any('["a","b"]' in metric.sql for metric in found.plan.metrics)


JSON_TYPES = {
    ('"1000"', '"2"'): "string",
    ('"true"',): "string",
    ('"1.50"',): "string",
    ('"2024-01-02"',): "date",
    ("1", "2.0"): "double",
    ("1", "2.5", "null"): "double",
    ("9007199254740993", "1.5"): "decimal(18,1)",
    ("12345678901234568.01",): "decimal(19,2)",
    ("9223372036854775808",): "string",
    ("1", '"a"'): "string",
    ("true", "1"): "string",
    ("[1, 2.5]", "{}"): "string",
    ("[0.30000000000000004]",): "string",
    ("null",): "string",
    ("-0",): "bigint",
}


@pytest.mark.parametrize(("values", "kind"), JSON_TYPES.items(), ids=str)
def test_a_key_of_json_has_the_type_that_keeps_its_values(tmp_path: Path, values: tuple[str, ...], kind: str) -> None:
    body = "\n".join(f'{{"n": "x", "v": {value}}}' for value in values)
    assert columns(inferred(body, "a.jsonl", tmp_path))["v"] == kind


def test_numbers_of_json_that_no_type_holds_have_no_contract(tmp_path: Path) -> None:
    for value in ("1e400", "0." + "123456789" * 5):
        with pytest.raises(NoContract, match="have them written in quotes"):
            inferred(f'{{"v": {value}}}\n{{"v": 1.5}}', "a.jsonl", tmp_path)


@pytest.mark.parametrize("places", [0, 2, 9])
@pytest.mark.parametrize("size", [17, 27, 28, 29, 30, 37, 38])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_sample_is_within_the_bounds_of_its_numbers_however_many_digits_they_have(
    tmp_path: Path, sign: str, size: int, places: int
) -> None:
    digits = [f"{10 ** (size - 1) + at}" for at in range(25)]
    texts = [f"{sign}{each[: size - places]}.{each[size - places :]}" if places else f"{sign}{each}" for each in digits]
    found = inferred(of_rows([["k", "v"], *([f"{at}", text] for at, text in enumerate(texts))]), "a.csv", tmp_path)
    assert columns(found)["v"] in (
        ("bigint", "string") if not places else (f"decimal({max(size, 18)},{places})", "double")
    )


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy", "zstandard"])
def test_every_codec_of_avro_that_the_job_reads_is_read(tmp_path: Path, codec: str) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "string"}],
    }
    body = packed([{"id": at, "s": f"a{at}" * 50} for at in range(3_000)], schema, codec)
    assert columns(inferred(body, "a.avro", tmp_path)) == {"id": "bigint", "s": "string"}


@pytest.mark.parametrize(
    ("said", "value", "kind", "stays"),
    [
        ({"type": "long", "logicalType": "time-micros"}, 86_399_999_999, "bigint", 86_399_999_999),
        ({"type": "int", "logicalType": "time-millis"}, 86_399_999, "int", 86_399_999),
        ({"type": "string", "logicalType": "uuid"}, "ABCDEF78-1234-5678-1234-567812345678", "string", None),
        ({"type": "string", "logicalType": "uuid"}, "hello", "string", None),
        ({"type": "fixed", "name": "f", "size": 16, "logicalType": "uuid"}, b"0123456789abcdef", "binary", None),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 2**60, "bigint", 2**60),
        ({"type": "string", "logicalType": "strange"}, "x", "string", None),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_logical_types_of_avro_that_spark_passes_over_leave_the_values_as_they_are(
    tmp_path: Path, said: dict[str, object], value: object, kind: str, stays: int | None, *, nested: bool
) -> None:
    of: object = {"type": "array", "items": ["null", said]} if nested else ["null", said]
    plain = {word: part for word, part in said.items() if word != "logicalType"}
    written = {"type": "array", "items": ["null", plain]} if nested else ["null", plain]
    own = {"type": "record", "name": "r", "fields": [{"name": "v", "type": written}]}
    body = packed([{"v": [value] if nested else value}] * 30, own, "null")
    (tmp_path / "a.avro").write_bytes(with_schema(body, {**own, "fields": [{"name": "v", "type": of}]}))
    sample = typed_samples.avro(tmp_path / "a.avro")
    assert str(sample.columns["v"]) == (f"array<{kind}>" if nested else kind)
    assert sample.rows.column("v").to_pylist() == [[value] if nested else value] * 30
    if stays and not nested:
        assert f"{stays}" in infer([tmp_path / "a.avro"])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 2}, "is a decimal of 39 digits"),
        ({"type": "record", "name": "z", "fields": []}, "is a struct without fields"),
    ],
)
def test_types_of_avro_that_no_table_holds_are_named(tmp_path: Path, said: dict[str, object], why: str) -> None:
    value: object = Decimal("1.50") if said["type"] == "bytes" else {}
    body = packed([{"v": value}], {"type": "record", "name": "r", "fields": [{"name": "v", "type": said}]}, "null")
    with pytest.raises(NoContract, match=f'column "v" {why}'):
        inferred(body, "a.avro", tmp_path)


@pytest.mark.parametrize("said", UNKNOWN.values(), ids=UNKNOWN)
def test_parquet_that_spark_has_no_code_for_has_no_contract(tmp_path: Path, said: dict[str, Any]) -> None:
    pq.write_table(pa.table({"v": [1.5, 2.5]}), tmp_path / "a.parquet", **said)
    with pytest.raises(NoContract, match="which Spark does not read: write it with another compression or encoding"):
        infer([tmp_path / "a.parquet"])


def with_schema(body: bytes, schema: Mapping[str, object]) -> bytes:
    """The same blocks below another schema, which says the same of their bytes."""
    file, out = BytesIO(body[4:]), BytesIO()
    meta = fastavro.schemaless_reader(file, {"type": "map", "values": "bytes"}, None)
    assert isinstance(meta, dict)
    meta = {**meta, "avro.schema": json.dumps(schema).encode()}
    fastavro.schemaless_writer(out, {"type": "map", "values": "bytes"}, meta)
    return body[:4] + out.getvalue() + file.read()


def packed(records: list[dict[str, object]], schema: Mapping[str, object], codec: str) -> bytes:
    """Fastavro writes some codecs with packages of their own alone: two are packed here by Arrow."""
    out = BytesIO()
    own = codec not in ("snappy", "zstandard")
    fastavro.writer(out, dict(schema), records, codec=codec if own else "null", sync_interval=10_000)
    return out.getvalue() if own else repacked(out.getvalue(), codec)


def repacked(body: bytes, codec: str) -> bytes:
    file, out = BytesIO(body), BytesIO()
    assert file.read(4) == b"Obj\x01"
    meta = fastavro.schemaless_reader(file, {"type": "map", "values": "bytes"}, None)
    sync = file.read(16)
    assert isinstance(meta, dict)
    out.write(b"Obj\x01")
    fastavro.schemaless_writer(out, {"type": "map", "values": "bytes"}, {**meta, "avro.codec": codec.encode()})
    out.write(sync)
    while file.tell() < len(body):
        count, size = (fastavro.schemaless_reader(file, "long", None) for _ in range(2))
        block = pa.compress(file.read(int(str(size))), codec={"zstandard": "zstd"}.get(codec, codec), asbytes=True)
        block += b"\0\0\0\0" if codec == "snappy" else b""
        fastavro.schemaless_writer(out, "long", count)
        fastavro.schemaless_writer(out, "long", len(block))
        out.write(block + file.read(16))
    return out.getvalue()


def test_moments_of_96_bits_are_of_the_year_that_the_job_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    moments = pa.array([-62_135_596_800_000_000 + at for at in range(30)], pa.timestamp("us"))
    pq.write_table(pa.table({"at": moments}), path, use_deprecated_int96_timestamps=True)
    assert "1754" not in infer([path])


def test_a_bound_of_decimals_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rates = pa.array([f"0.{at:03}0" for at in range(40)]).cast(pa.decimal128(6, 4))
    pq.write_table(pa.table({"rate": rates}), path)
    assert "maximum: 0.08  #" in infer([path])


def test_text_of_parquet_that_is_not_utf_8_has_no_contract(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    wrong = pa.Array.from_buffers(pa.string(), 1, pa.array([b"M\xfcller"]).buffers())
    for values in (wrong, pa.ListArray.from_arrays([0, 1], wrong)):
        pq.write_table(pa.table({"name": values}), path)
        with pytest.raises(NoContract, match='column "name" has text that is not UTF-8'):
            infer([path])


@pytest.mark.parametrize("width", [60, 240])
def test_the_queries_of_a_wide_file_grow_with_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    asked: list[int] = []
    own = metrics.DuckDB._over

    def counted(self: metrics.DuckDB, rows: pa.Table) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        asked.append(rows.num_columns)
        return own(self, rows)

    monkeypatch.setattr(metrics.DuckDB, "_over", counted)
    rows = [[f"c{at}" for at in range(width)], *([str(at) for at in range(width)] for _ in range(25))]
    assert len(columns(inferred(of_rows(rows), "w.csv", tmp_path))) == width
    assert max(asked) <= metrics.PER_QUERY
    assert len(asked) <= width


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        ("Report of May\n\nid,name\n1,a\n2,b\n3,c\n", "a.csv", "it begins with 1 line that hold no rows: remove them"),
        ("# made by us\nid,name\n1,a\n2,b\n3,c\n", "a.csv", "it begins with 1 line"),
        ("id,name\n1,a\n# made by us\n3,c\n", "a.csv", "line 3 has 1 field, not 2"),
        ('id,name\n1,a\n2,"b"c\n3,d\n', "a.csv", "line 3: a quote is out of place"),
        ('id,name\n1,a\n2,"b\n3,d\n', "a.csv", "line 3: a quote is out of place"),
        ("\nid,name\n1,a\n2,b\n", "a.csv", "its first line is blank"),
        ("id,id\n1,2\n", "a.csv", 'column "id" is there 2 times'),
        ("id,,x\n1,2,3\n", "a.csv", "column 2 has no name"),
        ('{"a": 1}\n{"a": 1, "A": 2}\n', "a.jsonl", 'columns "a" and "A" are the same in any case'),
        ('{"a": 1}\n{"a": {"b": 1}, "a": 2}\n', "a.jsonl", "line 2: it has a key twice"),
        ('{"a": 1}\n{"a": "\\ud83d"}\n', "a.jsonl", "line 2 has half of a surrogate pair"),
        ("id,name\n1,a\n".encode("utf-16-le"), "a.csv", "it is UTF-16"),
        ("id,name\n1,é\n".encode() + b"2,\xe9\n", "a.csv", "line 3 is not UTF-8, and other lines are"),
        (gzip.compress(b"id,name\n1,a\n" * 99)[:-9], "a.csv.gz", "it is not whole"),
        ("sep=;\nid;name\n1;a\n", "a.csv", "its first line says 'sep=;'"),
        ("id,name\n1,a,\n2,b,\n", "a.csv", "line 2 has 3 fields, not 2"),
        ("id,name\n1,a\nTotal: 1\n", "a.csv", "line 3 has 1 field, not 2"),
        ('[{"id": 1}]\n', "a.json", "line 1 is not a JSON object"),
        ('{"id": ' + "[" * 5_000 + "]" * 5_000 + "}\n", "a.json", "line 1 cannot be told"),
    ],
)
def test_what_cannot_be_told_is_said_with_its_line(body: bytes | str, name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(NoContract) as error:
        inferred(body, name, tmp_path)
    assert why in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_a_header_of_years_is_a_header_and_a_line_of_numbers_is_a_row(tmp_path: Path) -> None:
    years = inferred("country,2013,2014\n" + "".join(f"c{at},{at},{at}\n" for at in range(9)), "a.csv", tmp_path)
    assert columns(years) == {"country": "string", "2013": "bigint", "2014": "bigint"}
    rows = inferred("".join(f"c{at},{at},{at}.5\n" for at in range(9)), "b.csv", tmp_path)
    assert columns(rows) == {"column1": "string", "column2": "bigint", "column3": "double"}


def test_over_a_thousand_columns_have_a_line_each(tmp_path: Path) -> None:
    texts = ("1", "1.50", "2013-01-05", "a", "31.12.2013", "true", "NA")
    rows = [[f"c{at}" for at in range(1_100)], *([texts[at % 7] for at in range(1_100)] for _ in range(2))]
    rows.append([{"NA": "7"}.get(text, text) for text in rows[-1]])
    found = inferred(of_rows(rows), "w.csv", tmp_path)
    kinds = ["bigint", "decimal(18,2)", "date", "string", "date", "boolean", "bigint"]
    assert list(columns(found).values())[:7] == kinds
    assert (found.plan.files.patterns["c4"], found.plan.files.column_nulls["c6"]) == ("dd.MM.yyyy", ("", "NA"))


PIECES = st.sampled_from(
    [*"a1,;|\t\n\r\"'\\ {}[]:.-+eE", '"', "\n", ",", "é", "\ufeff", "\0", "null", "true", "2013-01-05"]
)


@settings(max_examples=50)
@given(st.one_of(st.lists(PIECES, max_size=40).map(lambda it: "".join(it).encode()), st.binary(max_size=60)))
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_any_bytes_have_a_contract_or_a_reason(name: str, body: bytes) -> None:
    with TemporaryDirectory() as folder, suppress(NoContract):
        inferred(body, name, Path(folder))
