"""A short form of `make chaos`: servers and functions die on a file's way, and the file is published once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from lakegate_local.cloud import Cloud

from examples.bad_files import parquet
from tests.chaos.faults import Faults
from tests.chaos.points import points, service_of
from tests.local.installation import Installation
from tests.local.things import Things, rows

pytestmark = [pytest.mark.local, pytest.mark.extended]
PAUSE = 10.0  # seconds that LocalStack does not answer


@pytest.fixture
def profile(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """Return what the command line would read, in this process's environment while the test runs."""
    found = {name: value or "" for name, value in dotenv_values(Path(installation.settings.profile)).items()}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def test_a_file_is_published_once_and_by_itself_whatever_dies_on_its_way(
    installation: Installation, spark_things: Things, profile: Mapping[str, Any]
) -> None:
    faults = Faults(cloud=Cloud(settings=installation.settings), pause=PAUSE)
    service = service_of(installation.outputs, profile)
    here = points(service, spark_things.table)
    key = f"{spark_things.prefix}/1.parquet"

    def another_attempt() -> None:
        """On a busy machine a job may die by itself of a server that does not answer."""
        if here.has_died():
            installation.run("reconcile", code=None)

    installation.put(key, parquet(rows(0, 10)))
    here.until("branch made")
    faults.kill_function("handlers.ingest")
    here.until("job started")
    with faults.nobody_settles():
        faults.kill_driver(spark_things.table)
        faults.stop_localstack()
        installation.run("query", f"SELECT * FROM {spark_things.table}", code=2)  # there is no such table on main
        here = points(service, spark_things.table)
        here.until("job started", meanwhile=lambda: installation.run("reconcile", code=None))
        here.until("report written", meanwhile=another_attempt)
        faults.kill_settling(installation.outputs["SettleFunction"], here.run())
    assert here.is_undecided()
    faults.kill_nessie()
    installation.wait(key)
    assert installation.query(f"SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {spark_things.table}") == [
        {"n": 10, "ids": 10}
    ]
    status = installation.json("status")
    assert not [entry for entry in status["in_flight"] if key in entry["files"]]
    (entry,) = [entry for entry in status["published"] if key in entry["files"]]
    assert entry["attempt"] > 1
    assert installation.messages(key) == []
