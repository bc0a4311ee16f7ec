"""Rows that do not parse: the advice goes by cause, and a contract takes every line that is advised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lakegate.audit.advice import Advice
from lakegate.audit.model.report import FileReport
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from lakegate.trial.trial import try_files

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: trips
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/a/*
    format: {form}
    {server}
schema:
  - name: trips
    physicalName: shop.trips
    {table}
    properties:
      - {{name: id, logicalType: integer}}
      - {{name: cost, physicalType: "decimal(5,2)"}}
      - {{name: name, logicalType: string{name}}}
      - {{name: day, logicalType: date}}
"""
SERVER, TABLE = "# at the landing server:", "# at the table:"
BUDGET = "customProperties: [{property: quarantineBudget, vendor: lakegate, value: {rows: 9}}]"
ASIDE = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
QUARANTINES = f", required: true, {ASIDE}"
OBJECT = '{"id": 1, "cost": 1.5, "name": "x", "day": "2024-01-31"}'
GOOD = "1,1.50,x,2024-01-31"


def contract(form: str = "csv", server: str = "", table: str = "", name: str = "") -> str:
    return CONTRACT.format(form=form, server=server, table=table, name=name)


def tried(text: str, body: bytes, folder: Path) -> FileReport:
    path = folder / "file"
    path.write_bytes(body)
    [file] = try_files(load(text, "contract").plan, [path]).report.files
    return file


def advices(file: FileReport) -> list[Advice]:
    return [advice for advice in file.advice_by_reason.values() if advice]


def pasted(text: str, advice: Advice) -> str:
    """The contract with the advised lines where the advice says that they go."""
    document, said = YAML(typ="safe").load(text), advice.lines
    if SERVER in said:
        at_server, at_table = said.removeprefix(SERVER).split(TABLE)
        _merge(document["servers"][0], _parsed(at_server))
        _merge(document["schema"][0], _parsed(at_table))
    elif isinstance(_parsed(said), list):
        columns = document["schema"][0]["properties"]
        for new in _parsed(said):
            at = next(at for at, column in enumerate(columns) if column["name"] == new["name"])
            columns[at] = new
    else:
        columns = {column["name"]: column for column in document["schema"][0]["properties"]}
        at_column = next((column for name, column in columns.items() if f'at column "{name}"' in advice.contract), None)
        _merge(at_column or document["servers"][0], _parsed(said))
    out = StringIO()
    YAML(typ="safe").dump(document, out)
    return out.getvalue()


def _parsed(text: str) -> Any:
    return YAML(typ="safe").load(text)


