"""The example for DBOS, killed at each write and gone on with, on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.nessie import Lake
from tests.support.orchestrator_runs import KILLS, MERGE, Example, check_it_is_killed_and_run_again, ended, killing
from tests.support.postgres import DATABASE, PASSWORD, USER, postgres
from tests.support.proxy import Fault, Request, proxy

pytestmark = pytest.mark.orchestrators
URL = "DBOS_SYSTEM_DATABASE_URL"
LOOKS_WITHIN = 180  # seconds: it looks every minute


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL's address."""
    with postgres() as made, made.running():
        yield f"postgresql://{USER}:{quote(PASSWORD)}@127.0.0.1:{made.port}/{DATABASE}?sslmode=require"


@pytest.fixture
def dbos(lake: Lake, tmp_path: Path) -> Example:
    return Example(name="dbos", lake=lake, folder=tmp_path, env={URL: f"sqlite:///{tmp_path}/dbos.sqlite"})


def test_a_file_is_published(dbos: Example) -> None:
    code, said = dbos.run(dbos.file(1, 2), "--table", dbos.table)
    assert (code, dbos.ids(), dbos.branches()) == (0, [1, 2], []), said


def test_a_null_stops_the_publish_and_its_branch_is_dropped(dbos: Example) -> None:
    dbos.run(dbos.file(1), "--table", dbos.table)
    code, said = dbos.run(dbos.file(2, None, name="bad.parquet"), "--table", dbos.table)
    assert (code, dbos.ids(), dbos.branches()) == (1, [1], []), said
    assert "id required: 1 of 2 rows" in said
    assert "'id': None" in said


def test_a_step_is_tried_again_while_nessie_is_out(dbos: Example) -> None:
    writes: list[str] = []

    def refuse(request: Request) -> tuple[Fault, int]:
        writes.extend([] if request.reads else [request.path])
        return (Fault.REFUSED if not request.reads and len(writes) <= 2 else Fault.NONE), 0

    with proxy(dbos.lake.nessie_uri, refuse) as network:
        code, said = dbos.run(dbos.file(1), "--table", dbos.table, uri=network.uri)
    assert (code, dbos.ids()) == (0, [1]), said


@pytest.mark.parametrize(("write", "moment"), KILLS)
def test_a_workflow_that_is_killed_and_gone_on_with_publishes_once(write: int, moment: str, dbos: Example) -> None:
    check_it_is_killed_and_run_again(dbos, write, moment)


@pytest.mark.parametrize(("write", "moment"), [(4, "after"), (MERGE, "after")])
def test_postgresql_keeps_what_was_done_too(write: int, moment: str, dbos: Example, database: str) -> None:
    path, env = dbos.file(1, 2), {URL: database}
    with killing(dbos.lake, write, moment) as uri:
        assert dbos.run(path, "--table", dbos.table, uri=uri, env=env)[0] < 0
    code, said = dbos.run(path, "--table", dbos.table, env=env)
    assert (code, dbos.ids()) == (0, [1, 2]), said


def test_two_processes_at_once_publish_once(dbos: Example) -> None:
    path = dbos.file(1, 2)
    databases = [{}, {}, {URL: f"sqlite:///{dbos.folder}/another.sqlite"}]
    ends = [ended(it) for it in [dbos.start(path, "--table", dbos.table, env=env) for env in databases]]
    assert ([code for code, _ in ends], dbos.ids()) == ([0, 0, 0], [1, 2]), ends


def test_a_folder_is_looked_into_every_minute_and_a_killed_process_is_followed_by_the_next(dbos: Example) -> None:
    inbox = dbos.folder / "inbox"
    inbox.mkdir()
    dbos.file(1, name="inbox/first.parquet")
    dbos.file(None, name="inbox/bad.parquet")
    for number, expected in enumerate(([1], [1, 2]), 1):
        with serving(dbos, str(inbox)):
            wait_for(dbos, expected)
        dbos.file(number + 1, name="inbox/second.csv")
    assert dbos.ids() == [1, 2]


@contextlib.contextmanager
def serving(dbos: Example, folder: str) -> Iterator[None]:
    """A process that looks into the folder, and is killed in the end."""
    process = dbos.start(folder, "--table", dbos.table)
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def wait_for(dbos: Example, expected: list[int]) -> None:
    deadline = time.monotonic() + LOOKS_WITHIN
    while dbos.ids() != expected:
        assert time.monotonic() < deadline, dbos.ids()
        time.sleep(0.5)
