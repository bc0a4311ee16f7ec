"""With whose rights a job reads and writes a table's files."""

from __future__ import annotations

import pytest

from tests.flow.conftest import Installation
from tests.support.jobs import moved
from tests.support.proxy import Fault, Proxy, Request, proxy

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


def test_a_job_goes_to_storage_with_its_own_rights_and_has_nothing_signed_by_nessie(installation: Installation) -> None:
    installation.push("name: id, physicalType: bigint, required: true")
    installation.publish(installation.drop({"id": [1]}))
    asked: list[str] = []

    def note(request: Request) -> tuple[Fault, int]:
        asked.append(request.path)
        return Fault.NONE, 0

    network: Proxy
    with proxy(installation.lake.nessie_uri, note) as network:
        installation.service = moved(installation.service, network.uri)
        installation.publish(installation.drop({"id": [2]}))
    assert any("/tables/" in path for path in asked)
    assert [path for path in asked if "sign" in path] == []
    assert sorted(row["id"] for row in installation.rows()) == [1, 2]
