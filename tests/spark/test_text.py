"""Text files as rows: what parses is of the contract's types, what does not is told with its line, and nothing else."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

from lakegate.audit.evaluation import samples
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Metric, MetricKind, Plan, Severity
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.audit.schema.inspection import Inspection, fit_all
from lakegate.contracts.files.formats import date_spelling
from spark_jobs.appending.faults import find_corrupt
from spark_jobs.appending.rows import rows_of
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.formats.text.parsing import value
from spark_jobs.jvm.spark_sql import literal
from spark_jobs.metrics import malformed
from tests.support.plans import plan

pytestmark = pytest.mark.spark
COLUMNS = {
    "id": "int",
    "big": "bigint",
    "amount": "decimal(5,2)",
    "x": "double",
    "f": "float",
    "ok": "boolean",
    "day": "date",
    "at": "timestamp",
    "clock": "timestamp_ntz",
    "say": "string",
}
zstd: Callable[[bytes], bytes] = partial(pa.Codec("zstd").compress, asbytes=True)
MALFORMED = Metric(id="malformed", kind=MetricKind.MALFORMED)
CSV, JSON = FileFormat(kind=FileKind.CSV), FileFormat(kind=FileKind.JSON)


def written(form: FileFormat, columns: Mapping[str, str] = COLUMNS) -> Plan:
    return replace(plan("nyc.t", dict(columns), [MALFORMED]), files=form)


def staged(folder: Path, by: Plan, **bodies: bytes) -> list[JobFile]:
    files = []
    for name, body in bodies.items():
        path = folder / f"{name}{by.files.suffix('landed')}"
        path.write_bytes(body)
        files.append(JobFile(id=name, key="landed", uri=f"file:{path}", size=len(body)))
    return files


def inspected(spark: SparkSession, folder: Path, by: Plan, **bodies: bytes) -> dict[str, Inspection]:
    _, inspections = fit_all(by, None, inspect_all(spark, by, staged(folder, by, **bodies)))
    return {inspection.id: inspection for inspection in inspections}


def read(spark: SparkSession, folder: Path, by: Plan, body: bytes) -> tuple[list[Row], list[tuple[int, str]]]:
    """The rows that parse, without their file, and of the others line and reason."""
    inspection = inspected(spark, folder, by, f1=body)["f1"]
    assert inspection.faults == ()
    good = rows_of(spark, by, [inspection]).drop("_lakegate_file").collect()
    left_out = malformed.count(spark, by, [inspection], {"f1": len(good)})
    assert inspection.rows == len(good) + left_out.get("f1", 0)
    sample = malformed.sample(spark, by, inspection, limit=1000) if left_out else ()
    assert len(sample) == left_out.get("f1", 0)
    return good, [(told.get("line") or told["row"], told["why"]) for told in sample]


def why(column: str) -> str:
    return f'column "{column}" is not a valid {COLUMNS[column]}'


FIELDS: dict[str, dict[str, object]] = {  # what a field says, and what it is; None where it is no value of its column
    "id": {"12": 12, "-12": -12, "+7": 7, " 5 ": 5, "12x": None, "1.5": None, "1e3": None, "2147483648": None},
    "big": {"9223372036854775807": 2**63 - 1, "9223372036854775808": None},
    "amount": {
        "1.25": Decimal("1.25"),
        "1.2500": Decimal("1.25"),
        "-.5": Decimal("-0.50"),
        "999.99": Decimal("999.99"),
        "1.255": None,
        "1000": None,
        "1e2": None,
        "one": None,
    },
    "x": {
        "1.5": 1.5,
        "1e3": 1000.0,
        ".5": 0.5,
        "1": 1.0,
        "-inf": -float("inf"),
        "1e999": None,
        "1d": None,
        "0x1": None,
    },
    "f": {"1.5": 1.5, "1e39": None},
    "ok": {"true": True, "FALSE": False, "yes": None, "1": None},
    "day": {"2013-02-28": date(2013, 2, 28), "2013-02-30": None, "2013-2-3": None, "2013": None, "28/02/2013": None},
    "at": {
        "2013-01-05T10:00:00Z": datetime(2013, 1, 5, 10, tzinfo=UTC),
        "2013-01-05 10:00": datetime(2013, 1, 5, 10, tzinfo=UTC),
        "2013-01-05T10:00:00.123456+02:00": datetime(2013, 1, 5, 8, 0, 0, 123456, tzinfo=UTC),
        "2013-01-05": None,
        "2013-01-05T25:00:00Z": None,
        "2013-01-05T10:00:00.1234567": None,
        "now": None,
    },
    "clock": {"2013-01-05T10:00:00": datetime(2013, 1, 5, 10), "2013-01-05T10:00:00Z": None},  # noqa: DTZ001 - no zone
    "say": {"a b": "a b", " a ": " a ", '"a,b"': "a,b", '"say ""hi"""': 'say "hi"', '""': "", "NaN": "NaN", "é": "é"},
}


