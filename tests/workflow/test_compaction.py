"""Old receipts leave main for the archive, the watermark goes up behind them, and nothing decided is ever forgotten."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
import structlog
from structlog.testing import capture_logs

from lakegate.errors import Conflict, Misconfigured
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.operations.sights import ABSENT, Sight, sight_by_receipt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.backlog import LANDED_NOTE, MOST_FILES, unclaimed_files
from lakegate.workflow.ledger.compaction import compact
from lakegate.workflow.ledger.receipts import CLOSED_PREFIX, PREFIX, main_receipts
from lakegate.workflow.ledger.undecided_files import undecided_files
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.workflow.test_interleavings import Worker
from tests.world.world import World

DAY = timedelta(days=1).total_seconds()


@pytest.fixture
def world() -> World:
    """One file published and one rejected, just older than what stays on main."""
    world = World()
    world.drop("good", rows=2)
    world.run()
    world.drop("bad", rows=1, bad="odd")
    world.run()
    compact(world.service)
    world.clock.advance(world.service.compact_after.total_seconds() + 10)
    return world


def compact_all(world: World) -> None:
    """Compact twice, a day apart: a receipt leaves main when it has been there for a day."""
    compact(world.service)
    world.clock.advance(DAY)
    compact(world.service)


def on_main(world: World) -> set[str]:
    return {receipt.key for receipt in world.service.ledger.all_receipts(Ref(MAIN))}


def test_old_receipts_leave_main_and_young_ones_stay(world: World) -> None:
    world.drop("young", rows=1)
    world.run()
    reconcile(world.service)
    assert on_main(world) == {world.key("young")}
    assert world.service.ledger.watermark() == world.clock.now() - world.service.compact_after


def test_what_was_archived_is_neither_lost_nor_received_again(world: World) -> None:
    before = world.rows_on_main(), world.rejected()
    compact(world.service)
    world.deliver(world.file("good"), world.file("bad"))
    reconcile(world.service)
    world.run()
    assert (world.rows_on_main(), world.rejected()) == before
    assert world.job_runs() == 2


def test_the_archive_is_not_asked_for_the_keys_of_a_backlog(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a million of them, and none of them has a receipt."""
    compact_all(world)
    for number in range(3):
        world.drop(f"old {number}", rows=1, deliver=False)
    asked, read_many = list[str](), world.service.store.read_many

    def noting(names: Iterable[str]) -> Mapping[str, bytes]:
        asked.extend(names := list(names))
        return read_many(names)

    monkeypatch.setattr(world.service.store, "read_many", noting)
    assert len(unclaimed_files(world.service)) == 3
    assert [name for name in asked if name.startswith(PREFIX)] == []


@pytest.mark.parametrize(("port", "look"), [("branches", "head"), ("ledger", "watermark")])
def test_what_is_archived_while_a_sweep_looks_is_not_taken_for_lost(
    world: World, monkeypatch: pytest.MonkeyPatch, port: str, look: str
) -> None:
    world.drop("next", rows=1)
    world.run()
    world.clock.advance(world.service.compact_after.total_seconds() - DAY / 2)
    compact(world.service)
    world.clock.advance(DAY)
    asked = getattr(world.service, port)
    call = getattr(asked, look)

    def compacting(*given: str) -> object:
        found = call(*given)
        monkeypatch.undo()
        compact(world.service)
        return found

    monkeypatch.setattr(asked, look, compacting)
    assert undecided_files(world.service)[0] == []
    assert on_main(world) == set()


def test_the_same_bytes_under_a_key_that_was_archived_are_published_once(world: World) -> None:
    world.drop("first", rows=2, body=b"same")
    world.run()
    world.clock.advance(world.service.compact_after.total_seconds() + DAY)
    compact_all(world)
    world.drop("again", rows=2, body=b"same", under=world.key("first"))
    world.run()
    assert "again" not in world.rows_on_main()


def test_a_rejected_batch_can_still_be_tried_again_or_discarded(world: World) -> None:
    compact(world.service)
    [line] = status(world.service).rejected
    world.mend("bad")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"good": 2, "bad": 1}
    world.drop("worse", rows=1, bad="odd")
    world.run()
    [line] = status(world.service).rejected
    world.clock.advance(world.service.compact_after.total_seconds() + DAY)
    compact_all(world)
    assert discard(world.service, line.batch, "no use", "me") == 1
    assert world.rejected() == {}


