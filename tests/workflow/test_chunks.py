"""A batch that cannot get through is tried again in chunks, by the limits that its contract has by then."""

from contextlib import suppress

import pytest

from lakegate.errors import LakegateError
from lakegate.landing.attempts import Attempt
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import UnderWay, discard, retry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement.queue import predecessor
from lakegate.workflow.status import status
from tests.workflow.test_crashes import Crash, Dying
from tests.workflow.test_crashes_of_people import dying_service
from tests.workflow.test_interleavings import interleave, retried
from tests.world.world import World

NAMES = ["1", "2", "3", "4", "5"]
NEVER = 1_000_000


def too_large() -> tuple[World, str]:
    """A batch of five files, whose job a person has cancelled because it did not come to its end."""
    world = World()
    for name in NAMES:
        world.drop(name, rows=2, deliver=False)
    world.drop_together(*NAMES)
    world.cancel_jobs()
    world.run()
    [line] = status(world.service).rejected
    return world, line.batch


def tried(world: World) -> list[list[str]]:
    """Return what the attempts after the first claim, by name."""
    attempts = sorted((it for it in world.attempts() if it.number > 1), key=lambda attempt: attempt.number)
    return [[world.names[file.id] for file in world.claims(attempt)] for attempt in attempts]


def files_of(chunks: list[list[str]]) -> list[str]:
    return sorted(name for chunk in chunks for name in chunk)


def test_a_retry_cuts_the_files_by_the_limits_of_now() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=2)
    assert [attempt.number for attempt in retry(world.service, batch).attempts] == [2, 3, 4]
    assert tried(world) == [["1", "2"], ["3", "4"], ["5"]]
    world.run()
    assert world.rows_on_main() == dict.fromkeys(NAMES, 2)
    assert (world.branches(), world.rejected()) == ([], {})


def test_a_batch_within_the_limits_is_one_attempt() -> None:
    world, batch = too_large()
    assert [attempt.number for attempt in retry(world.service, batch).attempts] == [2]
    assert tried(world) == [NAMES]


def test_a_chunk_that_is_still_appending_keeps_no_newer_batch_waiting() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=3)
    one, two = retry(world.service, batch).attempts
    world.runner.finish(next(run.id for run in world.runner.open_runs() if run.branch == one.branch))
    settle(world.service, one)
    assert world.rows_on_main() == {"1": 2, "2": 2, "3": 2}
    world.clock.advance(60)
    newer = world.open_attempt(world.drop("6", rows=1, deliver=False))
    assert predecessor(world.service, newer) is None
    assert two in world.attempts()


def test_a_chunk_whose_job_is_cancelled_is_rejected_alone_and_cut_again_by_the_next_retry() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=3)
    one, two = retry(world.service, batch).attempts
    [run] = [run for run in world.runner.open_runs() if run.branch == one.branch]
    world.runner.cancel(run.id)
    world.run()
    assert world.rows_on_main() == {"4": 2, "5": 2}
    world.push_contract(batchFiles=1)
    assert [attempt.number for attempt in retry(world.service, batch).attempts] == [4, 5, 6]
    world.run()
    assert world.rows_on_main() == dict.fromkeys(NAMES, 2)
    assert (two.number, world.branches()) == (3, [])


def test_a_chunk_is_tried_again_by_a_number_that_no_other_has() -> None:
    world, batch = too_large()
    world.allow_attempts(3)
    world.push_contract(batchFiles=3)
    one, _ = retry(world.service, batch).attempts
    [run] = [run for run in world.runner.open_runs() if run.branch == one.branch]
    world.runner.fail(run.id, "out of memory")
    world.wait_out_the_grace()
    settle(world.service, one)
    assert [attempt.number for attempt in world.attempts() if attempt.number > 2] == [3, 4]
    world.run()
    assert world.rows_on_main() == dict.fromkeys(NAMES, 2)
    assert world.branches() == []


def test_done_again_while_all_chunks_are_worked_on_it_says_so() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=2)
    retry(world.service, batch)
    with pytest.raises(UnderWay, match=f"lakegate wait {batch}"):
        retry(world.service, batch)
    assert files_of(tried(world)) == NAMES


@pytest.mark.parametrize("after", [False, True])
def test_where_the_command_dies_the_same_command_goes_on_with_what_is_left(*, after: bool) -> None:
    calls, died = 0, True
    while died:
        world, batch = too_large()
        world.push_contract(batchFiles=2)
        dying = Dying(calls, after=after)
        with suppress(Crash):
            retry(dying_service(world.service, dying), batch)
        with suppress(UnderWay):
            retry(world.service, batch)
        assert files_of(tried(world)) == NAMES
        assert reconcile(world.service) == []
        world.run()
        assert world.rows_on_main() == dict.fromkeys(NAMES, 2)
        assert world.branches() == []
        died, calls = dying.died, calls + 1
    assert calls > 30


@pytest.mark.parametrize("limits", [(2, 3), (5, 1)])
@pytest.mark.parametrize("stop", [4, 9, 25, NEVER])
def test_two_who_do_it_at_once_by_whatever_limits_give_no_file_to_two_attempts(
    limits: tuple[int, int], stop: int
) -> None:
    for other_stop in (*range(0, 60, 5), NEVER):
        world, batch = too_large()
        world.push_contract(batchFiles=limits[0])

        def by_another_contract(service: Service, world: World = world, batch: str = batch) -> None:
            world.push_contract(batchFiles=limits[1])
            retry(service, batch)

        interleave(world, retried(batch), by_another_contract, (other_stop, stop))
        assert files_of(tried(world)) == NAMES
        world.run()
        assert world.rows_on_main() == dict.fromkeys(NAMES, 2)
        assert world.branches() == []


def test_files_that_were_rejected_without_an_attempt_are_cut_as_well() -> None:
    world = World()
    for name in ("0", "1", "2"):
        world.drop(name, rows=1)
    world.run()
    world.push_contract(reuploads="reject")
    for name in ("0", "1", "2"):
        world.drop(f"{name}b", rows=5, deliver=False, under=world.key(name))
    world.drop_together("0b", "1b", "2b")
    [line] = status(world.service).rejected
    world.push_contract(batchFiles=2)
    assert [attempt.number for attempt in retry(world.service, line.batch).attempts] == [1, 2]
    world.run()
    assert world.rows_on_main() == {"0b": 5, "1b": 5, "2b": 5}


def test_while_a_chunk_is_worked_on_the_rest_is_not_given_up() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=2)
    with suppress(Crash):
        retry(dying_service(world.service, Dying(25, after=True)), batch)
    assert len(files_of(tried(world))) < len(NAMES)
    with pytest.raises(LakegateError, match="is already in progress"):
        discard(world.service, batch, reason="not wanted", by="ann")


def first_attempt(world: World, batch: str) -> Attempt:
    return next(it for it in world.attempts() if (it.batch, it.number) == (batch, 1))


def test_the_branch_of_the_first_attempt_stays_until_its_last_chunk_is_decided() -> None:
    world, batch = too_large()
    world.push_contract(batchFiles=3)
    first = first_attempt(world, batch)
    one, two = retry(world.service, batch).attempts
    world.run(settle_after=False)
    settle(world.service, two)
    assert world.branches() == [first.branch, one.branch]
    settle(world.service, one)
    world.run()
    assert world.branches() == []
