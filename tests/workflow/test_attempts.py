"""Jobs that crash: another attempt after a while, an end to that, and nothing by a job that was given up."""

from datetime import UTC, datetime

import pytest

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import CUT_OFF
from lakegate.errors import Conflict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import JobState, MessageKind
from lakegate.workflow import settle as settling
from lakegate.workflow.attempts.reports import End, begun_name, how_given_up, record_end
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement.backoff import LONGEST, Crash
from lakegate.workflow.settlement.facts import AttemptEnd
from lakegate.workflow.status import status
from tests.world.stories import Story
from tests.world.world import CONTRACT, World


@pytest.fixture
def world() -> World:
    return World()


def dropped(world: World, name: str = "1") -> Attempt:
    """The attempt at a new file."""
    before = set(world.attempts())
    world.drop(name, rows=3)
    [attempt] = set(world.attempts()) - before
    return attempt


def crash(world: World, reason: str = "out of memory", *, never_began: bool = False, cut_off: bool = False) -> None:
    """The waiting jobs crash, and that is settled as their events come."""
    attempts = world.attempts()
    world.kill_jobs(reason, never_began=never_began, cut_off=cut_off)
    for attempt in attempts:
        settle(world.service, attempt)


def wait(world: World, seconds: float) -> None:
    world.clock.advance(seconds)
    assert reconcile(world.service) == []


def crash_until_rejected(world: World) -> None:
    for _ in range(world.service.attempts):
        crash(world)
        wait(world, LONGEST.total_seconds())


def test_a_job_that_crashed_is_tried_again_on_a_new_branch_and_published(world: World) -> None:
    first = dropped(world)
    crash(world)
    wait(world, world.service.grace.total_seconds())
    assert world.branches() == [first.next().branch]
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert (world.messages(), world.branches()) == ([], [])


def test_the_next_attempt_waits_and_status_says_until_when(world: World) -> None:
    first = dropped(world)
    crash(world)
    wait(world, world.service.grace.total_seconds() - 1)
    assert world.branches() == [first.branch]
    [line] = status(world.service).in_flight
    assert line.state == "in a job that failed; attempt a2 starts after 2013-01-01 00:02:01 UTC"
    assert "out of memory" in line.waits_for
    assert line.waits_until == datetime(2013, 1, 1, 0, 2, 1, tzinfo=UTC)
    wait(world, 1)
    [line] = status(world.service).in_flight
    assert (line.attempt, line.state) == (2, "waiting for a job")
    world.store.write(begun_name(first.next()), b"")
    assert status(world.service).in_flight[0].state == "appending and auditing"


def test_every_wait_is_twice_the_one_before_up_to_the_longest(world: World) -> None:
    dropped(world)
    crash(world)
    [run] = world.runner.runs.values()
    shortest, now = world.service.grace, world.clock.now()
    crashes = [
        Crash(run=run, began=True, attempts=tuple(range(1, number + 1)), tries=number, shortest=shortest, limit=9)
        for number in range(1, 9)
    ]
    waits = [each.due - now for each in crashes]
    assert waits[:5] == [shortest * 2**number for number in range(5)]
    assert waits[5:] == [LONGEST] * 3


def test_the_wait_counts_from_when_the_run_ended(world: World) -> None:
    first = dropped(world)
    world.kill_jobs("out of memory")
    world.clock.advance(world.service.grace.total_seconds())
    settle(world.service, first)
    assert world.branches() == [first.next().branch]


def test_after_the_last_attempt_the_batch_is_rejected_and_the_reason_names_them(world: World) -> None:
    first = dropped(world)
    crash_until_rejected(world)
    assert world.rejected() == {
        "1": ("the Spark job failed (run run-0003): out of memory; attempts a1, a2 and a3 crashed in a row",)
    }
    assert world.branches() == [first.next().next().branch]
    assert (world.job_runs(), len(world.messages())) == (3, 1)
    wait(world, 10 * LONGEST.total_seconds())
    assert (world.job_runs(), len(world.messages())) == (3, 1)


def test_jobs_whose_turn_never_came_have_not_crashed(world: World) -> None:
    dropped(world)
    crash(world)
    for _ in range(world.service.attempts + 1):
        wait(world, LONGEST.total_seconds())
        crash(world, "no room", never_began=True)
    assert world.rejected() == {}
    wait(world, LONGEST.total_seconds())
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert ({message.kind for message in world.messages()}, world.branches()) == ({MessageKind.DELAY}, [])