def test_the_watermark_waits_for_what_is_not_decided(world: World) -> None:
    lost = world.drop("lost", rows=1, deliver=False)
    world.clock.advance(world.service.compact_after.total_seconds() * 2)
    compact(world.service)
    assert world.service.ledger.watermark() == lost.landed_at
    world.clock.advance(DAY * 2)
    compact(world.service)
    assert world.service.ledger.watermark() == lost.landed_at
    assert [file.id for file in undecided_files(world.service)[0]] == [lost.id]


def test_an_unrouted_file_keeps_nothing_from_being_archived_and_is_taken_up_however_late(world: World) -> None:
    """Vendors drop what no contract ever routes."""
    world.drop("elsewhere/README", rows=1, absolute=True)
    world.remove_contract()
    unrouted = world.drop("late", rows=5)
    world.clock.advance(world.service.compact_after.total_seconds() * 2)
    compact_all(world)
    assert (on_main(world), world.service.ledger.watermark()) == (
        set(),
        world.clock.now() - world.service.compact_after,
    )
    world.push_contract()
    for _ in range(2):  # its note stays while it is under way: nothing else finds it
        reconcile(world.service)
        assert unrouted.id in {each.file.id for each in unrouted_files(world.service)}
        assert [line.files for line in status(world.service).unrouted] == [("elsewhere/README",)]
    world.run()
    assert world.rows_on_main()["late"] == 5
    reconcile(world.service)
    assert [each.file.key for each in unrouted_files(world.service)] == ["elsewhere/README"]


def test_an_unrouted_file_whose_attempt_came_to_nothing_is_taken_up_again(world: World) -> None:
    world.remove_contract()
    unrouted = world.drop("late", rows=5)
    world.clock.advance(world.service.compact_after.total_seconds() * 2)
    compact_all(world)
    world.push_contract()
    reconcile(world.service)
    [attempt] = [it for it in world.attempts() if unrouted in world.claims(it)]
    world.lake.branches.pop(attempt.branch)
    for name in [name for name in world.store.objects if attempt.branch in name]:
        world.store.objects.pop(name)
    reconcile(world.service)
    world.run()
    assert world.rows_on_main()["late"] == 5


def test_a_file_that_landed_before_the_watermark_is_still_received_if_it_is_told_of(world: World) -> None:
    """An upload in parts lands as of its beginning."""
    late = world.drop("late", rows=5, deliver=False)
    world.clock.advance(DAY)
    other = world.landing.files.pop((late.key, late.version_id))
    world.clock.advance(world.service.compact_after.total_seconds())
    compact(world.service)
    world.landing.files[late.key, late.version_id] = other
    assert unclaimed_files(world.service) == []
    world.deliver(late)
    world.run()
    assert world.rows_on_main()["late"] == 5


def test_main_is_compacted_once_a_day(world: World) -> None:
    compact(world.service)
    first = world.lake.branches[MAIN]
    world.clock.advance(DAY / 2)
    compact(world.service)
    assert world.lake.branches[MAIN] == first
    world.clock.advance(DAY / 2)
    compact(world.service)
    assert world.lake.branches[MAIN] != first


def decision_of(world: World, name: str) -> Decision:
    _, receipts = main_receipts(world.service, [world.file(name)])
    [entry] = receipts[world.key(name)].entries
    return entry.decision


