"""Receipts, attempts and ids: what a redelivery derives again, and what survives being stored."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakegate.landing.attempts import MOST_RECEIPT_BYTES, Attempt, batch_id, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Ingestion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt

NOON = datetime(2013, 1, 31, 12, 0, tzinfo=UTC)
ATTEMPT = Attempt(table="nyc.flights", batch="20130131T1200-1a2b3c4d", number=1)


def file(key: str = "nyc/flights/1.parquet", version: str = "v1", checksum: str | None = "SHA256:x") -> FileVersion:
    return FileVersion(
        bucket="landing", key=key, version_id=version, size=3, landed_at=NOON, checksum=checksum, sequencer="0A"
    )


def test_a_redelivered_file_version_has_the_same_id() -> None:
    assert file().id == file().id
    assert file().id != file(version="v2").id


def test_the_id_cannot_be_forged_by_moving_characters_between_key_and_version() -> None:
    assert file(key="ab", version="c").id != file(key="a", version="bc").id


def test_a_batch_is_named_by_its_files_in_any_order() -> None:
    one, other = file(), file(key="nyc/flights/2.parquet")
    assert batch_id("nyc.flights", [one, other]) == batch_id("nyc.flights", [other, one])
    assert batch_id("nyc.flights", [one]) != batch_id("nyc.flights", [one, other])
    assert batch_id("nyc.flights", [one]) != batch_id("nyc.planes", [one])


@pytest.mark.parametrize("table", ["nyc.flights", "a.b", "x.wap-y-a1"])
def test_a_branch_name_tells_its_attempt(table: str) -> None:
    attempt = Attempt(table=table, batch=batch_id(table, [file()]), number=12)
    rebase = attempt.rebase(NOON, "deadbeef")
    assert Attempt.parse(attempt.branch) == attempt
    assert Attempt.parse(rebase.branch) == rebase
    assert rebase.rebased_at == NOON


@pytest.mark.parametrize("branch", ["main", "wap-", "wap-nyc.flights-a1", "feature/wap-nyc.flights"])
def test_other_branches_are_not_lakegates(branch: str) -> None:
    assert Attempt.parse(branch) is None


def test_a_token_fits_the_job_runner() -> None:
    assert len(ATTEMPT.token) <= 64
    assert ATTEMPT.token != ATTEMPT.next().token


def entry(version: str, decision: Decision, attempt: Attempt = ATTEMPT) -> Entry:
    return Entry.of(file(version=version), decision, attempt, ["x: 3 of 4 rows"])


def test_a_receipt_survives_being_stored() -> None:
    receipt = Receipt(bucket="landing", key='a "ü"\n').with_decision(entry("v1", Decision.REJECTED))
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_a_version_that_replaces_others_is_alone_on_main() -> None:
    receipt = Receipt(bucket="landing", key="k").with_decision(entry("v1", Decision.PUBLISHED))
    receipt = receipt.with_decision(entry("v2", Decision.PUBLISHED))
    assert [it.version_id for it in receipt.on_main] == ["v1", "v2"]
    receipt = receipt.with_decision(replace(entry("v3", Decision.PUBLISHED), replaces=("v1", "v2")))
    assert [it.version_id for it in receipt.on_main] == ["v3"]


def test_files_go_together_in_their_order_as_many_as_the_limits_allow() -> None:
    files = [file(version=str(number)) for number in range(5)]
    assert [len(batch) for batch in batches(files, Ingestion(batch_files=2), {})] == [2, 2, 1]
    assert [len(batch) for batch in batches(files, Ingestion(batch_bytes=2), {})] == [1] * 5
    assert [each for batch in batches(files, Ingestion(batch_bytes=7), {}) for each in batch] == files


def test_files_whose_receipts_are_long_go_in_batches_that_one_commit_can_hold() -> None:
    files = [file(key=str(number)) for number in range(5)]
    sizes = {"1": MOST_RECEIPT_BYTES + 1, "3": MOST_RECEIPT_BYTES, "4": 1}
    assert [[it.key for it in batch] for batch in batches(files, Ingestion(), sizes)] == [
        ["0"],
        ["1"],
        ["2", "3"],
        ["4"],
    ]


def test_the_last_published_version_is_current_whatever_is_rejected_later() -> None:
    receipt = Receipt(bucket="landing", key="k").with_decision(entry("v1", Decision.PUBLISHED))
    receipt = receipt.with_decision(entry("v2", Decision.REJECTED))
    assert [entry.version_id for entry in receipt.on_main] == ["v1"]


def test_a_new_decision_takes_the_place_of_the_old_one() -> None:
    receipt = Receipt(bucket="landing", key="k").with_decision(entry("v1", Decision.REJECTED))
    receipt = receipt.with_decision(entry("v1", Decision.PUBLISHED, ATTEMPT.next()))
    assert [(e.decision, e.attempt) for e in receipt.entries] == [(Decision.PUBLISHED, 2)]


def test_no_decided_version_is_forgotten_however_often_its_key_is_written() -> None:
    receipt = Receipt(bucket="landing", key="k").with_decision(entry("published", Decision.PUBLISHED))
    for number in range(50):
        receipt = receipt.with_decision(entry(f"v{number}", Decision.REJECTED))
    assert len(receipt.entries) == 51
    assert [entry.version_id for entry in receipt.on_main] == ["published"]
