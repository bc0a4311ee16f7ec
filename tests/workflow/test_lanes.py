"""Tests of which engine audits an attempt, and what becomes of files that the express lane leaves to Spark."""

from dataclasses import replace

import pytest

from lakegate.audit.model.lane import Lane
from lakegate.contracts import load
from lakegate.landing.attempts import Attempt
from lakegate.landing.ingestion import Engine
from lakegate.landing.lane import NO_LANE, Express, Work, lane_of
from lakegate.ports import JobState
from lakegate.workflow.attempts.reports import End, how_given_up, record_end
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import CONTRACT, World

PLAN = load(CONTRACT.encode(), "flights.yaml").plan
EXPRESS = Express(most_bytes=1000, most_files=2, spark_only=lambda _: "")
ONLY_SPARK = replace(EXPRESS, spark_only=lambda _: "a check of it is Spark's alone")
REASON = "a value that only Spark can compare"


def work(*sizes: int, rewritten: bool = False, handed_over: str = "") -> Work:
    return Work(plan=PLAN, sizes=sizes, rewritten=rewritten, handed_over=handed_over)


@pytest.mark.parametrize(
    ("wanted", "express", "its", "lane", "why"),
    [
        (Engine.AUTO, EXPRESS, work(400, 600), Lane.EXPRESS, "the batch is small: 2 files of 1,000 bytes, and"),
        (
            Engine.AUTO,
            EXPRESS,
            work(400, 601),
            Lane.SPARK,
            "too large for the express lane: 2 files of 1,001 bytes",
        ),
        (Engine.AUTO, EXPRESS, work(1, 1, 1), Lane.SPARK, "the express lane takes up to 2 files of 1,000 bytes"),
        (Engine.EXPRESS, EXPRESS, work(1001, 1, 1), Lane.EXPRESS, "its contract asks for the express lane"),
        (Engine.SPARK, EXPRESS, work(1), Lane.SPARK, "its contract asks for Spark"),
        (Engine.AUTO, None, work(1), Lane.SPARK, NO_LANE),
        (Engine.EXPRESS, None, work(1), Lane.SPARK, NO_LANE),
        (Engine.EXPRESS, ONLY_SPARK, work(1), Lane.SPARK, "a check of it is Spark's alone"),
        (Engine.EXPRESS, EXPRESS, work(1, rewritten=True), Lane.SPARK, "replace rows that somebody has rewritten"),
        (Engine.EXPRESS, EXPRESS, work(1, handed_over="attempt a1 handed"), Lane.SPARK, "attempt a1 handed"),
    ],
)
def test_a_lane_is_chosen_by_the_contract_the_plan_the_files_and_what_was_tried(
    wanted: Engine, express: Express | None, its: Work, lane: Lane, why: str
) -> None:
    chosen, because = lane_of(wanted, express, its)
    assert chosen is lane
    assert why in because


@pytest.fixture
def world() -> World:
    world = World()
    world.have_express()
    return world


def dropped(world: World) -> Attempt:
    """An attempt on the express lane whose job has started."""
    world.drop("1.parquet", rows=3)
    [attempt] = world.attempts()
    return attempt


def test_a_small_file_takes_the_express_lane_and_its_job_may_write_a_hand_over(world: World) -> None:
    attempt = dropped(world)
    [run] = world.runner.open_runs()
    job = world.runner.job(run.id)
    assert run.lane is job.lane is Lane.EXPRESS
    assert job.handover_uri == f"s3://service/handovers/{attempt.branch}.json"
    assert job.handover_uri in world.runner.reaches[run.id].writes
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_job_for_spark_has_nowhere_to_hand_its_files_over(world: World) -> None:
    world.push_contract(engine="spark")
    dropped(world)
    [run] = world.runner.open_runs()
    assert run.lane is Lane.SPARK
    assert world.runner.job(run.id).handover_uri == ""
    assert len(world.runner.reaches[run.id].writes) == 2


def test_files_that_are_handed_over_go_to_spark_at_once_and_nothing_has_crashed(world: World) -> None:
    attempt = dropped(world)
    world.hand_over(REASON)
    settle(world.service, attempt)
    [run] = world.runner.open_runs()  # no time has passed
    job = world.runner.job(run.id)
    assert (job.lane, job.lane_why) == (Lane.SPARK, f"attempt a1 handed its files over: {REASON}")
    assert (job.handed_over, job.consecutive_crashes) == ((1,), ())
    assert how_given_up(world.store, attempt) is End.HANDED_OVER
    assert world.branches() == [attempt.next().branch]
    assert world.rows_on_main() == {}
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.publications_by_name() == {"1.parquet": 1}
    assert world.branches() == []


