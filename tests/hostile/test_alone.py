"""One key, file, contract, branch, message or note that fails in whatever way fails alone.

At each boundary every type of exception is thrown where things of one table are handled, and a good file of another
table in the same call reaches main. What failed is told: returned, raised in the end, or logged with its kind.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import InvalidOperation
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from handlers import ingest
from lakegate.errors import (
    TRANSIENT,
    Conflict,
    ContractFaults,
    Fault,
    LakegateError,
    Misconfigured,
    OutcomeUnknown,
    Refused,
    Retryable,
)
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.operations.batch import view_batch
from lakegate.ports import MAIN, MessageKind, Ref
from lakegate.workflow import reconcile as sweeps
from lakegate.workflow import registry
from lakegate.workflow import settle as settling
from lakegate.workflow.ledger.receipts import archived_name
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival, Failure
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import contract_name, push
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement import queue
from lakegate.workflow.status import status
from tests.world.installation import PLANES
from tests.world.world import CONTRACT, TABLE, World

ERRORS = [
    ArithmeticError("too large"),
    InvalidOperation("no number"),
    ZeroDivisionError("by zero"),
    RecursionError("too deep"),
    MemoryError("too much"),
    UnicodeError("no text"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
    KeyError("missing"),
    IndexError("beyond"),
    AttributeError("none such"),
    TypeError("another type"),
    ValueError("no value"),
    OSError("no disk"),
    TimeoutError("too slow"),
    StopIteration("at an end"),
    AssertionError("not so"),
    json.JSONDecodeError("no JSON", "", 0),
    LakegateError("of ours"),
    Retryable("later"),
    OutcomeUnknown("who knows"),
    Conflict("somebody else"),
    Refused("never"),
    Misconfigured("by a person"),
    ContractFaults("c.yaml", [Fault(line=1, message="a fault")]),
]
GOOD = "nyc/planes/good"


@dataclass(kw_only=True)
class Scene:
    """A world with two tables, where things of one fail, and what is told of it."""

    world: World
    error: Exception
    patch: pytest.MonkeyPatch
    told: list[Exception] = field(default_factory=list)

    def fail(self, owner: Any, name: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
        """From now on calls of this name fail where that holds of what they are given."""
        done = getattr(owner, name)

        def failing(*given: Any, **more: Any) -> Any:
            if when(*given, **more):
                raise self.error
            return done(*given, **more)

        self.patch.setattr(owner, name, failing)

    def try_(self, step: Callable[[], Iterable[Failure | Exception] | None]) -> None:
        try:
            found = list(step() or ())
        except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
            self.told.append(error)
        else:
            self.told += [each.error if isinstance(each, Failure) else each for each in found]

    def receive(self, *files: FileVersion) -> None:
        arrivals = [Arrival(key=file.key, version_id=file.version_id) for file in files]
        self.try_(lambda: receive(self.world.service, arrivals))

    def sweep(self) -> None:
        self.world.wait_out_the_grace()
        self.try_(lambda: reconcile(self.world.service))

    def drop_both(self) -> list[FileVersion]:
        """The bad one first."""
        return [self.world.drop("bad", rows=1, deliver=False), self.drop_good()]

    def drop_good(self) -> FileVersion:
        return self.world.drop(GOOD, rows=2, absolute=True, deliver=False)

    def open_both(self) -> list[str]:
        """Both are in flight; their branches, the bad one's first."""
        self.receive(*self.drop_both())
        return [branch for table in (TABLE, PLANES) for branch in self.world.branches() if f"-{table}-" in branch]

    def end_jobs(self) -> None:
        for run in self.world.runner.open_runs():
            self.world.runner.finish(run.id)

    @property
    def good_is_published(self) -> bool:
        return self.world._rows(Ref(MAIN), PLANES) == {GOOD: 2}

    def is_told(self, logs: list[Any]) -> bool:
        told = [type(error) for error in self.told] + [type(self.error) for it in logs if self.is_logged(it)]
        return type(self.error) in told

    def is_logged(self, entry: Any) -> bool:
        return bool(entry.get("error") == str(self.error) and entry["log_level"] == "warning")


def looked_at(scene: Scene) -> None:
    bad, good = scene.drop_both()
    scene.fail(scene.world.landing, "describe", lambda key, _: key == bad.key)
    scene.receive(bad, good)


