"""Made-up rows are in their file as they were judged: nothing is a null there, or split, or more than is taken."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import orc

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.limits import Limits
from lakegate.audit.model.plan import Check, Metric, MetricKind, Operator, Plan
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from tests.support.plans import none_of, nulls, plan
from tests.support.synthetic.files import writable, write
from tests.support.synthetic.rows import Maker
from tests.synthetic.test_rows import HEAD

ROWS = 500


def made(by: Plan, out: Path, many: int = ROWS) -> Path:
    write(Maker(plan=by, seed=3).good(many), by, out)
    return out


def fields(by: Plan, out: Path) -> list[list[str]]:
    lines = made(by, out).read_text(by.files.encoding).splitlines()
    return list(csv.reader(lines, delimiter=by.files.delimiter, quotechar=by.files.quote))


def in_csv(columns: dict[str, str], **more: object) -> Plan:
    metrics = [nulls(name) for name in columns]
    by = replace(plan("nyc.t", columns, metrics), checks=tuple(map(none_of, metrics)))
    return replace(by, files=replace(FileFormat(kind=FileKind.CSV), **more))  # type: ignore[arg-type]


def test_no_value_is_spelled_as_a_null_is(tmp_path: Path) -> None:
    for kind, markers in (("int", ("", "-1", "0")), ("string", ("-1", "ü")), ("boolean", ("true",))):
        rows = fields(in_csv({"a": kind, "b": "int"}, nulls=markers), tmp_path / "made.csv")[1:]
        assert not {row[0] for row in rows} & set(markers)


@pytest.mark.parametrize("kind", ["int", "string"])
@pytest.mark.parametrize("others", [{}, {"b": "int"}], ids=["alone", "among others"])
def test_where_no_text_stands_for_a_null_there_is_none(kind: str, others: dict[str, str], tmp_path: Path) -> None:
    by = replace(in_csv({"a": kind, **others}, nulls=()), metrics=(), checks=())  # nothing forbids nulls
    assert Maker(plan=by, seed=3).good(ROWS)["a"].null_count == 0
    if kind == "int":
        assert all(field for row in fields(by, tmp_path / "made.csv") for field in row)


def test_where_no_value_is_left_for_a_column_without_nulls_it_is_told() -> None:
    never = Metric(id="m", kind=MetricKind.FAILING, columns=("a",), sql="`a` IS NOT NULL")
    by = replace(in_csv({"a": "int", "b": "int"}, nulls=()), metrics=(never,), checks=(none_of(never),))
    with pytest.raises(Misconfigured, match=r"no value of column 'a' .* its files have no nulls"):
        Maker(plan=by, seed=3).good(ROWS)


def test_no_line_is_empty_where_there_are_no_quotes(tmp_path: Path) -> None:
    by = in_csv({"a": "string"}, nulls=("NA",), quote="")
    assert all(made(by, tmp_path / "made.csv").read_text(by.files.encoding).split("\n")[:-1])


@pytest.mark.parametrize("delimiter", [".", "-", "1"])
def test_numbers_that_hold_the_delimiter_stay_one_field(delimiter: str, tmp_path: Path) -> None:
    by = in_csv({"a": "double", "b": "int", "c": "date"}, delimiter=delimiter)
    assert {len(row) for row in fields(by, tmp_path / "made.csv")} == {3}


def test_no_number_is_split_where_there_are_no_quotes(tmp_path: Path) -> None:
    by = in_csv({"a": "double", "b": "int"}, delimiter="-", quote="")
    assert {line.count("-") for line in made(by, tmp_path / "made.csv").read_text().splitlines()} == {1}


def test_moments_within_others_are_written_to_orc_as_those_that_are_columns(tmp_path: Path) -> None:
    columns = {"a": "struct<t:timestamp>", "b": "array<timestamp>", "c": "map<string,date>"}
    by = replace(plan("nyc.t", columns), files=FileFormat(kind=FileKind.ORC))
    table = orc.read_table(made(by, tmp_path / "made.orc"))
    assert "tz=" not in str(table.schema)
    old = datetime(1500, 1, 1, tzinfo=UTC)
    assert not any(writable(value, "a", by) for value in ({"t": old}, [old], [("k", old.date())]))


def test_texts_of_partitions_have_room_in_a_path() -> None:
    for transform, longest in (("`a`", 700), ("truncate(4, `a`)", 5_000)):
        by = plan("nyc.t", {"a": "string", "b": "int"}, partitions=[transform])
        check = Metric(id="m", kind=MetricKind.FAILING, columns=("a",), sql="LENGTH(`a`) > 5000")
        texts = Maker(plan=replace(by, metrics=(check,), checks=(none_of(check),)), seed=3).good(ROWS)["a"].to_pylist()
        assert longest - 300 < max(len(text.encode()) for text in texts if text) <= longest


@pytest.mark.parametrize(("limits", "said"), [(Limits(rows=9), "it has 10 rows"), (Limits(bytes=9), "bytes, and the")])
def test_a_file_that_is_more_than_the_contract_takes_is_refused(limits: Limits, said: str, tmp_path: Path) -> None:
    by = replace(plan("nyc.t", {"a": "int"}), files=FileFormat(limits=limits))
    with pytest.raises(Misconfigured, match=f"such a file is rejected: .*{said}.*--rows"):
        made(by, tmp_path / "made", 10)
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_does_not_parse_is_none_of_the_files_rows() -> None:
    rows = Check(id="n", name="n", metric="rows", operator=Operator.MUST_BE, threshold=(20,))
    malformed = Metric(id="u", kind=MetricKind.MALFORMED)
    by = plan("nyc.t", {"a": "int"}, [Metric(id="rows", kind=MetricKind.ROWS), malformed])
    by = replace(by, checks=(rows, none_of(malformed)))
    assert Maker(plan=by, seed=3).failing(21, by.checks[1]).num_rows == 21
    with pytest.raises(Misconfigured, match="no rows were found that pass 'n'"):
        Maker(plan=by, seed=3).failing(20, by.checks[1])


def test_a_float_near_the_end_of_its_type_can_be_made_up() -> None:
    column = "{name: a, logicalType: number, logicalTypeOptions: {format: f32, maximum: 3.0e38}}"
    by = load(f"{HEAD}      - {column}\n", "float.yaml").plan
    assert Maker(plan=by, seed=3).good(ROWS).num_rows == ROWS


@pytest.mark.parametrize("encoding", ["US-ASCII", "ISO-8859-1"])
def test_json_holds_letters_that_its_encoding_lacks(encoding: str, tmp_path: Path) -> None:
    by = replace(plan("nyc.t", {"a": "string"}), files=FileFormat(kind=FileKind.JSON, encoding=encoding))
    lines = made(by, tmp_path / "made.json", 2000).read_text(encoding).splitlines()
    assert "ü" in {json.loads(line)["a"] for line in lines}


def test_the_same_rows_are_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    packed = made(in_csv({"a": "int", "b": "int"}), tmp_path / "made.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # where gzip has the time
    assert gzip.decompress(packed)
