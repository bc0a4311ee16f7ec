"""The lake that `query` reads, on a real Nessie: branches, commits, columns, limits, and a silent one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import IcebergLake, LakeIO, storage
from lakegate.adapters.sql import Statement, run
from lakegate.errors import Misconfigured, Retryable
from lakegate.ports import Ref
from tests.support.nessie import Lake, lake, unique

__all__ = ["lake"]

FLIGHTS = pa.table({"carrier": ["UA", "AA", None], "dep_delay": pa.array([2, None, -3], pa.int32())})


@pytest.fixture(autouse=True)
def machine(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process's AWS configuration is the emulator's."""
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def tables(lake: Lake) -> IcebergLake:
    return IcebergLake(lake.nessie_uri, lake.warehouse)


@pytest.fixture
def branch(lake: Lake) -> str:
    """A branch with three flights in nyc.flights, which main has not."""
    name = unique("query")
    lake.branch(name)
    catalog = on(lake, name)
    catalog.create_namespace_if_not_exists("nyc")
    catalog.create_table("nyc.flights", schema=FLIGHTS.schema).append(FLIGHTS)
    return name


def on(lake: Lake, ref: str) -> RefCatalog:
    return RefCatalog(lake.nessie_uri, lake.warehouse, Ref(ref), storage())


@pytest.mark.nessie
def test_a_table_is_read_where_it_is(tables: IcebergLake, branch: str) -> None:
    answer = run(
        tables, Statement.parse("SELECT count(*), count(carrier), sum(dep_delay) FROM nyc.flights"), Ref(branch)
    )
    assert answer.rows == [(3, 2, -1)]
    assert tables.columns(Ref("main"), "nyc.flights") is None


@pytest.mark.nessie
def test_a_commit_of_a_branch_is_read_as_it_was(tables: IcebergLake, lake: Lake, branch: str) -> None:
    before = lake.head(branch)
    on(lake, branch).load_table("nyc.flights").append(FLIGHTS)
    count = Statement.parse("SELECT count(*) FROM nyc.flights")
    assert run(tables, count, Ref(branch, before)).rows == [(3,)]
    assert run(tables, count, Ref(branch, lake.head(branch))).rows == [(6,)]


@pytest.mark.nessie
def test_only_the_columns_and_rows_that_are_needed_are_read(tables: IcebergLake, branch: str) -> None:
    assert tables.rows(Ref(branch), "nyc.flights", ["dep_delay"], 1).to_pylist() == [{"dep_delay": 2}]


@pytest.mark.nessie
def test_only_the_rows_of_the_files_that_are_named_are_read(tables: IcebergLake, lake: Lake, branch: str) -> None:
    ids = pa.array(["0a", "0a", "0b"])
    rows = FLIGHTS.append_column("_lakegate_file", ids)
    on(lake, branch).create_table("nyc.landed", schema=rows.schema).append(rows)
    assert tables.rows(Ref(branch), "nyc.landed", ["carrier"], None, ["0a", "0c"]).to_pylist() == [
        {"carrier": "UA"},
        {"carrier": "AA"},
    ]


@pytest.mark.nessie
def test_no_rows_are_names_and_types_and_no_file_is_read(
    tables: IcebergLake, lake: Lake, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(lake, branch).create_table("nyc.unread", schema=FLIGHTS.schema).append(FLIGHTS)
    opened: list[str] = []
    monkeypatch.setattr(LakeIO, "new_input", lambda _, location: opened.append(location))
    none = tables.rows(Ref(branch), "nyc.unread", ["carrier"], 0)
    assert (none.num_rows, none.schema.names, opened) == (0, ["carrier"], [])
    with pytest.raises(AttributeError):  # whoever asks for a row opens a file, which is none here
        tables.rows(Ref(branch), "nyc.unread", ["carrier"], 1)
    assert opened


@pytest.mark.nessie
def test_an_unknown_table_names_those_that_are_there(tables: IcebergLake, branch: str) -> None:
    with pytest.raises(Misconfigured, match=r"Tables there: nyc\.flights"):
        run(tables, Statement.parse("SELECT * FROM nyc.planes"), Ref(branch))


@pytest.mark.nessie
@pytest.mark.parametrize("ref", ["none", "main@not-a-hash", "main@" + "0" * 64])
def test_a_ref_that_is_not_there_is_misuse(tables: IcebergLake, ref: str) -> None:
    with pytest.raises(Misconfigured, match=r"reading|there is no"):
        run(tables, Statement.parse("SELECT * FROM nyc.flights"), Ref.parse(ref))


@pytest.mark.nessie
def test_a_catalog_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(Retryable, match="reading main"):
        IcebergLake("http://127.0.0.1:1", "lake").columns(Ref("main"), "nyc.flights")
