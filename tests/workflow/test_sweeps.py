"""Tests of what a sweep gets done in its ten minutes, however much there is of something else."""

from collections.abc import Iterator

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from lakegate.audit.model.lane import Lane
from lakegate.errors import OutcomeUnknown, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import JobRun, Message, MessageKind, Reach
from lakegate.workflow import reconcile as sweeps
from lakegate.workflow.backlog import unclaimed_files
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.receive import record_unrouted
from lakegate.workflow.reconcile import BRANCHES, reconcile
from lakegate.workflow.status import status
from tests.world.world import World


class TimeIsUpError(BaseException):
    """The function is ended."""


@pytest.fixture
def world() -> World:
    return World()


def test_a_sweep_whose_branches_take_all_its_time_leaves_some_for_the_next_and_receives_what_was_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("1", "2", "3"):
        world.drop(name, rows=3)
    world.drop("lost", rows=3, deliver=False)
    world.wait_out_the_grace()
    find, looked_at, before = world.runner.find, set(), {attempt.branch for attempt in world.attempts()}

    def slow(branch: str) -> JobRun | None:
        looked_at.add(branch)
        world.clock.advance(BRANCHES.total_seconds())
        return find(branch)

    monkeypatch.setattr(world.service.runner, "find", slow)
    reconcile(world.service)
    assert (len(looked_at & before), len(world.attempts())) == (1, 4)
    for _ in range(20):
        reconcile(world.service)
        world.clock.advance(60)
    assert looked_at >= before


def test_people_are_told_though_the_landing_bucket_is_too_large_to_be_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.notifier_down()
    world.drop("1", rows=1, bad="broken")
    world.run()
    world.notifier_up()
    world.wait_out_the_grace()

    def endless() -> Iterator[FileVersion]:
        raise TimeIsUpError

    monkeypatch.setattr(world.landing, "versions", endless)
    with pytest.raises(TimeIsUpError):
        reconcile(world.service)
    assert world.told() == {"1": [MessageKind.REJECTED]}


def test_a_file_whose_event_is_lost_does_not_wait_behind_many_versions_of_a_key_that_is_being_worked_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "AT_ONCE", 3)
    for number in range(5):
        world.drop(f"hot {number}", rows=1, under=world.key("hot"), deliver=number == 0)
    world.drop("lost", rows=2, deliver=False)
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert {file.key for attempt in world.attempts() for file in world.claims(attempt)} == {
        world.key("hot"),
        world.key("lost"),
    }


def test_notes_of_unrouted_files_are_read_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        world.drop(f"strange/{number}", rows=1, absolute=True)
    monkeypatch.setattr(world.store, "read", None)  # one by one they would take minutes
    assert [unrouted.file.key for unrouted in unrouted_files(world.service)] == ["strange/0", "strange/1", "strange/2"]


def test_a_message_that_waits_for_an_hour_is_a_failure_that_is_heard_of_elsewhere(world: World) -> None:
    world.notifier_down()
    world.drop("1", rows=1, bad="odd")
    world.run()
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    world.clock.advance(3600)
    [error] = reconcile(world.service)
    assert "has waited for 1:0" in str(error)
    world.notifier_up()
    assert reconcile(world.service) == []
    assert world.told() == {"1": [MessageKind.REJECTED]}


