"""The branch of a rejected batch goes when its life is over, never before people were told; nothing else changes."""

from datetime import timedelta
from typing import Any

import pytest

from lakegate.errors import Conflict
from lakegate.landing.files import FileVersion
from lakegate.ports import MessageKind
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.notices.outbox import SENT_PREFIX, prepare
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import CONTRACT, World

DAY = timedelta(days=1).total_seconds()


@pytest.fixture
def world() -> World:
    world = World()
    world.drop("bad", rows=1, bad="odd")
    world.run()
    return world


def sweep(world: World, days: float) -> None:
    world.clock.advance(days * DAY)
    reconcile(world.service)


def supersede_bad(world: World) -> None:
    """Another version replaces what was rejected, so no person need act while the contract says `replace`."""
    world.drop("mended", rows=1, under=world.key("bad"))
    world.run()


def expiring(world: World) -> list[str]:
    return [message.branch for message in world.messages() if message.kind is MessageKind.EXPIRING]


def test_people_are_told_once_before_the_branch_goes_and_then_it_goes(world: World) -> None:
    [branch] = world.branches()
    sweep(world, 26.9)
    assert expiring(world) == []
    sweep(world, 0.2)
    sweep(world, 1)
    assert (expiring(world), world.branches()) == ([branch], [branch])
    sweep(world, 2)
    assert (expiring(world), world.branches()) == ([branch], [])
    assert world.rejected() == {"bad": ("odd: 1, expected none",)}


@pytest.mark.parametrize(("unreadable", "approves"), [("", True), ("no parquet file", False)])
def test_people_are_told_to_approve_where_there_are_rows(unreadable: str, *, approves: bool) -> None:
    world = World()
    world.drop("bad", rows=1, bad="odd", unreadable=unreadable)
    world.run()
    sweep(world, 27.1)
    [message] = [it for it in world.messages() if it.kind is MessageKind.EXPIRING]
    assert any(command.startswith("lakegate approve") for command in message.commands) == approves
    assert ("Until then, lakegate approve" in message.why) == approves


def test_people_are_told_of_the_files_with_which_something_can_still_be_done() -> None:
    world = World()
    for name in "12":
        world.drop(name, rows=1, bad="odd", deliver=False)
    world.drop_together("1", "2")
    world.run()
    world.drop("1b", rows=1, under=world.key("1"))
    world.run()
    sweep(world, 27.1)
    [message] = [it for it in world.messages() if it.kind is MessageKind.EXPIRING]
    assert [file.key for file in message.files] == [world.key("2")]


def test_where_that_is_none_of_them_the_branch_goes_without_a_word_and_not_before_its_life_is_over(
    world: World,
) -> None:
    supersede_bad(world)
    for days, left in ((27.1, 1), (2.8, 1), (0.2, 0)):
        sweep(world, days)
        assert (expiring(world), len(world.branches())) == ([], left)


def test_a_branch_of_which_another_sweep_warns_meanwhile_stays_until_its_notice_is_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract is pushed between their looks: the file is superseded to the first sweep, and not to the second."""
    [branch] = world.branches()
    supersede_bad(world)

    def superseded_then(*arguments: Any) -> list[FileVersion]:
        monkeypatch.undo()
        found = superseded_files(*arguments)
        world.push_contract(reuploads="reject")
        reconcile(world.service)
        return found

    monkeypatch.setattr("lakegate.workflow.notices.expiry.superseded_files", superseded_then)
    sweep(world, 40)
    assert (expiring(world), world.branches()) == ([branch], [branch])
    sweep(world, 3.1)
    assert world.branches() == []


def test_a_branch_stays_while_a_message_that_warns_of_its_end_may_be_under_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [branch] = world.branches()
    supersede_bad(world)
    world.push_contract(reuploads="reject")

    def prepared_then(*arguments: Any) -> bool:
        monkeypatch.undo()
        prepared = prepare(*arguments)
        world.push_contract(reuploads="replace")
        reconcile(world.service)
        return prepared

    monkeypatch.setattr("lakegate.workflow.notices.outbox.prepare", prepared_then)
    sweep(world, 40)
    assert (expiring(world), world.branches()) == ([branch], [branch])
    sweep(world, 3.1)
    assert world.branches() == []


def test_a_branch_stays_until_its_notice_is_over_however_late_people_were_told(world: World) -> None:
    world.notifier_down()
    sweep(world, 60)
    world.notifier_up()
    assert len(world.branches()) == 1
    sweep(world, 1)
    assert (len(expiring(world)), len(world.branches())) == (1, 1)
    sweep(world, 2.9)
    assert len(world.branches()) == 1
    sweep(world, 0.2)
    assert world.branches() == []


def test_the_contract_says_how_long(world: World) -> None:
    days = "    customProperties: [{property: branchDays, value: 4, vendor: lakegate}]\n"
    world.push_text(CONTRACT + days)
    sweep(world, 3.1)
    assert (len(expiring(world)), len(world.branches())) == (1, 1)
    sweep(world, 1)
    assert world.branches() == []


def test_a_batch_whose_branch_is_gone_can_be_tried_again(world: World) -> None:
    sweep(world, 28)
    sweep(world, 3)
    assert world.branches() == []
    [line] = status(world.service).rejected
    world.mend("bad")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"bad": 1}


def test_a_branch_that_is_being_worked_on_does_not_expire(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """People were told of one of its files, and the other is tried again, and could not be taken off it."""

    def conflict(*_: object) -> None:
        raise Conflict("changed meanwhile")

    monkeypatch.setattr("lakegate.workflow.settle.drop_files", conflict)
    world.drop("worse", rows=1, bad="odd", deliver=False)
    world.drop("slow", rows=1, deliver=False)
    world.drop_together("worse", "slow")
    [first] = [attempt for attempt in world.attempts() if world.file("slow") in world.claims(attempt)]
    world.run(settle_after=False)
    world.push_contract(changed=True)
    settle(world.service, first)
    assert set(world.rejected()) == {"bad", "worse"}
    sweep(world, 100)
    sweep(world, 5)
    assert {first.branch, first.next().branch} <= set(world.branches())
    assert first.branch not in expiring(world)
    world.run()
    sweep(world, 1)
    sweep(world, 3)
    assert (first.branch in expiring(world), first.branch in world.branches()) == (True, False)


def test_a_sweep_looks_no_further_where_all_was_rejected_and_people_were_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = []
    monkeypatch.setattr("lakegate.workflow.reconcile.settle", lambda _, attempt: settled.append(attempt.branch))
    [branch] = world.branches()
    sweep(world, 1)
    assert settled == []
    world.store.delete(f"{SENT_PREFIX}{branch}-rejected")
    sweep(world, 1)
    assert settled == [branch]