def test_a_receipt_that_changes_while_it_is_looked_at_stays_on_main(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [line] = status(world.service).rejected
    all_receipts = world.service.ledger.all_receipts

    def changing(ref: Ref) -> Iterable[Receipt]:
        monkeypatch.undo()
        yield from all_receipts(ref)
        discard(world.service, line.batch, "no use", "me")

    monkeypatch.setattr(world.service.ledger, "all_receipts", changing)
    compact(world.service)
    assert on_main(world) == {world.key("bad")}
    assert (decision_of(world, "good"), decision_of(world, "bad")) == (Decision.PUBLISHED, Decision.DISCARDED)


def test_a_receipt_that_changes_before_it_is_taken_off_stays_on_main(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the archive by then, as it was: main has the newest."""
    [line] = status(world.service).rejected
    write_many = world.store.write_many

    def changing(bodies: Mapping[str, bytes]) -> None:
        write_many(bodies)
        monkeypatch.undo()
        discard(world.service, line.batch, "no use", "me")

    monkeypatch.setattr(world.store, "write_many", changing)
    compact(world.service)
    assert world.service.ledger.watermark() == world.clock.now() - world.service.compact_after
    assert world.key("bad") in on_main(world)
    assert (decision_of(world, "good"), decision_of(world, "bad")) == (Decision.PUBLISHED, Decision.DISCARDED)
    for _ in range(2):
        world.clock.advance(DAY)
        compact(world.service)
    assert on_main(world) == set()
    assert (decision_of(world, "good"), decision_of(world, "bad")) == (Decision.PUBLISHED, Decision.DISCARDED)


def test_every_receipt_stays_on_main_where_the_watermark_cannot_go_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict(*_: object) -> None:
        raise Conflict("changed meanwhile")

    before = world.service.ledger.watermark()
    monkeypatch.setattr(world.service.ledger, "compact", conflict)
    structlog.reset_defaults()
    with capture_logs() as logged:
        compact(world.service)
    assert on_main(world) == {world.key("good"), world.key("bad")}
    assert world.service.ledger.watermark() == before
    assert [it["event"] for it in logged] == ["not_compacted"]


def test_an_attempt_from_before_the_compaction_is_published_after_it(world: World) -> None:
    world.mend("bad")
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    compact(world.service)
    world.run()
    assert world.rows_on_main() == {"good": 2, "bad": 1}
    assert world.publications("bad") == 1


def test_a_status_lists_no_large_bucket_and_tells_what_the_last_sweep_saw(world: World) -> None:
    files = [world.landing.add(f"nyc/flights/{number}", b"x") for number in range(MOST_FILES)]
    assert status(world.service).in_flight == ()
    reconcile(world.service)
    assert len(status(world.service).in_flight) == MOST_FILES
    world.deliver(*_some(files))
    shown = {key for line in status(world.service).in_flight if line.state == "queued" for key in line.files}
    assert shown == {file.key for file in files} - {file.key for file in _some(files)}


def _some(files: list[FileVersion]) -> list[FileVersion]:
    return files[:10]


def test_a_status_says_when_a_sweep_looked_where_it_does_not_look_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = world.clock.now()
    reconcile(world.service)
    world.clock.advance(3600)
    assert status(world.service).seen_at is None
    monkeypatch.setattr("lakegate.workflow.backlog.MOST_FILES", 1)
    assert status(world.service).seen_at == began


def test_what_an_earlier_release_s_sweep_saw_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakegate.workflow.backlog.MOST_FILES", 1)
    reconcile(world.service)
    noted = json.loads(world.store.objects[LANDED_NOTE])
    del noted["at"]
    world.store.write(LANDED_NOTE, json.dumps(noted).encode())
    assert status(world.service).seen_at is None


def test_of_two_that_compact_at_once_none_puts_an_older_receipt_in_the_archive(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, stale = world.service, list(world.service.ledger.all_receipts(Ref(MAIN)))
    [line] = status(service).rejected

    def read_before_another_decided_and_archived(_: str) -> list[Receipt]:
        monkeypatch.undo()
        discard(service, line.batch, "no use", "me")
        compact(service)
        return stale

    monkeypatch.setattr(service.ledger, "all_receipts", read_before_another_decided_and_archived)
    compact(service)
    _, receipts = main_receipts(service, [world.file("bad")])
    assert receipts[world.key("bad")].entries[0].decision is Decision.DISCARDED


def test_who_died_while_compacting_is_in_the_way_for_two_hours(world: World) -> None:
    world.service.store.create(f"notes/compacting/{int(world.clock.now().timestamp() // 3600)}", b"")
    for _ in range(2):
        compact(world.service)
        assert on_main(world)
        world.clock.advance(3600)
    compact(world.service)
    assert not on_main(world)


def test_what_is_published_and_archived_meanwhile_stays_published() -> None:
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
        compact(world.service)
        world.clock.advance(world.service.compact_after.total_seconds() + DAY)
        slow = Worker(world, partial(settle, attempt=killed), stop)
        slow.until_it_stops()
        settle(world.service, fine)
        compact(world.service)
        slow.to_its_end()
        _, receipts = main_receipts(world.service, [world.file("1")])
        [entry] = receipts[world.key("1")].entries
        assert (entry.decision is Decision.PUBLISHED) == ("1" in world.rows_on_main()), stop
        stopped, stop = slow.stopped, stop + 1
    assert stop > 5


def never_resting(world: World, versions: int) -> list[FileVersion]:
    """A key that is uploaded anew every six hours, each version published in the place of the one before."""
    files = []
    for number in range(versions):
        files.append(world.drop(f"latest{number}", rows=number + 1, under=world.key("latest")))
        world.run()
        world.clock.advance(DAY / 4)
        reconcile(world.service)
    return files


def test_main_keeps_of_a_key_that_never_rests_what_may_still_matter(world: World) -> None:
    world.service = replace(world.service, truncate_above=3)
    files = never_resting(world, versions=60)
    [receipt] = world.service.ledger.receipts(Ref(MAIN), [world.key("latest")]).values()
    assert len(receipt.entries) <= 8
    assert receipt.on_main[-1].version_id == files[-1].version_id
    _, known = main_receipts(world.service, files)
    assert [entry_of(known, file) is not None for file in files] == [True] * len(files)
    months = [name for name in world.store.objects if name.startswith(CLOSED_PREFIX)]
    assert len(months) == len({f"{file.landed_at:%Y-%m}" for file in files[:-8]})


def test_an_event_of_a_version_that_was_taken_out_of_its_receipt_is_dropped(world: World) -> None:
    world.service = replace(world.service, truncate_above=3)
    files = never_resting(world, versions=20)
    head, runs = world.lake.branches[MAIN], world.job_runs()
    world.deliver(*files[:5], files[-1])
    reconcile(world.service)
    assert (world.lake.branches[MAIN], world.job_runs()) == (head, runs)
    decided = [it.version_id for decision in world.service.ledger.decisions(1000) for it in decision.record.files]
    assert [decided.count(file.version_id) for file in files] == [1] * len(files)


def test_a_key_that_comes_to_rest_is_archived_and_goes_on_where_it_was(world: World) -> None:
    world.service = replace(world.service, truncate_above=3)
    files = never_resting(world, versions=20)
    for _ in range(20):
        world.clock.advance(DAY)
        reconcile(world.service)
    assert world.key("latest") not in on_main(world)
    world.deliver(files[0])
    world.drop("next", rows=50, under=world.key("latest"))
    world.run()
    assert {name for name in world.rows_on_main() if name not in ("good", "bad")} == {"next"}
    [receipt] = world.service.ledger.receipts(Ref(MAIN), [world.key("latest")]).values()
    assert len(receipt.entries) < len(files)


def test_a_receipt_that_changes_while_it_is_truncated_stays_as_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.service = replace(world.service, truncate_above=3)
    key = world.key("latest")
    put = world.store.write_many
    dropped: list[FileVersion] = []

    def write_many(bodies: Mapping[str, bytes]) -> None:
        put(bodies)
        if any(name.startswith(CLOSED_PREFIX) for name in bodies) and not dropped:
            dropped.append(world.drop("meanwhile", rows=99, under=key))
            world.run()

    monkeypatch.setattr(world.store, "write_many", write_many)
    files = never_resting(world, versions=12)
    _, known = main_receipts(world.service, [*files, *dropped])
    assert [entry_of(known, file) is not None for file in (*files, *dropped)] == [True] * 13
    assert len(world.rows_on_main()) == 2


def test_a_receipt_that_cannot_be_truncated_keeps_nothing_else_from_being_archived(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.service = replace(world.service, truncate_above=3)
    files, put = never_resting(world, versions=3), world.store.write_many

    def refused(bodies: Mapping[str, bytes]) -> None:
        if any(name.startswith(CLOSED_PREFIX) for name in bodies):
            raise Misconfigured("writing closed/: 403")
        put(bodies)

    monkeypatch.setattr(world.store, "write_many", refused)
    files += never_resting(world, versions=1)
    for _ in range(20):
        world.clock.advance(DAY)
        files.append(world.drop(f"daily{len(files)}", rows=1, under=world.key("latest")))
        world.run()
        world.drop(f"other{len(files)}", rows=1)
        world.run()
        errors = reconcile(world.service)
    assert ["403" in str(error) for error in errors] == [True]
    assert world.key("other5") not in on_main(world)
    monkeypatch.undo()
    world.clock.advance(DAY)
    assert reconcile(world.service) == []
    [receipt] = world.service.ledger.receipts(Ref(MAIN), [world.key("latest")]).values()
    assert len(receipt.entries) <= 3


def test_who_asks_for_a_version_that_was_taken_out_of_its_receipt_is_told_what_became_of_it(world: World) -> None:
    world.service = replace(world.service, truncate_above=3)
    files = never_resting(world, versions=20)
    asked = [Sight(file=file.key, version=file.version_id) for file in files]
    assert {sight_by_receipt(world.service, sight).state for sight in asked} == {"published"}
    world.landing.files.clear()
    assert {sight_by_receipt(world.service, sight).state for sight in asked} == {"published"}
    assert sight_by_receipt(world.service, Sight(file=files[0].key, version="never")).state == ABSENT