def test_a_field_is_a_value_of_its_type_or_its_row_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    cases = [(column, text, value) for column, texts in FIELDS.items() for text, value in texts.items()]
    lines = [",".join(text if name == column else "" for name in COLUMNS) for column, text, _ in cases]
    good, bad = read(spark, tmp_path, written(CSV), "\n".join([",".join(COLUMNS), *lines]).encode())
    fine = [(column, value) for column, _, value in cases if value is not None]
    assert [_plain(row, column) for row, (column, _) in zip(good, fine, strict=True)] == [value for _, value in fine]
    assert all(sum(value is not None for value in row) == 1 for row in good)
    assert bad == [(at, why(column)) for at, (column, _, value) in enumerate(cases, start=2) if value is None]


def _plain(row: Row, column: str) -> object:
    return row[column].astimezone(UTC) if column == "at" else row[column]


BROKEN = {
    b"1,a": "",
    b"2": "it does not have 2 fields",
    b"3,a,": "it does not have 2 fields",
    b'4,"a': "a quote is out of place",
    b'5,"a"b': "a quote is out of place",
    b'6,5" pipe': "",
    b"7,\xff\xfe": "its bytes are not UTF-8",
    b"": None,
    b"  ": "it does not have 2 fields",
    b"x,a": 'column "id" is not a valid int',
    b"8,\x00": "",
    b"9,a\tb": "",
    '10,"a"\u2028'.encode(): "a quote is out of place",
}