def test_crashes_before_and_after_a_wait_in_vain_are_in_a_row(world: World) -> None:
    dropped(world)
    for never_began in (False, True, False, False):
        crash(world, never_began=never_began)
        wait(world, LONGEST.total_seconds())
    assert world.rejected()["1"][0].endswith("attempts a1, a3 and a4 crashed in a row")


def test_a_file_that_another_worker_rejects_before_its_next_attempt_is_claimed_stays_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dropped(world)

    def rejected_meanwhile(service: Service, attempt: Attempt, files: list[FileVersion]) -> Attempt:
        world.reject_behind_the_back(first, tuple(files))
        return start_attempt(service, attempt, files)

    with monkeypatch.context() as patch:
        patch.setattr(settling, "start_attempt", rejected_meanwhile)
        crash(world)
        wait(world, LONGEST.total_seconds())
    world.come_to_rest()
    assert (world.attempts(), world.rows_on_main()) == ([first], {})


def test_one_that_never_began_rejects_nothing_though_as_many_crashed_as_may(world: World) -> None:
    dropped(world)
    for _ in range(world.service.attempts - 1):
        crash(world)
        wait(world, LONGEST.total_seconds())
    world.allow_attempts(world.service.attempts - 1)
    crash(world, "no room", never_began=True)
    assert world.rejected() == {}
    wait(world, LONGEST.total_seconds())
    world.run()
    assert world.rows_on_main() == {"1": 3}


def test_an_attempt_that_another_replaced_before_it_began_has_not_crashed(world: World) -> None:
    """A sweep deleted its branch because a later attempt had claimed its file, so no note says how it ended."""
    first = dropped(world)
    start_attempt(world.service, first.next(), [world.file("1")])
    crash(world, "no room", never_began=True)
    wait(world, LONGEST.total_seconds())
    assert how_given_up(world.service.store, first) is None
    for _ in range(world.service.attempts - 1):
        crash(world)
        wait(world, LONGEST.total_seconds())
    assert world.rejected() == {}
    world.run()
    assert world.rows_on_main() == {"1": 3}


def test_attempts_that_never_begin_are_further_and_further_apart_and_status_says_why(world: World) -> None:
    dropped(world)
    crash(world, "no room", never_began=True)
    [line] = status(world.service).in_flight
    assert line.state == "in a job that read no file; attempt a2 starts after 2013-01-01 00:02:01 UTC"
    assert line.reasons == ("no room",)
    wait(world, world.service.grace.total_seconds())
    crash(world, "no room", never_began=True)
    wait(world, 2 * world.service.grace.total_seconds() - 1)
    assert world.job_runs() == 2
    wait(world, 1)
    assert world.job_runs() == 3


def test_however_many_never_began_the_next_is_due_within_the_longest_wait(world: World) -> None:
    dropped(world)
    crash(world, never_began=True)
    [run] = world.runner.runs.values()
    many = Crash(run=run, began=False, attempts=(), tries=100_000, shortest=world.service.grace, limit=3)
    assert many.due == world.clock.now() + LONGEST


def test_files_on_which_no_job_begins_for_an_hour_are_told_of_once_a_day_for_their_table(world: World) -> None:
    dropped(world)
    dropped(world, "2")
    crash(world, "no room", never_began=True)
    assert world.messages() == []
    for _ in range(24):
        wait(world, LONGEST.total_seconds())
        crash(world, "no room", never_began=True)
    first, second = world.messages()
    assert (first.kind, first.table, len(first.files)) == (MessageKind.DELAY, "nyc.flights", 1)
    assert first.why.startswith("No file is lost")
    assert first.why.endswith("The last attempt: the Spark job ended before it read a file (run run-0001): no room")
    assert first.commands == ("lakegate status", f"lakegate show {first.batch}")
    assert second.kind is MessageKind.DELAY
    wait(world, LONGEST.total_seconds())
    world.run()
    assert world.rows_on_main() == {"1": 3, "2": 3}


def test_one_that_begins_after_it_was_given_up_for_never_having_begun_rejects_nothing(world: World) -> None:
    first = dropped(world)
    for _ in range(world.service.attempts - 1):
        crash(world)
        wait(world, LONGEST.total_seconds())
    last = first.next().next()
    world.kill_jobs("no room", never_began=True)
    assert record_end(world.service.store, last, End.NEVER_BEGAN)  # a worker is about to open the next attempt
    world.store.write(begun_name(last), b"")
    settle(world.service, last)
    assert world.rejected() == {}
    wait(world, LONGEST.total_seconds())
    world.run()
    assert world.rows_on_main() == {"1": 3}