@pytest.mark.parametrize(("never_began", "cut_off"), [(False, False), (True, False), (False, True)])
def test_an_express_job_that_fails_in_whatever_way_hands_its_files_over(
    world: World, *, never_began: bool, cut_off: bool
) -> None:
    world.allow_attempts(1)
    attempt = dropped(world)
    world.kill_jobs("it took all of its memory", never_began=never_began, cut_off=cut_off)
    settle(world.service, attempt)
    [(_, _), (lane, why)] = world.lanes()
    assert (lane, "the express job failed (run run-0001): it took all of its memory" in why) == (Lane.SPARK, True)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_while_nessie_is_out_of_reach_small_batches_wait_and_are_tried_on_the_express_lane_again(world: World) -> None:
    attempt = dropped(world)
    world.kill_jobs("Nessie does not answer", cut_off=True)
    settle(world.service, attempt)
    [line] = status(world.service).in_flight
    assert line.state.startswith("in a job that read no file; attempt a2 starts after")
    assert line.waits_for == "the express job ended before it read a file (run run-0001): Nessie does not answer"
    assert world.runner.open_runs() == []
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS] * 2
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_an_express_lane_that_reaches_nothing_try_after_try_has_failed_itself(world: World) -> None:
    dropped(world)
    for _ in range(3):
        world.kill_jobs("Nessie does not answer", cut_off=True)
        world.clock.advance(3700)
        assert reconcile(world.service) == []
    [*_, (lane, why)] = world.lanes()
    assert [lane for lane, _ in world.lanes()] == [*[Lane.EXPRESS] * 3, Lane.SPARK]
    assert (lane, "attempt a3 handed its files over" in why) == (Lane.SPARK, True)
    world.kill_jobs("out of memory")
    world.clock.advance(3700)
    assert reconcile(world.service) == []  # of Spark's crashes it is the first
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_an_express_job_that_ends_well_and_leaves_nothing_hands_its_files_over(world: World) -> None:
    attempt = dropped(world)
    [run] = world.runner.open_runs()
    world.runner.runs[run.id] = replace(run, state=JobState.SUCCEEDED, ended_at=world.clock.now())
    settle(world.service, attempt)
    assert "the express job ended without a report" in world.lanes()[-1][1]


def test_spark_s_crashes_after_a_hand_over_are_counted_from_one(world: World) -> None:
    world.allow_attempts(2)
    settle_after(world, dropped(world), world.hand_over)
    for _ in range(2):
        world.kill_jobs("out of memory")
        world.clock.advance(7200)
        assert reconcile(world.service) == []
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS, Lane.SPARK, Lane.SPARK]
    assert "attempts a2 and a3 crashed in a row" in status(world.service).rejected[0].reasons[0]


def settle_after(world: World, attempt: Attempt, ends: object) -> None:
    ends()  # type: ignore[operator]
    settle(world.service, attempt)


def test_files_that_were_handed_over_keep_to_spark_until_a_person_has_them_tried_again(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="odd")
    settle_after(world, world.attempts()[0], world.hand_over)
    world.kill_jobs("out of memory")
    world.clock.advance(7200)
    assert reconcile(world.service) == []
    world.run()
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS, Lane.SPARK, Lane.SPARK, Lane.EXPRESS]


def test_a_report_that_comes_after_its_files_were_handed_over_does_not_count(world: World) -> None:
    attempt = dropped(world)
    [run] = world.runner.open_runs()
    assert record_end(world.store, attempt, End.HANDED_OVER)  # by a worker that died before it did more
    world.runner.finish(run.id)
    settle(world.service, attempt)
    assert world.rows_on_main() == {}
    world.run()
    assert world.publications_by_name() == {"1.parquet": 1}


def test_a_report_that_was_accepted_counts_though_its_files_are_handed_over_then(world: World) -> None:
    attempt = dropped(world)
    world.run(settle_after=False)
    assert record_end(world.store, attempt, End.REPORT)
    world.store.write(f"handovers/{attempt.branch}.json", b'{"reason": "late"}')
    settle(world.service, attempt)
    assert world.rows_on_main() == {"1.parquet": 3}
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS]