def loaded(scene: Scene) -> None:
    registry._load.cache_clear()
    scene.patch.setattr(registry, "_load", registry._load.__wrapped__)
    scene.fail(registry, "load", lambda _, source: source == contract_name(TABLE))
    scene.receive(*scene.drop_both())
    assert [unrouted.file.key for unrouted in unrouted_files(scene.world.service)] == [scene.world.key("bad")]
    [told] = scene.world.messages()
    assert "does not load" in told.files[0].reasons[0]
    assert str(scene.error).removeprefix("c.yaml:1: ") in told.files[0].reasons[0]
    scene.told.append(scene.error)


def read_from_the_store(scene: Scene) -> None:
    scene.fail(scene.world.store, "read", lambda name: name == contract_name(TABLE))
    scene.receive(*scene.drop_both())
    assert unrouted_files(scene.world.service) == []  # nobody knows whether its contract routes it


def unrouted(scene: Scene) -> None:
    world = scene.world
    bad, good = world.drop("elsewhere/bad", rows=1, absolute=True, deliver=False), scene.drop_good()
    other = world.drop("elsewhere/other", rows=1, absolute=True, deliver=False)
    scene.fail(world.store, "read", lambda name: name == f"notes/unrouted/{bad.id}.json")
    scene.receive(bad, other, good)
    scene.sweep()
    assert "elsewhere/other" in [file.key for message in world.messages() for file in message.files]


def ingested(scene: Scene) -> None:
    scene.fail(scene.world.service.branches, "create_branch", lambda name, _: f"-{TABLE}-" in name)
    scene.receive(*scene.drop_both())


def started(scene: Scene) -> None:
    scene.fail(scene.world.runner, "start", lambda attempt, *_: attempt.table == TABLE)
    scene.receive(*scene.drop_both())


def another_s_claims(scene: Scene) -> None:
    scene.receive(scene.world.drop("bad", rows=1, deliver=False))
    [branch] = scene.world.branches()
    scene.fail(scene.world.service.ledger, "receipts", lambda ref, _: ref.branch == branch)
    scene.receive(scene.drop_good())


def swept_branch(scene: Scene) -> None:
    bad, _ = scene.open_both()
    scene.end_jobs()
    scene.fail(scene.world.runner, "find", lambda branch: branch == bad)
    scene.fail(scene.world.store, "read", lambda name: name == f"attempts/{bad}/job.json")
    scene.sweep()


def swept_claims(scene: Scene) -> None:
    bad, _ = scene.open_both()
    scene.end_jobs()
    head = scene.world.service.branches.head(bad)
    scene.fail(scene.world.service.branches, "changes", lambda _, at: at == head)
    scene.sweep()


def settled(scene: Scene) -> None:
    scene.open_both()
    scene.fail(scene.world.service.publisher, "merge", lambda branch, *_: f"-{TABLE}-" in branch)
    scene.end_jobs()
    scene.sweep()
    if isinstance(scene.error, Refused):  # a proof that fails is a rejection
        scene.told += [scene.error for message in scene.world.messages() if message.kind is MessageKind.REJECTED]
    if isinstance(scene.error, Conflict):  # it is looked at again, and tried some times
        scene.told += [scene.error for error in scene.told if isinstance(error, Retryable)]


def listed_branches(scene: Scene) -> None:
    scene.drop_both()
    scene.world.wait_out_the_grace()
    calls = iter([True])
    scene.fail(scene.world.service.branches, "list_branches", lambda: next(calls, False))
    scene.sweep()


def expired(scene: Scene) -> None:
    world = scene.world
    world.drop("bad", rows=1, bad="odd")
    world.run()
    scene.receive(scene.drop_good())
    scene.end_jobs()
    scene.fail(sweeps, "expire")
    scene.sweep()


def step_of_a_sweep(name: str) -> Callable[[Scene], None]:
    def step(scene: Scene) -> None:
        scene.open_both()
        scene.end_jobs()
        scene.fail(sweeps, name)
        scene.sweep()

    step.__name__ = name.strip("_")
    return step


def resent(scene: Scene) -> None:
    world = scene.world
    world.notifier_down()
    bad = world.drop("elsewhere/bad", rows=1, absolute=True)
    world.drop("elsewhere/other", rows=1, absolute=True)
    world.notifier_up()
    scene.fail(world.notifier, "notify", lambda message: message.files[0].key == bad.key)
    scene.drop_both()
    for _ in range(4):
        scene.sweep()
    assert [file.key for message in world.messages() for file in message.files] == ["elsewhere/other"]