def _merge(owner: dict[str, Any], new: Mapping[str, Any]) -> None:
    if "customProperties" in new:
        names = {it["property"] for it in new["customProperties"]}
        kept = [it for it in owner.get("customProperties", []) if it["property"] not in names]
        new = {**new, "customProperties": [*kept, *new["customProperties"]]}
    owner |= new


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Rows with one cause, what the vendor is asked, and the words of the contract's part; `mends` if the file passes
    once its lines are pasted.
    """

    rows: tuple[str | bytes, ...]
    vendor: str
    contract: str
    form: str = "csv"
    server: str = ""
    mends: bool = True

    @property
    def body(self) -> bytes:
        header = [] if self.form == "json" else ["id,cost,name,day"]
        rows = [row if isinstance(row, bytes) else row.encode() for row in (*header, *self.rows)]
        return b"\n".join(rows) + b"\n"


CAUSES = {
    "too few fields": Cause(
        rows=(GOOD, "2,1.50"), vendor='write 4 fields in each row, and to quote values that hold , by "',
        contract="put such rows aside, by lines at two places",
    ),
    "too many fields": Cause(
        rows=(GOOD, "2,1.50,a,b,2024-01-31"), vendor="write 4 fields in each row", contract="put such rows aside",
    ),
    "fields in quotes, of a contract without": Cause(
        rows=('1,1.50,"a,b",2024-01-31',), server="customProperties: [{property: quote, vendor: lakegate, value: ''}]",
        vendor="write 4 fields in each row", contract="say its quotes",
    ),
    "a quote within a value": Cause(
        rows=(GOOD, '2,1.50,"a "b" c",2024-01-31'), vendor='put " around whole values alone', contract="take quotes",
    ),
    "a quote that a backslash escapes": Cause(
        rows=(GOOD, r'2,1.50,"a \"b\" c",2024-01-31'), vendor='put " around whole values', contract="say which sign",
    ),
    "a line end in quotes": Cause(
        rows=(GOOD, '2,1.50,"a\nb",2024-01-31'), vendor='put " around whole values alone', contract="let values in",
    ),
    "a quote that is never closed": Cause(
        rows=(GOOD, '2,1.50,"a,2024-01-31'), vendor="close each quote", contract="take quotes as signs",
        server="customProperties: [{property: multiLine, vendor: lakegate, value: true}]",
    ),
    "bytes of another encoding": Cause(
        rows=(GOOD, "2,1.50,é,2024-01-31".encode("cp1252")), vendor="write each letter as UTF-8", contract="say their",
    ),
    "letters that are not ASCII": Cause(
        rows=(GOOD, "2,1.50,é,2024-01-31"), vendor="write each letter as US-ASCII", contract="say their encoding",
        server="encoding: US-ASCII",
    ),
    "a number of 64 bits": Cause(
        rows=(GOOD, "3000000000,1.50,x,2024-01-31"), vendor='write column "id" as whole numbers of 32 bits',
        contract='write a type of "id"',
    ),
    "a number of more digits": Cause(
        rows=(GOOD, "1,12345.50,x,2024-01-31"), vendor='write column "cost" as decimals', contract='a type of "cost"',
    ),
    "a number with places": Cause(
        rows=(GOOD, "1.5,1.50,x,2024-01-31"), vendor='write column "id" as whole numbers', contract='a type of "id"',
    ),
    "a text for no value": Cause(
        rows=(GOOD, "NA,1.50,x,2024-01-31", "N/A,1.50,x,2024-01-31"), vendor='write column "id" as whole numbers',
        contract='say which texts stand for no value, at column "id"',
    ),
    "a text for no date": Cause(
        rows=(GOOD, r"1,1.50,x,\N"), vendor='write column "day" as dates', contract='no value, at column "day"',
    ),
    "a date in another spelling": Cause(
        rows=(GOOD, "1,1.50,x,31/01/2024"), vendor='write column "day" as dates', contract='a type of "day"',
    ),
    "several causes": Cause(
        rows=(GOOD, "1,1.50", "x,1.50,x,2024-01-31"), vendor="and to write column", contract="put such rows aside",
    ),
    "a line that is no object": Cause(
        form="json", rows=(OBJECT, '{"id": 2'), vendor="write one whole JSON object", contract="put such rows",
    ),
    "half of a letter": Cause(
        form="json", rows=(OBJECT, r'{"id": 2, "name": "\ud83d"}'), vendor="write whole", contract="put such rows",
    ),
    "JSON: a number of 64 bits": Cause(
        form="json", rows=(OBJECT, '{"id": 3000000000}'), vendor='write column "id"', contract='a type of "id"',
    ),
    "JSON: a number in quotes": Cause(
        form="json", rows=(OBJECT, '{"id": "7"}'), vendor='write column "id" as whole', contract='a type of "id"',
    ),
    "JSON: bytes of another encoding": Cause(
        form="json", rows=(OBJECT, '{"name": "é"}'.encode("cp1252")), vendor="write each letter",
        contract="say their encoding",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
@pytest.mark.parametrize("table", ["", BUDGET], ids=["no budget", "a budget"])
def test_the_advice_goes_by_cause_and_its_lines_take_the_file(cause: Cause, table: str, tmp_path: Path) -> None:
    text = contract(cause.form, cause.server, table, QUARANTINES if table else "")
    found = tried(text, cause.body, tmp_path)
    [advice] = advices(found)
    assert cause.vendor in advice.vendor
    assert cause.contract.split(", by")[0] in advice.contract
    again = tried(pasted(text, advice), cause.body, tmp_path)
    assert [it.failing_rows for it in again.checks if "parse" in it.name] == [
        it.failing_rows if "aside" in advice.contract else 0 for it in found.checks if "parse" in it.name
    ] or cause.server
    assert not again.faults


VALUES = st.one_of(
    st.sampled_from(["", "NA", "\\N", "-", "?", '"', '""', '"a"b', "'", "\\", "1e400", "2013", "31.01.2024", "\u20ac"]),
    st.integers(-(2**66), 2**66).map(str),
    st.decimals(-(10**9), 10**9, places=3).map(str),
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufdd0\ufdd1\ufdd2"), max_size=8),
)
ROWS = st.lists(st.lists(VALUES, min_size=1, max_size=5), min_size=1, max_size=4)


@settings(max_examples=20, deadline=None)
@given(
    rows=ROWS,
    table=st.sampled_from(["", BUDGET]),
    form=st.sampled_from(["csv", "json"]),
    encoding=st.sampled_from(["UTF-8", "cp1252"]),
)
def test_a_contract_takes_the_lines_that_are_advised_for_any_rows(
    rows: list[list[str]], table: str, form: str, encoding: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = contract(form, "", table, QUARANTINES if table else "")
    columns = ("id", "cost", "name", "day")
    made = [OBJECT, *(json.dumps(dict(zip(columns, row, strict=False))) for row in rows)]
    said = made if form == "json" else ["id,cost,name,day", GOOD, *(",".join(row) for row in rows)]
    body = "\n".join(said).encode(encoding, "ignore")
    try:
        found = tried(text, body, tmp_path_factory.mktemp("drawn"))
    except Misconfigured:  # only Spark reads it
        return
    for advice in advices(found):
        assert load(pasted(text, advice) if advice.lines else text, "pasted").plan.columns


def test_rows_of_a_table_with_masked_columns_are_told_by_cause_without_a_value(tmp_path: Path) -> None:
    text = contract(name=", classification: personal")
    [advice] = advices(tried(text, b"id,cost,name,day\nNA,1.50,x,2024-01-31\n", tmp_path))
    assert advice.vendor == 'write column "id" as whole numbers of 32 bits'
    assert "NA" not in advice.lines
