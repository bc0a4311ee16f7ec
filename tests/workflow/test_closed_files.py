"""Files whose fate their key's other versions decide: what people are told of them, and what a retry does with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lakegate.errors import Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision, State
from lakegate.operations.sights import ALREADY_PUBLISHED, sights
from lakegate.ports import LogEntry
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.start import start_attempts
from lakegate.workflow.notices.outbox import prepare_undecided
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import World


@pytest.fixture
def world() -> World:
    """A world with two published keys, `0` and `1`."""
    world = World()
    world.drop("0", rows=1)
    world.drop("1", rows=2)
    world.run()
    return world


def again(world: World, name: str, *, rows: int = 5, of: str = "1", deliver: bool = True, bad: str = "") -> None:
    """Other bytes under a key."""
    world.drop(name, rows=rows, under=world.key(of), deliver=deliver, body=name.encode(), bad=bad)


def same(world: World, name: str) -> None:
    """The bytes of `1` under its key once more."""
    world.drop(name, rows=2, under=world.key("1"), body=world.body_of("1"))
    world.run()


def sweep(world: World) -> None:
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    world.run()


def receive_in_vain(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nessie does not answer when the decision is to be committed."""

    def fails(*_: Any) -> str:
        raise Retryable("Nessie does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(world.service.ledger, "commit_receipts", fails)
        file = world.files[name]
        assert receive(world.service, [Arrival(key=file.key, version_id=file.version_id)])


def rejected_with_one_that_is_superseded(world: World) -> str:
    """Two files of a batch are rejected; the vendor mends one of them by another upload."""
    world.drop("2", rows=7, bad="broken", deliver=False)
    again(world, "1b", bad="broken", deliver=False)
    world.drop_together("1b", "2")
    world.run()
    again(world, "1c", rows=6)
    world.run()
    entry = world.entries()["2"]
    assert entry
    return entry.batch


def rejected_and_mended(world: World) -> str:
    """A file was rejected, and another version of it is published; the batch that was rejected."""
    world.drop("2", rows=7, bad="broken")
    world.run()
    [line] = status(world.service).rejected
    again(world, "2b", rows=6, of="2")
    world.run()
    return line.batch


def test_what_was_rejected_and_is_superseded_needs_nobody(world: World) -> None:
    batch = rejected_and_mended(world)
    now = status(world.service)
    assert (now.rejected, [(line.batch, line.state) for line in now.superseded]) == ((), [(batch, "superseded")])


def test_of_a_batch_what_is_not_superseded_stays_to_be_looked_at(world: World) -> None:
    batch = rejected_with_one_that_is_superseded(world)
    now = status(world.service)
    [rejected], [superseded] = now.rejected, now.superseded
    assert (rejected.batch, rejected.files) == (batch, (world.key("2"),))
    assert (superseded.batch, superseded.files) == (batch, (world.key("1"),))


@pytest.mark.parametrize("word", ["append", "reject"])
def test_what_may_be_published_beside_the_other_version_or_by_another_contract_is_not_superseded(
    world: World, word: str
) -> None:
    batch = rejected_and_mended(world)
    world.push_contract(reuploads=word)
    assert [line.batch for line in status(world.service).rejected] == [batch]


def test_without_a_contract_nothing_is_known_to_be_superseded(world: World) -> None:
    batch = rejected_and_mended(world)
    world.remove_contract()
    assert [line.batch for line in status(world.service).rejected] == [batch]


def test_who_waited_for_what_is_superseded_hears_that_it_is_superseded(world: World) -> None:
    rejected_and_mended(world)
    file = world.files["2"]
    assert sights(status(world.service))[file.key, file.version_id].state == State.SUPERSEDED


def test_what_is_superseded_is_not_said_to_be_older_than_main_s_log_was_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected_and_mended(world)
    monkeypatch.setattr("lakegate.workflow.status.DECISIONS", 2)
    now = status(world.service)
    assert (len(now.superseded), now.of_last, now.older) == (1, 2, ())


def test_a_batch_is_retried_without_what_was_superseded(world: World) -> None:
    batch = rejected_with_one_that_is_superseded(world)
    world.mend("2")
    left = retry(world.service, batch).rest
    world.run()
    assert world.rows_on_main() == {"0": 1, "1c": 6, "2": 7}
    assert list(left) == [world.key("1")]
    assert "superseded" in left[world.key("1")]


def test_a_batch_is_approved_without_what_was_superseded(world: World) -> None:
    done = approve(world.service, rejected_with_one_that_is_superseded(world), "fine", "ann")
    assert world.rows_on_main() == {"0": 1, "1c": 6, "2": 7}
    assert (done.files, list(done.rest)) == (1, [world.key("1")])


def test_where_all_of_a_batch_is_superseded_it_is_neither_retried_nor_approved(world: World) -> None:
    again(world, "1b", bad="broken")
    world.run()
    [line] = status(world.service).rejected
    again(world, "1c", rows=6)
    world.run()
    with pytest.raises(Refused, match="superseded"):
        retry(world.service, line.batch)
    with pytest.raises(Refused, match="superseded"):
        approve(world.service, line.batch, "fine", "ann")


def test_an_approval_leaves_out_what_was_superseded_of_each_attempt(world: World) -> None:
    world.drop("2", rows=7, bad="broken", deliver=False)
    again(world, "1a", rows=3, deliver=False)
    again(world, "1b", deliver=False)
    both, one = world.open_attempt(world.files["2"], world.files["1b"]), world.open_attempt(world.files["1a"])
    world.run(settle_after=False)
    settle(world.service, one)
    world.spoil("1b")
    settle(world.service, both)  # "2" is rejected by the first attempt, "1b" by the second
    world.run()
    again(world, "1c", rows=6)
    world.run()
    assert approve(world.service, both.batch, "fine", "ann").files == 1
    assert world.rows_on_main() == {"0": 1, "1c": 6, "2": 7}


def test_of_versions_that_were_appended_the_newest_bytes_are_alone_on_main_once_they_are_replaced(world: World) -> None:
    """Also if they are the bytes of one of them."""
    world.push_contract(reuploads="append")
    again(world, "1b")
    world.run()
    world.push_contract()
    same(world, "1c")
    assert world.rows_on_main() == {"0": 1, "1c": 2}


def test_what_was_rejected_without_an_attempt_is_published_by_a_retry_alone(world: World) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b")
    world.push_contract()
    world.open_attempt(world.files["1b"])  # its event came twice: a worker that looked before
    world.run()
    assert (world.rows_on_main(), world.branches()) == ({"0": 1, "1": 2}, [])
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_of_two_versions_of_a_key_that_were_rejected_together_a_retry_tries_the_older_first(world: World) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)
    again(world, "1c", bad="broken", deliver=False)
    world.drop_together("1b", "1c")
    [line] = status(world.service).rejected
    world.push_contract(reuploads="append")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "1b": 5}
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "1b": 5}
    assert world.rejected()["1"][0].startswith("broken")


