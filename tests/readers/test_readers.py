"""Engines in an environment of their own read tables by what `readers` prints, as it is printed."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pyarrow as pa
import pytest

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.ports import MAIN, Ref
from tests.support.nessie import Lake, unique
from tests.support.readers import place_of, text_of

pytestmark = pytest.mark.readers
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".local/envs/readers"
RUN_SQL = """\
import sys
import duckdb
engine = duckdb.connect(config={"extension_directory": sys.argv[1]})
print(engine.execute(sys.stdin.read()).fetchall())
"""


@pytest.fixture
def table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table on main, in a namespace of its own."""
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    name, rows = unique("read"), pa.table({"carrier": ["UA"]})
    main = on(lake, MAIN)
    main.create_namespace(name)
    main.create_table(f"{name}.flights", schema=rows.schema).append(rows)
    return f"{name}.flights"


@pytest.fixture
def extensions(tmp_path: Path) -> Path:
    """DuckDB's folder of extensions as INSTALL would leave it: its packages stand in for the address that it asks."""
    found = [it for it in distributions(path=site_packages()) if it.name.startswith("duckdb_extension_")]
    for extension in found:
        put(extension, tmp_path)
    assert len(found) == 4
    return tmp_path


def put(extension: Distribution, folder: Path) -> None:
    [file] = [file for file in extension.files or () if file.suffix == ".duckdb_extension"]
    to = folder / f"v{extension.version}" / "linux_amd64"
    to.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(file.locate()), to)


def site_packages() -> list[str]:
    return [str(path) for path in ENVIRONMENT.glob("lib/python*/site-packages")]


def on(lake: Lake, ref: str) -> RefCatalog:
    return RefCatalog(lake.nessie_uri, lake.warehouse, Ref(ref), storage())


def printed(engine: str, lake: Lake, table: str, ref: str) -> str:
    return text_of(engine, place_of(lake, s3_endpoint=lake.s3_endpoint), table, ref)


def run(lake: Lake, text: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [ENVIRONMENT / "bin/python", *arguments],
        input=text,
        env=os.environ | lake.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["pyiceberg", "pandas", "polars"])
def test_a_printed_program_reads_main_and_a_branch(engine: str, lake: Lake, table: str) -> None:
    branch = unique("wap-x")
    lake.branch(branch)
    on(lake, branch).load_table(table).append(pa.table({"carrier": ["late"]}))
    shown = [run(lake, printed(engine, lake, table, ref), "-") for ref in (MAIN, branch)]
    assert ["UA" in rows for rows in shown] == [True, True]
    assert ["late" in rows for rows in shown] == [False, True]


def test_duckdb_s_own_extension_reads_main_by_the_printed_statements(lake: Lake, table: str, extensions: Path) -> None:
    shown = run(lake, printed("duckdb-sql", lake, table, MAIN), "-c", RUN_SQL, extensions)
    assert shown.splitlines()[-1] == "[('UA',)]"  # after its bars of progress
