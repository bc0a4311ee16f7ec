"""Text files read without Spark. That the Spark job reads the same is asked in tests/spark/test_reading.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import fit_all
from lakegate.audit.text.fields import atomic, left_open, well_quoted
from lakegate.reading import text
from lakegate.reading.lines import raw_lines
from lakegate.reading.records import records
from tests.support.plans import plan

CSV, JSON = FileFormat(kind=FileKind.CSV), FileFormat(kind=FileKind.JSON)
BODIES = st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xef\xbb\xbf", b"\xc3\xa9", b"\x85", b"\x0b"]), max_size=12)


def by(form: FileFormat, **columns: str) -> Plan:
    return replace(plan("nyc.t", columns, []), files=form)


def read(of: Plan, body: bytes | Path, key: str = "a") -> list[text.Part]:
    size = body.stat().st_size if isinstance(body, Path) else len(body)
    inspection = text.inspect(of, JobFile(id="f", key=key, uri="", size=size), body)
    [fitted] = fit_all(of, None, [inspection])[1]
    assert fitted.faults == ()
    return list(text.parts(of, fitted, body))


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


@given(BODIES.map(b"".join), st.integers(1, 4))
def test_lines_are_the_same_in_blocks_of_any_size(body: bytes, size: int) -> None:
    whole = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert list(raw_lines(pieces(body, size), 1_000)) == (whole[:-1] if whole[-1] == b"" else whole)


@given(st.lists(st.sampled_from(["a", "é", '""', '"a\nb"', '"x,""y"', ""]), min_size=1, max_size=9), st.integers(1, 7))
def test_records_are_the_same_in_blocks_of_any_size(fields: list[str], size: int) -> None:
    form = replace(CSV, multiline=True)
    body = ("a,b\n" + "\n".join(f"1,{field}" for field in fields)).encode()
    assert list(records(pieces(body, size), form, 2)) == list(records([body], form, 2))
    assert len(list(records([body], form, 2))) == 1 + len(fields)


def test_a_line_takes_no_more_memory_than_the_limit() -> None:
    longest = max(map(len, raw_lines((b"x" * 1_000 for _ in range(1_000)), 10_000)))
    assert longest <= 11_000


def test_rows_come_in_parts_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "PART", 7)
    body = "id,say\n" + "".join(f"{'x' if at % 5 == 0 else at},a\n" for at in range(100))
    found = read(by(CSV, id="bigint", say="string"), body.encode())
    assert max(part.rows.num_rows + len(part.malformed) for part in found) == 7
    assert [value for part in found for value in part.rows["id"].to_pylist()] == [at for at in range(100) if at % 5]
    assert [row.number for part in found for row in part.malformed] == [at + 2 for at in range(0, 100, 5)]


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (replace(CSV, multiline=True), b'id,say\n1,"a"\r\n2,b\n'),
        (replace(CSV, multiline=True), b'id,say\n1,"a"\t\n'),
        (replace(CSV, multiline=True), b"id,say\r\n1,a\n2,b\r\n"),
        (CSV, "id,say\n1,\ufdd0empty\n".encode()),
        (JSON, b'{"say": 0.30000000000000004, "id": 1}'),
        (JSON, b'{"say": ' + b"[" * 300 + b"]" * 300 + b"}"),
        (JSON, b'{"say": ' + b"1" * 2_000 + b"}"),
    ],
)
def test_what_only_spark_can_say_is_handed_over(form: FileFormat, body: bytes) -> None:
    with pytest.raises(HandedOver, match="Only Spark"):
        read(by(form, id="string", say="string"), body)


def test_a_record_that_does_not_parse_is_shown_with_its_empty_texts() -> None:
    [part] = read(by(replace(CSV, multiline=True), id="int", say="string"), b'id,say\nx,""\ny,\n1,a\n')
    assert [(row.number, row.text) for row in part.malformed] == [(1, "x,"), (2, "y")]


@pytest.mark.parametrize("pattern", [well_quoted, left_open])
@pytest.mark.parametrize("escape", ['"', "\\"])
def test_no_group_that_python_repeats_is_possessive(pattern: Callable[..., str], escape: str) -> None:
    """Python 3.11.2, Debian's, took rows with a quote that is never closed."""
    form = FileFormat(kind=FileKind.CSV, quote='"', escape=escape)
    ours, theirs = pattern(form, atomic), pattern(form)
    assert (")*+" in ours, ")*+" in theirs) == (False, True)