def test_jobs_that_were_cut_off_from_their_files_reject_nothing(world: World) -> None:
    dropped(world)
    for _ in range(world.service.attempts + 1):
        crash(world, "Nessie does not answer", cut_off=True)
        wait(world, LONGEST.total_seconds())
    assert world.rejected() == {}
    world.run()
    assert world.rows_on_main() == {"1": 3}


def test_one_that_is_cut_off_after_it_was_given_up_has_crashed(world: World) -> None:
    first = dropped(world)
    world.kill_jobs("it took longer than it may")
    assert record_end(world.service.store, first, End.GIVEN_UP)
    world.store.write(begun_name(first), CUT_OFF)
    assert status(world.service).in_flight[0].state.startswith("in a job that failed; attempt a2 starts")
    for _ in range(world.service.attempts):
        wait(world, LONGEST.total_seconds())
        crash(world)
    assert world.rejected()["1"][0].endswith("attempts a1, a2 and a3 crashed in a row")


def test_one_that_waited_and_was_given_up_is_followed_by_another(world: World) -> None:
    first = dropped(world)
    world.kill_jobs("no room", never_began=True)
    assert record_end(world.service.store, first, End.GIVEN_UP)
    wait(world, LONGEST.total_seconds())
    world.run()
    assert world.rows_on_main() == {"1": 3}


def test_a_file_beyond_its_contracts_limit_is_not_copied_first(world: World) -> None:
    limit = "    customProperties: [{property: maxBytes, vendor: lakegate, value: 100}]"
    world.push_text(CONTRACT.replace("    format: parquet", f"    format: parquet\n{limit}"))
    world.drop("1", rows=3, body=b"x" * 101)
    world.drop("2", rows=4)
    staged = [file.key for run in world.runner.open_runs() for file in world.runner.job(run.id).files]
    assert staged == [world.key("2")]
    world.run()
    [said] = world.rejected()["1"]
    assert said.startswith(
        "it has 101 bytes, and the limit is 100. Ask the vendor to send it as several smaller files."
    )
    assert said.endswith("{property: maxBytes, vendor: lakegate, value: 101}")
    assert world.rows_on_main() == {"2": 4}


def test_a_retry_by_a_person_starts_the_count_anew(world: World) -> None:
    dropped(world)
    crash_until_rejected(world)
    [line] = status(world.service).rejected
    assert retry(world.service, line.batch).attempts[0].number == 4
    crash(world)
    wait(world, world.service.grace.total_seconds())
    [attempt] = [attempt for attempt in world.attempts() if attempt.number > 4]
    assert attempt.number == 5
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert world.branches() == []


def test_an_audit_between_two_crashes_starts_the_count_anew(world: World) -> None:
    """The table is another's by the time that the second attempt is audited, so that a third one appends anew."""
    first, other = dropped(world), dropped(world, "2")
    second = first.next()
    world.runner.fail(world.runner.find(first.branch).id, "killed")  # type: ignore[union-attr]
    wait(world, world.service.grace.total_seconds())
    world.run(settle_after=False)
    settle(world.service, other)
    settle(world.service, second)
    crash(world)
    [line] = status(world.service).in_flight
    assert (line.attempt, line.state[:33]) == (3, "in a job that failed; attempt a4 ")
    assert "a1" not in line.state
    crash_until_rejected(world)
    assert world.rejected()["1"][0].endswith("attempts a3, a4 and a5 crashed in a row")


def test_a_job_that_a_person_cancelled_is_not_tried_again(world: World) -> None:
    dropped(world)
    [run] = world.runner.open_runs()
    world.runner.cancel(run.id)
    world.run()
    assert "was cancelled" in world.rejected()["1"][0]
    assert world.job_runs() == 1


def test_a_job_that_reports_and_then_crashes_is_not_tried_again(world: World) -> None:
    dropped(world)
    [run] = world.runner.open_runs()
    world.runner.finish(run.id)
    world.runner.fail(run.id, "the machine was taken away")
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert world.job_runs() == 1


# Jobs that were given up and go on all the same.


def finish_late(world: World, attempt: Attempt) -> None:
    """A job that was taken for dead appends, if its branch is still there, and writes its report."""
    run = world.runner.find(attempt.branch)
    assert run is not None
    assert run.state is JobState.FAILED
    if attempt.branch in world.branches():
        world.runner.finish(run.id)
    else:
        report = world.runner.finish(world.runner.find(attempt.next().branch).id)  # type: ignore[union-attr]
        world.store.create(f"reports/{attempt.branch}.json", to_json(report).encode())


