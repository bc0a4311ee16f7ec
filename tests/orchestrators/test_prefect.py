"""The example for Prefect, under a Prefect server of its own: hooks that publish and roll back, and runs that the
server shows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.local.ports import free_ports
from tests.support.nessie import ROOT, STARTS_WITHIN, Lake, process
from tests.support.orchestrator_runs import KILLS, Example, ended, killing, merged
from tests.support.proxy import Fault, proxy

pytestmark = pytest.mark.orchestrators


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The settings of a running Prefect server."""
    home = tmp_path_factory.mktemp("prefect")
    [port] = free_ports(1)
    settings = {"PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    command = [str(ROOT / ".local/envs/prefect/bin/prefect"), "server", "start", "--host", "127.0.0.1"]
    with process([*command, "--port", str(port)], home / "server.log", r"dashboard at (http://\S+)", settings):
        api = f"http://127.0.0.1:{port}/api"
        answering(f"{api}/health")
        yield {**settings, "PREFECT_API_URL": api}


def answering(url: str) -> None:
    """Return when the server answers: it says where it is before it listens."""
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        with contextlib.suppress(requests.ConnectionError):
            requests.get(url, timeout=60).raise_for_status()
            return
        time.sleep(0.2)
    pytest.fail(f"{url} does not answer")


@pytest.fixture
def prefect(lake: Lake, tmp_path: Path, server: Mapping[str, str]) -> Example:
    return Example(name="prefect", lake=lake, folder=tmp_path, env=server)


def words(prefect: Example, path: str) -> list[str]:
    """The command's options for a file."""
    namespace, _, table = prefect.table.partition(".")
    options = {"--table_name": table, "--namespace": namespace, "--s3_path": path}
    return [word for pair in options.items() for word in pair]


def states(prefect: Example) -> list[tuple[str, str]]:
    """The table, and how it ended, of each run of the example's flow that the server shows, the oldest first."""
    asked: Any = {"sort": "START_TIME_ASC"}
    found = requests.post(f"{prefect.env['PREFECT_API_URL']}/flow_runs/filter", json=asked, timeout=60).json()
    return [(it["parameters"]["table"], it["state"]["type"]) for it in found]


@pytest.mark.parametrize("name", ["orders.parquet", "orders.csv"])
def test_a_file_is_published_when_the_transaction_commits_and_the_server_shows_the_run(
    name: str, prefect: Example
) -> None:
    code, said = prefect.run(*words(prefect, prefect.file(1, 2, name=name)))
    assert (code, prefect.ids(), prefect.branches()) == (0, [1, 2], []), said
    assert (prefect.table, "COMPLETED") in states(prefect)


def test_a_file_in_s3_is_published(prefect: Example) -> None:
    key = f"landing/{prefect.table}.parquet"
    prefect.lake.s3().upload_file(prefect.file(1), prefect.lake.bucket, key)
    code, said = prefect.run(*words(prefect, f"s3://{prefect.lake.bucket}/{key}"))
    assert (code, prefect.ids()) == (0, [1]), said


@pytest.mark.parametrize("name", ["bad.parquet", "bad.csv"])
def test_a_null_rolls_the_transaction_back_and_its_branch_is_dropped(name: str, prefect: Example) -> None:
    prefect.run(*words(prefect, prefect.file(1)))
    code, said = prefect.run(*words(prefect, prefect.file(2, None, name=name)))
    assert (code, prefect.ids(), prefect.branches()) == (1, [1], []), said
    assert "id required: 1 of 2 rows" in said
    assert "'id': None" in said
    assert (prefect.table, "FAILED") in states(prefect)


def test_a_publish_that_is_refused_fails_the_run(prefect: Example) -> None:
    """Prefect writes a hook's error to the log, and goes on: the flow must not call that a success."""
    refused = "/history/merge"
    with proxy(prefect.lake.nessie_uri, lambda it: (Fault.REFUSED if refused in it.path else Fault.NONE, 0)) as network:
        code, said = prefect.run(*words(prefect, prefect.file(1)), uri=network.uri)
    assert network.met
    assert (code, prefect.ids(), prefect.branches()) == (1, [], []), said


@pytest.mark.parametrize(("write", "moment"), KILLS)
def test_a_flow_that_is_killed_and_run_again_publishes_once(write: int, moment: str, prefect: Example) -> None:
    path = prefect.file(1, 2)
    with killing(prefect.lake, write, moment) as uri:
        code, said = prefect.run(*words(prefect, path), uri=uri)
    assert code < 0, said
    assert prefect.ids() == ([1, 2] if merged(write, moment) else [])
    code, said = prefect.run(*words(prefect, path))
    assert (code, prefect.ids()) == (0, [1, 2]), said


def test_two_runs_at_once_of_one_file_publish_once(prefect: Example) -> None:
    path = prefect.file(1, 2)
    both = [prefect.start(*words(prefect, path)) for _ in range(2)]
    ends = [ended(it) for it in both]
    assert ([code for code, _ in ends], prefect.ids()) == ([0, 0], [1, 2]), ends


def test_two_runs_at_once_of_two_files_are_not_mixed(prefect: Example) -> None:
    both = [prefect.start(*words(prefect, prefect.file(at, name=f"{at}.parquet"))) for at in (1, 2)]
    ends = [ended(it) for it in both]
    published = [at for at, (code, _) in enumerate(ends, 1) if code == 0]  # of a new table, one may have to run again
    assert published, ends
    assert prefect.ids() == published
