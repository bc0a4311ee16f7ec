"""Tests of what the network delivers twice, with real jobs: rows that are in a table twice are seen by the proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from lakegate.audit.errors import JobError
from lakegate.publishing.nessie import NessieTables
from spark_jobs.appending.append import append
from tests.flow.conftest import Installation
from tests.ports.conftest import ListedTwice, NessiePlace
from tests.support.jobs import moved
from tests.support.proxy import Answer, Fault, Proxy, Request, proxy

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, physicalType: bigint, required: true"


def ids(installation: Installation, ref: str = "main") -> list[int]:
    return sorted(row["id"] for row in installation.rows(ref))


def its_table(installation: Installation, branch: str) -> Table:
    return NessiePlace(installation.lake).vendor(branch).load_table(installation.table)


def test_a_commit_that_is_delivered_again_after_another_snapshot_is_not_published(installation: Installation) -> None:
    installation.push(ID)
    installation.publish(installation.drop({"id": [1]}))
    service = installation.service
    delivered: list[Answer] = []

    def again_after_another(request: Request) -> tuple[Fault, int]:
        """It is done, then somebody makes a snapshot without a file, and the answer is that of a second delivery."""
        if request.commits_a_table and b"add-snapshot" in request.body and not delivered:
            delivered.append(network.deliver(request))
            with its_table(installation, attempt.branch).transaction() as made, made.update_snapshot().fast_append():
                pass
        return Fault.NONE, 0

    network: Proxy
    with proxy(installation.lake.nessie_uri, again_after_another) as network:
        installation.service = moved(service, network.uri)
        attempt = installation.attempt(installation.drop({"id": [2, 3]}))
        with pytest.raises(JobError, match="twice"):
            installation.runner.submit_all()
    installation.service = service
    assert ids(installation, attempt.branch) == [1, 2, 2, 3, 3]  # Iceberg has appended once more
    installation.settle(attempt)
    assert ids(installation) == [1]


def the_same_data_file_again(table: Table) -> None:
    snapshot = table.current_snapshot()
    assert snapshot
    entries = [entry for manifest in snapshot.manifests(table.io) for entry in manifest.fetch_manifest_entry(table.io)]
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for entry in entries:
            if entry.data_file.record_count == 2:
                append.append_data_file(entry.data_file)


def every_manifest_again(table: Table) -> None:
    with table.transaction() as transaction:
        ListedTwice(Operation.APPEND, transaction, table.io).commit()


@pytest.mark.parametrize("double", [the_same_data_file_again, every_manifest_again])
@pytest.mark.share(1)
def test_rows_that_are_there_twice_end_the_job(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, double: Callable[[Table], None]
) -> None:
    installation.push(ID)
    installation.publish(installation.drop({"id": [1]}))
    attempt = installation.attempt(installation.drop({"id": [2, 3]}))

    def append_and_double(*given: Any) -> Any:
        found = append(*given)
        double(its_table(installation, attempt.branch))
        return found

    monkeypatch.setattr("spark_jobs.engine.append", append_and_double)
    with pytest.raises(JobError, match="twice"):
        installation.runner.submit_all()
    assert ids(installation, attempt.branch).count(2) == 2
    installation.settle(attempt)
    assert ids(installation) == [1]


@pytest.mark.extended
def test_quarantine_whose_registering_is_delivered_twice_keeps_no_good_file_back(installation: Installation) -> None:
    """The first rows that were ever put aside, of a batch that is rebased."""
    installation.push(
        f"{ID}, customProperties: [{{property: severity, vendor: lakegate, value: quarantine}}]",
        settings="{property: quarantineBudget, vendor: lakegate, value: {rows: 10}}",
    )
    installation.publish(installation.drop({"id": [1]}))
    first, second = (installation.attempt(installation.drop({"id": given})) for given in ([2], [3, None]))
    installation.runner.submit_all()
    installation.settle(first)

    def registers_twice(request: Request) -> tuple[Fault, int]:
        return Fault.TWICE if request.path.endswith("/register") else Fault.NONE, 0

    with proxy(installation.lake.nessie_uri, registers_twice) as network:
        tables = NessieTables(network.uri, installation.lake.warehouse)
        installation.service = replace(installation.service, tables=tables)
        installation.settle(second)
    assert len(network.met) == 1
    assert ids(installation) == [1, 2, 3]
