"""A stranger's SQL in DuckDB: it reads the tables that it names and nothing else, and ends in time and in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakegate.adapters.sql import Bounds, SqlReading, Statement, run
from lakegate.errors import Misconfigured
from lakegate.ports import MAIN, Ref
from tests.world.world import World

BOUNDS = Bounds(size=1024**2, seconds=60)


@dataclass
class OneTable:
    """A lake with one table."""

    held: pa.Table = field(default_factory=lambda: pa.table({"a": [1, 2, 3]}))

    def tables(self, _: Ref) -> list[str]:
        return ["n.t"]

    def columns(self, _: Ref, table: str) -> list[str] | None:
        return list(self.held.column_names) if table == "n.t" else None

    def rows(self, _ref: Ref, _table: str, columns: Sequence[str], limit: int | None, _: Sequence[str] = ()) -> Any:
        return self.held.select(columns).slice(0, limit)


def reading(bounds: Bounds = BOUNDS) -> SqlReading:
    return SqlReading(branches=World().service.branches, lake=OneTable(), bounds=bounds)


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, of a process that has a secret in its environment."""
    monkeypatch.setenv("SECRET_OF_THE_FUNCTION", "s3cret")
    (tmp_path / "secret.csv").write_text("word\ns3cret\n")
    return tmp_path


READS = [
    "SELECT * FROM read_csv('{}/secret.csv')",
    "SELECT * FROM read_csv_auto('{}/secret.csv')",
    "SELECT * FROM read_text('{}/secret.csv')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM '{}/secret.csv'",
    "SELECT * FROM read_parquet('s3://other/x.parquet')",
    "SELECT * FROM read_json('http://127.0.0.1:1/x.json')",
    "SELECT * FROM read_duckdb('{}/x.db')",
    "SELECT * FROM glob('{}/*')",
    "SELECT * FROM sniff_csv('{}/secret.csv')",
    "SELECT * FROM parquet_metadata('{}/secret.csv')",
    "SELECT * FROM read_text(current_setting('temp_directory') || '/../..{}/secret.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{}/secret.csv'')')",
    "SELECT * FROM query('COPY (SELECT 1) TO ''{}/out.csv''')",
    "SELECT * FROM query_table('{}/secret.csv')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{}/secret.csv'')'))",
    "SELECT getenv('SECRET_OF_THE_FUNCTION')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM enable_logging(storage := 'file', storage_path := '{}/log')",
    "SELECT * FROM sqlite_scan('{}/x.db', 't')",
    "SELECT * FROM load_aws_credentials()",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM python_map_function((FROM n.t), 1)",
    "SELECT * FROM os",
    "SELECT * FROM engine",
    "SELECT * FROM statement",
]
WRITES = [
    "COPY (SELECT 1) TO '{}/out.csv'",
    "COPY n.t TO '{}/out.parquet'",
    "EXPORT DATABASE '{}/out'",
    "ATTACH '{}/out.db'",
    "ATTACH 's3://other/out.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET GLOBAL lock_configuration = false",
    "PRAGMA memory_limit = '10GB'",
    "PRAGMA enable_profiling",
    "CALL enable_logging()",
    "CREATE SECRET s (TYPE s3)",
    "CREATE TABLE x AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "INSERT INTO n.t VALUES (1)",
    "PREPARE p AS SELECT 1",
    "CHECKPOINT",
    "IMPORT DATABASE '{}'",
    "SELECT 1; COPY (SELECT 1) TO '{}/out.csv'",
    "COPY (SELECT 1) TO '{}/out.csv'; SELECT 1",
]


@pytest.mark.parametrize("sql", [*READS, *WRITES])
def test_sql_reaches_no_file_no_network_no_environment_and_no_setting(
    secret: Path, sql: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = set(secret.rglob("*"))
    with pytest.raises(Misconfigured) as refused:
        reading().answer(sql.format(secret), Ref(MAIN), None)
    assert "s3cret" not in str(refused.value) + "".join(capfd.readouterr())
    assert set(secret.rglob("*")) == before


@pytest.mark.parametrize("sql", WRITES)
def test_what_our_parser_takes_for_a_question_and_duckdb_does_not_is_refused(secret: Path, sql: str) -> None:
    question = Statement.parse("SELECT a FROM n.t")
    with pytest.raises(Misconfigured):
        run(OneTable(), Statement(sql=sql.format(secret), tree=question.tree), Ref(MAIN), bounds=BOUNDS)
    assert [path.name for path in secret.rglob("*")] == ["secret.csv"]


@pytest.mark.parametrize("sql", ["SELECT sum(a) AS s FROM n.t", "FROM n.t", "DESCRIBE n.t", "SUMMARIZE n.t"])
def test_what_reads_is_answered(sql: str) -> None:
    assert reading().answer(sql, Ref(MAIN), None).rows


@pytest.mark.usefixtures("secret")
def test_no_value_of_the_environment_is_a_setting_that_sql_can_read() -> None:
    settings = reading().answer("SELECT * FROM duckdb_settings()", Ref(MAIN), None)
    assert len(settings.rows) > 50
    assert "s3cret" not in str(settings)
    assert os.environ["SECRET_OF_THE_FUNCTION"] == "s3cret"


def test_a_query_without_end_is_interrupted_and_says_so() -> None:
    endless = "SELECT sum(l.range * r.range) FROM range(1000000000) l, range(1000000000) r"
    with pytest.raises(Misconfigured, match=r"takes longer than 0\.2 s: ask for fewer rows"):
        reading(Bounds(size=100, seconds=0.2)).answer(endless, Ref(MAIN), None)


BOUNDED = """
import sys
from lakegate.errors import Misconfigured
from lakegate.express.process import bound_memory
from lakegate.ports import Ref
from tests.ports.test_sql import reading
bound_memory(2000)
try:
    reading().answer(sys.argv[1], Ref("main"), None)
except Misconfigured as error:
    print(error)
"""


@pytest.mark.parametrize(
    "sql", ["SELECT length(repeat('x', 2000000000) || range::TEXT) FROM range(3)", "SELECT list_sort(range(300000000))"]
)
def test_a_query_out_of_memory_ends_with_a_message_and_not_with_the_function(sql: str) -> None:
    ended = subprocess.run([sys.executable, "-c", BOUNDED, sql], capture_output=True, text=True, check=True)
    assert "takes more memory than there is for it: ask for fewer rows" in ended.stdout


def test_values_beyond_the_answer_s_size_are_refused_and_rows_beyond_the_first_are_counted() -> None:
    small = reading(Bounds(size=2_000, seconds=60))
    with pytest.raises(Misconfigured, match="more than 2,000 bytes"):
        small.answer("SELECT repeat('x', 100) FROM range(100)", Ref(MAIN), None)
    answer = small.answer("SELECT repeat('x', 100) FROM range(100)", Ref(MAIN), 3)
    assert (len(answer.rows), answer.rest) == (3, 97)
