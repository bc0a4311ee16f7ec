"""Files that wait for a job of their table, and how they are taken up together once it has ended."""

from collections.abc import Callable, Iterable
from typing import NoReturn

import pytest

from lakegate.audit.model.lane import Lane
from lakegate.errors import Misconfigured, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import State
from lakegate.ports import JobRun, JobState, Reach
from lakegate.workflow.receive import gather
from lakegate.workflow.receiving import queued
from lakegate.workflow.receiving.queued import PREFIX
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.status import status
from tests.workflow.gathering import claimed, end_job, notes
from tests.world.world import TABLE, World


@pytest.fixture
def world() -> World:
    """One job runs at a time."""
    return World(jobs_at_once=1)


def test_what_lands_while_a_job_of_its_table_is_under_way_becomes_one_batch_when_that_has_ended(world: World) -> None:
    for name in ("1", "2", "3", "4"):
        world.drop(name, rows=1)
    assert claimed(world) == [["1"]]
    end_job(world)
    assert claimed(world) == [["2", "3", "4"]]
    end_job(world)
    assert world.on_main() == {"1", "2", "3", "4"}
    assert (world.job_runs(), notes(world)) == (2, [])


def test_a_new_event_takes_along_what_is_queued_already(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.runner.finish_all()  # the event of its end is late
    world.drop("3", rows=1)
    assert claimed(world) == [["1"], ["2", "3"]]
    assert notes(world) == []


def test_the_first_file_of_a_quiet_table_starts_at_once_though_all_slots_are_taken(world: World) -> None:
    world.refer_to_planes()
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.drop("nyc/planes/p", rows=1, absolute=True)
    assert claimed(world) == [["1"], ["nyc/planes/p"]]


def test_with_a_free_slot_the_next_file_starts_at_once() -> None:
    world = World(jobs_at_once=2)
    for name in ("1", "2", "3"):
        world.drop(name, rows=1)
    assert claimed(world) == [["1"], ["2"]]


def test_the_batches_of_one_large_delivery_take_the_free_slots_and_the_rest_follows_oldest_first() -> None:
    world = World(jobs_at_once=2)
    world.push_contract(batchFiles=2)
    world.drop("first", rows=1)
    end_job(world)  # which makes the table
    names = [str(number) for number in range(7)]
    for name in names:
        world.drop(name, rows=1, deliver=False)
    world.drop_together(*names)
    assert claimed(world) == [["0", "1"], ["2", "3"]]
    end_job(world)
    assert claimed(world) == [["2", "3"], ["4", "5"]]
    end_job(world)
    assert claimed(world) == [["4", "5"], ["6"]]


def test_a_lost_event_of_a_job_is_healed_by_the_sweep(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.runner.finish_all()
    assert reconcile(world.service) == []
    assert claimed(world) == [["2"]]


def test_a_lost_note_is_healed_by_the_sweep(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.store.delete(notes(world)[0])
    world.wait_out_the_grace()
    end_job(world)
    assert claimed(world) == []
    assert reconcile(world.service) == []
    assert claimed(world) == [["2"]]


@pytest.mark.parametrize("body", [b"[{", b"3", b'[{"key": 3}]'])
def test_a_note_that_cannot_be_read_goes_and_holds_back_no_other(world: World, body: bytes) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.store.write(f"{PREFIX}{TABLE}/20120101T000000-1-x.json", body)
    end_job(world)
    assert (claimed(world), notes(world)) == ([["2"]], [])


def test_notes_with_names_of_strangers_hold_back_no_other(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    for name in ("x", "x/y.json", f"{TABLE}/1", f"{TABLE}/1-x-2"):
        world.store.write(f"{PREFIX}{name}", b"[]")
    end_job(world)
    assert (claimed(world), notes(world)) == ([["2"]], [])


def test_sweeps_note_no_file_twice(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.drop("lost", rows=1, deliver=False)
    for _ in range(3):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
        assert len(notes(world)) == 2
    end_job(world)
    assert claimed(world) == [["2", "lost"]]


def test_an_unrouted_file_that_a_contract_routes_by_now_is_noted_once(world: World) -> None:
    world.remove_contract()
    world.drop("2", rows=1)
    world.push_contract()
    world.drop("1", rows=1)
    for _ in range(3):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
    assert len(notes(world)) == 1
    world.run()
    assert world.on_main() == {"1", "2"}


def test_a_queued_file_that_its_vendor_deletes_needs_nothing(world: World) -> None:
    world.drop("1", rows=1)
    file = world.drop("2", rows=1)
    world.landing.drop(file.key, file.version_id)
    end_job(world)
    assert (claimed(world), notes(world)) == ([], [])


def test_a_queued_file_that_no_contract_routes_any_more_is_unrouted(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.runner.finish_all()
    world.remove_contract()
    assert gather(world.service) == []
    assert [line.files for line in status(world.service).unrouted] == [(world.key("2"),)]
    assert notes(world) == []


def test_a_file_that_fails_stays_queued(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    world.runner.finish_all()
    with monkeypatch.context() as patch:
        patch.setattr(world.landing, "stage", refuse)
        [failure] = gather(world.service)
    assert str(failure.error) == "not now"
    assert len(notes(world)) == 1
    assert gather(world.service) == []
    world.run()
    assert (world.on_main(), notes(world)) == ({"1", "2"}, [])


def test_a_queued_file_that_fails_each_time_goes_to_the_end_of_the_line(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakegate.workflow.receive.AT_ONCE", 1)
    world.drop("1", rows=1)
    bad = world.drop("2", rows=1)
    world.drop("3", rows=1)
    world.forbid_looking_at(bad)
    end_job(world)
    assert claimed(world) == []
    world.clock.advance(1)
    assert gather(world.service) == []
    assert claimed(world) == [["3"]]
    assert len(notes(world)) == 1


def refuse(*_: object) -> NoReturn:
    raise Retryable("not now")


def test_while_the_runner_cannot_be_asked_a_file_is_queued_and_the_sweep_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(world.service.runner, "open_runs", refuse)
        world.drop("1", rows=1)
        assert claimed(world) == []
        assert [str(error) for error in reconcile(world.service)] == ["not now"]
    assert reconcile(world.service) == []
    assert claimed(world) == [["1"]]


def test_while_notes_cannot_be_read_a_file_is_queued_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(world.store, "names", refuse_below_notes(world))
        world.drop("1", rows=1)
    assert claimed(world) == []
    assert gather(world.service) == []
    assert claimed(world) == [["1"]]


def refuse_below_notes(world: World) -> Callable[[str], list[str]]:
    names = world.store.names
    return lambda prefix: refuse() if prefix == PREFIX else names(prefix)


def test_settling_that_fails_keeps_no_queued_file_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    monkeypatch.setattr(world.service.publisher, "merge", refuse)
    with pytest.raises(Retryable):
        end_job(world)
    assert claimed(world) == [["1"], ["2"]]


def test_a_person_s_retry_starts_at_once_though_its_table_is_busy(world: World) -> None:
    world.drop("1", rows=1, bad="odd")
    batch = end_job(world).batch
    world.drop("2", rows=1)
    [attempt] = retry(world.service, batch).attempts
    assert attempt.branch in {run.branch for run in world.runner.open_runs()}


def test_the_attempt_after_a_crash_starts_though_its_table_is_busy_again(world: World) -> None:
    world.drop("1", rows=1)
    world.kill_jobs("out of memory")
    world.drop("2", rows=1)
    assert claimed(world) == [["1"], ["2"]]  # one that waits for its next try holds no slot
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert [run.branch.rpartition("-")[2] for run in world.runner.open_runs()] == ["a1", "a2"]


def test_an_attempt_that_waits_for_other_files_holds_no_slot(world: World) -> None:
    world.refer_to_planes()
    world.drop("nyc/planes/p", rows=1, absolute=True)
    world.drop("1", rows=1, needs="nyc/planes/p")
    end_job(world, 1)
    [waiting] = [line for line in status(world.service).in_flight if line.table == TABLE]
    assert waiting.waits_for
    world.drop("2", rows=1)
    assert ["2"] in claimed(world)


def test_an_attempt_whose_worker_died_before_its_job_began_counts_until_the_sweep_starts_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = world.drop("1", rows=1, deliver=False)
    with monkeypatch.context() as patch:
        patch.setattr(world.service.runner, "start", refuse)
        with pytest.raises(Retryable):
            world.open_attempt(file)
    world.drop("2", rows=1)
    assert claimed(world) == [["1"]]
    assert reconcile(world.service) == []
    world.run()
    assert world.on_main() == {"1", "2"}


def test_an_attempt_that_cannot_be_started_holds_back_its_table_for_an_hour_at_the_most(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = world.drop("1", rows=1, deliver=False)
    start = world.runner.start

    def started(attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        if broken in world.claims(attempt):
            raise Misconfigured("its job is too large")
        return start(attempt, job_uri, reach, lane)

    monkeypatch.setattr(world.service.runner, "start", started)
    with pytest.raises(Misconfigured):
        world.open_attempt(broken)
    world.drop("2", rows=1)
    assert claimed(world) == [["1"]]
    world.clock.advance(3700)
    assert [str(error) for error in reconcile(world.service)] == ["its job is too large"]
    world.drop("3", rows=1)
    world.run()
    assert world.on_main() == {"2", "3"}


def test_a_strangers_branch_with_a_name_like_ours_holds_back_nothing_for_long(world: World) -> None:
    world.service.branches.create_branch(f"wap-{TABLE}-99999999T9999-0123abcd-a1", world.lake.branches["main"])
    world.drop("1", rows=1)
    assert reconcile(world.service) == []
    assert claimed(world) == [["1"]]


def test_branches_that_are_kept_for_rejected_files_hold_back_nothing(world: World) -> None:
    world.allow_attempts(1)
    world.drop("1", rows=1, bad="odd")
    end_job(world)
    world.drop("2", rows=1)
    world.kill_jobs("out of memory")  # for the last time, so its files are rejected without a report
    world.run()
    assert claimed(world) == [["1"], ["2"]]
    world.drop("3", rows=1)
    assert claimed(world) == [["1"], ["2"], ["3"]]


def test_jobs_of_others_take_slots_too() -> None:
    world = World(jobs_at_once=2)
    world.runner.runs["probe"] = JobRun(id="probe", branch="probe", state=JobState.RUNNING)
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    assert claimed(world) == [["1"]]


def test_status_says_what_a_queued_file_waits_for(world: World) -> None:
    world.drop("1", rows=1)
    world.drop("2", rows=1)
    [line] = [line for line in status(world.service).in_flight if line.state == State.QUEUED]
    assert line.waits == "a job of its table: 1 of 1 under way are its own, and 1 run at a time"


def test_status_says_so_if_it_cannot_know_what_a_queued_file_waits_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.drop("1", rows=1, deliver=False)

    def forbidden() -> Iterable[JobRun]:
        raise Misconfigured("looking for the jobs under way: AccessDenied")

    monkeypatch.setattr(world.service.runner, "open_runs", forbidden)
    [line] = status(world.service).in_flight
    assert line.waits == "looking for the jobs under way: AccessDenied"


def test_many_queued_files_are_noted_by_the_hundred_and_taken_up_in_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued, "FILES_PER_NOTE", 2)
    monkeypatch.setattr("lakegate.workflow.receive.AT_ONCE", 3)
    names = [str(number) for number in range(5)]
    world.drop("first", rows=1)
    for name in names:
        world.drop(name, rows=1, deliver=False)
    world.drop_together(*names)
    assert len(notes(world)) == 3
    end_job(world)
    assert claimed(world) == [["0", "1"]]
    end_job(world)
    assert claimed(world) == [["2", "3", "4"]]
