"""lakegate.reading and the Spark job read a text file as the same rows, and leave out the same ones for the same
reasons, or lakegate.reading says that only Spark can tell.
"""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Metric, MetricKind, Plan
from tests.support.plans import plan
from tests.support.text_readers import Reading, by_reader, by_spark

pytestmark = pytest.mark.spark
CSV, JSON = FileFormat(kind=FileKind.CSV), FileFormat(kind=FileKind.JSON)
MALFORMED = Metric(id="malformed", kind=MetricKind.MALFORMED)
WIDE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
zstd: Callable[[bytes], bytes] = partial(pa.Codec("zstd").compress, asbytes=True)
PACKERS: Mapping[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstd}
KINDS = (
    "int", "bigint", "decimal(5,2)", "decimal(38,0)", "decimal(38,38)", "double", "float", "boolean", "date",
    "timestamp", "timestamp_ntz", "string",
)  # fmt: skip
NUMBERS = [
    "0", "-0", "+0", "007", "+5", "1.50", "1.", ".5", ".", "-.5", "+.5", "", " ", " 5 ", "5\t", "\x7f5", "12E2", "1e3",
    "1e-3", "1E+3", "1e", "e1", "1e999", "1e-999", "2147483647", "2147483648", "-2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0" * 40 + "7",
    "999.99", "1000", "999.995", "1.005", "1.2500", "12345678901234568.01", "9" * 38, "9" * 39, "1" + "0" * 38,
    "0." + "9" * 38, "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "0." + "0" * 50, "1" * 999, "1" * 1000, "1,5", "1_0",
    "0x10", "1d", "inf", "-Infinity", "+INF", "nan", "NaN", "-nan", "infin", "\u0661", "\uff11", "1\u00a0", "\u20281",
    "3.4028235e38", "3.4028236e38", "3.40282356779733661637539395458142568447e38", "1e39", "1.4e-45", "7e-46",
    "16777217", "16777217.0000000001", "1.00000017881393432617187499", "1.00000017881393432617187500",
    "1.00000017881393432617187501", "1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2e-324", "1--1",
]  # fmt: skip
DATES = [
    "2013-01-05", "2013-02-29", "2012-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0000-02-29", "9999-12-31",
    "0001-01-01", "1582-10-10", "1969-12-31", "2013-1-5", "13-01-05", "2013-01-05 ", "2013-13-01", "2013-00-10",
    "2013-01-00", "2013-01-32", "+2013-01-05", "-2013-01-05", "12013-01-05", "2013-01-05T", "2013/01/05", "now",
    "epoch", "today", "2013-01-05T10:00", "2013-01-05 10:00:00", "2013-01-05T24:00:00", "2013-01-05T23:59:60",
    "2013-01-05T10:60:00", "2013-01-05T10:00:00.1", "2013-01-05T10:00:00.123456", "2013-01-05T10:00:00.1234567",
    "2013-01-05T10:00:00.1234560000", "2013-01-05T10:00:00.", "2013-01-05T10:00:00Z", "2013-01-05T10:00:00z",
    "2013-01-05T10:00:00+02:00", "2013-01-05T10:00:00-18:00", "2013-01-05T10:00:00+18:00", "2013-01-05T10:00:00+18:01",
    "2013-01-05T10:00:00+19:00", "2013-01-05T10:00:00+02:60", "2013-01-05T10:00:00-00:00", "2013-01-05T10:00:00+0200",
    "2013-01-05T10:00:00 UTC", "2013-01-05t10:00:00", "2013-01-05  10:00:00", "0000-12-31T23:59:59.999999",
    "9999-12-31T23:59:59.999999+00:01", "0001-01-01T00:00:00+18:00", "1969-12-31T23:59:59.999999Z", "2013-01-05T1:00",
]  # fmt: skip
TEXTS = [
    "true", "FALSE", "tRue", "yes", "1", "t", "fal\u017fe", "null", "NA", "é", "e\u0301", "😀", "\u2028", "\x85", "\0",
    "a\0b", "a b", "\ufeff", "'", "#x", "//", "--", "\\", "\\n", "a\\", "-",
]  # fmt: skip


def by(form: FileFormat, columns: Mapping[str, str]) -> Plan:
    return replace(plan("nyc.t", dict(columns), [MALFORMED]), files=form)


def assert_same(spark: SparkSession, folder: Path, read_by: Plan, body: bytes) -> Reading | None:
    ours = by_reader(read_by, body)
    if ours is None:
        return None
    theirs = by_spark(spark, folder, read_by, body)
    unread = "it cannot be read to its end"
    if ours.faults and ours.faults[0].startswith(unread):
        assert theirs.faults[0].startswith(unread)
    else:
        assert ours == theirs
    return ours


