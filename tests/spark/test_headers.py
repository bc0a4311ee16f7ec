"""First lines of CSV that are no header: one file's fault, told without what they may hold. It needs no Spark."""

from __future__ import annotations

from dataclasses import replace

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.text.scan import Scan, inspect
from tests.support.plans import plan

FILE = JobFile(id="f1", key="landed", uri="file:f1.csv", size=3)


def inspected(header: str, *, masked: bool = False) -> Inspection:
    made = plan("nyc.t", {"id": "int", "name": "string"}, [])
    columns = tuple(replace(column, masked=masked) for column in made.columns)
    by = replace(made, files=FileFormat(kind=FileKind.CSV), columns=columns)
    return inspect(by, FILE, Scan(rows=1, header=header))


def test_a_name_that_is_too_long_is_its_files_fault() -> None:
    assert inspected("id," + "x" * 200_000).faults[0].startswith("its first line is no header")
    assert inspected("id,name").faults == ()


def test_a_row_in_place_of_the_header_is_not_told_where_columns_are_masked() -> None:
    assert inspected("7,Jane Doe", masked=True).faults == (
        "its first line has 2 values, and the contract says that the names stand there",
    )
    assert inspected("x,Jane Doe", masked=True).faults == ("its first line names none of the contract's columns",)
    assert inspected("x,Jane Doe").layout == ("x", "Jane Doe")


def test_names_in_other_letters_are_names() -> None:
    assert inspected("ID,NAME", masked=True).faults == ()


def test_a_header_that_lacks_a_masked_column_tells_none_of_its_other_names() -> None:
    said = 'its first line lacks "name", and has other names, which are not shown: they may be values'
    assert inspected("id,Jane Doe", masked=True).faults == (said,)
    assert inspected("id,Jane Doe").faults == ()
    assert inspected("id,name,Jane Doe", masked=True).faults == ()
