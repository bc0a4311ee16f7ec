"""Audits as rows, on a real Nessie by real Spark jobs: in the commit of the decision, once, and for any reader."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.evaluation.audits import audits_of
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Ref
from lakegate.workflow.approve import approve
from tests.flow.conftest import Installation
from tests.support.tables import rows_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark, pytest.mark.extended]

ID = "name: id, logicalType: integer, logicalTypeOptions: {format: i64}"
B = "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}"


@pytest.fixture
def noting(installation: Installation) -> Installation:
    installation.service = replace(installation.service, notes_audits=True)
    installation.push(ID, B)
    return installation


def found(installation: Installation, ref: str = MAIN) -> Counter[tuple[str, str]]:
    """Rows of files, by file version and verdict."""
    rows = rows_of(installation.lake, ref, audits_of(installation.table))
    return Counter((row["_lakegate_file"], row["verdict"]) for row in rows if row["check_id"] == "file")


def decided(installation: Installation) -> list[tuple[Decision, str]]:
    """Main's decisions with their commits, newest first."""
    return [
        (it.record.decision, it.commit) for it in installation.service.ledger.decisions(9, table=installation.table)
    ]


def test_what_is_published_and_what_is_rejected_is_noted_in_the_very_commits(noting: Installation) -> None:
    good, bad = noting.drop({"id": [1], "b": [1]}), noting.drop({"id": [2, 3], "b": [-2, 3]})
    noting.publish(good, bad)
    (rejected, second), (published, first) = decided(noting)
    assert (published, rejected) == (Decision.PUBLISHED, Decision.REJECTED)
    assert found(noting, f"{MAIN}@{first}") == {(good.id, "pass"): 1}
    assert found(noting, f"{MAIN}@{second}") == {(good.id, "pass"): 1, (bad.id, "fail"): 1}
    assert [row["id"] for row in noting.rows()] == [1]
    [check] = [
        row
        for row in rows_of(noting.lake, MAIN, audits_of(noting.table))
        if row["verdict"] == "fail" and row["check_id"] != "file"
    ]
    assert (check["failing_rows"], check["row_count"], check["value"], check["column_names"]) == (1, 2, 1.0, "b")
    assert timedelta() <= datetime.now(UTC) - check["audited_at"] < timedelta(hours=1)
    read = rows_of(noting.lake, f"{MAIN}@{check['audited_commit']}", noting.table)
    assert sorted(row["id"] for row in read) == [1, 2, 3]


def test_batches_that_both_make_the_table_are_published_without_another_audit(noting: Installation) -> None:
    files = [noting.drop({"id": [number], "b": [number]}) for number in (1, 2)]
    noting.publish(noting.drop({"id": [0], "b": [0]}))
    catalog = RefCatalog(noting.lake.nessie_uri, noting.lake.warehouse, Ref(MAIN))
    catalog.drop_table(audits_of(noting.table))
    attempts = [noting.attempt(file) for file in files]
    noting.runner.submit_all()
    noting.settle(*attempts)
    assert found(noting) == {(file.id, "pass"): 1 for file in files}
    assert sorted(row["id"] for row in noting.rows()) == [0, 1, 2]
    assert noting.runner.open_runs() == []


def test_an_approved_file_is_noted_once_and_a_rebase_brings_its_own(noting: Installation) -> None:
    noting.publish(noting.drop({"id": [1], "b": [1]}), noting.drop({"id": [2], "b": [-2]}))
    one, two = (noting.attempt(noting.drop({"id": [number], "b": [number]})) for number in (3, 4))
    noting.runner.submit_all()
    noting.settle(one, two)
    [branch] = noting.branches()
    attempt = Attempt.parse(branch)
    assert attempt is not None
    assert approve(noting.service, attempt.batch, reason="known", by="ann").files == 1
    assert sorted(row["id"] for row in noting.rows()) == [1, 2, 3, 4]
    assert Counter(verdict for _, verdict in found(noting).elements()) == {"fail": 1, "pass": 3}


def test_a_compacted_table_of_audits_gets_the_next_rows(noting: Installation) -> None:
    noting.publish(noting.drop({"id": [1], "b": [1]}), noting.drop({"id": [2], "b": [2]}))
    late = noting.attempt(noting.drop({"id": [3], "b": [3]}))
    noting.runner.submit_all()
    table = RefCatalog(noting.lake.nessie_uri, noting.lake.warehouse, Ref(MAIN)).load_table(audits_of(noting.table))
    with table.transaction() as transaction:
        transaction.set_properties({"somebody": "was here"})
    noting.settle(late)
    assert found(noting).total() == 3


def test_a_table_of_audits_with_a_strange_column_keeps_no_file_from_main(noting: Installation) -> None:
    noting.publish(noting.drop({"id": [1], "b": [1]}))
    catalog = RefCatalog(noting.lake.nessie_uri, noting.lake.warehouse, Ref(MAIN))
    table = catalog.load_table(audits_of(noting.table))
    strange, number = table.schema(), table.metadata.last_column_id + 1
    wider = Schema(*strange.fields, NestedField(number, "mine", StringType()))
    catalog.set_schema(table, wider, number, {})
    noting.publish(noting.drop({"id": [2], "b": [2]}))
    assert sorted(row["id"] for row in noting.rows()) == [1, 2]
    assert found(noting).total() == 1
