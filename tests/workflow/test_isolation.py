"""Files that end their job: they are found by halves, and take no other file with them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.model.lane import Lane
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import DELETION
from lakegate.ports import JobRun, JobState
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement.backoff import LONGEST
from lakegate.workflow.status import status
from tests.workflow.test_crashes import Crash, Dying
from tests.workflow.test_crashes_of_people import dying_service
from tests.workflow.test_interleavings import NEVER, interleave
from tests.world.world import TABLE, World

Kills = Callable[[frozenset[str]], bool]
NO_KEYS: Mapping[str, str] = {}
NEVER_ENDS = 200


def batch_of(*names: str, express: bool = False, holds: Mapping[str, str] = NO_KEYS) -> World:
    """One batch of these files."""
    world = World()
    if express:
        world.have_express()
    if holds:
        world.want_unique_keys()
    for name in names:
        world.drop(name, rows=2, deliver=False, holds=holds.get(name, ""))
    world.drop_together(*names)
    return world


def names_of(world: World, run: JobRun) -> list[str]:
    return [world.names[file.id] for file in world.runner.job(run.id).files]


def end_jobs(world: World, kills: Kills) -> None:
    """The jobs that are waiting crash if their files end them."""
    for run in world.runner.open_runs():
        if kills(frozenset(names_of(world, run))):
            world.runner.fail(run.id, "out of memory")
        else:
            world.runner.finish(run.id)


def live(world: World, kills: Kills) -> None:
    """Jobs end and sweeps go on, until nothing is in flight."""
    for _ in range(NEVER_ENDS):
        end_jobs(world, kills)
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
        if not status(world.service).in_flight:
            return
    raise AssertionError("something is in flight for ever")


def killed_by(*killers: str) -> Kills:
    return lambda names: not names.isdisjoint(killers)


def tried(world: World) -> list[str]:
    """The files of each job, by the numbers of their attempts."""
    runs = sorted(world.runner.runs.values(), key=lambda run: world.runner.job(run.id).attempt)
    return ["".join(names_of(world, run)) for run in runs]


def test_good_files_are_published_and_the_one_that_ends_the_job_is_rejected_alone() -> None:
    world = batch_of("1", "2", "3")
    live(world, killed_by("2"))
    assert world.rows_on_main() == {"1": 2, "3": 2}
    assert tried(world) == ["123", "123", "12", "3", "1", "2", "2", "2"]
    assert list(world.rejected()) == ["2"]
    [message] = world.messages()
    assert [file.key for file in message.files] == [world.key("2")]


def test_the_reason_says_that_the_file_was_isolated_and_what_to_do() -> None:
    world = batch_of("1", "2")
    live(world, killed_by("2"))
    [line] = status(world.service).rejected
    [reason] = line.reasons
    assert reason == (
        "the Spark job failed (run run-0006): out of memory; this file was isolated: attempts a4, a5 and a6 had it "
        "alone and crashed, after attempts a1 and a2 had crashed with other files beside it. Make the file smaller or "
        f"give jobs more memory, then run: lakegate retry {line.batch}"
    )


@given(
    weights=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=1, max_size=9),
    express=st.booleans(),
    attempts=st.integers(1, 4),
)
def test_whatever_files_end_a_job_alone_or_together_all_others_are_published(
    weights: list[int], *, express: bool, attempts: int
) -> None:
    """A job has memory for a weight of two: a file of three ends each job, and lighter ones may do so together."""
    names = [str(number) for number in range(len(weights))]
    weight, world = dict(zip(names, weights, strict=True)), World()
    world.allow_attempts(attempts)
    if express:
        world.have_express()
    for name in names:
        world.drop(name, rows=2, deliver=False)
    world.drop_together(*names)
    live(world, lambda files: sum(weight[name] for name in files) > 2)
    killers = {name for name in names if weight[name] > 2}
    assert set(world.rejected()) == killers
    assert world.rows_on_main() == dict.fromkeys(set(names) - killers, 2)
    assert {world.publications(name) for name in set(names) - killers} <= {1}
    crashed = [run for run in world.runner.runs.values() if run.state is JobState.FAILED and run.lane is Lane.SPARK]
    assert len(crashed) <= (attempts + 1) * len(names)


def test_one_killer_among_many_costs_two_jobs_for_each_halving() -> None:
    names = [f"{number:02}" for number in range(64)]
    world = batch_of(*names)
    live(world, killed_by("37"))
    assert list(world.rejected()) == ["37"]
    assert len(world.runner.runs) == 2 + 2 * 6 + 2


@pytest.mark.parametrize(("never_began", "cut_off"), [(True, False), (False, True)])
def test_a_job_that_crashes_for_no_files_fault_splits_nothing(*, never_began: bool, cut_off: bool) -> None:
    world = batch_of("1", "2")
    for number in range(6):
        world.kill_jobs("no room", never_began=never_began and number != 3, cut_off=cut_off and number != 3)
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert tried(world) == ["12"] * 7
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2, "2": 2}


def test_a_half_whose_job_does_not_begin_is_tried_again_as_it_is() -> None:
    world = batch_of("1", "2", "3", "4")
    for _ in range(2):
        end_jobs(world, killed_by("4"))
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    for _ in range(3):
        world.kill_jobs("no room", never_began=True)
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert sorted(tried(world)[2:]) == ["12"] * 4 + ["34"] * 4
    live(world, killed_by("4"))
    assert list(world.rejected()) == ["4"]
    assert tried(world)[10:].count("4") == 3
    assert {*tried(world)[10:]} == {"3", "4"}


def test_a_crash_of_another_cause_beside_the_killer_rejects_no_good_file() -> None:
    """Alone, it has its own number of crashes: those with the killer tell nothing about it."""
    world = batch_of("1", "2")
    for _ in range(4):
        end_jobs(world, lambda _: True)
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert world.rejected() == {}
    live(world, killed_by("2"))
    assert (world.rows_on_main(), list(world.rejected())) == ({"1": 2}, ["2"])


def test_what_the_express_lane_could_not_do_is_split_on_sparks_lane() -> None:
    world = batch_of("1", "2", express=True)
    live(world, killed_by("2"))
    assert (world.rows_on_main(), list(world.rejected())) == ({"1": 2}, ["2"])
    assert [lane for lane, _ in world.lanes()] == [Lane.EXPRESS] + [Lane.SPARK] * 6


def test_a_file_that_ends_only_the_express_lanes_process_is_published_by_spark_with_the_others() -> None:
    world = batch_of("1", "2", express=True)
    end_jobs(world, killed_by("2"))
    world.clock.advance(LONGEST.total_seconds())
    assert reconcile(world.service) == []
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2, "2": 2}
    assert tried(world) == ["12", "12"]


@given(killer=st.sampled_from("12345"), same=st.permutations("12345"))
def test_of_a_table_with_unique_keys_each_key_is_published_once(killer: str, same: list[str]) -> None:
    """Three files repeat one key, and are published by different parts of their batch."""
    world = batch_of(*"12345", holds=dict.fromkeys(same[:3], "k"))
    live(world, killed_by(killer))
    published = world.rows_on_main().keys()
    assert killer not in published
    assert len(published & {*same[:3]}) == (1 if {*same[:3]} - {killer} else 0)
    assert published >= {*same[3:]} - {killer}


def test_of_two_halves_that_are_audited_the_one_that_landed_first_is_published_first() -> None:
    world = batch_of("1", "2", "3", "4", holds={"2": "k", "4": "k"})
    for _ in range(2):
        world.kill_jobs("out of memory")
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    early, late = sorted(set(world.attempts()), key=lambda attempt: attempt.number)[-2:]
    world.runner.finish_all()
    settle(world.service, late)
    assert world.rows_on_main() == {}
    settle(world.service, early)
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2, "2": 2, "3": 2}
    assert list(world.rejected()) == ["4"]


def test_a_file_that_is_gone_is_rejected_for_that_and_not_for_a_crash() -> None:
    world = batch_of("1")
    world.drop("2", rows=2, deliver=False)
    world.drop("3", rows=2, deliver=False)
    world.delete_when_staged(world.file("3"))
    world.drop_together("2", "3")
    live(world, killed_by("2"))
    assert world.rows_on_main() == {"1": 2}
    reasons = {name: entry.reasons[0] for name, entry in world.entries().items() if entry and entry.reasons}
    assert reasons["3"] == DELETION
    assert reasons["2"].endswith("attempts a1, a2 and a3 crashed in a row")


def test_status_says_that_a_batch_is_tried_in_parts() -> None:
    world = batch_of("1", "2", "3", "4")
    for _ in range(2):
        world.kill_jobs("out of memory")
        [line] = status(world.service).in_flight
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert "; two attempts, at half of the files each, start after " in line.state
    lines = status(world.service).in_flight
    reason = "attempts a1 and a2 crashed, so the batch is tried in parts, to find the file that ends the job"
    assert sorted((len(line.files), line.reasons) for line in lines) == [(2, (reason,))] * 2


def test_a_killer_that_a_person_has_tried_again_is_published_once_it_gets_through() -> None:
    world = batch_of("1", "2", "3")
    live(world, killed_by("2"))
    [line] = status(world.service).rejected
    used = {world.runner.job(run).attempt for run in world.runner.runs}
    [attempt] = retry(world.service, line.batch).attempts
    assert attempt.number not in used
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2, "2": 2, "3": 2}
    assert (world.branches(), world.rejected()) == ([], {})


def after_second_crash() -> tuple[World, Attempt]:
    """A batch whose second attempt has crashed, and may be followed."""
    world = batch_of("1", "2", "3")
    world.kill_jobs("out of memory")
    world.clock.advance(LONGEST.total_seconds())
    assert reconcile(world.service) == []
    second = max(world.attempts(), key=lambda attempt: attempt.number)
    world.kill_jobs("out of memory")
    world.clock.advance(LONGEST.total_seconds())
    return world, second


def parts(world: World) -> list[list[str]]:
    attempts = sorted((it for it in world.attempts() if it.number > 2), key=lambda attempt: attempt.number)
    return [sorted(world.names[file.id] for file in world.claims(attempt)) for attempt in attempts]


@pytest.mark.parametrize("after", [False, True])
def test_where_a_worker_dies_while_it_splits_the_next_one_makes_the_same_halves(*, after: bool) -> None:
    calls, died = 0, True
    while died:
        world, second = after_second_crash()
        dying = Dying(calls, after=after)
        with suppress(Crash):
            settle(dying_service(world.service, dying), second)
        assert reconcile(world.service) == []
        assert parts(world) == [["1", "2"], ["3"]]
        died, calls = dying.died, calls + 1
    assert calls > 20
    live(world, killed_by("1"))
    assert (world.rows_on_main(), list(world.rejected())) == ({"2": 2, "3": 2}, ["1"])


@pytest.mark.parametrize("stop", range(0, 60, 3))
def test_two_that_split_at_once_make_the_same_halves(stop: int) -> None:
    for other in (stop // 2, NEVER):
        world, second = after_second_crash()
        both = (partial(settle, attempt=second),) * 2
        interleave(world, *both, (stop, other))
        assert reconcile(world.service) == []
        assert parts(world) == [["1", "2"], ["3"]]
        live(world, killed_by("3"))
        assert (world.rows_on_main(), list(world.rejected())) == ({"1": 2, "2": 2}, ["3"])


def test_crashes_with_a_file_that_is_gone_since_do_not_count_against_the_one_that_is_left() -> None:
    world = batch_of("1", "2")
    world.kill_jobs("out of memory")
    world.landing.drop(world.key("2"), world.file("2").version_id)
    world.clock.advance(LONGEST.total_seconds())
    assert reconcile(world.service) == []
    for _ in range(2):
        world.kill_jobs("out of memory")
        world.clock.advance(LONGEST.total_seconds())
        assert reconcile(world.service) == []
    assert tried(world) == ["12", "1", "1", "1"]
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2}


def test_a_file_whose_old_rows_cannot_be_taken_out_takes_no_other_file_with_it() -> None:
    """The table has delete files, and its old rows are in a data file with others."""
    world = World()
    for name in ("1", "2"):
        world.drop(name, rows=2, deliver=False)
    world.drop_together("1", "2")
    world.run()
    world.compact()
    world.delete_rows_on_main(TABLE)
    world.drop("1 anew", rows=5, under=world.key("1"), deliver=False)
    world.drop("3", rows=3, deliver=False)
    world.drop_together("1 anew", "3")
    live(world, killed_by())
    assert world.rows_on_main() == {"1": 2, "2": 2, "3": 3}
    [line] = status(world.service).rejected
    assert line.files == (world.key("1"),)
    assert "delete files" in line.reasons[0]