def test_no_message_names_a_batch_that_was_never_decided(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)
    receive_in_vain(world, "1b", monkeypatch)
    again(world, "0b", of="0", deliver=False)
    world.drop_together("1b", "0b")
    sweep(world)
    entry = world.entries()["1b"]
    assert entry
    assert {it.batch for it in world.messages()} == {entry.batch}


def test_nor_says_that_something_was_rejected_that_is_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)
    receive_in_vain(world, "1b", monkeypatch)
    world.push_contract()
    world.deliver(world.files["1b"])
    world.run()
    for _ in range(2):
        sweep(world)
        world.clock.advance(3600)
    assert world.rows_on_main() == {"0": 1, "1b": 5}
    assert (world.messages(), world.service.store.names("notes/outbox/")) == ([], [])


def test_nor_what_another_worker_has_discarded_by_a_contract_that_was_pushed_since(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)

    def overtaken(*given: Any) -> str:
        monkeypatch.undo()
        world.push_contract(reuploads="ignore")
        world.deliver(world.files["1b"])
        return prepare_undecided(*given)

    monkeypatch.setattr("lakegate.workflow.receiving.untried_files.prepare_undecided", overtaken)
    world.deliver(world.files["1b"])
    entry = world.entries()["1b"]
    assert entry
    assert (entry.decision, world.messages()) == (Decision.DISCARDED, [])


