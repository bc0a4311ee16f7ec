"""Old receipts leave main for the archive, the watermark goes up behind them, and nothing decided is ever forgotten."""

from datetime import timedelta
from functools import partial

import pytest
import structlog
from structlog.testing import capture_logs

from lakegate.errors import Conflict
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Receipt
from lakegate.ports import MAIN
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.fold import fold
from lakegate.workflow.landed import NOTED, undecided, waiting
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.workflow.test_interleavings import Worker
from tests.workflow.world import World

DAY = timedelta(days=1).total_seconds()


@pytest.fixture
def world() -> World:
    """One file published and one rejected, just older than what stays on main."""
    world = World()
    world.drop("good", rows=2)
    world.run()
    world.drop("bad", rows=1, bad="odd")
    world.run()
    fold(world.service)
    world.clock.advance(world.service.keep.total_seconds() + 10)
    return world


def fold_all(world: World) -> None:
    """What was decided just now leaves main when it has been there for a day."""
    fold(world.service)
    world.clock.advance(DAY)
    fold(world.service)


def on_main(world: World) -> set[str]:
    return {receipt.key for receipt in world.service.catalog.all_receipts(MAIN)}


def test_old_receipts_leave_main_and_young_ones_stay(world: World) -> None:
    world.drop("young", rows=1)
    world.run()
    reconcile(world.service)
    assert on_main(world) == {world.key("young")}
    assert world.service.catalog.watermark() == world.clock.now() - world.service.keep


def test_what_was_folded_away_is_neither_lost_nor_received_again(world: World) -> None:
    before = world.rows_on_main(), world.rejected()
    fold(world.service)
    world.deliver(world.file("good"), world.file("bad"))
    reconcile(world.service)
    world.run()
    assert (world.rows_on_main(), world.rejected()) == before
    assert world.job_runs() == 2


def test_the_same_bytes_under_a_key_that_was_folded_away_are_published_once(world: World) -> None:
    world.drop("first", rows=2, body=b"same")
    world.run()
    world.clock.advance(world.service.keep.total_seconds() + DAY)
    fold_all(world)
    world.drop("again", rows=2, body=b"same", under=world.key("first"))
    world.run()
    assert "again" not in world.rows_on_main()


def test_a_rejected_batch_can_still_be_tried_again_or_discarded(world: World) -> None:
    fold(world.service)
    [line] = status(world.service).rejected
    world.mend("bad")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"good": 2, "bad": 1}
    world.drop("worse", rows=1, bad="odd")
    world.run()
    [line] = status(world.service).rejected
    world.clock.advance(world.service.keep.total_seconds() + DAY)
    fold_all(world)
    assert discard(world.service, line.batch, "no use", "me") == 1
    assert world.rejected() == {}


def test_the_watermark_waits_for_what_is_not_decided(world: World) -> None:
    held = world.drop("elsewhere/x", rows=1, absolute=True)
    world.clock.advance(world.service.keep.total_seconds() * 2)
    fold(world.service)
    assert world.service.catalog.watermark() == held.landed_at
    world.clock.advance(DAY * 2)
    fold(world.service)
    assert world.service.catalog.watermark() == held.landed_at
    assert [file.id for file in undecided(world.service)[0]] == [held.id]


def test_a_file_that_landed_before_the_watermark_is_still_received_if_it_is_told_of(world: World) -> None:
    """An upload in parts lands as of its beginning."""
    late = world.drop("late", rows=5, deliver=False)
    world.clock.advance(DAY)
    other = world.landing.landed.pop((late.key, late.version_id))
    world.clock.advance(world.service.keep.total_seconds())
    fold(world.service)
    world.landing.landed[late.key, late.version_id] = other
    assert waiting(world.service) == []
    world.deliver(late)
    world.run()
    assert world.rows_on_main()["late"] == 5


def test_main_is_folded_once_a_day(world: World) -> None:
    fold(world.service)
    first = world.lake.branches[MAIN]
    world.clock.advance(DAY / 2)
    fold(world.service)
    assert world.lake.branches[MAIN] == first
    world.clock.advance(DAY / 2)
    fold(world.service)
    assert world.lake.branches[MAIN] != first


def test_a_receipt_that_changed_meanwhile_stays_on_main(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(*_: object) -> None:
        raise Conflict("changed meanwhile")

    before = world.service.catalog.watermark()
    monkeypatch.setattr(world.service.catalog, "fold", conflict)
    structlog.reset_defaults()
    with capture_logs() as logged:
        fold(world.service)
    assert on_main(world) == {world.key("good"), world.key("bad")}
    assert world.service.catalog.watermark() == before
    assert [it["event"] for it in logged] == ["not_folded"]


def test_an_attempt_from_before_the_fold_is_published_after_it(world: World) -> None:
    world.mend("bad")
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    fold(world.service)
    world.run()
    assert world.rows_on_main() == {"good": 2, "bad": 1}
    assert world.publications("bad") == 1


def test_a_status_lists_no_large_bucket_and_tells_what_the_last_sweep_saw(world: World) -> None:
    files = [world.landing.put(f"nyc/flights/{number}", b"x") for number in range(NOTED)]
    assert status(world.service).in_flight == ()
    reconcile(world.service)
    assert len(status(world.service).in_flight) == NOTED
    world.deliver(*_some(files))
    shown = {key for line in status(world.service).in_flight if line.state == "landed" for key in line.files}
    assert shown == {file.key for file in files} - {file.key for file in _some(files)}


def _some(files: list[FileVersion]) -> list[FileVersion]:
    return files[:10]


def test_of_two_that_fold_at_once_none_puts_an_older_receipt_in_the_archive(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, stale = world.service, list(world.service.catalog.all_receipts(MAIN))
    [line] = status(service).rejected

    def read_before_another_decided_and_folded(_: str) -> list[Receipt]:
        monkeypatch.undo()
        discard(service, line.batch, "no use", "me")
        fold(service)
        return stale

    monkeypatch.setattr(service.catalog, "all_receipts", read_before_another_decided_and_folded)
    fold(service)
    _, receipts = main_receipts(service, [world.file("bad")])
    assert receipts[world.key("bad")].entries[0].decision is Decision.DISCARDED


def test_who_died_while_folding_is_in_the_way_for_two_hours(world: World) -> None:
    world.service.store.create(f"notes/folding/{int(world.clock.now().timestamp() // 3600)}", b"")
    for _ in range(2):
        fold(world.service)
        assert on_main(world)
        world.clock.advance(3600)
    fold(world.service)
    assert not on_main(world)


def test_what_is_published_and_folded_away_meanwhile_stays_published() -> None:
    """Nessie sees no change where a receipt has come and gone since a worker looked."""
    stop, stopped = 0, True
    while stopped:
        world = World()
        world.allow_attempts(1)
        for name in ("1", "2", "3"):
            world.drop(name, rows=2, deliver=False)
        killed = world.open_attempt(world.file("1"), world.file("2"))
        world.kill_jobs("killed")
        fine = world.open_attempt(world.file("1"), world.file("3"))
        world.run(settle_after=False)
        fold(world.service)
        world.clock.advance(world.service.keep.total_seconds() + DAY)
        slow = Worker(world, partial(settle, attempt=killed), stop)
        slow.until_it_stops()
        settle(world.service, fine)
        fold(world.service)
        slow.to_its_end()
        _, receipts = main_receipts(world.service, [world.file("1")])
        [entry] = receipts[world.key("1")].entries
        assert (entry.decision is Decision.PUBLISHED) == ("1" in world.rows_on_main()), stop
        stopped, stop = slow.stopped, stop + 1