def test_a_zombie_whose_branch_is_still_there_beside_the_next_attempts_changes_nothing(world: World) -> None:
    first = dropped(world)
    head = world.lake.branches[first.branch]
    crash(world)
    wait(world, world.service.grace.total_seconds())
    world.lake.branches[first.branch] = head  # as where whoever made the next attempt died before deleting this
    finish_late(world, first)
    for attempt in (first, first.next()):
        settle(world.service, attempt)
    assert reconcile(world.service) == []
    assert world.rows_on_main() == {}
    assert world.branches() == [first.next().branch]
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert world.publications("1") == 1


def test_a_zombie_that_finds_its_file_bad_after_the_next_attempt_began_rejects_nothing(world: World) -> None:
    first = dropped(world)
    head = world.lake.branches[first.branch]
    crash(world)
    wait(world, world.service.grace.total_seconds())
    world.lake.branches[first.branch] = head
    good, world.stories[world.file("1").id] = world.stories[world.file("1").id], Story(rows=3, bad="broken")
    finish_late(world, first)
    world.stories[world.file("1").id] = good
    settle(world.service, first)
    assert world.rejected() == {}
    world.run()
    assert (world.rows_on_main(), world.messages()) == ({"1": 3}, [])


def test_a_report_of_an_attempt_whose_branch_is_gone_changes_nothing(world: World) -> None:
    first = dropped(world)
    crash(world)
    wait(world, world.service.grace.total_seconds())
    finish_late(world, first)
    settle(world.service, first)
    assert world.rows_on_main() == {}
    settle(world.service, first.next())
    assert world.publications("1") == 1


def test_a_zombie_that_finishes_after_the_rejection_changes_nothing(world: World) -> None:
    first = dropped(world)
    crash_until_rejected(world)
    rejected = world.rejected()
    last = first.next().next()
    finish_late(world, last)
    settle(world.service, last)
    wait(world, world.service.grace.total_seconds())
    assert (world.rows_on_main(), world.rejected()) == ({}, rejected)
    assert (world.branches(), len(world.messages())) == ([last.branch], 1)


def test_what_a_retry_decided_stays_when_the_zombie_before_it_finishes(world: World) -> None:
    first = dropped(world)
    crash_until_rejected(world)
    last = first.next().next()
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    finish_late(world, last)
    settle(world.service, last)
    assert world.rows_on_main() == {}
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert (world.publications("1"), world.branches()) == (1, [])


def test_a_worker_that_saw_no_report_leaves_the_telling_to_one_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look and its end the report came, and another worker published by it and died before it told."""
    world = World()
    world.drop("1", rows=3, aside=1)
    [attempt] = world.attempts()
    world.run(settle_after=False)

    def killed(*_: object) -> list[FileVersion]:
        raise KeyboardInterrupt

    def looked_before(*_: object) -> AttemptEnd:
        monkeypatch.undo()
        monkeypatch.setattr("lakegate.workflow.settle.notify_outcome", killed)
        with pytest.raises(KeyboardInterrupt):
            settle(world.service, attempt)
        monkeypatch.undo()
        return AttemptEnd(reason="killed")

    monkeypatch.setattr("lakegate.workflow.settle.accept_end", looked_before)
    with pytest.raises(Conflict, match="settles it again"):
        settle(world.service, attempt)
    assert world.rows_on_main() == {"1": 3}
    settle(world.service, attempt)
    assert ([message.kind for message in world.messages()], world.branches()) == ([MessageKind.WARNING], [])


def test_an_attempt_at_a_retried_file_stays_though_a_later_one_at_others_of_its_batch_is_settled_first(
    world: World,
) -> None:
    world.drop("1", rows=3, bad="broken", deliver=False)
    world.drop("2", rows=3, deliver=False)
    first = world.open_attempt(world.file("1"), world.file("2"))
    world.run(settle_after=False)
    world.push_contract(changed=True)
    settle(world.service, first)
    world.mend("1")
    retried = retry(world.service, first.batch).attempts[0]
    world.run(settle_after=False)
    world.push_contract(drift=True)
    settle(world.service, first.next())
    [last] = {it for it in world.attempts() if world.claims(it) == [world.file("2")]}
    assert (retried.number, last.number) == (3, 4)
    world.run(settle_after=False)
    settle(world.service, last)
    assert retried in world.attempts()
    settle(world.service, retried)
    world.run()
    assert world.rows_on_main() == {"1": 3, "2": 3}
    assert world.branches() == []


def test_a_file_that_is_both_retried_and_released_is_noted_for_the_next_attempt_once(world: World) -> None:
    attempt, file = dropped(world), world.file("1")

    settling._retry(world.service, attempt, [file], [file])

    noted = world.store.read(f"attempts/{attempt.next().branch}/files.json") or b""
    assert noted.count(file.version_id.encode()) == 1