def released(scene: Scene) -> None:
    world = scene.world
    bad = world.drop("elsewhere/bad", rows=1, absolute=True)
    other = world.drop("elsewhere/other", rows=1, absolute=True)
    for file in (bad, other):
        world.landing.drop(file.key, file.version_id)
    scene.drop_both()
    scene.fail(world.store, "delete", lambda name: bad.id in name)
    scene.sweep()
    assert [unrouted.file.key for unrouted in unrouted_files(world.service)] == [bad.key]


def received_after_holding(scene: Scene) -> None:
    """Unrouted files of which one can't be looked at any more."""
    world = scene.world
    world.store.delete(contract_name(TABLE))
    world.store.delete(contract_name(PLANES))
    bad, good = scene.drop_both()
    scene.receive(bad, good)
    scene.fail(world.landing, "describe", lambda key, _: key == bad.key)
    push(world.store, [("f.yaml", CONTRACT.encode()), ("p.yaml", planes().encode())])
    scene.sweep()


def delivered_by_a_queue(scene: Scene) -> None:
    bad, good = scene.drop_both()
    scene.fail(scene.world.landing, "describe", lambda key, _: key == bad.key)
    scene.patch.setattr(ingest, "service", lambda: scene.world.service)
    again: list[Any] = []

    def handled() -> None:
        again.extend(ingest.handler(queued(bad, good), None)["batchItemFailures"])

    scene.try_(handled)
    assert again == ([{"itemIdentifier": bad.key}] if isinstance(scene.error, LakegateError) else [])


def shown(scene: Scene) -> None:
    bad, good = scene.open_both()
    scene.fail(scene.world.store, "read", lambda name: name == f"attempts/{bad}/job.json")
    try:
        lines = {line.branch: line for line in status(scene.world.service).in_flight}
    except Retryable as error:  # a person asks again
        scene.told.append(error)
        return
    assert lines[good].files == (GOOD,)
    if not isinstance(scene.error, Conflict):  # the branch is gone by now
        assert str(scene.error) in lines[bad].reasons[0]
    scene.told.append(scene.error)


def queued(*files: FileVersion) -> dict[str, Any]:
    things = [{"key": file.key, "version-id": file.version_id} for file in files]
    return {"Records": [{"messageId": it["key"], "body": json.dumps({"detail": {"object": it}})} for it in things]}


def planes() -> str:
    return CONTRACT.replace("nyc-flights", "nyc-planes").replace("nyc.flights", PLANES).replace("flights", "planes")


BOUNDARIES = [
    *(
        looked_at,
        loaded,
        read_from_the_store,
        unrouted,
        ingested,
        started,
        another_s_claims,
        swept_branch,
        swept_claims,
    ),
    *(settled, listed_branches, expired, resent, released, received_after_holding, delivered_by_a_queue, shown),
    *map(step_of_a_sweep, ("resend", "_receive_routed", "_receive_lost", "compact")),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda boundary: boundary.__name__)