def test_a_decimal_without_places_is_digits_and_after_the_point_zeros(spark: SparkSession, tmp_path: Path) -> None:
    texts = {"5": 5, "1.5": None, "5.": 5, "5.0": 5, ".0": 0, "-7": -7, ".": None, "9" * 21: None}
    texts |= {"0" * 999: 0, "0" * 1000: None, "5." + "0" * 100_000: None}
    body = "\n".join(["n", *texts]).encode()
    good, bad = read(spark, tmp_path, written(CSV, {"n": "decimal(20,0)"}), body)
    assert [row.n for row in good] == [number for number in texts.values() if number is not None]
    assert bad == [
        (at, 'column "n" is not a valid decimal(20,0)') for at, it in enumerate(texts.values(), 2) if it is None
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_broken_line_is_told_by_its_number_and_the_others_are_rows(
    spark: SparkSession, tmp_path: Path, end: bytes
) -> None:
    by = written(CSV, {"id": "int", "say": "string"})
    body = end.join([b"\xef\xbb\xbfid,say", *BROKEN, b""])
    good, bad = read(spark, tmp_path, by, body)
    assert [row.id for row in good] == [1, 6, 8, 9]
    assert bad == [(at, said) for at, said in enumerate(BROKEN.values(), start=2) if said]


@pytest.mark.parametrize("form", [CSV, replace(CSV, multiline=True)], ids=["of one line", "of several lines"])
def test_a_line_of_spaces_is_a_value_or_a_row_that_does_not_parse(
    spark: SparkSession, tmp_path: Path, form: FileFormat
) -> None:
    body = b"it\n1\n  \n\n\t\n2\n"
    good, bad = read(spark, tmp_path, written(form, {"it": "string"}), body)
    assert ([row.it for row in good], bad) == (["1", "  ", "\t", "2"], [])
    good, bad = read(spark, tmp_path, written(form, {"it": "int"}), body)
    lines = (2, 3) if form.multiline else (3, 5)
    assert ([row.it for row in good], bad) == ([1, 2], [(at, 'column "it" is not a valid int') for at in lines])


def test_a_sign_beside_a_value_that_is_no_space_is_not_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    signs = ("\0", "\t", "\x1f", "\n", "\u2028", "\x85", "\u00a0")
    typed = {name: kind for name, kind in COLUMNS.items() if kind != "string"}
    some = {name: next(text for text, value in FIELDS[name].items() if value is not None) for name in typed}
    cases = [(column, f"{sign}{some[column]}") for column in typed for sign in signs]
    cases += [(column, f"{some[column]}{sign}") for column in typed for sign in signs]
    rows = [",".join(f'"{text}"' if name == column else "" for name in typed) for column, text in cases]
    by = written(replace(CSV, multiline=True), typed)
    good, bad = read(spark, tmp_path, by, "\n".join([",".join(typed), *rows]).encode())
    assert good == []
    assert [said for _, said in bad] == [why(column) for column, _ in cases]


NUL_FORMS = [CSV, replace(CSV, multiline=True), replace(CSV, quote=""), replace(CSV, quote="'", escape="'")]


@pytest.mark.parametrize("form", NUL_FORMS, ids=["quoted", "of several lines", "without quotes", "in other quotes"])
@pytest.mark.share(2)
def test_a_nul_is_a_letter_like_any_other(spark: SparkSession, tmp_path: Path, form: FileFormat) -> None:
    texts, quote = ["\0", "a\0", "\0b", "\0\0", "a\0'", '\0"'], form.quote
    fields = [f"{quote}{text.replace(quote, quote * 2)}{quote}" if quote else text for text in texts]
    body = "\n".join(["id,say", *(f"{at},{field}" for at, field in enumerate(fields))]).encode()
    good, bad = read(spark, tmp_path, written(form, {"id": "int", "say": "string"}), body)
    assert ([row.say for row in good], bad) == (texts, [])


def test_columns_are_found_by_name_and_nulls_are_what_the_contract_says(spark: SparkSession, tmp_path: Path) -> None:
    by = written(replace(CSV, delimiter=";", nulls=("NA",), encoding="windows-1252"), {"say": "string", "a;b": "int"})
    body = '"a;b";say\n1;NA\n2;""\n3;\nNA;"zw€i"\n;x\n'.encode("cp1252")
    good, bad = read(spark, tmp_path, by, body)
    assert [tuple(row) for row in good] == [(None, 1), ("", 2), ("", 3), ("zw€i", None)]
    assert bad == [(6, 'column "a;b" is not a valid int')]


NULLS = [(), ("",), ("NA",), ("", "NA"), ("-", "NA")]


@pytest.mark.parametrize("own", [None, *NULLS])
@pytest.mark.parametrize("of_file", NULLS)
@pytest.mark.parametrize("multiline", [False, True])
def test_a_column_s_own_texts_of_null_stand_in_place_of_the_file_s(
    spark: SparkSession, tmp_path: Path, of_file: tuple[str, ...], own: tuple[str, ...] | None, *, multiline: bool
) -> None:
    own_nulls = {} if own is None else {"say": own}
    form = replace(CSV, nulls=of_file, column_nulls=own_nulls, multiline=multiline)
    texts = ["NA", "-", "", '""', "x"]
    body = "id,say,other\n" + "".join(f"1,{text},{text}\n" for text in texts)
    good, _ = read(spark, tmp_path, written(form, {"id": "int", "say": "string", "other": "string"}), body.encode())
    assert [row.other for row in good] == [_text(field, of_file) for field in texts]
    assert [row.say for row in good] == [_text(field, of_file if own is None else own) for field in texts]


def _text(field: str, nulls: tuple[str, ...]) -> str | None:
    return None if field in nulls else field.strip('"')


def test_a_number_s_own_text_of_null_is_no_value_of_its_neighbours(spark: SparkSession, tmp_path: Path) -> None:
    form = replace(CSV, column_nulls={"id": ("NA",)})
    good, bad = read(spark, tmp_path, written(form, {"id": "int", "big": "bigint"}), b"id,big\nNA,1\n1,NA\n,1\n")
    assert [tuple(row) for row in good] == [(None, 1)]
    assert bad == [(3, why("big")), (4, why("id"))]


def test_without_a_header_columns_are_found_by_place(spark: SparkSession, tmp_path: Path) -> None:
    by = written(replace(CSV, header=False, quote="'", escape="\\"), {"id": "int", "say": "string"})
    good, bad = read(spark, tmp_path, by, b"\xef\xbb\xbf1,'it\\'s \\\\'\n2,\"\n3,a,b\n4,''x\n")
    assert [tuple(row) for row in good] == [(1, "it's \\"), (2, '"')]
    assert bad == [(3, "it does not have 2 fields"), (4, "a quote is out of place")]


def test_fields_may_hold_line_ends_where_the_contract_says_so(spark: SparkSession, tmp_path: Path) -> None:
    by = written(replace(CSV, multiline=True), {"id": "int", "say": "string"})
    body = b'\xef\xbb\xbfid,say\r\n1,"a\r\nb"\r\n\r\n2,"c,""\n"\r\nx,"d\ne"\r\n3\r\n4,\xff\r\n'
    good, bad = read(spark, tmp_path, by, body)
    assert [tuple(row) for row in good] == [(1, "a\nb"), (2, 'c,"\n')]
    assert bad == [
        (3, 'column "id" is not a valid int'),
        (4, "it does not have 2 fields"),
        (5, "its bytes are not UTF-8"),
    ]
    open_quote = b'id,say\n1,"a\n2,b\n'
    stray = b'id,say\n1,"a"b"c"\n'
    seen = inspected(spark, tmp_path, by, f1=open_quote, f2=stray, f3=body)
    assert seen["f1"].faults == ("its quotes don't pair: one is opened and never closed",)
    assert seen["f2"].faults[0].startswith("it cannot be read to its end")
    assert (seen["f3"].faults, seen["f3"].rows) == ((), 5)


PAIRED = {
    'id,say\n1,5" pipe\n': [(1, '5" pipe')],
    'id,say\n1,5" pipe\n2,"6"" pipe\n"\n': [(1, '5" pipe'), (2, '6" pipe\n')],
    'id,say\n1,"a" \n2, "b\n': [(1, "a"), (2, ' "b')],
}
OPEN = ('1,"a\n2,b\n', '1,5" pipe\n2,"a\n3,b\n', '1,"a""\n2,b', '"1,a\n2,b\n', '1,"', '1,"a" \n2,5","b\n\n')


def test_a_quote_within_a_field_of_a_file_of_several_lines_opens_none(spark: SparkSession, tmp_path: Path) -> None:
    by = written(replace(CSV, multiline=True), {"id": "int", "say": "string"})
    for body, rows in PAIRED.items():
        good, bad = read(spark, tmp_path, by, body.encode())
        assert ([tuple(row) for row in good], bad) == (rows, [])
    bodies = {f"f{at}": f"id,say\n{body}".encode() for at, body in enumerate(OPEN)}
    seen = inspected(spark, tmp_path, by, **bodies)
    assert {inspection.faults for inspection in seen.values()} == {
        ("its quotes don't pair: one is opened and never closed",)
    }
    one = written(replace(CSV, multiline=True), {"say": "string"})
    seen = inspected(spark, tmp_path, one, f1=b'say\n5" pipe\n', f2=b'say\n"a', f3=b'"say\na"\nb\n')
    assert [inspection.faults for inspection in seen.values()] == [
        (),
        ("its quotes don't pair: one is opened and never closed",),
        ("its first line is no header: a name in it is too long, or broken in two",),
    ]


def test_a_sign_that_stands_for_what_cannot_be_read_may_be_there(spark: SparkSession, tmp_path: Path) -> None:
    """U+FFFD is a letter of UTF-8, too."""
    by = written(replace(CSV, multiline=True), {"id": "int", "say": "string"})
    bodies = {"f1": "id,say\n1,a\ufffd\n".encode(), "f2": b"id,say\n2,\xff\n3,b\n"}
    seen = list(inspected(spark, tmp_path, by, **bodies).values())
    assert [tuple(row)[:2] for row in rows_of(spark, by, seen).collect()] == [(1, "a\ufffd"), (3, "b")]
    assert malformed.count(spark, by, seen, {"f1": 1, "f2": 1}) == {"f2": 1}
    assert [told["why"] for told in malformed.sample(spark, by, seen[1])] == ["its bytes are not UTF-8"]


def test_a_year_that_a_timestamp_has_no_room_for_is_none(spark: SparkSession, tmp_path: Path) -> None:
    patterns = {"day": "yyyy-MM-dd", "at": "yyyy-MM-dd HH:mm", "clock": "yyyy-MM-dd HH:mm"}
    by = written(replace(CSV, patterns=patterns), {it: COLUMNS[it] for it in patterns})
    body = b"day,at,clock\n+999999-01-01,,\n,+999999-01-01 00:00,\n,,-999999-01-01 00:00\n2013-01-05,,\n"
    good, bad = read(spark, tmp_path, by, body)
    assert [row.day for row in good] == [date(2013, 1, 5)]
    assert bad == [(at, why(column)) for at, column in enumerate(patterns, start=2)]


def test_dates_and_timestamps_may_be_spelled_otherwise(spark: SparkSession, tmp_path: Path) -> None:
    patterns = {"day": "dd/MM/yy", "at": "yyyyMMddHHmmssXXX", "clock": "MMM d, yyyy 'at' hh:mm a"}
    by = written(replace(CSV, delimiter="|", patterns=patterns), {it: COLUMNS[it] for it in patterns})
    body = b"day|at|clock\n05/01/13|20130105100000+02:00|Jan 5, 2013 at 03:04 PM\n2013-01-05||\n31/02/13||\n|2013|\n"
    good, bad = read(spark, tmp_path, by, body)
    [row] = good
    assert (row.day, row.clock) == (date(2013, 1, 5), datetime(2013, 1, 5, 15, 4))  # noqa: DTZ001 - no zone
    assert _plain(row, "at") == datetime(2013, 1, 5, 8, tzinfo=UTC)
    assert bad == [(3, why("day")), (4, why("day")), (5, why("at"))]


HALF = "it has half of a surrogate pair, such as \\ud83d"
OBJECTS = {
    '{"id": 1, "x": 2, "f": 1.5, "ok": true, "say": "a\\n{}", "at": "2013-01-05T10:00:00Z", "day": "2013-01-05"}': "",
    "{}": "",
    '{"id": null, "amount": 1.250, "extra": 5}': "",
    ' {"amount": "1.25", "big": 9223372036854775807} ': "",
    '{"amount": "1,5"}': why("amount"),
    '{"am\\u006funt": "1,5"}': why("amount"),
    '{"amount": "\N{FULLWIDTH DIGIT ONE}"}': why("amount"),
    '{"amount": "1\\n"}': why("amount"),
    '{"amount": "+1.5", "say": "1,5", "extra": {"amount": 1}}': "",
    '{"id": "1"}': why("id"),
    '{"id": 1.0}': why("id"),
    '{"id": 2147483648}': why("id"),
    '{"amount": 1.255}': why("amount"),
    '{"amount": 12345678}': why("amount"),
    '{"x": 1e999}': why("x"),
    '{"x": "1", "ok": "true"}': f"{why('x')}; {why('ok')}",
    '{"f": 1e39}': why("f"),
    '{"day": 20130105}': why("day"),
    '{"at": "2013-01-05", "say": "x"}': why("at"),
    '{"id": 1} {"id": 2}': "it is not a JSON object",
    '{"id": 1}, "x": 2': "it is not a JSON object",
    '{"id": 1} , "row": {"id": 2}': "it is not a JSON object",
    '{"id": 1},"end":true} what ever': "it is not a JSON object",
    '{"id": 1},"end":true}': "it is not a JSON object",
    '{"id": 1},"row":{"id": 2},"end":true}': "it is not a JSON object",
    '{"id": 1}}': "it is not a JSON object",
    '{"id": 1}}{"end":true}': "it is not a JSON object",
    '{"id": 1}]': "it is not a JSON object",
    '{"say": "a},{", "extra": {"end": true, "b": [{}, {"c": {}}]}}\t ': "",
    '{"say": "\\ud83dx"}': HALF,
    '{"say": "\\ude00\\ud83d"}': HALF,
    '{"say": "\\\\ud83d\\ud83d\\ude00"}': "",
    '[{"id": 1}]': "it is not a JSON object",
    '{"id": 1': "it is not a JSON object",
    '{"x": NaN}': "it is not a JSON object",
    "{'id': 1}": "it is not a JSON object",
    "null": "it is not a JSON object",
    "": None,
    "id,big": "it is not a JSON object",
}


def test_json_has_an_object_a_line_whose_values_are_of_their_types(spark: SparkSession, tmp_path: Path) -> None:
    by = written(JSON, {**COLUMNS, "extra": "string"})
    body = b"\xef\xbb\xbf" + "\n".join(OBJECTS).encode() + b'\n{"say": "\xff"}\n'
    good, bad = read(spark, tmp_path, by, body)
    shown = [{name: value for name, value in row.asDict().items() if value is not None} for row in good]
    assert shown[0].pop("at").astimezone(UTC) == datetime(2013, 1, 5, 10, tzinfo=UTC)
    assert shown == [
        {"id": 1, "x": 2.0, "f": 1.5, "ok": True, "say": "a\n{}", "day": date(2013, 1, 5)},
        {},
        {"amount": Decimal("1.25"), "extra": "5"},
        {"amount": Decimal("1.25"), "big": 2**63 - 1},
        {"amount": Decimal("1.50"), "say": "1,5", "extra": '{"amount":1}'},
        {"say": "a},{", "extra": '{"end":true,"b":[{},{"c":{}}]}'},
        {"say": "\\ud83d😀"},
    ]
    told = [(at, said) for at, said in enumerate(OBJECTS.values(), start=1) if said]
    assert bad == [*told, (len(OBJECTS) + 1, "its bytes are not UTF-8")]


EXACT: dict[str, str | None] = {  # a decimal(38,2), as JSON spells it, and the number that it is
    "1.25": "1.25",
    "1.255": None,
    "1.2500": "1.25",
    "-1.5e2": "-150.00",
    "1.5E-1": "0.15",
    "150e-2": "1.50",
    "1.5e-2": None,
    "9.995E+0": None,
    "0E-10": "0.00",
    "8.41e21": "8410000000000000000000.00",
    "123456789012345678901234567890123456.78": "123456789012345678901234567890123456.78",
    "123456789012345678901234567890123456.785": None,
    "1234567890123456789012345678901234567": None,
    "0.10000000000000000001": None,
    "1e36": None,
    "1e999999999": None,
    "1e-999999999": None,
    "1e99999999": None,
    "1e-99999999": None,
    "1e-400": None,
    "0." + "9" * 900: None,
    "9" * 900 + "e-890": None,
}


def test_a_decimal_of_json_is_taken_to_its_last_digit_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    """In quotes or not, however large the exponent says that it is."""
    by = written(JSON, {"amount": "decimal(38,2)", "id": "int", "extra": "string"})
    others = '"id": 7, "extra": {"amount": 3, "b": "amount\\": 5, \\\\"}'
    spelled = [f'{{"amount": {at}, {others}}}' for text in EXACT for at in (text, f'"{text}"')]
    escaped = f'{{{others}, "am\\u006funt" : 2.10}}'
    good, bad = read(spark, tmp_path, by, "\n".join([*spelled, escaped]).encode())
    numbers = [number for number in EXACT.values() for _ in range(2)]
    assert [str(row.amount) for row in good] == [*(it for it in numbers if it), "2.10"]
    assert {(row.id, row.extra) for row in good} == {(7, '{"amount":3,"b":"amount\\": 5, \\\\"}')}
    assert bad == [
        (at, 'column "amount" is not a valid decimal(38,2)') for at, it in enumerate(numbers, start=1) if not it
    ]


def test_a_bad_text_file_is_its_own_fault(spark: SparkSession, tmp_path: Path) -> None:
    columns = {"id": "int", "say": "string"}
    seen = inspected(
        spark, tmp_path, written(CSV, columns),
        good=b"say,id\na,1\n\nb,x\n", empty=b"", header=b"id,say\n", blank=b"\n\n", missing=b"id\n1\n",
        late=b"\nid,say\n1,a\n",
        more=b"id,say,new\n1,a,b\n", twice=b"id,id,say\n", parquet=b"PAR1\x15\x04\x15..PAR1",
        orc=b"ORC\n\x03\0\0", bzip2=bz2.compress(b"id,say\n1,a"),
        packed=gzip.compress(b"id,say\n1,a"), xz=lzma.compress(b"id,say\n1,a"), wide="id,say\n1,a\n".encode("utf-16"),
    )  # fmt: skip
    assert {name: inspection.faults for name, inspection in seen.items()} == {
        "good": (),
        "empty": ("it is empty: 0 bytes",),
        "header": ("it has no rows",),
        "blank": ("it has no rows",),
        "late": ("its first line is blank: the names of its columns should stand there",),
        "missing": ('column "say" is missing',),
        "more": ('column "new" is not in the contract',),
        "twice": ('column "id" is there 2 times', "it has no rows"),
        "parquet": ("it is a parquet file",),
        "orc": ("it is an ORC file",),
        "bzip2": ("it is compressed by bzip2, and neither its name nor the contract says so",),
        "packed": ("it is compressed by gzip, and neither its name nor the contract says so",),
        "xz": ("it is compressed by xz, which is not read: gzip, bzip2 and zstd are",),
        "wide": ("it is UTF-16",),
    }
    assert seen["good"].rows == 2
    objects = inspected(
        spark, tmp_path, written(JSON, columns),
        good=b'{"id": 1}\n{"say": "a"}', more=b'{"id": 1, "new": 2}', twice=b'{"id": 1, "id": 2}', no=b"id,say\n1,a\n",
    )  # fmt: skip
    assert {name: inspection.faults for name, inspection in objects.items()} == {
        "good": (),
        "more": ('column "new" is not in the contract',),
        "twice": ("an object has a key twice",),
        "no": (),
    }


@pytest.mark.parametrize("name", ["ORCID", "PAR1", "BZh9"])
@pytest.mark.share(1)
def test_a_header_may_begin_as_other_formats_do(spark: SparkSession, tmp_path: Path, name: str) -> None:
    good, bad = read(spark, tmp_path, written(CSV, {name: "int", "é": "string"}), f"{name},é\r\n1,a\tb\r\n".encode())
    assert ([tuple(row) for row in good], bad) == ([(1, "a\tb")], [])


def test_compressed_text_is_read_and_a_broken_one_is_its_own_fault(spark: SparkSession, tmp_path: Path) -> None:
    columns, body = {"id": "int"}, b"id\n" + b"1\n" * 1000
    packers: dict[str, tuple[Callable[[bytes], bytes], str]] = {
        "gzip": (gzip.compress, "it cannot be read to its end"),
        "bzip2": (bz2.compress, "it does not end as bzip2 does"),
        "zstd": (zstd, "it cannot be read to its end (Truncated source)"),
    }
    for kind, (pack, said) in packers.items():
        by = written(replace(CSV, compression=kind), columns)
        packed = pack(body)
        seen = inspected(spark, tmp_path, by, good=packed, cut=packed[: len(packed) // 2], plain=body)
        assert (seen["good"].faults, seen["good"].rows) == ((), 1000)
        assert rows_of(spark, by, [seen["good"]]).count() == 1000
        assert seen["cut"].faults[0].startswith(said)
        assert seen["plain"].faults == ("it is not compressed as its name or the contract says",)


def test_zstd_is_read_however_it_was_put_together(spark: SparkSession, tmp_path: Path) -> None:
    """Frames one after the other, frames to be passed over such as pzstd's; JSON, and rows of several lines."""
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"pass"
    packed, form = replace(CSV, compression="zstd"), {"id": "int", "say": "string"}
    by = written(packed, form)
    seen = inspected(
        spark, tmp_path, by,
        two=zstd(b"id,say\n1,a\n2") + zstd(b",b\n"), skipped=skipped + zstd(b"id,say\n1,a\n2,b\n") + skipped,
        behind=zstd(b"id,say\n1,a\n2,b\n") + b"junk", broken=zstd(b"id,say\n1,a\n")[:9] + b"\xa5" * 30,
    )  # fmt: skip
    told = {name: (inspection.rows, *inspection.faults) for name, inspection in seen.items()}
    assert told == {
        "two": (2,),
        "skipped": (2,),
        "behind": (0, "it cannot be read to its end (Unknown frame descriptor)"),
        "broken": (0, "it cannot be read to its end (Unknown frame descriptor)"),
    }
    good, _ = read(spark, tmp_path, written(replace(packed, multiline=True), form), zstd(b'id,say\n1,"a\nb"\n'))
    assert [tuple(row) for row in good] == [(1, "a\nb")]
    good, bad = read(
        spark, tmp_path, written(replace(JSON, compression="zstd"), form), zstd(b'{"id": 1}\n{"id": "x"}\n')
    )
    assert ([row.id for row in good], [at for at, _ in bad]) == ([1], [2])


BZIP2 = {f"f{n}": bz2.compress(b"id\n" + b"%d\n" % n * n) for n in (8, 4, 3, 1, 2, 12, 23, 5)}  # end at each of 8 bits


def test_bzip2_without_its_end_is_not_taken_for_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Its last bytes hold no rows, so that none would be missed."""
    by, one = written(replace(CSV, compression="bzip2"), {"id": "int"}), BZIP2["f1"]
    whole = inspected(spark, tmp_path, by, **BZIP2, members=one + bz2.compress(b"2\n"))
    assert {name: (inspection.rows, inspection.faults) for name, inspection in whole.items()} == {
        **{name: (int(name[1:]), ()) for name in BZIP2},
        "members": (2, ()),
    }
    cuts = {name: body[:-1] for name, body in BZIP2.items()} | {"four": one[:-4], "nine": one[:-9], "short": b"BZh9"}
    broken = inspected(spark, tmp_path, by, **cuts, behind=one + b"junk")
    assert {inspection.faults for inspection in broken.values()} == {
        ("it does not end as bzip2 does: it is cut off, or something stands behind its end",)
    }


def test_a_line_keeps_its_number_in_a_file_of_several_blocks(spark: SparkSession, tmp_path: Path) -> None:
    by = written(CSV, {"id": "int", "say": "string"})
    body = b"id,say\n" + b"".join(b"%s,%s\n" % (b"x" if n % 100 == 7 else b"1", b"-" * 50) for n in range(1000))
    for option in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
        spark.conf.set(option, 8000)
    inspection = inspected(spark, tmp_path, by, f1=body)["f1"]
    assert rows_of(spark, by, [inspection]).rdd.getNumPartitions() > 5
    assert malformed.count(spark, by, [inspection], {}) == {"f1": 10}
    assert [row["line"] for row in malformed.sample(spark, by, inspection)] == [n * 100 + 9 for n in range(10)]


@pytest.mark.parametrize(("limits", "kept"), [({"ALL_ROWS": 12}, 6), ({"ALL_ROWS": 2}, 5), ({"BYTES": 450}, 3)])
@pytest.mark.share(1)
def test_many_files_with_rows_that_do_not_parse_share_what_a_report_takes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], kept: int
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(samples, name, limit)
    by = written(CSV, {"id": "int", "say": "string"})
    inspections = list(
        inspected(spark, tmp_path, by, **dict.fromkeys(("f1", "f2"), b"id,say\n" + b"x,-\n" * 10)).values()
    )
    failed = CheckResult(
        check="c", name="", columns=(), severity=Severity.ERROR, verdict=Verdict.FAIL, value=10, expected="none",
        failing_rows=10, rows=10, source=Source.QUERY, metric=MALFORMED.id,
    )  # fmt: skip
    found = malformed.with_samples(spark, by, inspections, {"f1": (failed,), "f2": (failed,)})
    lines = {file: [row["line"] for row in check.sample] for file, [check] in found.items()}
    assert lines == {file: list(range(2, 2 + kept)) for file in ("f1", "f2")}


def test_each_row_is_parsed_once(spark: SparkSession, tmp_path: Path) -> None:
    header = ",".join([*COLUMNS, "total"]).encode() + b"\n1\n"
    objects = (
        "from_json(StructField(row,StructType(StructField(id",
        "from_json(StructField(row,StructType(StructField(am",
    )
    for form, calls, body in ((CSV, ("from_csv(",), header), (JSON, objects, b"{}")):
        by = written(form, {**COLUMNS, "total": "decimal(6,2)"})
        rows = rows_of(spark, by, [inspected(spark, tmp_path, by, f1=body)["f1"]])
        assert [rows._jdf.queryExecution().executedPlan().toString().count(it) for it in calls] == [1] * len(calls)


def test_rows_that_are_put_aside_have_their_line_their_text_and_what_is_wrong(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The text as far as it is kept, and none of it where a column is masked: it may be that column's."""
    by = written(JSON, {"id": "int", "say": "string"})
    long = '{"id": "x", "say": "' + "a" * malformed.MOST_TEXT + '"}'
    body = b'{"id": 1}\n\n}{\n' + long.encode() + b'\n{"id": 2}\n'
    for is_masked, texts in ((False, ["}{", long[: malformed.MOST_TEXT]]), (True, ["•••", "•••"])):
        columns = tuple(replace(column, masked=is_masked) for column in by.columns)
        masked = replace(by, columns=columns)
        inspection = inspected(spark, tmp_path, masked, f1=body)["f1"]
        rows = [tuple(row) for row in malformed.malformed_rows(spark, masked, [inspection]).collect()]
        assert [row[:2] for row in rows] == [("f1", 3), ("f1", 4)]
        assert [row[2] for row in rows] == texts
        assert [row[3] for row in rows] == ["it is not a JSON object", 'column "id" is not a valid int']


def test_text_that_becomes_unreadable_is_found_by_reading_through(spark: SparkSession, tmp_path: Path) -> None:
    by = written(replace(CSV, compression="gzip"), {"id": "int"})
    inspection = inspected(spark, tmp_path, by, f1=gzip.compress(b"id\n1\n"))["f1"]
    path = tmp_path / "f1.csv.gz"
    path.write_bytes(path.read_bytes()[:-6])
    [told] = find_corrupt(spark, by, [inspection])
    assert told.faults[0].startswith("its rows cannot be read to the end, it is corrupt")


def test_every_letter_that_a_contract_may_spell_with_is_known_to_spark(spark: SparkSession) -> None:
    days = ["yyyy", "yy"], ["M", "MM", "MMM"], ["d", "dd"]
    clocks = [*("H:m:s", "HH:mm:ss", "h:m:s a", "hh:mm:ss a"), *(f"HH.{'S' * n}" for n in range(1, 7))]
    offsets = [f"HH {letter * n}" for letter in "Xx" for n in range(1, 4)]
    spellings = [f"{y}/{m}/{d} 'at' {c}" for y, m, d, c in zip(*map(cycle, days), [*clocks, *offsets], strict=False)]
    instant = "timestamp'2013-01-05 10:00:00'"
    for spelling in spellings:
        assert date_spelling(spelling, "timestamp") == spelling
        text = f"date_format({instant}, {literal(spelling)})"
        assert spark.sql(f"SELECT {value(text, 'timestamp', spelling)} = {instant}").first() == (True,), spelling
