"""A file of another format than the contract's: the fault says which, and the line to write is one of a contract."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.report import Verdict
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from lakegate.express import footer
from lakegate.trial.trial import try_files

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: trips
version: 1.0.0
status: active
servers:
  - {{server: landing, type: s3, location: "s3://landing/a/*", {form}}}
schema:
  - name: trips
    physicalName: shop.trips
    properties:
      - {{name: id, logicalType: integer}}
      - {{name: name, logicalType: string}}
"""
ROWS = [{"id": number, "name": f"n{number}"} for number in range(3)]
SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}


def parquet() -> bytes:
    out = BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS, pa.schema({"id": pa.int32(), "name": pa.string()})), out)
    return out.getvalue()


def _orc() -> bytes:
    out = BytesIO()
    orc.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


def _avro() -> bytes:
    out = BytesIO()
    fastavro.writer(out, SCHEMA, ROWS)
    return out.getvalue()


FILES: dict[FileKind, Callable[[], bytes]] = {
    FileKind.PARQUET: parquet,
    FileKind.ORC: _orc,
    FileKind.AVRO: _avro,
    FileKind.CSV: lambda: b"id,name\n1,n1\n2,n2\n",
    FileKind.JSON: lambda: b'{"id": 1, "name": "n1"}\n{"id": 2, "name": "n2"}\n',
}
TRIED = (FileKind.PARQUET, FileKind.CSV, FileKind.JSON)  # other formats are Spark's: tests/spark/test_formats.py


@pytest.mark.parametrize("asked", TRIED)
@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_another_format_is_told_which_with_the_line_to_write(
    asked: FileKind, kind: FileKind, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(FILES[kind]())
    plan = load(CONTRACT.format(form=f"format: {asked}"), "contract").plan
    [file] = try_files(plan, [path]).report.files
    if kind is asked:
        assert file.faults == ()
        return
    assert file.verdict is Verdict.FAIL
    [advice] = file.advice_by_reason.values()
    assert advice.lines == f"format: {kind}"
    assert load(CONTRACT.format(form=advice.lines), "pasted").plan.files.kind is kind


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"id": 1}, {"id": 2}]', "it is a JSON array"),
        (b'[\n  {"id": 1}\n]\n', "it is JSON over several lines"),
        (b'{\n  "id": 1\n}\n', "it is JSON over several lines"),
    ],
)
def test_json_that_is_no_json_lines_is_not_told_to_be_said_in_a_contract_of_csv(
    body: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(body)
    [file] = try_files(load(CONTRACT.format(form="format: csv"), "contract").plan, [path]).report.files
    assert file.faults == (said,)
    assert file.advice[0].lines == ""


BODY = parquet()
FOOTER = int.from_bytes(BODY[-8:-4], "little")


def test_a_footer_that_nobody_reads_is_the_file_s_fault(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(BODY[: -8 - FOOTER] + b"\xff" * FOOTER + BODY[-8:])
    [file] = try_files(load(CONTRACT.format(form="format: parquet"), "c").plan, [path]).report.files
    assert (file.verdict, file.faults[0].partition(":")[0]) == (Verdict.FAIL, "its footer cannot be read")


@settings(max_examples=30, deadline=None)
@given(at=st.integers(-8 - FOOTER, -9), by=st.integers(1, 255))
def test_a_footer_with_a_wrong_byte_is_rejected_read_or_spark_s_and_never_a_failure_of_the_command(
    at: int, by: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, body = tmp_path_factory.mktemp("f") / "file.parquet", bytearray(BODY)
    body[at] = (body[at] + by) % 256
    path.write_bytes(body)
    plan = load(CONTRACT.format(form="format: parquet"), "c").plan
    with contextlib.suppress(Misconfigured):  # it has a footer, which only Spark reads
        [file] = try_files(plan, [path]).report.files
        assert file.verdict is Verdict.PASS or file.faults
        return
    assert not footer.unreadable(bytes(body))
