"""The points that something is broken at, on in-memory ports."""

from tests.chaos.points import points
from tests.workflow.world import TABLE, World


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
