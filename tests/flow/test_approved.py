"""A person lets a rejected file through, on a real Nessie: the very data files that a Spark job has audited."""

from __future__ import annotations

import pytest

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import MessageKind, Ref
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.reports import read_report
from tests.flow.conftest import Installation

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, logicalType: integer, logicalTypeOptions: {format: i64}"
B = "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}"


def ids(installation: Installation) -> list[object]:
    return sorted(row["id"] for row in installation.rows())


def test_a_rejected_file_is_approved_by_metadata_onto_a_main_that_has_moved(installation: Installation) -> None:
    installation.push(ID, B)
    installation.publish(installation.drop({"id": [1], "b": [1]}))
    installation.publish(installation.drop({"id": [2, 3], "b": [-2, 3]}), installation.drop({"id": [4], "b": [4]}))
    installation.publish(installation.drop({"id": [5], "b": [5]}))
    assert ids(installation) == [1, 4, 5]
    [branch] = installation.branches()
    attempt = Attempt.parse(branch)
    assert attempt is not None

    assert approve(installation.service, attempt.batch, reason="known at the vendor's", by="ann").files == 1
    assert ids(installation) == [1, 2, 3, 4, 5]
    report = read_report(installation.service.store, attempt)
    assert report is not None
    audited = {data.path for file in report.files for data in file.data_files}
    assert audited <= installation.service.tables.paths(Ref("main"), installation.table)
    assert (installation.runner.submit_all(), installation.branches()) == ([], [])
    note = next(installation.service.ledger.decisions(1, table=installation.table)).record
    assert (note.batch, note.by, note.reason) == (attempt.batch, "ann", "known at the vendor's")
    assert [message.kind for message in installation.notifier.messages] == [MessageKind.REJECTED, MessageKind.APPROVAL]
    with pytest.raises(Refused, match="none of its files is rejected"):
        approve(installation.service, attempt.batch, reason="again", by="ann")
    assert ids(installation) == [1, 2, 3, 4, 5]
