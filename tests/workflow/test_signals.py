"""Every signal is emitted by the flow that it tells of, and says what has happened."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from handlers import settle as job_ended
from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.ports import Signal
from lakegate.testing.jobs import USAGE
from lakegate.workflow.reconcile import reconcile
from tests.world.world import TABLE, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(job_ended, "service", lambda: world.service)
    return world


def a_good_file(world: World) -> None:
    world.drop("1.parquet", rows=3)
    world.run()


def a_bad_file(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="broken")
    world.run()


def a_job_that_ends(world: World) -> None:
    world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run(settle_after=False)
    job_ended.handler({"detail": {"jobRunId": run.id}}, None)


def a_job_that_crashes(world: World) -> None:
    world.allow_attempts(1)
    world.drop("1.parquet", rows=3)
    world.kill_jobs("killed by signal 9")
    world.run()


def main_that_moves(world: World) -> None:
    merge = world.service.publisher.merge

    def moved(*arguments: object) -> None:
        world.service.publisher.merge = merge  # type: ignore[method-assign]
        world.change_on_main(TABLE)
        merge(*arguments)  # type: ignore[arg-type]

    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    world.service.publisher.merge = moved  # type: ignore[method-assign, assignment]
    world.run()


def a_sweep(world: World) -> None:
    """Of a bucket with a file in flight, a lost event, a file that no contract routes, and one that is published."""
    a_good_file(world)
    world.drop("2.parquet", rows=3)
    world.drop("elsewhere/x.parquet", rows=1, absolute=True)
    world.clock.advance(60)
    world.drop("3.parquet", rows=3, deliver=False)
    world.clock.advance(30)
    reconcile(world.service)


def a_sweep_without_a_catalog(world: World) -> None:
    def unreachable() -> None:
        raise Retryable("Nessie does not answer")

    world.service.branches.list_branches = unreachable  # type: ignore[method-assign, assignment]
    with pytest.raises(Retryable):
        raise reconcile(world.service)[0]


def a_bucket_that_answers_slowly(world: World) -> None:
    listed = world.landing.versions

    def slowly() -> Iterator[FileVersion]:
        for file in listed():
            world.clock.advance(40)
            yield file

    a_good_file(world)
    world.drop("2.parquet", rows=1)
    world.landing.versions = slowly  # type: ignore[method-assign]
    assert reconcile(world.service) == []


def a_channel_that_is_down(world: World) -> None:
    world.notifier_down()
    a_bad_file(world)
    world.clock.advance(600)
    reconcile(world.service)


def a_hand_over(world: World) -> None:
    world.have_express()
    world.drop("1.parquet", rows=3)
    world.hand_over()
    world.run()


FLOWS: list[tuple[Callable[[World], None], Signal, list[float]]] = [
    (a_good_file, Signal.FILES_RECEIVED, [1]),
    (a_good_file, Signal.FILES_PUBLISHED, [1]),
    (a_good_file, Signal.FILES_REJECTED, []),
    (a_bad_file, Signal.FILES_REJECTED, [1]),
    (a_bad_file, Signal.JOBS_FAILED, []),
    (a_job_that_ends, Signal.JOB_SECONDS, [USAGE.seconds]),
    (a_job_that_ends, Signal.VCPU_HOURS, [USAGE.vcpu_hours]),
    (a_job_that_ends, Signal.MEMORY_GB_HOURS, [USAGE.memory_gb_hours]),
    (a_job_that_ends, Signal.STORAGE_GB_HOURS, [USAGE.storage_gb_hours]),
    (a_job_that_crashes, Signal.JOBS_FAILED, [1]),
    (a_hand_over, Signal.FILES_HANDED_OVER, [1]),
    (a_hand_over, Signal.JOBS_FAILED, []),
    (main_that_moves, Signal.PUBLISH_CONFLICTS, [1]),
    (a_good_file, Signal.PUBLISH_CONFLICTS, []),
    (a_sweep, Signal.CATALOG_UNREACHABLE, [0]),
    (a_sweep, Signal.OPEN_BRANCHES, [1]),
    (a_sweep, Signal.UNDECIDED_BATCHES, [1]),
    (a_sweep, Signal.OLDEST_UNDECIDED, [92]),
    (a_sweep, Signal.FILES_QUEUED, [1]),
    (a_sweep, Signal.FILES_UNROUTED, [1]),
    (a_sweep, Signal.VERSIONS_LISTED, [4]),
    (a_sweep, Signal.LISTING_SECONDS, [0]),
    (a_sweep, Signal.OLDEST_MESSAGE, [0]),
    (a_bucket_that_answers_slowly, Signal.LISTING_SECONDS, [80]),
    (a_sweep_without_a_catalog, Signal.CATALOG_UNREACHABLE, [1]),
    (a_channel_that_is_down, Signal.OLDEST_MESSAGE, [600]),
]


def test_every_signal_has_a_flow_that_emits_it() -> None:
    assert {signal for _, signal, values in FLOWS if values} == set(Signal)


@pytest.mark.parametrize(("flow", "signal", "values"), FLOWS)
def test_a_flow_emits_its_signals(
    world: World, flow: Callable[[World], None], signal: Signal, values: list[float]
) -> None:
    flow(world)
    assert world.telemetry.values(signal) == values


def test_a_job_that_crashes_is_told_once_however_long_its_next_attempt_is_put_off(world: World) -> None:
    world.drop("1.parquet", rows=3)
    world.kill_jobs("killed by signal 9")
    for _ in range(3):
        reconcile(world.service)
    assert world.telemetry.values(Signal.JOBS_FAILED) == []
    world.clock.advance(timedelta(hours=1).total_seconds())
    reconcile(world.service)
    reconcile(world.service)
    assert world.telemetry.values(Signal.JOBS_FAILED) == [1]


def test_a_signal_of_files_names_their_table(world: World) -> None:
    a_good_file(world)
    assert {table for signal, _, table in world.telemetry.signals if signal is Signal.FILES_PUBLISHED} == {TABLE}