def test_what_fails_fails_alone_and_is_told(
    boundary: Callable[[Scene], None], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    structlog.reset_defaults()
    registry._load.cache_clear()
    world = World()
    push(world.store, [("planes.yaml", planes().encode())])
    scene = Scene(world=world, error=error, patch=monkeypatch)
    with capture_logs() as logs:
        boundary(scene)
        scene.end_jobs()
        scene.sweep()
        scene.end_jobs()
        scene.sweep()
    assert scene.good_is_published
    assert scene.is_told(logs)


BODIES = {
    "nothing": b"",
    "half an object": b'{"since": ',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1e999",
    "no text": b"\xff\xfe\x00",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"file":' * 100_000,
    "another shape": b'{"files": 3, "file": [], "since": {}, "at": "x", "message": 7, "key": 1, "entries": [7]}',
    "half a letter": b'{"key": "\\ud800", "files": "\\udfff"}',
    "a newer format": b'{"format": 999}',
    "a long number": b'{"format": ' + b"9" * 5000 + b"}",
}


def spoil(world: World, prefix: str, body: bytes) -> None:
    """Every object under this name has that body."""
    names = world.store.names(prefix)
    assert names
    for name in names:
        world.store.objects[name] = body


def stored_job(scene: Scene, body: bytes) -> None:
    bad, _ = scene.open_both()
    scene.end_jobs()
    spoil(scene.world, f"attempts/{bad}/job.json", body)


def stored_report(scene: Scene, body: bytes) -> None:
    bad, _ = scene.open_both()
    scene.end_jobs()
    spoil(scene.world, f"reports/{bad}.json", body)
    scene.sweep()
    if not scene.told:  # a report of nothing is no report, and one that can't be read is a reason to be told of
        assert scene.world.rejected()["bad"]
        scene.told.append(scene.error)


def stored_end(scene: Scene, body: bytes) -> None:
    bad, _ = scene.open_both()
    scene.world.store.objects[f"attempts/{bad}/end.json"] = body
    scene.end_jobs()


def stored_files(scene: Scene, body: bytes) -> None:
    world = scene.world
    world.drop("bad", rows=1)
    world.kill_jobs("out of memory")
    [attempt] = world.attempts()
    world.store.objects[f"attempts/{attempt.next().branch}/files.json"] = body
    scene.receive(scene.drop_good())
    for _ in range(3):
        scene.sweep()
    if body == b"[]":  # the number is somebody's who wanted no file: the next one is taken
        scene.told.append(scene.error)


def stored_unrouted_note(scene: Scene, body: bytes) -> None:
    world = scene.world
    bad = world.drop("elsewhere/bad", rows=1, absolute=True)
    world.drop("elsewhere/other", rows=1, absolute=True)
    spoil(world, f"notes/unrouted/{bad.id}", body)
    scene.receive(scene.drop_good())
    scene.sweep()
    assert {unrouted.file.key for unrouted in unrouted_files(world.service)} == {"elsewhere/bad", "elsewhere/other"}
    scene.told.append(scene.error)  # it is noted anew


def stored_message(scene: Scene, body: bytes) -> None:
    world = scene.world
    world.notifier_down()
    world.drop("elsewhere/bad", rows=1, absolute=True)
    spoil(world, "notes/outbox/", body)
    world.drop("elsewhere/other", rows=1, absolute=True)
    world.notifier_up()
    scene.receive(scene.drop_good())
    for _ in range(4):
        scene.sweep()
    assert [file.key for message in world.messages() for file in message.files] == ["elsewhere/other"]


def stored_told(scene: Scene, body: bytes) -> None:
    world = scene.world
    world.drop("bad", rows=1, bad="odd")
    world.run()
    spoil(world, "notes/sent/", body)
    scene.receive(scene.drop_good())


def stored_notes_of_sweeps(scene: Scene, body: bytes) -> None:
    scene.sweep()
    spoil(scene.world, "notes/landed.json", body)
    spoil(scene.world, "notes/compacted.json", body)
    scene.receive(scene.drop_good())
    scene.world.clock.advance(2 * 86_400)
    scene.sweep()
    assert status(scene.world.service).unrouted == ()
    scene.told.append(scene.error)


def archived_receipt(scene: Scene, body: bytes) -> None:
    """Of a key whose versions may be decided or not, nothing is done; of another of its table, all is."""
    world = scene.world
    bad, good = scene.drop_both()
    other = world.drop("other", rows=3, deliver=False)
    world.store.objects[archived_name(bad.key)] = body
    scene.receive(bad, other, good)
    scene.end_jobs()
    scene.sweep()
    if b"999" not in body:  # the table waits until this release is updated
        assert world.rows_on_main() == {"other": 3}
    assert world.entries()["bad"] is None


def stored_contract(scene: Scene, body: bytes) -> None:
    spoil(scene.world, contract_name(TABLE), body)
    scene.receive(*scene.drop_both())
    [told] = scene.world.messages()
    assert f"{contract_name(TABLE)} does not load" in told.files[0].reasons[0]
    scene.told.append(scene.error)


STORED = [
    *(stored_job, stored_report, stored_end, stored_files, stored_unrouted_note, stored_message, stored_told),
    *(stored_notes_of_sweeps, archived_receipt, stored_contract),
]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored.__name__)
def test_what_is_stored_broken_is_its_own_batch_s_trouble(
    stored: Callable[[Scene, bytes], None], body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    push(world.store, [("planes.yaml", planes().encode())])
    scene = Scene(world=world, error=Misconfigured("it can't be read"), patch=monkeypatch)
    stored(scene, body)
    scene.end_jobs()
    scene.sweep()
    scene.end_jobs()
    scene.sweep()
    assert scene.good_is_published
    assert scene.told
    assert all(isinstance(error, LakegateError) for error in scene.told)


def two_tables() -> World:
    world = World()
    push(world.store, [("planes.yaml", planes().encode())])
    return world


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("contracts/README.md", "how to push"),
        ("contracts/", ""),
        ("contracts/nyc.flights.yaml.bak", CONTRACT),
        ("contracts/nyc.ships.yaml", CONTRACT),
        ("contracts/a/b.yaml", CONTRACT.replace("nyc.flights", "nyc.ships")),
        ("contracts/../x.yaml", CONTRACT),
    ],
)
def test_what_lies_beside_the_contracts_and_is_none_routes_nothing_and_is_told(name: str, text: str) -> None:
    world = two_tables()
    world.store.write(name, text.encode())
    bad = world.drop("elsewhere/bad", rows=1, absolute=True)
    world.drop("1", rows=1)
    world.run()
    assert world.rows_on_main() == {"1": 1}
    [unrouted] = unrouted_files(world.service)
    assert unrouted.file == bad
    assert name in unrouted.reason


