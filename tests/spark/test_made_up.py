"""Made-up text files are read back by the job's own reader, value for value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.errors import Misconfigured
from spark_jobs.appending.rows import rows_of
from tests.spark.test_text import read, written
from tests.support.inspection import inspections
from tests.support.jobs import parquet
from tests.support.plans import plan
from tests.support.synthetic.files import write
from tests.support.synthetic.rows import Maker

pytestmark = pytest.mark.spark
COLUMNS = {
    "a": "int",
    "b": "decimal(9,3)",
    "c": "double",
    "d": "string",
    "e": "boolean",
    "f": "date",
    "g": "timestamp",
    "h": "timestamp_ntz",
}
SPELLED = {"f": "d.M.yy", "g": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "h": "MMM d, yyyy hh:mm a"}
ROWS = 40


@pytest.mark.parametrize(
    "form",
    [
        FileFormat(kind=FileKind.CSV),
        FileFormat(kind=FileKind.CSV, delimiter=";", escape="\\", nulls=("NA",), encoding="windows-1252"),
        FileFormat(kind=FileKind.CSV, delimiter="-", nulls=("", "-1", "0", "true")),
        FileFormat(kind=FileKind.JSON),
        FileFormat(kind=FileKind.JSON, encoding="US-ASCII"),
        FileFormat(kind=FileKind.CSV, patterns=SPELLED),
        FileFormat(kind=FileKind.JSON, patterns=SPELLED),
    ],
    ids=[
        "csv",
        "csv of another spelling",
        "csv of odd nulls",
        "json",
        "json in ASCII",
        "csv with other dates",
        "json with other dates",
    ],
)
@pytest.mark.share(4)
def test_what_was_written_is_what_is_read(spark: SparkSession, tmp_path: Path, form: FileFormat) -> None:
    by = written(form, COLUMNS)
    made = Maker(plan=by, seed=5).good(ROWS)
    write(made, by, tmp_path / "made.up")
    found, malformed = read(spark, tmp_path, by, (tmp_path / "made.up").read_bytes())
    assert malformed == []
    assert in_order(row.asDict() for row in found) == in_order(made.to_pylist())


def in_order(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the rows in one order; Spark gives instants by this machine's clock."""
    instants = ({**row, "g": row["g"] and row["g"].astimezone(UTC)} for row in rows)
    return sorted(str([row[name] for name in COLUMNS]) for row in instants)


PARTS = {"i": "array<string>", "j": "map<string,double>", "k": "struct<a:int,b:array<struct<c:date>>>", "l": "binary"}
TYPED = {
    FileKind.PARQUET: COLUMNS | PARTS,
    FileKind.AVRO: COLUMNS | PARTS,
    FileKind.ORC: {name: kind for name, kind in (COLUMNS | PARTS).items() if kind != "timestamp_ntz"},
}


def shown(row: Row) -> str:
    """A row as text, because NaN is not equal to itself. A map has no order."""
    return str({**row.asDict(), "j": row.j and sorted(row.j.items(), key=str)})


@pytest.mark.parametrize("kind", TYPED)
def test_typed_files_that_were_made_up_are_read_value_for_value(
    spark: SparkSession, tmp_path: Path, kind: FileKind
) -> None:
    by = replace(plan("nyc.t", TYPED[kind]), files=FileFormat(kind=kind))
    made = Maker(plan=by, seed=5).good(ROWS)
    file = tmp_path / f"made{by.files.suffix('')}"
    write(made, by, file)
    [inspection] = inspections(spark, tmp_path, by, file.read_bytes())
    assert (inspection.faults, inspection.rows) == ((), ROWS)
    (tmp_path / "as.parquet").write_bytes(parquet(made))
    wanted = spark.read.parquet(f"file:{tmp_path}/as.parquet")
    found = rows_of(spark, by, [inspection]).drop("_lakegate_file")
    assert [shown(row) for row in found.collect()] == [shown(row) for row in wanted.collect()]
    write(made.slice(0, 0), by, file)
    assert inspections(spark, tmp_path, by, file.read_bytes())[0].faults == ("it has no rows",)


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        (FileKind.AVRO, {"a b": "int"}, "no Avro file can be made up: 'a b' is no name there"),
        (FileKind.AVRO, {"a": "map<int,int>"}, "no Avro file can be made up: it has no type for map<int,int>"),
        (FileKind.ORC, {"a": "timestamp_ntz"}, "column 'a' is timestamp_ntz, which only Spark writes"),
    ],
)
def test_what_a_format_cannot_hold_is_not_made_up(
    tmp_path: Path, kind: FileKind, columns: dict[str, str], said: str
) -> None:
    by = replace(plan("nyc.t", columns), files=FileFormat(kind=kind))
    with pytest.raises(Misconfigured, match=said):
        write(Maker(plan=by, seed=5).good(ROWS), by, tmp_path / "made.up")


@pytest.mark.parametrize(("ending", "compression"), [(".gz", "gzip"), (".bz2", "bzip2"), (".zst", "zstd")])
@pytest.mark.share(1)
def test_made_up_text_is_compressed_as_its_name_says(
    spark: SparkSession, tmp_path: Path, ending: str, compression: str
) -> None:
    by = written(FileFormat(kind=FileKind.CSV), {"a": "int", "b": "int"})
    made = tmp_path / f"made{ending}"
    write(Maker(plan=by, seed=5).good(ROWS), by, made)
    packed = replace(by, files=replace(by.files, compression=compression))
    assert len(read(spark, tmp_path, packed, made.read_bytes())[0]) == ROWS


def test_a_null_of_a_csv_with_one_column_is_no_line_that_is_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    for kind, nulls in (("int", 6), ("string", 0)):
        by = written(FileFormat(kind=FileKind.CSV), {"a": kind})
        made = Maker(plan=by, seed=5).good(ROWS)
        write(made, by, tmp_path / "made.up")
        found, malformed = read(spark, tmp_path, by, (tmp_path / "made.up").read_bytes())
        assert (len(found), malformed, made["a"].null_count) == (ROWS, [], nulls)


def test_a_row_that_does_not_parse_can_be_made_up(spark: SparkSession, tmp_path: Path) -> None:
    for form in (FileFormat(kind=FileKind.CSV), FileFormat(kind=FileKind.JSON)):
        by = written(form, COLUMNS)
        write(Maker(plan=by, seed=5).good(ROWS), by, tmp_path / "made.up", broken=True)
        found, malformed = read(spark, tmp_path, by, (tmp_path / "made.up").read_bytes())
        assert (len(found), len(malformed)) == (ROWS - 1, 1)
