"""Channels to other systems are told of every commit that publishes or rejects files, at least once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.plan import Plan, Severity, TableColumn
from lakegate.audit.model.report import CheckResult, FileReport, Source, Verdict
from lakegate.errors import Misconfigured, Refused, Retryable
from lakegate.landing.lifecycle import Decision
from lakegate.ports import DecidedFile, Event, EventKind, LogEntry, MessageKind, Record
from lakegate.testing import MemoryChannel
from lakegate.workflow.approve import approve
from lakegate.workflow.notices.events import CHECKS, event_of
from lakegate.workflow.notices.outbox import OUTBOX
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import discard
from tests.workflow.test_closed_files import again
from tests.workflow.test_crashes import Crash, Dying
from tests.world.world import TABLE, World

TOLD = {EventKind.PUBLISHED: Decision.PUBLISHED, EventKind.REJECTED: Decision.REJECTED}


class Listened(World):
    """A world with two channels to other systems."""

    def __init__(self) -> None:
        super().__init__()
        self.bus, self.hook = MemoryChannel(), MemoryChannel()
        self.change(channels={"bus": self.bus, "hook": self.hook})

    def told(self) -> Any:
        """The kind and the files of each event that the bus has got."""
        return [(event.kind, [file.key.rpartition("/")[2] for file in event.files]) for event in self.bus.events]

    def not_told(self) -> set[str]:
        """The commits that publish or reject files, and that the bus was not told of as they are."""
        decided = {(it.commit, it.record.decision, len(it.record.files)) for it in self.service.ledger.decisions(1000)}
        decided = {it for it in decided if it[1] in TOLD.values()}
        told = {(it.commit, TOLD[it.kind], len(it.files)) for it in self.bus.events}
        return {commit for commit, *_ in decided ^ told}


@pytest.fixture
def world() -> Listened:
    return Listened()


def test_what_is_published_is_an_event_with_its_commit_its_files_and_its_contract(world: Listened) -> None:
    world.drop("1", rows=3, aside=1)
    world.run()
    [event], [decided] = world.bus.events, world.service.ledger.decisions(10)
    assert world.hook.events == [event]
    assert (event.kind, event.table, event.batch, event.attempt) == (
        EventKind.PUBLISHED,
        TABLE,
        decided.record.batch,
        1,
    )
    assert (event.commit, event.at, event.branch) == (decided.commit, decided.at, "")
    [file] = event.files
    assert (file.key, file.version_id) == (world.key("1"), world.file("1").version_id)
    assert (file.rows, file.quarantined_rows, event.rows, event.quarantined_rows) == (3, 1, 3, 1)
    assert [(check.name, check.verdict) for check in file.checks] == [
        ("odd", "quarantine"),
        ("rows for quarantine", "pass"),
    ]
    assert (event.contract_id, event.contract_version) == ("nyc-flights", "1.0.0")
    assert [column.name for column in event.columns] == ["a", "b"]
    assert world.store.names(OUTBOX) == []


def test_what_is_rejected_is_an_event_of_its_own_with_its_reasons_and_the_branch_that_is_kept(world: Listened) -> None:
    world.drop("1", rows=3, deliver=False)
    world.drop("2", rows=3, bad="broken", deliver=False)
    world.deliver(*world.files.values())
    world.run()
    assert sorted(world.told()) == [(EventKind.PUBLISHED, ["1"]), (EventKind.REJECTED, ["2"])]
    [rejected] = [event for event in world.bus.events if event.kind is EventKind.REJECTED]
    assert rejected.branch in world.branches()
    assert rejected.files[0].reasons == world.rejected()["2"]
    assert not world.not_told()


def test_what_a_person_approves_is_published_by_that_person(world: Listened) -> None:
    world.drop("1", rows=3, bad="broken")
    world.run()
    [rejected] = world.bus.events
    approve(world.service, rejected.batch, "known", "me")
    assert world.told() == [(EventKind.REJECTED, ["1"]), (EventKind.PUBLISHED, ["1"])]
    assert (world.bus.events[1].by, world.bus.events[1].why) == ("me", "known")


def test_what_a_person_discards_is_no_event(world: Listened) -> None:
    world.drop("1", rows=3, bad="broken")
    world.run()
    discard(world.service, world.bus.events[0].batch, "known", "me")
    assert [kind for kind, _ in world.told()] == [EventKind.REJECTED]


@pytest.mark.parametrize("dies", [False, True])
def test_what_is_rejected_without_an_attempt_is_an_event_too_whoever_tells_it(
    world: Listened, monkeypatch: pytest.MonkeyPatch, *, dies: bool
) -> None:
    world.push_contract(reuploads="reject")
    world.drop("1", rows=2)
    world.run()
    world.bus.events.clear()
    again(world, "1b", deliver=False)
    if dies:
        monkeypatch.setattr("lakegate.workflow.receiving.untried_files._notify_rejected", lambda *_: None)
    world.deliver(world.files["1b"])
    for _ in range(2):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
    [event] = world.bus.events
    assert (event.kind, event.attempt, event.branch) == (EventKind.REJECTED, 0, "")
    assert (event.files[0].version_id, event.contract_id) == (world.file("1b").version_id, "nyc-flights")


def test_whenever_its_worker_dies_every_decision_is_told_and_told_again_it_is_the_same() -> None:
    calls = 0
    while dies_settling(calls):
        calls += 1
    assert calls > 20


def dies_settling(calls: int) -> bool:
    """A worker that settles a batch of a good file and one of a bad file dies after so many calls and one, and sweeps
    do the rest.
    """
    world, dying = Listened(), Dying(calls, after=True)
    world.drop("1", rows=3)
    world.drop("2", rows=3, bad="broken")
    world.run(settle_after=False)
    whole = world.service
    ports = ("branches", "ledger", "publisher", "tables", "store", "notifier")
    wrapped = {name: dying.wrap(getattr(whole, name)) for name in ports}
    channels = {name: dying.wrap(channel) for name, channel in whole.channels.items()}
    world.service = replace(whole, **wrapped, channels=channels)
    with suppress(Crash):
        world.run()
    world.service = whole
    for _ in range(3):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
    assert not world.not_told(), calls
    assert {event.id for event in world.hook.events} == {event.id for event in world.bus.events}
    assert len({event.id for event in world.bus.events}) == len({to_json(event) for event in world.bus.events}) == 2
    assert world.store.names(OUTBOX) == []
    return dying.died


@pytest.mark.parametrize("error", [Retryable("no answer"), Misconfigured("no such bus"), RuntimeError("a bug")])
def test_a_channel_that_fails_in_any_way_keeps_nobody_from_being_told(world: Listened, error: Exception) -> None:
    world.hook.error = error  # type: ignore[assignment]
    world.drop("1", rows=3, warn="odd")
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert world.branches() == []
    assert [message.kind for message in world.messages()] == [MessageKind.WARNING]
    assert (len(world.bus.events), world.hook.events) == (1, [])
    world.hook.error = None
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert world.hook.events == world.bus.events
    assert world.store.names(OUTBOX) == []


def test_a_channel_that_stays_away_holds_up_no_message_and_is_told_of_by_the_sweep(world: Listened) -> None:
    world.hook.error = Retryable("no answer")
    for name in "12345":
        world.drop(name, rows=3, warn="odd")
    world.notifier_down()
    world.run()
    world.notifier_up()
    world.clock.advance(2 * 3600)
    errors = reconcile(world.service)
    assert len(world.messages()) == 5
    assert ["functions reach hook" in str(error) for error in errors] == [True]


def test_an_event_that_its_receiver_refuses_is_reported_once_and_sent_no_more(world: Listened) -> None:
    world.hook.error = Refused("413: the receiver takes no event of this size")
    world.drop("1", rows=3)
    world.run()
    assert len(world.bus.events) == 1
    world.wait_out_the_grace()
    assert [str(error) for error in reconcile(world.service)] == [str(world.hook.error)]
    assert world.store.names(OUTBOX) == []
    world.hook.error = None
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert world.hook.events == []


@pytest.mark.parametrize(("columns", "files", "checks"), [(5_000, 100, 5_000), (1, 1, 0), (1, 1_000, 3), (5_000, 1, 0)])
def test_of_a_wide_table_an_event_names_so_many_checks_and_columns_and_counts_the_rest(
    columns: int, files: int, checks: int
) -> None:
    check = CheckResult(
        check="c", name="n" * 900, columns=("a",) * 50, severity=Severity.ERROR, verdict=Verdict.PASS, value=0,
        expected="e" * 900, failing_rows=0, rows=1, source=Source.QUERY,
    )  # fmt: skip
    failed = replace(check, verdict=Verdict.FAIL)
    plan = a_plan(tuple(TableColumn(name=f"c{at}", type="string", doc="d" * 900) for at in range(columns)))
    decided = published([f"k{at}" for at in range(files)])
    report = file_report((check,) * checks + ((failed,) if checks else ()))
    event = event_of(decided, plan, None, {(file.key, file.version_id): report for file in decided.record.files})
    told = sum(len(file.checks) for file in event.files)
    assert told <= CHECKS
    assert told + sum(file.more_checks for file in event.files) == len(event.files) * len(report.checks)
    assert len(event.columns) == min(columns, CHECKS)
    assert len(event.columns) + event.more_columns == columns
    assert len(event.files) + event.more == files
    if checks:
        assert all(file.checks[0].verdict == Verdict.FAIL for file in event.files)
    assert len(to_json(event)) < 10_000_000


def a_plan(columns: tuple[TableColumn, ...]) -> Plan:
    return Plan(
        contract_id="i", contract_version="1", contract_hash="h", table=TABLE, columns=columns, key=(), metrics=(),
        checks=(),
    )  # fmt: skip


def published(keys: list[str]) -> LogEntry:
    files = tuple(DecidedFile(key=key, version_id="v", rows=1) for key in keys)
    note = Record(decision=Decision.PUBLISHED, table=TABLE, batch="b", attempt=1, files=files)
    return LogEntry(commit="c" * 64, at=datetime(2013, 1, 31, tzinfo=UTC), record=note)


def file_report(checks: tuple[CheckResult, ...]) -> FileReport:
    return FileReport(id="f", key="k", verdict=Verdict.PASS, rows=1, checks=checks)


def test_of_a_channel_that_is_no_longer_chosen_nothing_is_left(world: Listened) -> None:
    world.hook.error = Retryable("no answer")
    world.drop("1", rows=3)
    world.run()
    world.service = replace(world.service, channels={"bus": world.bus})
    world.clock.advance(2 * 3600)
    assert reconcile(world.service) == []
    assert world.store.names(OUTBOX) == []


def test_without_a_channel_nobody_reads_mains_log_or_writes_a_note(
    world: Listened, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.service = replace(world.service, channels={})
    monkeypatch.setattr(world.service.ledger, "decisions", lambda *_, **__: pytest.fail("it was read"))
    world.drop("1", rows=3)
    world.run()
    assert world.rows_on_main() == {"1": 3}
    assert world.store.names("notes/") == []


def test_an_event_is_kept_as_it_is_until_it_is_sent(world: Listened) -> None:
    world.drop("1", rows=3, aside=1)
    world.run()
    assert from_json(Event, to_json(world.bus.events[0])) == world.bus.events[0]


def test_an_event_names_a_hundred_files_and_counts_the_others(world: Listened) -> None:
    for name in range(103):
        world.drop(str(name), rows=1, deliver=False)
    world.deliver(*world.files.values())
    world.run()
    [event] = world.bus.events
    assert (len(event.files), event.more, event.rows) == (100, 3, 103)


# What people are told of only if they want it.


def test_of_a_plain_success_people_are_told_where_the_contract_asks_for_it(world: Listened) -> None:
    world.drop("1", rows=3)
    world.run()
    assert world.messages() == []
    world.push_contract(notify=["published"])
    world.drop("2", rows=4)
    world.run()
    [message] = world.messages()
    assert (message.kind, message.published_rows) == (MessageKind.PUBLISHED, 4)
    assert [(file.key, file.rows) for file in message.files] == [(world.key("2"), 4)]


def test_of_what_is_published_with_a_remark_they_are_told_once(world: Listened) -> None:
    world.push_contract(notify=["published"])
    world.drop("1", rows=3, warn="odd")
    world.run()
    assert [message.kind for message in world.messages()] == [MessageKind.WARNING]