def test_a_contract_under_another_table_s_name_is_not_that_table_s() -> None:
    world = two_tables()
    world.store.write("contracts/nyc.ships.yaml", CONTRACT.encode())
    with pytest.raises(ContractFaults, match=r"it is the contract of nyc\.flights, stored under another table's name"):
        registry.contract_of(world.store, "nyc.ships")


def test_keys_that_two_stored_contracts_route_are_unrouted_and_all_others_go_on() -> None:
    world = two_tables()
    same = CONTRACT.replace("nyc.flights", "nyc.all").replace("nyc/flights/**", "nyc/flights/*2")
    world.store.write(contract_name("nyc.all"), same.encode())
    world.drop("1", rows=1)
    world.drop("2", rows=2)
    world.drop(GOOD, rows=2, absolute=True)
    world.run()
    assert (world.rows_on_main(), world._rows(Ref(MAIN), PLANES)) == ({"1": 1}, {GOOD: 2})
    [message] = world.messages()
    told = "several contracts route 'nyc/flights/2': nyc.all by nyc/flights/*2, nyc.flights by nyc/flights/**"
    assert told in message.files[0].reasons[0]


def test_a_stored_contract_that_routes_everything_takes_no_key_of_another_and_holds_none() -> None:
    world = two_tables()
    greedy = CONTRACT.replace("nyc.flights", "nyc.all").replace("nyc/flights/**", "**")
    world.store.write(contract_name("nyc.all"), greedy.encode())
    world.drop("1", rows=1)
    world.drop(GOOD, rows=2, absolute=True)
    world.run()
    assert (world.rows_on_main(), world._rows(Ref(MAIN), PLANES), world.messages()) == ({"1": 1}, {GOOD: 2}, [])


def test_stored_contracts_that_overlap_keep_nobody_from_pushing_another() -> None:
    world = two_tables()
    world.store.write(contract_name("nyc.all"), CONTRACT.replace("nyc.flights", "nyc.all").encode())
    ships = CONTRACT.replace("nyc.flights", "nyc.ships").replace("nyc/flights", "nyc/ships")
    assert [it.table for it in push(world.store, [("ships.yaml", ships.encode())])] == ["nyc.ships"]


@pytest.mark.parametrize("count", [10, 900])
def test_an_unrouted_file_s_reason_names_a_few_contracts_that_do_not_load_however_many_there_are(count: int) -> None:
    world = two_tables()
    for number in range(count):
        world.store.write(f"contracts/{number:04}.yaml", b"schema: [")
    world.drop("elsewhere/bad", rows=1, absolute=True)
    reason = unrouted_files(world.service)[0].reason
    assert reason.count("does not load") == 3
    assert f"{count - 3} more do not load" in reason