def test_what_was_rejected_though_its_worker_died_before_it_could_tell_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)
    monkeypatch.setattr("lakegate.workflow.receiving.untried_files._notify_rejected", lambda *_: None)
    world.deliver(world.files["1b"])
    sweep(world)
    [message] = world.messages()
    assert [file.key for file in message.files] == [world.key("1")]
    assert [command.split()[1] for command in message.commands] == ["show", "discard"]


@pytest.mark.parametrize("dies", [False, True])
def test_a_rejection_is_told_though_a_sweep_forgets_an_older_message_of_it_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, *, dies: bool
) -> None:
    world.push_contract(reuploads="reject")
    again(world, "1b", deliver=False)
    receive_in_vain(world, "1b", monkeypatch)
    world.clock.advance(2 * 3600)
    decisions = world.service.ledger.decisions

    def seen_before_its_event_came_again(*given: Any, **named: Any) -> list[LogEntry]:
        found = list(decisions(*given, **named))
        monkeypatch.undo()
        with monkeypatch.context() as patch:
            if dies:
                patch.setattr("lakegate.workflow.receiving.untried_files._notify_rejected", lambda *_: None)
            world.deliver(world.files["1b"])
        return found

    monkeypatch.setattr(world.service.ledger, "decisions", seen_before_its_event_came_again)
    reconcile(world.service)
    sweep(world)
    assert world.rejected()["1"]
    assert [[file.key for file in message.files] for message in world.messages()] == [[world.key("1")]]


@pytest.mark.parametrize("word", ["reject", "ignore"])
def test_the_reason_names_a_version_that_is_on_main(world: World, word: str) -> None:
    """And not one that was discarded because its bytes are there."""
    world.push_contract(reuploads=word)
    same(world, "same")
    again(world, "1b")
    entry = world.entries()["1b"]
    assert entry
    assert world.files["1"].version_id in entry.reasons[0]


def test_what_was_ignored_is_not_said_to_be_published(world: World) -> None:
    world.push_contract(reuploads="ignore")
    same(world, "same")
    again(world, "1b")
    seen = sights(status(world.service))
    states = [seen[world.files[name].key, world.files[name].version_id].state for name in ("same", "1b")]
    assert states == [ALREADY_PUBLISHED, Decision.DISCARDED]


def test_a_retry_comes_to_the_newer_version_though_the_older_one_is_broken() -> None:
    world = World()
    world.drop("0", rows=1)
    world.run()
    world.push_contract(reuploads="reject")
    world.drop("0b", rows=3, deliver=False, under=world.key("0"), bad="broken")
    world.drop("0c", rows=4, deliver=False, under=world.key("0"))
    world.deliver(world.file("0b"), world.file("0c"))
    [line] = status(world.service).rejected
    world.push_contract(reuploads="replace")
    for _ in range(4):
        try:
            retry(world.service, line.batch)
        except Refused:
            break
        world.run()
    assert world.rows_on_main() == {"0c": 4}


def test_a_retry_that_claims_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.drop("0", rows=1)
    world.run()
    world.drop("0b", rows=2, bad="broken", under=world.key("0"))
    world.run()
    [line] = status(world.service).rejected

    def meanwhile(*args: Any) -> Iterator[Attempt]:
        world.push_contract(reuploads="ignore")
        return start_attempts(*args)

    monkeypatch.setattr("lakegate.workflow.retry.start_attempts", meanwhile)
    with pytest.raises(Refused):  # and not a Retried whose attempt has no branch and never will
        retry(world.service, line.batch)