EVERY = [*NUMBERS, *DATES, *TEXTS]


@pytest.mark.parametrize("kind", [FileKind.CSV, FileKind.JSON])
def test_each_text_is_the_same_value_of_each_type_or_none(spark: SparkSession, tmp_path: Path, kind: FileKind) -> None:
    """Each in a line of its own, whose other values are null: a line that does not parse is so for this value."""
    names = {f"c{at}": each for at, each in enumerate(KINDS)}
    pairs = [(name, text) for name in names for text in EVERY]
    if kind is FileKind.CSV:
        lines = [",".join([*names, "id"])]
        for at, (name, text) in enumerate(pairs):
            lines.append(",".join([*(_quoted(text) if name == each else "" for each in names), str(at)]))
    else:
        lines = [json.dumps({name: text, "id": at}, ensure_ascii=at % 2 == 0) for at, (name, text) in enumerate(pairs)]
    told = assert_same(spark, tmp_path, by(replace(CSV, kind=kind), names | {"id": "int"}), "\n".join(lines).encode())
    assert told is not None
    assert not told.faults
    assert len(told.rows) + len(told.malformed) == len(pairs)
    assert told.rows


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text or text == "" else text


VALUES = [  # of JSON, as they are spelled
    "1", "-1", "0", "-0", "1.0", "1.50", "-0.0", "1e2", "1E+2", "1e-2", "1e400", "-1e400", "2147483648", "1e-400",
    "9223372036854775808", "12345678901234567890123", "0.1", "0.30000000000000004", "16777217", "16777217.5", "1e7",
    "9999999.5", "12345678.5", "0.001", "0.0009", "100000000000000000000", "1e22", "1e23", "4.35", "12345678901234.5",
    "true", "false", "null", '""', '"a"', '"1"', '" 1 "', '"1.50"', '"true"', '"2013-01-05"', "20130105", "[]", "{}",
    "[1, 2.50]", '{"a": 1, "a": 2}', '{"b": [null, {"c": "\\u00e9\\/"}], "a": "x\\ty"}', '["\\u0000\\u001f\\u007f"]',
    '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00\\ud83d"', '"\\u12"', '"\\q"', "01", "1.", ".5", "+1", "-", "NaN",
    "Infinity", "nul", "'a'", '"a', "[1", "{1}", "[1,]", '{"a":1,}', "\t1\t", "\u00a01", '"\t"', '"\x7f\u2028"', "",
]  # fmt: skip


def test_each_value_of_json_is_the_same_value_of_each_type_or_none(spark: SparkSession, tmp_path: Path) -> None:
    names = {f"c{at}": each for at, each in enumerate(KINDS)}
    pairs = [(name, value) for name in names for value in VALUES]
    sure = [
        (name, value)
        for name, value in pairs
        if by_reader(by(JSON, {name: names[name], "id": "int"}), _object(name, value, 0).encode()) is not None
    ]
    lines = [_object(name, value, at) for at, (name, value) in enumerate(sure)]
    told = assert_same(spark, tmp_path, by(JSON, names | {"id": "int"}), "\n".join(lines).encode())
    assert told is not None
    assert not told.faults
    assert len(told.rows) + len(told.malformed) == len(sure) > len(pairs) * 0.95


def _object(name: str, value: str, at: int) -> str:
    return f'{{"{name}": {value}, "id": {at}}}'


SPELLINGS = {
    "dd/MM/yyyy": ["05/01/2013", "5/1/2013", "31/02/2013", "05/01/13", "05/01/12013", "05-01-2013", " 05/01/2013 ", ""],
    "d.M.yy": ["5.1.13", "05.01.13", "5.1.2013", "31.4.13", "-5.1.13", "5.1.99", "29.2.00"],
    "yyyyMMdd": ["20130105", "2013015", "120130105", "20130230", "+20130105", "00000101"],
    "MMM d, yyyy": ["Jan 5, 2013", "jan 5, 2013", "January 5, 2013", "Sept 5, 2013", "Foo 5, 2013", "Jän 5, 2013"],
    "yyyy-MM-dd HH:mm:ss": ["2013-01-05 10:00:00", "2013-01-05 24:00:00", "2013-01-05 9:00:00", "2013-01-05 10:00:60"],
    "yyyy-MM-dd'T'HH:mm:ss.SSS": ["2013-01-05T10:00:00.1", "2013-01-05t10:00:00.123", "2013-01-05T10:00:00.1234"],
    "d/M/yyyy h:mm a": ["5/1/2013 12:30 AM", "5/1/2013 0:30 PM", "5/1/2013 12:30 pm", "5/1/2013 13:00 PM"],
    "yyyy-MM-dd HHXXX": ["2013-01-05 10Z", "2013-01-05 10+02:00", "2013-01-05 10z", "2013-01-05 10+18:30"],
    "yyyy-MM-dd HHX": ["2013-01-05 10Z", "2013-01-05 10+02", "2013-01-05 10+0230", "2013-01-05 10-19"],
    "yyyy''MM''dd": ["2013'01'05", "20130105", "2013''01''05"],
    "d 'o''clock' M yyyy": ["5 o'clock 1 2013", "5 oclock 1 2013", "5 O'CLOCK 1 2013", "5 o''clock 1 2013"],
    "yyyy-MM-dd HHxx": ["2013-01-05 10Z", "2013-01-05 10+0200", "2013-01-05 10+02", "2013-01-05 10-0000"],
}


