"""A person lets rejected files through: exactly as they were audited, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.errors import Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MessageKind
from lakegate.testing.lake import Key, KeyKind
from lakegate.workflow.approve import Approval, approve
from lakegate.workflow.ledger.decisions import record
from lakegate.workflow.publish import publish_rejected
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.status import status
from tests.world.world import TABLE, World


@pytest.fixture
def world() -> World:
    """A world with one published file, `0`."""
    world = World()
    world.drop("0", rows=1)
    world.run()
    return world


def rejected(world: World, *names: str, bad: str = "broken") -> str:
    """The batch of these files, which are bad; with a good one beside them."""
    for name in names:
        world.drop(name, rows=3, bad=bad, aside=1, deliver=False)
    world.drop("good", rows=7, deliver=False)
    world.drop_together(*names, "good")
    world.run()
    [line] = status(world.service).rejected
    return line.batch


def approved(world: World, batch: str) -> Approval:
    return approve(world.service, batch, reason="known at the vendor's", by="ann")


def refused(world: World, batch: str, match: str) -> None:
    before = world.rows_on_main()
    with pytest.raises(Refused, match=match):
        approved(world, batch)
    assert world.rows_on_main() == before


def test_rejected_files_are_published_as_they_were_audited(world: World) -> None:
    batch = rejected(world, "1", "2")
    jobs = world.job_runs()
    assert approved(world, batch).files == 2
    assert world.rows_on_main() == {"0": 1, "good": 7, "1": 3, "2": 3}
    assert world.quarantined_on() == {"1": 1, "2": 1}
    assert (world.job_runs(), world.branches()) == (jobs, [])


def test_a_file_without_rows_is_left_and_named_where_others_of_its_batch_are_approved(world: World) -> None:
    world.drop("1", rows=3, bad="broken", deliver=False)
    world.drop("2", rows=0, unreadable="it is not a parquet file", deliver=False)
    world.drop_together("1", "2")
    world.run()
    [line] = status(world.service).rejected
    done = approved(world, line.batch)
    assert (done.files, done.rest) == (1, {world.key("2"): "has no rows to publish"})
    assert "1" in world.rows_on_main()
    assert set(world.rejected()) == {"2"}


def test_a_batch_is_approved_whole_though_slack_refuses_to_be_told(world: World) -> None:
    batch = rejected(world, "1", "2")
    world.refuse_messages_about("1")
    assert approved(world, batch).files == 2
    assert world.branches() == []
    world.wait_out_the_grace()
    [failed] = reconcile(world.service)
    assert "msg_too_long" in str(failed)


def test_the_log_and_slack_say_who_approved_what_and_why(world: World) -> None:
    approved(world, batch := rejected(world, "1"))
    note = next(world.service.ledger.decisions(1)).record
    assert (note.batch, note.by, note.reason) == (batch, "ann", "known at the vendor's")
    assert note.files[0].reasons[0].startswith("broken")
    message = world.messages()[-1]
    assert (message.kind, message.why, message.published_rows) == (
        MessageKind.APPROVAL,
        "ann: known at the vendor's",
        3,
    )


def test_each_approval_of_files_that_one_attempt_rejected_is_told(world: World) -> None:
    for name in "12":
        world.drop(name, rows=3, bad="broken", deliver=False)
    attempt = world.open_attempt(world.files["1"], world.files["2"])
    world.run(settle_after=False)
    record(world.service, attempt, Decision.REJECTED, [Finding(file=world.files["1"])])  # and that worker died
    for _ in range(2):
        assert approved(world, attempt.batch).files == 1
    told = [tuple(file.key for file in it.files) for it in world.messages() if it.kind is MessageKind.APPROVAL]
    assert told == [(world.key("1"),), (world.key("2"),)]


def test_an_approved_file_takes_the_place_of_the_version_that_it_was_to_replace(world: World) -> None:
    world.drop("0b", rows=5, under=world.key("0"), bad="broken")
    world.run()
    [line] = status(world.service).rejected
    approved(world, line.batch)
    assert world.rows_on_main() == {"0b": 5}


def test_a_file_without_rows_cannot_be_approved(world: World) -> None:
    world.drop("1", rows=0, unreadable="it is not a parquet file")
    world.run()
    [line] = status(world.service).rejected
    refused(world, line.batch, "1 has no rows to publish. Run: lakegate discard")


def test_what_was_not_audited_cannot_be_approved(world: World) -> None:
    world.allow_attempts(1)
    world.drop("1", rows=3)
    world.kill_jobs("killed")
    world.run()
    [line] = status(world.service).rejected
    refused(world, line.batch, "its last attempt left no report to approve. Run: lakegate retry")


def test_a_batch_whose_branch_is_gone_cannot_be_approved(world: World) -> None:
    batch = rejected(world, "1")
    [branch] = world.branches()
    world.service.branches.delete_branch(branch)
    refused(world, batch, "no longer exists. Run: lakegate retry")


def test_a_branch_that_was_put_elsewhere_cannot_be_approved(world: World) -> None:
    batch = rejected(world, "1")
    [branch] = world.branches()
    world.lake.branches[branch] = world.lake.branches["main"]
    refused(world, batch, "Run: lakegate retry")


def test_verdicts_that_depend_on_a_table_that_moved_cannot_be_approved(world: World) -> None:
    world.change_on_main("nyc.planes")
    world.depends_on = ("nyc.planes",)
    batch = rejected(world, "1")
    world.change_on_main("nyc.planes")
    refused(world, batch, "nyc.planes changed on main .* Run: lakegate retry .*approve")


def test_an_audit_by_an_earlier_contract_cannot_be_approved(world: World) -> None:
    batch = rejected(world, "1")
    world.push_contract(changed=True)
    refused(world, batch, "contract of nyc.flights changed")


def test_a_file_whose_key_has_another_version_published_cannot_be_approved(world: World) -> None:
    batch = rejected(world, "1")
    world.drop("1b", rows=5, under=world.key("1"))
    world.run()
    refused(world, batch, "superseded")


def test_the_first_rows_of_a_table_may_be_approved_ones() -> None:
    world = World()
    world.drop("1", rows=3, bad="broken", aside=1)
    world.run()
    [line] = status(world.service).rejected
    approved(world, line.batch)
    assert (world.rows_on_main(), world.quarantined_on()) == ({"1": 3}, {"1": 1})
    assert world.branches() == []
    world.drop("2", rows=4)
    world.run()
    assert world.rows_on_main() == {"1": 3, "2": 4}


def test_a_table_that_was_dropped_since_the_audit_is_not_made_again_by_an_approval(world: World) -> None:
    batch = rejected(world, "1")
    world.lake.commit("main", {Key(kind=KeyKind.TABLE, name=TABLE): None})
    with pytest.raises(Refused, match=f"table {TABLE} on main is not the one that was audited"):
        approved(world, batch)


def test_what_is_being_retried_cannot_be_approved(world: World) -> None:
    batch = rejected(world, "1")
    retry(world.service, batch)
    refused(world, batch, "is already in progress")


def test_nothing_is_approved_twice(world: World) -> None:
    approved(world, batch := rejected(world, "1"))
    refused(world, batch, "none of its files is rejected")
    assert world.publications("1") == 1


def test_rows_that_came_after_the_audit_are_not_published_with_it(world: World) -> None:
    batch = rejected(world, "1")
    [branch] = world.branches()
    attempt = Attempt.parse(branch)
    assert attempt is not None
    assert attempt.table == TABLE
    world.spark_append(branch, "late", rows=9)
    approved(world, batch)
    assert world.rows_on_main() == {"0": 1, "good": 7, "1": 3}


def rejected_by_two_attempts() -> tuple[World, str]:
    """A batch of which `1` was rejected by the second attempt, and `2` by the first, with an earlier contract."""
    world = World()
    world.drop("0", rows=1)
    world.run()
    world.drop("1", rows=3, deliver=False)
    world.drop("2", rows=3, deliver=False, bad="broken")
    world.drop_together("1", "2")
    world.runner.finish_all()
    world.spoil("1")
    world.push_contract(changed=True)
    world.run()
    assert set(world.rejected()) == {"1", "2"}
    return world, status(world.service).rejected[0].batch


def test_an_approval_says_what_it_published_though_another_attempt_of_the_batch_is_refused() -> None:
    world, batch = rejected_by_two_attempts()
    done = approve(world.service, batch, reason="known", by="ann")
    assert "1" in world.rows_on_main()
    assert done.files == 1
    assert set(done.rest) == {world.key("2")}


def test_an_approval_says_what_it_published_though_it_fails_at_another_attempt_of_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, batch = rejected_by_two_attempts()
    asked: list[Any] = []

    def fails_then(*given: Any, **said: Any) -> None:
        asked.append(given)
        if len(asked) > 1:
            raise Retryable("main kept moving")
        publish_rejected(*given, **said)

    monkeypatch.setattr("lakegate.workflow.approve.publish_rejected", fails_then)
    with pytest.raises(Retryable) as failed:
        approve(world.service, batch, reason="known", by="ann")
    assert "1" in world.rows_on_main()
    assert failed.value.__notes__ == [f"1 file was published from batch {batch} before this error"]
