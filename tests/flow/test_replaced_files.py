"""A key's next version on a real Nessie: the old rows or the new ones, never both, and never neither."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.report import DataFile
from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.files import FileVersion
from lakegate.ports import Ref
from lakegate.workflow.attempts.reports import read_report, report_name
from tests.flow.conftest import Installation
from tests.support.registered_files import register
from tests.support.tables import rows_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, logicalType: integer, logicalTypeOptions: {format: i64}"
SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
B = "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}"
ASIDE = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
BUDGET = "{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}"


def registered_instead(installation: Installation, attempt: Attempt, *files: FileVersion) -> dict[str, str]:
    """The files themselves become data files in the place of those that the attempt wrote, as of an earlier release.
    Return their paths by file version. The attempt's report names that of the first file alone.
    """
    lake, service = installation.lake, installation.service
    bodies = {file.id: installation.landed(file) for file in files}
    service.tables.remove(installation.table, "main", service.tables.paths(Ref("main"), installation.table))
    entries = register(lake, "main", installation.table, bodies)
    report = read_report(service.store, attempt)
    assert report is not None
    first = files[0].id
    data = (DataFile(path=entries[first].file_path, rows=entries[first].record_count),)
    told = tuple(replace(file, data_files=data) if file.id == first else file for file in report.files)
    service.store.write(report_name(attempt), to_json(replace(report, files=told)).encode())
    return {file: entry.file_path for file, entry in entries.items()}


def test_registered_files_are_read_and_replaced_whether_reports_name_them_or_not(installation: Installation) -> None:
    installation.push(ID, B)
    old, other, more = (installation.drop({"id": [at, at + 1], "b": [at, at]}) for at in (1, 3, 5))
    installation.publish(old, other, more)
    attempt = Attempt(table=installation.table, batch=batch_id(installation.table, (old, other, more)), number=1)
    paths = registered_instead(installation, attempt, old, other, more)
    assert ids(installation) == [1, 2, 3, 4, 5, 6]

    between = installation.attempt(installation.drop({"id": [9], "b": [9]}))
    named = installation.drop({"id": [2, 7], "b": [7, 7]}, key=old.key)
    new = installation.attempt(named, installation.drop({"id": [3, 8], "b": [8, 8]}, key=other.key))
    installation.runner.submit_all()
    installation.settle(between, new)  # the later one is rebased
    assert {row["id"]: row["b"] for row in installation.rows()} == {2: 7, 3: 8, 5: 5, 6: 5, 7: 7, 8: 8, 9: 9}
    left = installation.service.tables.paths(Ref("main"), installation.table)
    assert left & set(paths.values()) == {paths[more.id]}
    assert installation.runner.submit_all() == []
    assert installation.branches() == []


def ids(installation: Installation, ref: str = "main") -> list[object]:
    return sorted(row["id"] for row in installation.rows(ref))


def compact(installation: Installation) -> None:
    """Somebody writes all rows of the table on main into one data file."""
    lake = installation.lake
    table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref("main"), storage()).load_table(installation.table)
    table.overwrite(table.scan().to_arrow())


@pytest.mark.extended
def test_a_replacement_is_rebased_by_metadata_and_takes_its_rows_in_quarantine_along(
    installation: Installation,
) -> None:
    installation.push(ID, f"{B}, {ASIDE}", settings=BUDGET)
    old = installation.drop({"id": [1, 2], "b": [1, -1]})
    installation.publish(old)
    aside = quarantine_of(installation.table)
    assert (ids(installation), len(rows_of(installation.lake, "main", aside))) == ([1], 1)

    other = installation.attempt(installation.drop({"id": [3], "b": [3]}))
    new = installation.attempt(installation.drop({"id": [1, 2], "b": [1, 2]}, key=old.key))
    assert ids(installation, new.branch) == []
    installation.runner.submit_all()
    installation.settle(other, new)
    assert (ids(installation), rows_of(installation.lake, "main", aside)) == ([1, 2, 3], [])
    assert installation.runner.submit_all() == []
    assert installation.branches() == []


@pytest.mark.extended
def test_a_replacement_that_puts_rows_aside_has_them_in_the_place_of_the_old_versions(
    installation: Installation,
) -> None:
    installation.push(ID, f"{B}, {ASIDE}", settings=BUDGET)
    old, other = installation.drop({"id": [1, 2], "b": [1, -1]}), installation.drop({"id": [3, 4], "b": [3, -1]})
    installation.publish(old, other)
    installation.publish(installation.drop({"id": [1, 2, 5], "b": [-2, 2, -2]}, key=old.key))
    aside = rows_of(installation.lake, "main", quarantine_of(installation.table))
    assert ids(installation) == [2, 3]
    assert sorted((row["key"], json.loads(row["row_json"])["id"]) for row in aside) == sorted(
        [(old.key, 1), (old.key, 5), (other.key, 4)]
    )
    assert installation.branches() == []


def test_a_replacement_is_judged_as_if_the_old_rows_were_gone_and_leaves_them_where_it_fails(
    installation: Installation,
) -> None:
    installation.push(f"{ID}, unique: true, {SCOPE}")
    old, other = installation.drop({"id": [1, 2]}), installation.drop({"id": [3]})
    installation.publish(old, other)
    installation.publish(installation.drop({"id": [2, 4]}, key=old.key))
    assert ids(installation) == [2, 3, 4]

    installation.publish(installation.drop({"id": [2, 3]}, key=old.key))
    assert ids(installation) == [2, 3, 4]
    (message,) = installation.notifier.messages
    assert "1 of 2 rows" in message.files[0].reasons[0]


@pytest.mark.extended
def test_rows_that_somebody_compacted_are_replaced_and_what_is_left_is_rebased(installation: Installation) -> None:
    installation.push(ID, B)
    old = installation.drop({"id": [1, 2], "b": [1, 2]})
    installation.publish(old, installation.drop({"id": [3], "b": [3]}))
    compact(installation)
    other = installation.attempt(installation.drop({"id": [4], "b": [4]}))
    new = installation.attempt(installation.drop({"id": [2, 5], "b": [5, 5]}, key=old.key))
    installation.runner.submit_all()
    installation.settle(other, new)
    assert sorted((row["id"], row["b"]) for row in installation.rows()) == [(2, 5), (3, 3), (4, 4), (5, 5)]
    assert installation.runner.submit_all() == []

    installation.publish(installation.drop({"id": [6], "b": [6]}, key=old.key))
    assert ids(installation) == [3, 4, 6]
    assert installation.branches() == []


@pytest.mark.extended
def test_of_two_files_whose_old_rows_were_compacted_into_one_data_file_the_good_one_is_audited_again(
    installation: Installation,
) -> None:
    installation.push(f"{ID}, unique: true, {SCOPE}", B)
    one, two = installation.drop({"id": [1], "b": [1]}), installation.drop({"id": [2, 3], "b": [2, 3]})
    installation.publish(one, two)
    compact(installation)
    good = installation.drop({"id": [1, 4], "b": [1, 4]}, key=one.key)
    bad = installation.drop({"id": [5], "b": [-1]}, key=two.key)
    installation.publish(good, bad)
    assert ids(installation) == [1, 2, 3]
    [again] = installation.runner.submit_all()
    attempt = Attempt.parse(again)
    assert attempt is not None
    installation.settle(attempt)
    assert ids(installation) == [1, 2, 3, 4]
    (message,) = installation.notifier.messages
    assert [file.key for file in message.files] == [bad.key]
