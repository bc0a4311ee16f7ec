"""The storage that an attempt's job is given: its own objects, its tables, and those that its foreign keys name."""

from dataclasses import replace

from lakegate.landing.attempts import Attempt
from lakegate.ports import Reach
from lakegate.workflow.attempts.job import reach_of
from lakegate.workflow.settle import settle
from tests.world.installation import PLANES
from tests.world.world import TABLE, World

QUARANTINE = "_quarantine.nyc_flights"


def reach(world: World, attempt: Attempt) -> Reach:
    [run] = [run for run in world.runner.runs.values() if run.branch == attempt.branch]
    return world.runner.reaches[run.id]


def test_a_job_reaches_its_own_objects_and_a_table_that_is_not_there_yet() -> None:
    world = World()
    world.drop("1", rows=1)
    [attempt] = world.attempts()
    branch = attempt.branch
    assert reach(world, attempt) == Reach(
        reads=(f"s3://service/attempts/{branch}/job.json", f"s3://service/staging/{branch}/"),
        writes=(f"s3://service/begun/{branch}", f"s3://service/reports/{branch}.json"),
        tables={TABLE: "", QUARANTINE: ""},
    )


def test_a_job_reaches_its_table_where_it_is_on_main() -> None:
    world = World()
    world.drop("1", rows=1)
    world.run()
    world.drop("2", rows=1)
    [attempt] = world.attempts()
    assert reach(world, attempt).tables == {TABLE: f"s3://lake/{TABLE}", QUARANTINE: ""}


def test_a_job_that_notes_what_it_finds_writes_to_the_audits_table_too() -> None:
    world = World()
    world.service = replace(world.service, notes_audits=True)
    world.drop("1", rows=1)
    [attempt] = world.attempts()
    assert reach(world, attempt).tables == {TABLE: "", QUARANTINE: "", "_audits.nyc_flights": ""}


def test_a_job_reads_the_tables_of_its_foreign_keys_and_writes_to_none_of_them() -> None:
    world = World()
    world.refer_to_planes()
    world.drop("nyc/planes/p", rows=3, absolute=True)
    world.run()
    world.drop("1", rows=2, needs="nyc/planes/p")
    [attempt] = world.attempts()
    assert reach(world, attempt).references == {PLANES: f"s3://lake/{PLANES}"}
    assert PLANES not in reach(world, attempt).tables


def test_a_job_that_reuses_data_files_reads_their_report_and_no_staged_file() -> None:
    world = World()
    world.want_unique_keys()
    for name in ("0", "1", "2"):
        world.clock.advance(60)
        world.drop(name, rows=1, deliver=False, holds=f"key {name}")
        world.open_attempt(world.file(name))
        world.run(settle_after=name == "0")
    first, second = world.attempts()
    settle(world.service, first)
    settle(world.service, second)
    assert reach(world, second.next()).reads == (
        f"s3://service/attempts/{second.next().branch}/job.json",
        f"s3://service/reports/{second.branch}.json",
    )


def test_a_second_launch_asks_for_what_the_first_did_whatever_has_happened_to_the_table() -> None:
    """EMR Serverless refuses a token that comes again with other words."""
    world = World()
    world.drop("1", rows=1)
    [attempt] = world.attempts()
    [run] = world.runner.open_runs()
    world.run()
    assert world.rows_on_main() == {"1": 1}
    assert reach_of(world.service, attempt, world.runner.job(run.id)) == world.runner.reaches[run.id]