def test_where_slack_does_not_answer_a_sweep_does_not_ask_for_every_message(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.notifier_down()
    for number in range(5):
        world.drop(f"strange/{number}", rows=1, absolute=True)
    world.wait_out_the_grace()
    tell, asked = world.notifier.notify, []

    def slow(message: Message) -> None:
        asked.append(message)
        tell(message)

    monkeypatch.setattr(world.notifier, "notify", slow)
    assert reconcile(world.service) == []
    assert len(asked) == 3
    world.notifier_up()
    reconcile(world.service)
    assert len(world.messages()) == 5


def test_unrouted_files_that_were_deleted_are_forgotten_without_looking_at_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [world.drop(f"strange/{number}", rows=1, absolute=True) for number in range(3)]
    world.landing.drop(files[1].key, files[1].version_id)
    monkeypatch.setattr(world.service.landing, "describe", None)
    assert reconcile(world.service) == []
    assert [unrouted.file.key for unrouted in unrouted_files(world.service)] == ["strange/0", "strange/2"]


def test_what_landed_while_a_large_bucket_was_being_listed_is_left_for_the_next_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its key, and its second, another version may have been listed as the newest, or none."""
    world.drop("young", rows=1, deliver=False)
    versions = world.landing.versions

    def slowly() -> Iterator[FileVersion]:
        yield from list(versions())
        world.clock.advance(300)

    monkeypatch.setattr(world.service.landing, "versions", slowly)
    assert reconcile(world.service) == []
    assert world.attempts() == []
    reconcile(world.service)
    assert len(world.attempts()) == 1


def test_unrouted_versions_of_one_key_keep_no_other_unrouted_file_waiting_and_start_no_job_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "AT_ONCE", 3)
    start, started = world.runner.start, list[str]()

    def noted(attempt: Attempt, uri: str, reach: Reach, lane: Lane) -> str:
        started.append(attempt.branch)
        return start(attempt, uri, reach, lane)

    monkeypatch.setattr(world.service.runner, "start", noted)
    world.remove_contract()
    for number in range(5):
        world.drop(f"hot {number}", rows=1, under=world.key("hot"))
    world.drop("other", rows=2)
    world.push_contract()
    for _ in range(3):
        assert reconcile(world.service) == []
    claimed = [file.key for attempt in world.attempts() for file in world.claims(attempt)]
    assert sorted(claimed) == [world.key("hot"), world.key("other")]
    assert len(started) == len(world.attempts())
    now = status(world.service)
    assert now.unrouted == ()
    assert [line.state for line in now.in_flight if line.files == (world.key("hot"),)].count("blocked") == 4


def test_messages_that_slack_never_takes_keep_no_other_from_being_sent(world: World) -> None:
    world.notifier_down()
    for name in ("0", "1", "2", "3", "4", "5"):
        world.drop(name, rows=1, bad="odd")
    world.run()
    world.notifier_up()
    tell = world.notifier.notify

    def broken(message: Message) -> None:
        if {file.key for file in message.files} & {world.key(name) for name in ("0", "1", "2")}:
            raise OutcomeUnknown("Slack: internal_error")
        tell(message)

    world.notifier.notify = broken  # type: ignore[method-assign]
    for _ in range(12):
        world.clock.advance(240)
        reconcile(world.service)
    assert world.told() == {name: [MessageKind.REJECTED] for name in ("3", "4", "5")}


def test_an_event_of_a_published_file_that_no_contract_routes_any_more_tells_nobody(world: World) -> None:
    file = world.drop("1", rows=1)
    world.run()
    world.remove_contract()
    world.deliver(file)
    assert (world.messages(), unrouted_files(world.service)) == ([], [])


@pytest.mark.parametrize("key", ["nyc/flights/_SUCCESS", "elsewhere/"])
def test_a_marker_is_passed_over_by_its_event_and_by_sweeps(world: World, key: str) -> None:
    """A contract may route its name or not."""
    marker = world.landing.add(key, b"")
    world.deliver(marker)
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert (world.branches(), world.notifier.messages, unrouted_files(world.service)) == ([], [], [])
    assert (world.entries(), unclaimed_files(world.service), status(world.service).unrouted) == ({}, [], ())


def test_a_marker_that_an_earlier_release_held_is_forgotten(world: World) -> None:
    marker = world.landing.add("elsewhere/_SUCCESS", b"")
    record_unrouted(world.service, [(marker, "no contract routes it")])
    reconcile(world.service)
    assert unrouted_files(world.service) == []


def test_files_that_cannot_be_looked_at_keep_no_lost_file_from_being_found(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(sweeps, "AT_ONCE", 3)
    for name in "123":
        world.drop(name, rows=1, deliver=False)
        world.forbid_looking_at(world.file(name))
    world.drop("4", rows=1, deliver=False)
    for _ in range(8):
        world.clock.advance(3600)
        reconcile(world.service)
        world.end_jobs()
    assert "4" in world.rows_on_main()


def test_a_line_of_the_log_names_the_branch_that_it_is_about_and_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> None:
        raise Retryable("Nessie does not answer")

    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    (branch,) = world.branches()
    monkeypatch.setattr(world.service.publisher, "merge", unreachable)
    monkeypatch.setattr(world.service.landing, "versions", unreachable)
    structlog.reset_defaults()
    with capture_logs(processors=[merge_contextvars]) as lines:
        reconcile(world.service)
    assert [line.get("branch") for line in lines if line["event"] == "reconcile_failed"] == [branch, None, None]
