"""Files wait for company: the first small one of a quiet table not at all, and none longer than the window."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Plan
from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.landing.lane import Express
from lakegate.landing.lifecycle import State
from lakegate.ports import Branch, JobRun, JobState
from lakegate.workflow.receive import gather, receive
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.status import status
from tests.workflow.gathering import claimed, end_job, notes
from tests.world.installation import PLANES
from tests.world.world import World

WINDOW = 20  # seconds


@pytest.fixture
def world() -> World:
    """Two Spark jobs run at a time, beside the express lane."""
    world = World(jobs_at_once=2)
    world.have_express()
    world.wait_for_company(WINDOW)
    return world


def for_spark(world: World) -> World:
    world.push_contract(engine="spark")
    return world


def lanes(world: World) -> list[Lane]:
    return [lane for lane, _ in world.lanes()]


def test_the_first_small_file_of_a_quiet_table_starts_in_the_reception_of_its_event(world: World) -> None:
    world.drop("1", rows=1)
    assert claimed(world) == [["1"]]
    assert lanes(world) == [Lane.EXPRESS]
    assert (notes(world), world.reminders.reminders) == ([], [])


def test_a_hundred_small_files_at_once_are_one_attempt_of_one_file_and_one_of_the_rest(world: World) -> None:
    names = [str(number) for number in range(100)]
    for name in names:
        world.drop(name, rows=1, body=name.encode())
        world.clock.advance(-1)  # they land in one second
    assert claimed(world) == [["0"]]
    end_job(world)  # long before any window is over
    assert len(claimed(world)[0]) == 99
    end_job(world)
    assert (len(world.on_main()), world.job_runs(), notes(world)) == (100, 2, [])


@pytest.mark.parametrize(("files", "lane", "jobs"), [(6, Lane.EXPRESS, 3), (7, Lane.SPARK, 1)])
def test_more_small_files_at_once_than_an_express_batch_has_are_as_many_batches_as_may_run_at_a_time(
    world: World, files: int, lane: Lane, jobs: int
) -> None:
    express = world.service.express
    assert express
    world.service = replace(world.service, express=replace(express, most_files=2, at_once=3))
    for number in range(files):
        world.drop(str(number), rows=1, deliver=False)
    world.drop_together(*map(str, range(files)))
    world.pass_time(WINDOW)
    assert lanes(world) == [lane] * jobs
    world.run()
    assert len(world.on_main()) == files


def test_batches_of_small_files_that_are_for_spark_open_no_more_jobs_than_spark_has() -> None:
    """Each of them has few enough files for the express lane, in smaller batches."""
    world = World(jobs_at_once=1)
    world.have_express()
    express = world.service.express
    assert express
    world.service = replace(world.service, express=replace(express, most_files=2, at_once=3))
    world.push_contract(batchFiles=4)
    for number in range(9):
        world.drop(str(number), rows=1, deliver=False)
    world.drop_together(*map(str, range(9)))
    assert (lanes(world), [len(names) for names in claimed(world)]) == ([Lane.SPARK], [4])
    world.come_to_rest()
    assert len(world.on_main()) == 9


def test_two_hundred_files_for_spark_at_once_are_one_job_once_the_window_is_over(world: World) -> None:
    for_spark(world)
    for number in range(200):
        world.drop(str(number), rows=1)
        world.clock.advance(-1)
    world.pass_time(WINDOW)
    assert claimed(world) == []
    world.pass_time(1)
    assert len(claimed(world)[0]) == 200
    world.run()
    assert (len(world.on_main()), world.job_runs(), notes(world)) == (200, 1, [])


def test_a_file_too_large_for_the_express_lane_waits_for_company_as_one_whose_contract_wants_spark(
    world: World,
) -> None:
    world.have_express(most_bytes=10)
    world.drop("1", rows=1, body=b"more than ten bytes")
    assert claimed(world) == []
    world.drop("2", rows=1, body=b"small")  # which goes along, and does not overtake
    assert claimed(world) == []
    world.pass_time(WINDOW)
    assert (claimed(world), lanes(world)) == ([["1", "2"]], [Lane.SPARK])


def test_an_upload_that_took_long_waits_for_company_from_the_moment_in_which_its_event_comes(world: World) -> None:
    for_spark(world)
    file = world.drop("1", rows=1, deliver=False)
    world.clock.advance(3600)
    world.deliver(file)
    assert claimed(world) == []
    world.pass_time(WINDOW)
    assert claimed(world) == [["1"]]


def test_a_file_whose_event_was_lost_waits_for_no_company(world: World) -> None:
    for_spark(world)
    world.drop("1", rows=1, deliver=False)
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert claimed(world) == [["1"]]


def test_what_waits_for_company_is_not_read_again_and_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for_spark(world)
    world.drop("1", rows=1)
    looked_at = list[str]()
    look = world.landing.describe

    def noting(key: str, version: str) -> FileVersion | None:
        looked_at.append(key)
        return look(key, version)

    monkeypatch.setattr(world.landing, "describe", noting)
    for name in ("2", "3"):
        world.drop(name, rows=1)
    assert gather(world.service) == []
    assert looked_at == [world.key("2"), world.key("3")]


def test_a_full_batch_for_spark_waits_for_no_company(world: World) -> None:
    world.push_contract(engine="spark", batchFiles=2)
    names = ("1", "2", "3")
    for name in names:
        world.drop(name, rows=1, deliver=False)
    world.drop_together(*names)
    assert claimed(world) == [["1", "2"]]


def test_what_lands_while_an_attempt_is_under_way_follows_it_at_once(world: World) -> None:
    for name in ("1", "2", "3"):
        world.drop(name, rows=1)
    assert claimed(world) == [["1"]]
    end_job(world)
    assert claimed(world) == [["2", "3"]]


def test_no_small_file_waits_behind_spark_for_longer_than_the_window(world: World) -> None:
    for_spark(world)
    world.drop("large", rows=1)
    world.pass_time(WINDOW)
    world.push_contract(engine="auto")
    world.drop("1", rows=1)
    world.pass_time(WINDOW // 2)
    world.drop("2", rows=1)
    assert claimed(world) == [["large"]]
    world.pass_time(WINDOW // 2)
    assert (claimed(world), lanes(world)) == ([["1", "2"], ["large"]], [Lane.SPARK, Lane.EXPRESS])


def test_a_reminder_that_is_lost_leaves_the_files_to_the_sweep(world: World) -> None:
    for_spark(world)
    world.drop("1", rows=1)
    world.clock.advance(WINDOW)
    assert reconcile(world.service) == []
    assert claimed(world) == [["1"]]


def test_the_sweep_leaves_files_that_still_wait_for_company(world: World) -> None:
    for_spark(world)
    world.drop("1", rows=1)
    assert reconcile(world.service) == []
    assert claimed(world) == []


def test_a_reminder_that_cannot_be_sent_fails_no_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Retryable("the queue does not answer")

    for_spark(world)
    monkeypatch.setattr(world.reminders, "remind", refuse)
    world.drop("1", rows=1)
    assert len(notes(world)) == 1


def test_a_window_that_is_over_while_no_slot_is_free_brings_no_more_reminders(world: World) -> None:
    for_spark(world)
    for name in ("1", "2", "3"):
        world.drop(name, rows=1)
        world.pass_time(WINDOW)
    assert claimed(world) == [["1"], ["2"]]
    world.pass_time(WINDOW)
    assert (len(notes(world)), world.reminders.reminders) == (1, [])
    end_job(world)
    assert ["3"] in claimed(world)


def test_a_late_reminder_of_a_table_without_queued_files_takes_no_slot(world: World) -> None:
    world.refer_to_planes()
    world.have_no_express()
    world.drop("1", rows=1)
    world.pass_time(WINDOW)
    file = world.drop("2", rows=1)
    world.clock.advance(WINDOW)
    assert receive(world.service, [], ["nyc/planes/gone", file.key]) == []
    assert claimed(world) == [["1"], ["2"]]


def test_a_table_of_whose_plan_no_lane_can_be_told_fails_alone(world: World) -> None:
    def spark_only(plan: Plan) -> str:
        if plan.table != PLANES:
            raise KeyError("a kind that is new")
        return ""

    world.refer_to_planes()
    world.service = replace(world.service, express=Express(most_bytes=10_000, spark_only=spark_only))
    files = [world.drop("1", rows=1, deliver=False), world.drop("nyc/planes/p", rows=1, absolute=True, deliver=False)]
    with pytest.raises(KeyError, match="a kind that is new"):
        world.deliver(*files)
    assert ["nyc/planes/p"] in claimed(world)


def test_jobs_of_the_express_lane_take_no_slot_of_spark_s(world: World) -> None:
    for number in range(9):
        name = f"express-{number}"
        world.runner.runs[name] = JobRun(id=name, branch=name, state=JobState.RUNNING, lane=Lane.EXPRESS)
    for_spark(world)
    for name in ("1", "2", "3"):
        world.drop(name, rows=1)
        world.pass_time(WINDOW)
    assert claimed(world) == [["1"], ["2"]]


def test_files_landing_all_the_time_are_taken_up_together_each_window(world: World) -> None:
    for_spark(world)
    for number in range(3 * WINDOW):
        world.drop(str(number), rows=1)
        world.clock.advance(-1)
        world.pass_time(1)
    assert [len(names) for names in claimed(world)] == [WINDOW + 1, WINDOW + 1]  # as many as there are slots
    end_job(world)
    assert sum(len(names) for names in claimed(world)) > WINDOW


def test_files_that_were_queued_while_their_table_was_busy_wait_on_for_company_if_spark_takes_them(
    world: World,
) -> None:
    world.have_express(most_bytes=3)
    for name, size in (("1", 2), ("2", 4), ("3", 4)):
        world.drop(name, rows=1, body=name.encode() * size)
    end_job(world)
    assert claimed(world) == []  # they are too large
    assert len(notes(world)) == 2
    world.pass_time(WINDOW)
    assert (claimed(world), lanes(world)) == ([["2", "3"]], [Lane.EXPRESS, Lane.SPARK])


@pytest.mark.parametrize("engine", ["auto", "spark"])
def test_status_says_what_a_file_waits_for_and_until_when(world: World, engine: str) -> None:
    world.push_contract(engine=engine)
    for name in ("1", "2"):
        world.drop(name, rows=1)
        world.clock.advance(3)  # it counts when they are heard of
    line = next(line for line in status(world.service).in_flight if line.state == State.QUEUED)
    [branch] = world.branches() or [""]
    waits = f"the attempt of {branch}, which is under way" if branch else "company, because their batch goes to Spark"
    heard = world.file("2" if branch else "1").landed_at
    until = heard + timedelta(seconds=WINDOW)
    assert line.waits == f"{waits} (until {until:%Y-%m-%d %H:%M:%S} UTC at the latest)"


def test_a_file_that_starts_while_somebody_looks_is_between_no_two_lists(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = world.drop("1", rows=1, deliver=False)
    listed = world.service.branches.list_branches

    def starts_after(*_: object) -> list[Branch]:
        before = listed()
        monkeypatch.undo()
        world.deliver(file)
        world.run()
        return before

    monkeypatch.setattr(world.service.branches, "list_branches", starts_after)
    now = status(world.service)
    assert [line.files for line in (*now.in_flight, *now.published)] == [(file.key,)]