def test_a_hand_over_whose_run_nobody_has_heard_the_end_of_is_settled_by_the_sweep(world: World) -> None:
    attempt = dropped(world)
    world.store.write(f"handovers/{attempt.branch}.json", b"{}")  # no reason that can be read
    assert world.runner.open_runs()
    assert reconcile(world.service) == []
    [_, (lane, why)] = world.lanes()
    assert (lane, "no reason that can be read" in why) == (Lane.SPARK, True)


def test_a_job_frozen_for_the_express_lane_is_handed_over_where_that_is_gone(world: World) -> None:
    start = world.runner.start
    world.runner.start = dying  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        world.drop("1.parquet", rows=3)
    world.runner.start = start  # type: ignore[method-assign]
    world.have_no_express()
    for _ in range(2):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
    world.run()
    [(lane, why)] = world.lanes()
    assert (lane, NO_LANE in why) == (Lane.SPARK, True)
    assert world.rows_on_main() == {"1.parquet": 3}


def dying(*_: object) -> str:
    raise KeyboardInterrupt


def test_a_file_that_is_decided_when_its_attempt_is_handed_over_is_left_alone(world: World) -> None:
    one, two = world.drop("1.parquet", rows=3, deliver=False), world.drop("2.parquet", rows=1, deliver=False)
    both, alone = world.open_attempt(one, two), world.open_attempt(one)
    [first, second] = world.runner.open_runs()
    world.runner.finish(second.id)
    settle(world.service, alone)
    world.runner.hand_over(first.id, REASON)
    settle(world.service, both)
    world.run()
    assert [file.key for file in world.runner.job("run-0003").files] == [two.key]
    assert world.publications_by_name() == {"1.parquet": 1, "2.parquet": 1}


def test_a_new_version_of_a_file_takes_the_express_lane_and_replaces_the_old_one(world: World) -> None:
    for name, rows in (("old", 3), ("new", 4)):
        world.drop(name, rows=rows, under="nyc/flights/1.parquet")
        world.run()
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS] * 2
    assert world.rows_on_main() == {"new": 4}


def test_a_new_version_that_is_handed_over_replaces_the_old_one_by_spark(world: World) -> None:
    world.drop("old", rows=3, under="nyc/flights/1.parquet")
    world.run()
    world.drop("new", rows=4, under="nyc/flights/1.parquet")
    world.hand_over()
    for attempt in world.attempts():
        settle(world.service, attempt)
    assert world.rows_on_main() == {"old": 3}
    world.run()
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS, Lane.EXPRESS, Lane.SPARK]
    assert world.rows_on_main() == {"new": 4}


def two_audited_beside_each_other(world: World) -> list[Attempt]:
    """Two attempts, the older first, whose verdicts depend on the table, and whose jobs have ended."""
    world.want_unique_keys()
    world.drop("0", rows=1, holds="key 0")
    world.run()
    attempts = []
    for name in ("1", "2"):
        world.clock.advance(60)
        attempts.append(world.open_attempt(world.drop(name, rows=2, deliver=False, holds=f"key {name}")))
        world.run(settle_after=False)
    return attempts


@pytest.mark.parametrize("has_express", [True, False])
def test_what_is_audited_again_is_appended_again_on_the_express_lane_alone(world: World, *, has_express: bool) -> None:
    attempts = two_audited_beside_each_other(world)
    if not has_express:
        world.have_no_express()
    for attempt in attempts:
        settle(world.service, attempt)
    [again] = world.runner.open_runs()
    world.run()
    assert world.lanes()[-1] == ((Lane.SPARK, NO_LANE) if not has_express else world.lanes()[0])
    assert bool(world.runner.job(again.id).reuses) is not has_express
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 2}


def test_a_batch_that_is_audited_again_after_a_hand_over_keeps_its_turn(world: World) -> None:
    """Its audit before the hand-over says that it is audited again, and newer batches wait for it."""
    older, newer = two_audited_beside_each_other(world)
    world.want_unique_keys(required=True)  # nothing of an audit by the old contract can be taken over
    settle(world.service, older)
    settle_after(world, older.next(), world.hand_over)
    settle(world.service, newer)
    assert world.branches() == [older.next().next().branch, newer.branch]
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 2}
    assert [lane for lane, _ in world.lanes()][3:5] == [Lane.EXPRESS, Lane.SPARK]
