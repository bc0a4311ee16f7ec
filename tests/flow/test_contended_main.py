"""Two batches at once, by the real workflow on a real Nessie with real Spark jobs: nothing is lost or misplaced."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakegate.landing.attempts import Attempt
from lakegate.ports import Ref
from tests.flow.conftest import Installation

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, logicalType: integer, required: true, logicalTypeOptions: {format: i64}"
EVOLVE = "{property: newColumns, vendor: lakegate, value: evolve}"


def by_id(installation: Installation, ref: str = "main") -> list[dict[str, object]]:
    return sorted(installation.rows(ref), key=lambda row: row["id"])


def test_the_first_batch_of_a_table_twice_at_once_and_then_two_from_one_base(installation: Installation) -> None:
    installation.push(ID)
    one, two = (installation.attempt(installation.drop({"id": [n]})) for n in (1, 2))
    installation.runner.submit_all()
    installation.settle(one, two)
    assert by_id(installation) == [{"id": 1}]
    assert installation.runner.submit_all() == [two.next().branch]  # another table's UUID: a new attempt
    installation.settle(two.next())
    assert by_id(installation) == [{"id": 1}, {"id": 2}]

    three, four = (installation.attempt(installation.drop({"id": [n]})) for n in (3, 4))
    installation.runner.submit_all()
    installation.settle(three, four)
    assert by_id(installation) == [{"id": n} for n in (1, 2, 3, 4)]
    assert installation.runner.submit_all() == []  # a rebase by metadata: no other job
    assert installation.branches() == []


def test_the_good_part_of_a_first_batch_is_published_and_the_bad_part_stays(installation: Installation) -> None:
    installation.push(ID)
    good, bad = installation.drop({"id": [1, 2]}), installation.drop({"id": [3, None]})
    installation.publish(good, bad)
    assert by_id(installation) == [{"id": 1}, {"id": 2}]
    (branch,) = installation.branches()
    assert sorted(str(row["id"]) for row in installation.rows(branch)) == ["3", "None"]
    (message,) = installation.notifier.messages
    assert [file.key for file in message.files] == [bad.key]
    assert "1 of 2 rows" in message.files[0].reasons[0]


@pytest.mark.extended
def test_columns_added_in_another_order_on_both_sides_never_swap(installation: Installation) -> None:
    installation.push(ID, settings=EVOLVE)
    installation.publish(installation.drop({"id": [1]}))
    one = installation.attempt(installation.drop({"id": [2], "b": [20], "c": [200]}))
    two = installation.attempt(installation.drop({"id": [3], "c": [300], "b": [30]}))
    installation.runner.submit_all()
    assert fields(installation, one) != fields(installation, two)
    installation.settle(one, two)
    assert installation.runner.submit_all() == [two.next().branch]
    installation.settle(two.next())
    assert by_id(installation) == [
        {"id": 1, "b": None, "c": None},
        {"id": 2, "b": 20, "c": 200},
        {"id": 3, "b": 30, "c": 300},
    ]


@pytest.mark.extended
def test_a_file_that_makes_the_table_grow_is_published_by_metadata_to_one_that_got_rows_meanwhile(
    installation: Installation,
) -> None:
    widen = "{property: widenedTypes, vendor: lakegate, value: evolve}"
    n = "name: n, logicalType: integer, logicalTypeOptions: {format: i32}"
    installation.push(ID, n, settings=f"{EVOLVE}, {widen}")
    installation.publish(installation.drop({"id": [1], "n": pa.array([1], pa.int32())}))
    one = installation.attempt(installation.drop({"id": [2], "n": pa.array([2], pa.int32())}))
    two = installation.attempt(installation.drop({"id": [3], "n": [2**40], "c": [{"d": "x"}]}))
    installation.runner.submit_all()
    installation.settle(one, two)
    assert installation.runner.submit_all() == []  # no other job
    before: list[dict[str, object]] = [
        {"id": 1, "n": 1, "c": None},
        {"id": 2, "n": 2, "c": None},
        {"id": 3, "n": 2**40, "c": {"d": "x"}},
    ]
    assert by_id(installation) == before
    installation.publish(installation.drop({"id": [4], "n": [4], "c": [{"d": "y"}], "e": [0.5]}))
    assert by_id(installation) == [
        *({**row, "e": None} for row in before),
        {"id": 4, "n": 4, "c": {"d": "y"}, "e": 0.5},
    ]
    assert installation.branches() == []


def fields(installation: Installation, attempt: Attempt) -> object:
    identity = installation.service.tables.identity(Ref(attempt.branch), installation.table)
    assert identity is not None
    return identity.fields


@pytest.mark.extended
def test_of_fifty_files_the_two_bad_ones_stay_alone_and_each_is_told_its_own_check(installation: Installation) -> None:
    installation.push(ID, "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}")
    files = [installation.drop({"id": [n], "b": [n]}) for n in range(48)]
    files.insert(7, nameless := installation.drop({"id": [None], "b": [1]}))
    files.insert(31, negative := installation.drop({"id": [100], "b": [-1]}))
    installation.publish(*files)
    assert [row["id"] for row in by_id(installation)] == list(range(48))
    (branch,) = installation.branches()
    assert sorted(str(row["id"]) for row in installation.rows(branch)) == ["100", "None"]
    (message,) = installation.notifier.messages
    reasons = {file.key: [reason.partition("; the first: ")[0] for reason in file.reasons] for file in message.files}
    assert reasons == {
        nameless.key: ["id required: 1 of 1 row, expected none"],
        negative.key: ["b ≥ 0: 1 of 1 row, expected none"],
    }
    assert message.published_files == 48
