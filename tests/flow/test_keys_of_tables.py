"""Keys against main, with real Spark jobs on a real Nessie: a key that is taken, or missing, is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.workflow.attempts.reports import read_report
from tests.flow.conftest import Installation

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
ID = f"name: id, logicalType: integer, logicalTypeOptions: {{format: i64}}, required: true, unique: true, {SCOPE}"


def of_planes(installation: Installation) -> Installation:
    """The table that the installation's own refers to: its namespace is the same, its route another."""
    table = installation.table.replace(".things", ".planes")
    return replace(installation, table=table, prefix=f"{installation.prefix}/planes")


def ids(installation: Installation) -> list[object]:
    return sorted(row["id"] for row in installation.rows())


def reasons(installation: Installation) -> list[str]:
    """Return what people read first of each file, without the value that failed first."""
    files = [file for message in installation.notifier.messages for file in message.files]
    return [file.reasons[0].partition("; the first: ")[0] for file in files]


def test_a_key_that_is_taken_and_one_that_refers_to_nothing_are_refused(installation: Installation) -> None:
    planes = of_planes(installation)
    planes.push("name: tail, logicalType: string, required: true")
    installation.push(ID, f"name: plane, logicalType: string, relationships: [{{to: {planes.table}.tail}}]")
    planes.publish(planes.drop({"tail": ["N1", "N2"]}))
    one = installation.attempt(*(installation.drop({"id": [n], "plane": [f"N{n}"]}) for n in (1, 3)))
    two = installation.attempt(*(installation.drop({"id": [n], "plane": [f"N{n}"]}) for n in (1, 4)))
    assert len(installation.runner.submit_all()) == 2
    first, second = oldest_first(one, two)
    installation.settle(one, two)
    assert ids(installation) == [1]
    assert installation.runner.submit_all() == [second.next().branch]  # it was good beside what main held before
    installation.settle(second.next())
    assert ids(installation) == [1]
    orphan = f"plane refers to {planes.table}.tail: 1 of 1 row, expected none"
    assert sorted(reasons(installation)) == ["id unique in the table: 1 of 1 row, expected none", orphan, orphan]
    assert sorted(installation.branches()) == sorted([first.branch, second.branch, second.next().branch])


@pytest.mark.extended
def test_batches_from_one_base_are_audited_again_in_turn_and_not_appended_again(installation: Installation) -> None:
    installation.push(ID, "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}")
    installation.publish(installation.drop({"id": [0], "b": [0]}))
    attempts = oldest_first(
        *(installation.attempt(*(installation.drop({"id": [n], "b": [n]}) for n in (own, 9))) for own in (1, 2, 3))
    )
    assert len(installation.runner.submit_all()) == 3
    installation.settle(*attempts)
    for attempt in attempts[1:]:
        assert installation.runner.submit_all() == [attempt.next().branch]  # one at a time, by the one before it
        assert staged(installation, attempt.next()) == []
        installation.settle(attempt.next())
        before, now = (read_report(installation.service.store, it) for it in (attempt, attempt.next()))
        assert before is not None
        assert now is not None
        assert (now.reused_from, now.base) == (attempt.branch, installation.service.branches.base(now.branch))
        for one, other in zip(before.files, now.files, strict=True):
            assert (one.data_files, one.rows) == (other.data_files, other.rows)
            assert [check.name for check in one.checks] == [check.name for check in other.checks]
            assert len(one.checks) == 3
    assert ids(installation) == [0, 1, 2, 3, 9]
    assert reasons(installation) == ["id unique in the table: 1 of 1 row, expected none"] * 2
    assert installation.branches() == [attempt.next().branch for attempt in attempts[1:]]


def oldest_first(*attempts: Attempt) -> list[Attempt]:
    """Batches that landed within a minute are in the order of their names."""
    return sorted(attempts, key=lambda attempt: attempt.batch)


def staged(installation: Installation, attempt: Attempt) -> list[str]:
    prefix = f"staging/{attempt.branch}/"
    found = installation.lake.s3().list_objects_v2(Bucket=installation.lake.bucket, Prefix=prefix)
    return [entry["Key"] for entry in found.get("Contents", [])]
