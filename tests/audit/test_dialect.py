"""A CSV of another dialect than its contract's is told which, with the line to write; one of the contract's is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.text.dialect import wide_letters
from lakegate.audit.text.scan import Scan, inspect
from lakegate.contracts import load
from tests.support.plans import plan

COLUMNS = {"id": "int", "name": "string", "day": "date", "amount": "decimal(9,2)"}
CSV = FileFormat(kind=FileKind.CSV)
SIGNS = (",", ";", "\t", "|")
QUOTES = ('"', "'")
CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: trips
version: 1.0.0
status: active
servers: [{server: landing, type: s3, location: "s3://landing/a/*", format: csv}]
schema:
  - name: trips
    physicalName: shop.trips
    properties: [{name: id, logicalType: integer}]
"""


def of(form: FileFormat, columns: dict[str, str] = COLUMNS) -> Plan:
    return replace(plan("nyc.t", columns), files=form)


def told(by: Plan, header: str) -> tuple[str, ...]:
    file = JobFile(id="f1", key="landed", uri="", size=1)
    return inspect(by, file, Scan(rows=3, header=header, longest=len(header))).faults


def spelled(sign: str, quote: str, names: list[str]) -> str:
    return sign.join(f"{quote}{name}{quote}" for name in names)


@given(st.sampled_from(SIGNS), st.sampled_from(SIGNS), st.sampled_from(QUOTES), st.sampled_from(("", *QUOTES)),
       st.permutations([*COLUMNS, "more"]))  # fmt: skip
def test_another_delimiter_or_quote_is_told_with_the_lines_that_read_it(
    said: str, sign: str, quote: str, own: str, names: list[str]
) -> None:
    by = of(replace(CSV, delimiter=said, quote=quote, escape=quote))
    header = spelled(sign, own, names)
    found = told(by, header)
    if sign == said and own in ("", quote):
        assert found == ()
        return
    [fault] = found
    assert "which the contract does not say" in fault
    assert ("separated by" in fault) == (sign != said)
    assert ("quoted by" in fault) == (own not in ("", quote))
    lines = YAML(typ="safe").load(fault.advice.lines)  # type: ignore[attr-defined]
    document = YAML(typ="safe").load(CONTRACT)
    document["servers"][0] |= {"delimiter": said} | lines
    mended = load(_dumped(document), "mended.yaml").plan.files
    now = replace(by.files, delimiter=mended.delimiter, quote=mended.quote if "quote" in str(lines) else quote)
    assert told(of(replace(now, escape=now.quote)), header) == ()


def _dumped(document: object) -> str:
    from io import StringIO

    out = StringIO()
    YAML(typ="safe").dump(document, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("said", "header", "why", "line"),
    [
        ("UTF-8", "id,caf\ufffd", "its first line is not UTF-8, and the contract says UTF-8", "encoding: windows-1252"),
        (
            "windows-1252",
            "id,café".encode().decode("cp1252"),
            "its first line is UTF-8, and the contract says windows-1252",
            "encoding: UTF-8",
        ),
        (
            "ISO-8859-1",
            "\ufeffid,name".encode().decode("latin-1"),
            "its first line is UTF-8, and the contract says ISO-8859-1",
            "encoding: UTF-8",
        ),
        ("UTF-8", "i\0d\0,\0c\0a\0f\0", "it is UTF-16", ""),
        ("UTF-8", "\0i\0d\0;\0n", "it is UTF-16", ""),
    ],
)
def test_another_encoding_is_told_with_the_line_to_write(said: str, header: str, why: str, line: str) -> None:
    [fault] = told(of(replace(CSV, encoding=said), {"id": "int", "café": "string"}), header)
    assert (fault, fault.advice.lines) == (why, line)  # type: ignore[attr-defined]


@pytest.mark.parametrize("header", ["1,a,2013-01-01,1.25", "-7,,2013-12-31,0", " 1 ,date,2013-01-01,.5"])
def test_a_first_line_of_values_is_told_as_no_header(header: str) -> None:
    [fault] = told(of(CSV), header)
    assert fault == "its first line has 4 values, and the contract says that the names stand there"
    assert "header, vendor: lakegate, value: false" in fault.advice.lines  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "header",
    [
        "id,name,day,amount",
        "ID , Name",
        "who,what",
        "who;what",
        "a,b,c,d",
        "id;x",
        "name",
        "\0" * 9,
        "caf\ufffd\x01",
        "x",
        "1;2;3",
        "id,na;me",
    ],
)
def test_a_header_that_may_be_the_contract_s_is_left_to_its_columns(header: str) -> None:
    assert all("the contract" not in fault or "column" in fault for fault in told(of(CSV), header))


def test_of_a_long_first_line_a_part_is_looked_at() -> None:
    assert told(of(replace(CSV, delimiter=";")), "id,name,day,amount," + "x" * 10_000_000)


@pytest.mark.parametrize("text", ["\0", "\0" * 4, "\0" * 500, "a" + "\0" * 40, "\0" * 40 + "a,b"])
def test_a_text_of_nearly_nothing_but_nul_is_of_no_wide_letters(text: str) -> None:
    assert wide_letters(text.count("\0"), len(text)) is None
