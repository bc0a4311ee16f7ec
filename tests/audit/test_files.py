"""Tests of how landed files are written, as a plan carries it."""

import json

import pytest

from lakegate.audit.evaluation.malformed import MalformedRows
from lakegate.audit.evaluation.verdicts import Measurement
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import Source
from tests.support.plans import plan


@pytest.mark.parametrize(
    ("form", "key", "suffix"),
    [
        (FileFormat(), "a.csv.gz", ".parquet"),
        (FileFormat(kind=FileKind.CSV), "a/b.c/x.csv", ".csv"),
        (FileFormat(kind=FileKind.CSV), "a/x.txt.GZ", ".csv.gz"),
        (FileFormat(kind=FileKind.CSV), "x.csv.xz", ".csv"),
        (FileFormat(kind=FileKind.JSON), "x.bz2", ".json.bz2"),
        (FileFormat(kind=FileKind.JSON, compression="gzip"), "x.json", ".json.gz"),
        (FileFormat(kind=FileKind.CSV), "x.csv.ZST", ".csv.zstd"),
        (FileFormat(kind=FileKind.CSV), "x.zstd", ".csv.zstd"),
        (FileFormat(kind=FileKind.CSV, compression="none"), "x.gz", ".csv"),
    ],
)
def test_a_staged_copy_ends_in_what_the_readers_know_and_in_nothing_else(
    form: FileFormat, key: str, suffix: str
) -> None:
    assert form.suffix(key) == suffix


def test_a_plan_from_before_there_were_other_formats_is_of_parquet() -> None:
    older = json.loads(to_json(plan("nyc.t", {"id": "int"})))
    del older["files"]
    assert from_json(Plan, json.dumps(older)).files.kind is FileKind.PARQUET


def test_a_files_format_goes_through_json() -> None:
    form = FileFormat(kind=FileKind.CSV, nulls=("", "NA"), patterns={"day": "dd/MM/yyyy"})
    assert from_json(FileFormat, to_json(form)) == form


def test_rows_that_do_not_parse_are_counted_out_of_the_files_lines() -> None:
    metric = MalformedRows(rows={"f1": 2}, lines={"f1": 5, "f2": 4})
    assert metric("f1", ()) == Measurement(value=2, source=Source.FILE, rows=5)
    assert metric("f2", ("f1",)) == Measurement(value=0, source=Source.FILE, rows=4)