def test_dates_in_a_contracts_spelling_are_the_same_moments_or_none(spark: SparkSession, tmp_path: Path) -> None:
    columns, lines, sure = {"id": "int"}, list[str](), 0
    for at, spelling in enumerate(SPELLINGS):
        columns[f"c{at}"] = "date" if not set(spelling) & set("HhX") else "timestamp"
    form = replace(CSV, delimiter=";", patterns={f"c{at}": spelling for at, spelling in enumerate(SPELLINGS)})
    for at, texts in enumerate(SPELLINGS.values()):
        for text in texts:
            line = ";".join(["1", *(text if here == at else "" for here in range(len(SPELLINGS)))])
            is_sure = by_reader(by(form, columns), f"{';'.join(columns)}\n{line}".encode()) is not None
            sure += is_sure
            lines += [line] if is_sure else []
    told = assert_same(spark, tmp_path, by(form, columns), "\n".join([";".join(columns), *lines]).encode())
    assert told is not None
    assert told.rows
    assert sure > 0.75 * sum(map(len, SPELLINGS.values()))


SIGNS = st.sampled_from([*"ab1 \",;\t\\'", "\0", "é", "\n", "\r\n", "\r", '""', '"a"', '\\"', "NA", "", ",,", "\u2028"])
FORMS = st.builds(
    replace,
    st.just(CSV),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quote=st.sampled_from(['"', '"', "'", ""]),
    escape=st.sampled_from(['"', "\\"]),
    nulls=st.sampled_from([("",), ("NA",), ("", "NA"), ()]),
    header=st.booleans(),
    multiline=st.booleans(),
    encoding=st.sampled_from(["UTF-8", "windows-1252", "US-ASCII", "ISO-8859-15"]),
    compression=st.sampled_from(["", "gzip", "bzip2", "zstd"]),
)


@st.composite
def files(draw: st.DrawFn) -> tuple[Plan, bytes]:
    """A file of any signs at all, with a header that fits or not, or of fields that a writer has quoted."""
    form = draw(FORMS)
    form = replace(form, escape=form.quote or '"') if form.escape == '"' else form
    columns = {"id": draw(st.sampled_from(["string", "int"])), "say": "string"}
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    rows = draw(st.lists(st.lists(st.lists(SIGNS, max_size=4).map("".join), max_size=3), min_size=1, max_size=12))
    lines = [form.delimiter.join(_written(draw, form, field) for field in row) for row in rows]
    head = [form.delimiter.join(columns)] if form.header else []
    text = draw(st.sampled_from(["", "", "\ufeff"])) + end.join([*head, *lines]) + draw(st.sampled_from(["", end]))
    body = text.encode("utf-8" if form.encoding == "UTF-8" else "cp1252", "replace")
    return by(form, columns), PACKERS.get(form.compression, bytes)(body)


def _written(draw: st.DrawFn, form: FileFormat, field: str) -> str:
    if not form.quote or draw(st.integers(0, 3)) == 0:
        return field
    escaped = field.replace(form.escape, form.escape * 2) if form.escape != form.quote else field
    return f"{form.quote}{escaped.replace(form.quote, form.escape + form.quote)}{form.quote}"


@settings(max_examples=10, suppress_health_check=WIDE)
@given(files())
def test_a_drawn_file_is_the_same_rows(spark: SparkSession, tmp_path: Path, file: tuple[Plan, bytes]) -> None:
    assert_same(spark, tmp_path, *file)


@pytest.mark.extended
@settings(max_examples=150, suppress_health_check=WIDE)
@given(files())
def test_many_drawn_files_are_the_same_rows(spark: SparkSession, tmp_path: Path, file: tuple[Plan, bytes]) -> None:
    assert_same(spark, tmp_path, *file)
