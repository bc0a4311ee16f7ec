"""The points that something is broken at, on in-memory ports."""

from lakegate.audit.model.lane import Lane
from lakegate.workflow.attempts.reports import End, record_end
from lakegate.workflow.settle import settle
from tests.chaos.points import points
from tests.world.world import TABLE, World


def test_a_file_is_seen_as_far_as_it_is_whatever_was_published_before_it() -> None:
    world = World()
    world.drop("1.parquet", rows=3)
    world.run()
    here = points(world.service, TABLE)
    two = world.drop("2.parquet", rows=4)
    assert here.furthest() == "job started"

    (branch,) = world.branches()
    world.spark_append(branch, two.id, rows=4)
    assert here.furthest() == "rows appended"

    here.until("rows appended")
    world.run(settle_after=False)
    assert here.furthest() == "report written"


def test_a_file_whose_branch_is_gone_is_decided() -> None:
    world = World()
    here = points(world.service, TABLE)
    world.drop("1.parquet", rows=3)
    world.run()
    assert here.furthest() == "decided"


def test_a_file_that_is_handed_over_is_seen_at_each_step_of_it() -> None:
    world = World()
    world.have_express()
    here = points(world.service, TABLE)
    world.drop("1.parquet", rows=3)
    [attempt] = world.attempts()
    assert here.furthest() == "job started"

    world.store.create(f"begun/{attempt.branch}/express.json", b"{}")
    assert here.furthest() == "job taken"

    world.store.create(f"attempts/{attempt.branch}/express.json", b"{}")
    assert here.furthest() == "end told"

    record_end(world.store, attempt, End.HANDED_OVER)
    assert here.furthest() == "handed over"

    world.hand_over()
    settle(world.service, attempt)
    assert here.furthest() == "next job started"
    assert here.lanes(attempt.next()) == (Lane.EXPRESS, Lane.SPARK)


def test_a_job_has_died_if_its_run_has_ended_without_a_report() -> None:
    world = World()
    here = points(world.service, TABLE)
    assert not here.has_died()  # there is none yet

    world.drop("1.parquet", rows=3)
    assert not here.has_died()  # it is under way

    world.kill_jobs("out of memory")
    assert here.has_died()

    world.come_to_rest()
    world.drop("2.parquet", rows=3)
    world.run(settle_after=False)
    assert here.furthest() == "report written"
    assert not here.has_died()