EVENTS = {
    "nothing": "",
    "null": "null",
    "deep": "[" * 100_000,
    "a number for a key": json.dumps({"detail": {"object": {"key": 1, "version-id": "v"}}}),
    "no version": json.dumps({"detail": {"object": {"key": "k", "version-id": None}}}),
    "half a letter": '{"detail": {"object": {"key": "nyc/flights/\\ud800", "version-id": "v"}}}',
    "half a letter in its order": json.dumps(
        {"detail": {"object": {"key": "k", "version-id": "v", "sequencer": "\ud800"}}}
    ),
    "an object for an order": json.dumps({"detail": {"object": {"key": "k", "version-id": "v", "sequencer": {}}}}),
    "a text for all": json.dumps({"detail": "object"}),
}


@pytest.mark.parametrize("body", EVENTS.values(), ids=EVENTS)
def test_a_message_that_is_no_event_is_given_back_alone(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = two_tables()
    monkeypatch.setattr(ingest, "service", lambda: world.service)
    event = queued(world.drop(GOOD, rows=2, absolute=True, deliver=False))
    event["Records"].insert(0, {"messageId": "bad", "body": body})
    assert ingest.handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    world.run()
    assert world._rows(Ref(MAIN), PLANES) == {GOOD: 2}


@pytest.mark.parametrize(
    "name", ["wap-x-20130101T0000-00000000-a" + "9" * 5000, "wap-", "wap-x", "wap-x-99999999T9999-00000000-a0-rff"]
)
def test_a_branch_that_is_named_like_ours_stops_nobody(name: str) -> None:
    world = two_tables()
    world.service.branches.create_branch(name, world.lake.branches[MAIN])
    world.drop(GOOD, rows=2, absolute=True)
    world.runner.finish_all()
    world.wait_out_the_grace()
    assert [it for it in reconcile(world.service) if name not in str(it)] == []
    assert world._rows(Ref(MAIN), PLANES) == {GOOD: 2}
    assert status(world.service).published


def in_line(error: Exception, patch: pytest.MonkeyPatch, *names: str) -> tuple[Scene, list[Attempt]]:
    """Batches of one table that are published in turn, all audited, in the order in which their files were dropped."""
    structlog.reset_defaults()
    world = World()
    world.want_unique_keys()
    for name in names:
        world.drop(name, rows=2)
        world.clock.advance(60)
    world.runner.finish_all()
    attempts = sorted(world.attempts(), key=lambda attempt: attempt.batch)
    return Scene(world=world, error=error, patch=patch), attempts


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_attempt_that_cannot_be_asked_keeps_no_newer_batch_of_its_table_waiting(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, [bad, good] = in_line(error, monkeypatch, "bad", "good")
    scene.fail(queue, "files_claimed_on", lambda _, attempt, *__: attempt == bad)
    with capture_logs() as logs:
        scene.try_(lambda: settle(scene.world.service, good))
    waits = isinstance(error, TRANSIENT)  # it is asked again at the next event or sweep
    assert scene.world.rows_on_main() == ({} if waits else {"good": 2})
    assert scene.is_told(logs)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_the_next_in_line_that_cannot_be_settled_spoils_nothing_of_the_one_before(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, [good, bad] = in_line(error, monkeypatch, "good", "bad")
    scene.fail(settling, "job_of", lambda _, attempt: attempt == bad)
    with capture_logs() as logs:
        settle(scene.world.service, good)
    assert scene.world.rows_on_main() == {"good": 2}
    assert scene.is_told(logs)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_report_that_cannot_be_read_hides_no_other_attempt_of_its_batch(body: bytes) -> None:
    world = World()
    world.drop("it", rows=1, bad="odd")
    world.run()
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    world.run()
    spoil(world, f"reports/{line.branch}.json", body)
    first, second = view_batch(world.service, line.batch).attempts
    assert first.report is None
    assert "can't be read" in first.job or "update lakegate" in first.job
    assert second.report is not None


def test_a_receipt_that_cannot_be_read_is_never_written_over_nor_taken_for_none() -> None:
    broken = Receipt.read("nyc/flights/1", b"{")
    assert broken.unreadable
    with pytest.raises(Misconfigured, match=r"nyc/flights/1.*No file under this key is ingested or decided"):
        broken.to_json()
    with pytest.raises(Misconfigured, match="can't be read"):
        broken.with_decision(
            Entry.of(World().drop("1", rows=1), Decision.PUBLISHED, Attempt(table=TABLE, batch="b", number=1))
        )
    other = Receipt(bucket="landing", key="another").to_json()
    assert Receipt.read("nyc/flights/1", other).unreadable == "it is another's"
