"""Made-up text files are read back by the job's own reader, value for value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.files import FileFormat, FileKind
from lakegate.synthetic.files import write
from lakegate.synthetic.rows import Maker
from tests.spark.test_text import read, written

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
        FileFormat(kind=FileKind.JSON),
        FileFormat(kind=FileKind.CSV, patterns=SPELLED),
        FileFormat(kind=FileKind.JSON, patterns=SPELLED),
    ],
    ids=["csv", "csv of another spelling", "json", "csv with other dates", "json with other dates"],
)
def test_what_was_written_is_what_is_read(spark: SparkSession, tmp_path: Path, form: FileFormat) -> None:
    by = written(form, COLUMNS)
    made = Maker(plan=by, seed=5).good(ROWS)
    write(made, by, tmp_path / "made.up")
    found, unparsed = read(spark, tmp_path, by, (tmp_path / "made.up").read_bytes())
    assert unparsed == []
    told = sorted(str([row[name] for name in COLUMNS if name not in "gh"]) for row in found)
    assert told == sorted(str([row[name] for name in COLUMNS if name not in "gh"]) for row in made.to_pylist())
    assert sorted(str(row["h"]) for row in found) == sorted(str(row["h"]) for row in made.to_pylist())


@pytest.mark.parametrize(("ending", "compression"), [(".gz", "gzip"), (".bz2", "bzip2"), (".zst", "zstd")])
def test_made_up_text_is_compressed_as_its_name_says(
    spark: SparkSession, tmp_path: Path, ending: str, compression: str
) -> None:
    by = written(FileFormat(kind=FileKind.CSV), {"a": "int", "b": "int"})
    made = tmp_path / f"made{ending}"
    write(Maker(plan=by, seed=5).good(ROWS), by, made)
    packed = replace(by, files=replace(by.files, compression=compression))
    assert len(read(spark, tmp_path, packed, made.read_bytes())[0]) == ROWS


def test_a_row_that_does_not_parse_can_be_made_up(spark: SparkSession, tmp_path: Path) -> None:
    for form in (FileFormat(kind=FileKind.CSV), FileFormat(kind=FileKind.JSON)):
        by = written(form, COLUMNS)
        write(Maker(plan=by, seed=5).good(ROWS), by, tmp_path / "made.up", broken=True)
        found, unparsed = read(spark, tmp_path, by, (tmp_path / "made.up").read_bytes())
        assert (len(found), len(unparsed)) == (ROWS - 1, 1)
