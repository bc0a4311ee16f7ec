"""The text of `readers` for Spark, as it is printed, in a session on a real Nessie."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.ports import MAIN, Ref
from tests.support.nessie import Lake, unique
from tests.support.readers import place_of, text_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


def test_the_printed_program_has_one_session_read_main_and_a_branch(
    on_nessie: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", on_nessie)
    table, branch = f"{unique('read')}.flights", unique("wap-x")
    make(lake, table)
    lake.branch(branch)
    on(lake, branch).load_table(table).append(pa.table({"carrier": ["late"]}))
    shown = []
    for ref in (MAIN, branch):
        exec(compile(text(lake, table, ref), "printed", "exec"), {})
        shown.append(capsys.readouterr().out)
    assert ["UA" in rows for rows in shown] == [True, True]
    assert ["late" in rows for rows in shown] == [False, True]


def text(lake: Lake, table: str, ref: str) -> str:
    return text_of("spark", place_of(lake), table, ref)


def make(lake: Lake, table: str) -> None:
    rows = pa.table({"carrier": ["UA"]})
    catalog = on(lake, MAIN)
    catalog.create_namespace(table.partition(".")[0])
    catalog.create_table(table, schema=rows.schema).append(rows)


def on(lake: Lake, ref: str) -> RefCatalog:
    return RefCatalog(lake.nessie_uri, lake.warehouse, Ref(ref), storage())
