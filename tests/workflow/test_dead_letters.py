"""The sweep handles dead letters again and deletes those that now are, so that the alarm of a healed fault ends."""

import pytest

from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.ports import DeadLetter
from lakegate.workflow import reconcile as sweep
from lakegate.workflow.reconcile import reconcile
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


def letter(file: FileVersion) -> DeadLetter:
    return DeadLetter(id=f"letter of {file.id}", arrival=(file.key, file.version_id, ""))


def test_the_end_of_a_job_that_settle_failed_on_is_handled_and_its_letter_deleted(world: World) -> None:
    world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run(settle_after=False)
    world.dead_letters.letters = [DeadLetter(id="m1", run=run.id)]
    assert reconcile(world.service) == []
    assert world.dead_letters.letters == []
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_letter_stays_while_its_attempt_cannot_be_settled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise Retryable("Nessie does not answer")

    world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run(settle_after=False)
    world.dead_letters.letters = [DeadLetter(id="m1", run=run.id)]
    with monkeypatch.context() as patch:
        patch.setattr(world.service.publisher, "merge", unreachable)
        assert len(reconcile(world.service)) == 1  # the branch's own step: a letter that stays fails no sweep
    assert [each.id for each in world.dead_letters.letters] == ["m1"]
    assert reconcile(world.service) == []
    assert world.dead_letters.letters == []


def test_the_event_of_a_file_is_handled_though_its_grace_is_not_over(world: World) -> None:
    first, second = (world.drop(f"{n}.parquet", rows=n, deliver=False) for n in (1, 2))
    world.dead_letters.letters = [letter(first), letter(second)]
    assert reconcile(world.service) == []
    assert world.job_runs() == 1
    assert world.dead_letters.letters == []


def test_of_files_those_that_cannot_be_received_keep_their_letters(world: World) -> None:
    good, bad = (world.drop(f"{n}.parquet", rows=n, deliver=False) for n in (1, 2))
    world.forbid_looking_at(bad)
    world.dead_letters.letters = [letter(good), letter(bad)]
    assert reconcile(world.service) == []
    assert world.dead_letters.letters == [letter(bad)]


def test_a_letter_that_is_no_event_or_of_an_unknown_run_waits_for_a_person_and_stops_nothing(world: World) -> None:
    file = world.drop("1.parquet", rows=1, deliver=False)
    strange = [DeadLetter(id="m1"), DeadLetter(id="m2", run="00none")]
    world.dead_letters.letters = [*strange, letter(file)]
    assert reconcile(world.service) == []
    assert world.dead_letters.letters == strange


def test_a_sweep_handles_so_many_ends_of_jobs_and_the_next_one_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "RUNS", 2)
    world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run()
    world.dead_letters.letters = [DeadLetter(id=f"m{number}", run=run.id) for number in range(3)]
    reconcile(world.service)
    assert len(world.dead_letters.letters) == 1
    reconcile(world.service)
    assert world.dead_letters.letters == []


def test_letters_of_what_is_done_already_do_nothing_twice(world: World) -> None:
    file = world.drop("1.parquet", rows=3)
    (run,) = world.runner.open_runs()
    world.run()
    world.dead_letters.letters = [letter(file), DeadLetter(id="m1", run=run.id)]
    assert reconcile(world.service) == []
    assert world.dead_letters.letters == []
    assert (world.publications("1.parquet"), world.job_runs()) == (1, 1)
