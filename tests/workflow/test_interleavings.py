"""Two workers at once: one is stopped before any call to the world, the other works on, stopped anywhere too.

Whatever they do to each other, every file is decided once, told once, and no branch is left that nobody needs.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from lakegate.audit.errors import JobError
from lakegate.errors import Conflict, LakegateError, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, JobState, MessageKind
from lakegate.testing.lake import Key, KeyKind
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.claims import files_claimed_on
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.installation import PLANES
from tests.world.world import TABLE, World

PORTS = ("branches", "ledger", "publisher", "tables", "runner", "landing", "store", "notifier")
PATIENCE = 300.0  # it only ends a test that hangs
NEVER = 1_000_000

Operation = Callable[[Service], object]


class Worker(threading.Thread):
    """Does one operation; is stopped once, before its call number `stop` to the world, until told to go on."""

    def __init__(self, world: World, operation: Operation, stop: int) -> None:
        super().__init__(daemon=True)
        self.operation, self.left = operation, stop
        self.crash: Exception | None = None
        self.at = ""
        self.stopped, self.ended = False, False
        self._here, self._go = threading.Semaphore(0), threading.Semaphore(0)
        whole = world.service
        self.service = replace(
            whole, **{f.name: self._wrap(getattr(whole, f.name)) for f in fields(whole) if f.name in PORTS}
        )

    def _wrap(self, port: Any) -> Any:
        worker = self

        class Port:
            def __getattr__(self, name: str) -> Any:
                found = getattr(port, name)
                return worker.stopping(found) if callable(found) else found

        return Port()

    def stopping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                self.stopped, self.at = True, method.__name__
                self._here.release()
                self._go.acquire()
            return method(*args, **kwargs)

        return called

    def run(self) -> None:
        try:
            self.operation(self.service)
        except LakegateError:
            pass  # it is told to whoever called, who may try again
        except Exception as crash:  # noqa: BLE001 (it fails the test, in the test's own thread)
            self.crash = crash
        self.ended = True
        self._here.release()

    def until_it_stops(self) -> None:
        self.start()
        assert self._here.acquire(timeout=PATIENCE)

    def to_its_end(self) -> None:
        if not self.ended:
            self._go.release()
            assert self._here.acquire(timeout=PATIENCE)
        assert self.crash is None


def interleave(world: World, one: Operation, other: Operation, stops: tuple[int, int]) -> tuple[Worker, Worker]:
    """`one` up to its stop, `other` up to its own, the rest of `one`, the rest of `other`."""
    first, second = Worker(world, one, stops[0]), Worker(world, other, stops[1])
    first.until_it_stops()
    second.until_it_stops()
    first.to_its_end()
    second.to_its_end()
    return first, second


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Two operations on one world. `decisions` are what may come of the files, by their names (the first that settles
    may decide of the other), `told` the messages about each key (None: one for each that is rejected).
    """

    world: World
    one: Operation
    other: Operation
    decisions: tuple[Mapping[str, Decision | None], ...]
    told: (
        Mapping[str, list[MessageKind]]
        | Callable[[Mapping[str, Decision | None]], Mapping[str, list[MessageKind]]]
        | None
    )


PUBLISHED, REJECTED, DISCARDED = Decision


def assert_all_is_well(scene: Scene) -> None:
    world, entries = scene.world, scene.world.entries()
    decisions = {name: entry.decision if entry else None for name, entry in entries.items()}
    assert decisions in scene.decisions
    published = {name for name, decision in decisions.items() if decision is PUBLISHED}
    there = world.on_main()
    assert world.rows_on_main() == {name: world.rows_of(name) for name in there}
    assert world.quarantined_on() == {name: aside for name in there if (aside := world.aside_of(name))}
    assert world.publications_by_name() == dict.fromkeys(published, 1)
    rejected = [entry for entry in entries.values() if entry and entry.decision is REJECTED and entry.attempt]
    kept = {Attempt(table=e.table, batch=e.batch, number=e.attempt).branch for e in rejected}
    assert set(world.branches()) == kept
    once_each = {name: [MessageKind.REJECTED] for name, decision in decisions.items() if decision is REJECTED}
    told = scene.told(decisions) if callable(scene.told) else once_each if scene.told is None else scene.told
    assert world.told() == told
    assert status(world.service).in_flight == ()


# What workers do.


def received(world: World, *names: str) -> Operation:
    arrivals = [Arrival(key=world.files[name].key, version_id=world.files[name].version_id) for name in names]

    def operation(service: Service) -> None:
        for failure in receive(service, arrivals):
            raise failure.error

    return operation


def settled(attempt: Attempt) -> Operation:
    return lambda service: settle(service, attempt)


def swept(service: Service) -> None:
    reconcile(service)


def retried(batch: str) -> Operation:
    return lambda service: retry(service, batch)


def discarded(batch: str) -> Operation:
    return lambda service: discard(service, batch, reason="not wanted", by="ann")


def approved(batch: str) -> Operation:
    return lambda service: approve(service, batch, reason="known at the vendor's", by="ann")


def lived(world: World, first: Operation = swept) -> Operation:
    """An operation, and then everything that comes of it."""

    def operation(service: Service) -> None:
        first(service)
        for _ in range(3):
            world.runner.finish_all()
            reconcile(service)

    return operation


# What they meet.


def a_world(*, table: bool = True) -> World:
    world = World()
    if table:
        world.drop("0", rows=1)
        world.run()
    return world


def land(world: World, *names: str, bad: str = "", warn: str = "", aside: int = 0, needs: str = "") -> None:
    for name in names:
        world.drop(name, rows=len(world.files) + 2, deliver=False, bad=bad, warn=warn, aside=aside, needs=needs)


def audited(world: World, *names: str) -> Attempt:
    attempt = world.open_attempt(*(world.files[name] for name in names))
    world.run(settle_after=False)
    return attempt


def good_and_bad(world: World) -> Attempt:
    land(world, "1", warn="odd")
    land(world, "2", bad="broken")
    return audited(world, "1", "2")


def a_rejected_batch(*, mended: bool = True) -> tuple[World, str]:
    world = a_world()
    land(world, "1", bad="broken")
    world.deliver(world.files["1"])
    world.run()
    (line,) = status(world.service).rejected
    if mended:
        world.mend("1")
    return world, line.batch


GOOD_AND_BAD_TOLD = {"1": [MessageKind.WARNING], "2": [MessageKind.REJECTED]}
TOLD = {"1": [MessageKind.REJECTED]}
STRANGERS: Mapping[Key, str] = {Key(kind=KeyKind.TABLE, name="strangers.things"): "theirs"}


def overlapping_events() -> Scene:
    world = a_world(table=False)
    land(world, "1", "2", "3")
    one, other = received(world, "1", "2"), received(world, "1", "3")
    return Scene(world=world, one=one, other=other, decisions=(dict.fromkeys("123", PUBLISHED),), told={})


def an_event_and_all_that_comes_of_it() -> Scene:
    world = a_world(table=False)
    land(world, "1", warn="odd")
    land(world, "2", bad="broken")
    world.wait_out_the_grace()
    decisions = ({"1": PUBLISHED, "2": REJECTED},)
    return Scene(
        world=world, one=received(world, "1", "2"), other=lived(world), decisions=decisions, told=GOOD_AND_BAD_TOLD
    )


def two_versions_of_a_key(
    body: bytes = b"two", newer: Decision = PUBLISHED, older: Decision = DISCARDED, reuploads: str = "replace"
) -> Scene:
    """Return what becomes of the one that comes second, whichever that is."""
    world = a_world()
    world.push_contract(reuploads=reuploads)
    world.drop("1", rows=2, body=b"one", deliver=False)
    world.drop("1b", rows=3, body=body, deliver=False, under=world.key("1"))
    first = {"0": PUBLISHED, "1": PUBLISHED, "1b": newer}
    decisions = (first, first | {"1": older, "1b": PUBLISHED})
    told = TOLD if REJECTED in (older, newer) else {}
    return Scene(world=world, one=received(world, "1"), other=received(world, "1b"), decisions=decisions, told=told)


def the_same_bytes_twice() -> Scene:
    return two_versions_of_a_key(b"one", DISCARDED)


def two_versions_of_a_key_that_are_appended() -> Scene:
    return two_versions_of_a_key(older=PUBLISHED, reuploads="append")


def two_versions_of_a_key_of_which_one_is_ignored() -> Scene:
    return two_versions_of_a_key(newer=DISCARDED, reuploads="ignore")


def two_versions_of_a_key_of_which_one_is_rejected() -> Scene:
    return two_versions_of_a_key(newer=REJECTED, older=REJECTED, reuploads="reject")


def a_replacement(*, bad: str = "", aside: int = 1, moved: bool = True) -> Scene:
    """A new version of a published key is audited with a file beside it, and main has moved since."""
    world = a_world(table=False)
    for name in ("0", "1"):
        world.drop(name, rows=2, aside=1)
    world.run()
    world.drop("1b", rows=5, bad=bad, aside=aside, under=world.key("1"), deliver=False)
    land(world, "2", "9")
    attempt = audited(world, "1b", "2")
    if moved:
        settle(world.service, audited(world, "9"))
    decisions = {**dict.fromkeys(("0", "1", "1b", "2", "9"), PUBLISHED)}
    told = {"0": [MessageKind.WARNING], "1": [MessageKind.WARNING] * (2 if aside else 1)}
    if bad:
        decisions, told = decisions | {"1b": REJECTED}, told | {"1": [MessageKind.WARNING, MessageKind.REJECTED]}
    world.wait_out_the_grace()
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=(decisions,), told=told)


def a_replacement_on_the_main_it_was_made_from() -> Scene:
    return a_replacement(moved=False)


def a_replacement_that_failed() -> Scene:
    return a_replacement(bad="broken")


def a_replacement_that_failed_on_the_main_it_was_made_from() -> Scene:
    return a_replacement(bad="broken", moved=False)


def a_replacement_that_failed_where_verdicts_depend_on_the_table() -> Scene:
    scene = a_replacement(bad="broken", moved=False)
    scene.world.depends_on = (TABLE,)
    return scene


def a_replacement_received_twice() -> Scene:
    world = a_world()
    world.drop("0b", rows=3, under=world.key("0"), deliver=False)
    world.wait_out_the_grace()
    decisions = (dict.fromkeys(("0", "0b"), PUBLISHED),)
    return Scene(world=world, one=received(world, "0b"), other=lived(world), decisions=decisions, told={})


def two_replacements_of_one_key() -> Scene:
    """Workers that did not see each other's claims are at two newer versions; the last one is what stays."""
    world = a_world()
    for name in ("0b", "0c"):
        world.drop(name, rows=len(name) + len(world.files), under=world.key("0"), deliver=False)
    one, other = audited(world, "0b"), audited(world, "0c")
    published = dict.fromkeys(("0", "0b", "0c"), PUBLISHED)
    decisions = (published, published | {"0b": DISCARDED})
    return Scene(world=world, one=settled(one), other=settled(other), decisions=decisions, told={})


def the_right_bytes_again_while_a_mistake_is_published() -> Scene:
    """Main has them when one worker looks, and has the mistake in their place when it decides."""
    world = a_world()
    world.drop("mistake", rows=3, under=world.key("0"), deliver=False)
    world.drop("again", rows=1, under=world.key("0"), body=world.body_of("0"), deliver=False)
    mistake, names = audited(world, "mistake"), ("0", "mistake", "again")
    decisions = (dict.fromkeys(names, PUBLISHED), dict.fromkeys(names, DISCARDED) | {"0": PUBLISHED})
    return Scene(world=world, one=received(world, "again"), other=settled(mistake), decisions=decisions, told={})


def a_contract_pushed_while_a_superseded_version_is_settled() -> Scene:
    """Between the two looks by which it is superseded and by which it is not, it has done nothing wrong."""
    world = a_world()
    for name in ("older", "newer"):
        world.drop(name, rows=3, body=name.encode(), deliver=False, under=world.key("0"))
    older, newer = audited(world, "older"), audited(world, "newer")
    settle(world.service, newer)

    def others(_: Service) -> None:
        world.push_contract(reuploads="append")

    rest = {"0": PUBLISHED, "newer": PUBLISHED}
    decisions = (rest | {"older": DISCARDED}, rest | {"older": PUBLISHED})
    return Scene(world=world, one=settled(older), other=others, decisions=decisions, told={})


def other_bytes_under_a_published_key() -> Scene:
    world = a_world()
    world.push_contract(reuploads="reject")
    for name in ("0b", "0c"):
        world.drop(name, rows=3, body=name.encode(), deliver=False, under=world.key("0"))
    decisions = ({"0": PUBLISHED, "0b": REJECTED, "0c": REJECTED},)
    one, other = received(world, "0b", "0c"), received(world, "0b")
    return Scene(world=world, one=one, other=other, decisions=decisions, told={"0": [MessageKind.REJECTED] * 2})


def one_attempt_settled_twice() -> Scene:
    world = a_world()
    attempt = good_and_bad(world)
    decisions = ({"0": PUBLISHED, "1": PUBLISHED, "2": REJECTED},)
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=decisions, told=GOOD_AND_BAD_TOLD)


def settled_by_its_event_and_by_a_sweep() -> Scene:
    return replace(one_attempt_settled_twice(), other=swept)


def rebased_twice(*depends_on: str) -> Scene:
    world = a_world()
    world.depends_on = depends_on
    land(world, "9")
    nine, attempt = audited(world, "9"), good_and_bad(world)
    settle(world.service, nine)
    decisions = ({"0": PUBLISHED, "1": PUBLISHED, "2": REJECTED, "9": PUBLISHED},)
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=decisions, told=GOOD_AND_BAD_TOLD)


def two_new_attempts() -> Scene:
    world = a_world(table=False)
    land(world, "9")
    nine, attempt = audited(world, "9"), good_and_bad(world)
    settle(world.service, nine)
    decisions = ({"1": PUBLISHED, "2": REJECTED, "9": PUBLISHED},)
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=decisions, told=GOOD_AND_BAD_TOLD)


def a_new_attempt_and_all_that_comes_of_it() -> Scene:
    scene = two_new_attempts()
    return replace(scene, other=lived(scene.world))


def two_new_attempts_at_a_whole_batch() -> Scene:
    world = a_world(table=False)
    land(world, "9", "1")
    nine, one = audited(world, "9"), audited(world, "1")
    settle(world.service, nine)
    return Scene(
        world=world, one=settled(one), other=settled(one), decisions=(dict.fromkeys("19", PUBLISHED),), told={}
    )


def verdicts_of_a_table_that_moved() -> Scene:
    return rebased_twice(TABLE)


def an_early_file_settled_twice() -> Scene:
    world = a_world()
    world.refer_to_planes()
    land(world, "1", needs="plane")
    land(world, "2")
    attempt = audited(world, "1", "2")
    world.change_on_main(PLANES, "plane")
    decisions = (dict.fromkeys("012", PUBLISHED),)
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=decisions, told={})


def an_early_file_and_all_that_comes_of_it() -> Scene:
    scene = an_early_file_settled_twice()
    return replace(scene, other=lived(scene.world))


def rows_put_aside(*, before: bool) -> Scene:
    """Main moves while rows of a good and of a bad file wait to be put aside; quarantine is on main before, or not."""
    world = a_world(table=False)
    land(world, "0", aside=1 if before else 0)
    settle(world.service, audited(world, "0"))
    land(world, "9", aside=2)
    nine = audited(world, "9")
    land(world, "1", aside=3)
    land(world, "2", bad="broken", aside=4)
    attempt = audited(world, "1", "2")
    settle(world.service, nine)
    told = {**GOOD_AND_BAD_TOLD, "9": [MessageKind.WARNING]} | ({"0": [MessageKind.WARNING]} if before else {})
    decisions = ({"0": PUBLISHED, "1": PUBLISHED, "2": REJECTED, "9": PUBLISHED},)
    return Scene(world=world, one=settled(attempt), other=settled(attempt), decisions=decisions, told=told)


def rows_put_aside_beside_others() -> Scene:
    return rows_put_aside(before=True)


def the_first_rows_put_aside_twice_at_once() -> Scene:
    scene = rows_put_aside(before=False)
    return replace(scene, other=lived(scene.world))


def attempts_with_a_file_in_common() -> Scene:
    world = a_world()
    land(world, "1", warn="odd")
    land(world, "2", bad="broken")
    land(world, "3", "4")
    one, other = (world.open_attempt(*(world.files[name] for name in names)) for names in ("123", "124"))
    world.run(settle_after=False)
    decisions = ({**dict.fromkeys("0134", PUBLISHED), "2": REJECTED},)
    return Scene(world=world, one=settled(one), other=settled(other), decisions=decisions, told=GOOD_AND_BAD_TOLD)


def one_of_two_attempts_killed() -> Scene:
    """Whichever settles first decides of the file that they have in common; the other's own file is not its matter."""
    world = a_world()
    world.allow_attempts(1)
    land(world, "1", "2", "3")
    killed = world.open_attempt(world.files["1"], world.files["2"])
    world.kill_jobs("killed")
    fine = audited(world, "1", "3")
    decisions = {"0": PUBLISHED, "1": REJECTED, "2": REJECTED, "3": PUBLISHED}
    return Scene(
        world=world,
        one=settled(fine),
        other=settled(killed),
        decisions=(decisions, decisions | {"1": PUBLISHED}),
        told=None,
    )


def a_crash_settled_twice() -> Scene:
    """The next attempt is due, and takes the files over."""
    world = a_world()
    land(world, "1", warn="odd")
    land(world, "2", bad="broken")
    crashed = world.open_attempt(world.files["1"], world.files["2"])
    world.kill_jobs("killed")
    world.clock.advance(world.service.grace.total_seconds())
    decisions = ({"0": PUBLISHED, "1": PUBLISHED, "2": REJECTED},)
    return Scene(world=world, one=settled(crashed), other=settled(crashed), decisions=decisions, told=GOOD_AND_BAD_TOLD)


def a_crash_and_all_that_comes_of_it() -> Scene:
    scene = a_crash_settled_twice()
    return replace(scene, other=lived(scene.world))


def a_crash_and_its_zombie() -> Scene:
    """While the crashed attempt is settled, its job writes its report all the same."""
    scene = a_crash_settled_twice()
    [run] = [run.id for run in scene.world.runner.runs.values() if run.state is JobState.FAILED]

    def zombie(service: Service) -> None:
        with suppress(JobError):
            scene.world.runner.finish(run)
        reconcile(service)

    return replace(scene, other=zombie)


def keys_of_a_table() -> Scene:
    """Two batches whose keys are unique in the whole table: the later one is audited again, and found to repeat one."""
    world = World()
    world.want_unique_keys()
    world.drop("0", rows=1)
    world.run()
    for name, key in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "c")):
        world.drop(name, rows=3, deliver=False, holds=key)
        world.clock.advance(60)  # turns go by the minute
    one, two = audited(world, "1", "2"), audited(world, "3", "4")
    decisions = ({**dict.fromkeys("0124", PUBLISHED), "3": REJECTED},)
    return Scene(world=world, one=settled(two), other=settled(one), decisions=decisions, told=None)


def keys_of_a_table_and_all_that_comes_of_it() -> Scene:
    scene = keys_of_a_table()
    return replace(scene, one=scene.other, other=lived(scene.world))


def a_batch_audited_again_twice_at_once() -> Scene:
    """One worker starts the attempt that reuses the data files while the other lives on."""
    world = World()
    world.want_unique_keys()
    world.drop("0", rows=1)
    world.run()
    for name, key in (("1", "a"), ("3", "a"), ("4", "c")):
        world.drop(name, rows=3, deliver=False, holds=key)
        world.clock.advance(60)  # as above
    one, two = world.open_attempt(world.files["1"]), world.open_attempt(world.files["3"], world.files["4"])
    for attempt in (one, two):
        [run] = [run for run in world.runner.open_runs() if run.branch == attempt.branch]
        world.runner.finish(run.id)
        if attempt is one:
            settle(world.service, one)
    decisions = ({**dict.fromkeys("014", PUBLISHED), "3": REJECTED},)
    return Scene(world=world, one=settled(two), other=lived(world), decisions=decisions, told=None)


def two_retries() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED},)
    return Scene(world=world, one=retried(batch), other=retried(batch), decisions=decisions, told=TOLD)


def a_retry_and_another_with_all_that_comes_of_it() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED},)
    return Scene(world=world, one=retried(batch), other=lived(world, retried(batch)), decisions=decisions, told=TOLD)


def a_retry_and_a_sweep() -> Scene:
    """The sweep meets the retry's branch before its claims are there; a retry that fails is done again."""
    world, batch = a_rejected_batch()

    def until_it_succeeds(service: Service) -> None:
        with suppress(Conflict, Retryable):
            retry(service, batch)
            return
        retry(service, batch)

    decisions = ({"0": PUBLISHED, "1": PUBLISHED},)
    return Scene(world=world, one=until_it_succeeds, other=swept, decisions=decisions, told=TOLD)


def a_retry_and_a_discard() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED}, {"0": PUBLISHED, "1": DISCARDED})
    return Scene(world=world, one=retried(batch), other=discarded(batch), decisions=decisions, told=TOLD)


def a_discard_and_a_retry_with_all_that_comes_of_it() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED}, {"0": PUBLISHED, "1": DISCARDED})
    return Scene(world=world, one=discarded(batch), other=lived(world, retried(batch)), decisions=decisions, told=TOLD)


def a_discard_and_a_sweep() -> Scene:
    world, batch = a_rejected_batch()
    return Scene(
        world=world, one=discarded(batch), other=swept, decisions=({"0": PUBLISHED, "1": DISCARDED},), told=TOLD
    )


def an_approval(*, other: str = "approve") -> Scene:
    """Of a file that is to replace another, beside one that was published; and main has moved since."""
    world = a_world(table=False)
    for name in ("0", "1"):
        world.drop(name, rows=2)
    world.run()
    world.drop("1b", rows=5, bad="broken", aside=1, under=world.key("1"), deliver=False)
    land(world, "2", "9")
    attempt = audited(world, "1b", "2")
    settle(world.service, attempt)
    settle(world.service, audited(world, "9"))
    operations = {"approve": approved, "retry": retried, "discard": discarded}
    published = dict.fromkeys(("0", "1", "1b", "2", "9"), PUBLISHED)
    decisions = (published, published | {"1b": DISCARDED}) if other == "discard" else (published,)
    told = {"1": [MessageKind.REJECTED, MessageKind.APPROVAL]}
    batch = attempt.batch
    return Scene(world=world, one=approved(batch), other=operations[other](batch), decisions=decisions, told=told)


def an_approval_and_a_sweep() -> Scene:
    return replace(an_approval(), other=swept)


def an_approval_and_a_discard() -> Scene:
    def told(decisions: Mapping[str, Decision | None]) -> dict[str, list[MessageKind]]:
        return {"1": [MessageKind.REJECTED, *([MessageKind.APPROVAL] if decisions["1b"] is PUBLISHED else [])]}

    return replace(an_approval(other="discard"), told=told)


def a_discard_and_an_approval() -> Scene:
    scene = an_approval_and_a_discard()
    return replace(scene, one=scene.other, other=scene.one)


def two_sweeps() -> Scene:
    """Files unrouted and routed again, files whose event was lost, an attempt to settle, one that needs another."""
    world = a_world(table=False)
    land(world, "9")
    nine = audited(world, "9")
    good_and_bad(world)
    world.remove_contract()
    land(world, "5")
    world.deliver(world.files["5"])
    world.push_contract()
    land(world, "6")
    settle(world.service, nine)
    world.wait_out_the_grace()
    decisions = ({**dict.fromkeys("1569", PUBLISHED), "2": REJECTED},)
    return Scene(
        world=world,
        one=swept,
        other=swept,
        decisions=decisions,
        told={**GOOD_AND_BAD_TOLD, "5": [MessageKind.UNROUTED]},
    )


def an_event_and_a_sweep() -> Scene:
    scene = two_sweeps()
    return replace(scene, one=received(scene.world, "6"))


def a_branch_made_anew_on_a_main_that_moved() -> Scene:
    """A sweep deletes it before its claims are there, somebody commits to main, and the event comes again."""
    world = a_world()
    land(world, "1")
    event = received(world, "1")

    def again(service: Service) -> None:
        reconcile(world.service)
        world.lake.commit(MAIN, STRANGERS)
        event(service)

    return Scene(world=world, one=event, other=again, decisions=({"0": PUBLISHED, "1": PUBLISHED},), told={})


def a_stranger_on_the_branch_of_a_new_attempt() -> Scene:
    """Return where the claims come right behind it, the file is rejected for that commit; never for what we did
    ourselves.
    """
    scene = two_new_attempts()
    [usual] = scene.decisions

    def after_a_stranger(service: Service) -> None:
        for branch in unclaimed(scene.world):
            scene.world.lake.commit(branch, STRANGERS)
        scene.other(service)

    def told(decisions: Mapping[str, Decision | None]) -> dict[str, list[MessageKind]]:
        return GOOD_AND_BAD_TOLD | ({"1": [MessageKind.REJECTED]} if decisions["1"] is REJECTED else {})

    return replace(scene, other=after_a_stranger, decisions=(usual, {**usual, "1": REJECTED}), told=told)


def a_number_taken_for_another_file_meanwhile() -> Scene:
    """A worker is about to claim a good file for the next attempt; that one is published by another batch, and the next
    attempt becomes the early file's that was with it.
    """
    world = World()
    world.refer_to_planes()
    world.change_on_main(PLANES)
    land(world, "9", "1")
    land(world, "2", needs="plane")
    nine, both = audited(world, "9"), audited(world, "1", "2")
    settle(world.service, nine)
    one = audited(world, "1")
    world.change_on_main(PLANES, "plane")

    def others(_: Service) -> None:
        settle(world.service, one)
        settle(world.service, both)
        world.runner.finish_all()

    return Scene(world=world, one=settled(both), other=others, decisions=(dict.fromkeys("912", PUBLISHED),), told={})


def a_contract_pushed_while_data_files_are_reused() -> Scene:
    """The one worker is about to reuse them, by the contract of before; the other freezes a job that appends again."""
    world = World()
    world.want_unique_keys()
    world.drop("0", rows=1)
    world.run()
    for name, key in (("1", "a"), ("2", "b")):
        world.drop(name, rows=3, deliver=False, holds=key)
    one, two = sorted((audited(world, name) for name in "12"), key=lambda attempt: attempt.batch)
    world.store.create(f"reports/{two.branch}.later", world.store.objects.pop(f"reports/{two.branch}.json"))
    settle(world.service, one)
    world.store.objects[f"reports/{two.branch}.json"] = world.store.objects.pop(f"reports/{two.branch}.later")

    def others(service: Service) -> None:
        world.want_unique_keys(required=True)
        reconcile(service)
        world.end_jobs()

    return Scene(world=world, one=settled(two), other=others, decisions=(dict.fromkeys("012", PUBLISHED),), told={})


SCENES = [
    a_contract_pushed_while_data_files_are_reused,
    a_number_taken_for_another_file_meanwhile,
    overlapping_events,
    an_event_and_all_that_comes_of_it,
    two_versions_of_a_key,
    the_same_bytes_twice,
    two_versions_of_a_key_that_are_appended,
    two_versions_of_a_key_of_which_one_is_ignored,
    two_versions_of_a_key_of_which_one_is_rejected,
    a_replacement,
    a_replacement_on_the_main_it_was_made_from,
    a_replacement_that_failed,
    a_replacement_that_failed_on_the_main_it_was_made_from,
    a_replacement_that_failed_where_verdicts_depend_on_the_table,
    a_replacement_received_twice,
    two_replacements_of_one_key,
    the_right_bytes_again_while_a_mistake_is_published,
    a_contract_pushed_while_a_superseded_version_is_settled,
    other_bytes_under_a_published_key,
    one_attempt_settled_twice,
    settled_by_its_event_and_by_a_sweep,
    rebased_twice,
    two_new_attempts,
    a_new_attempt_and_all_that_comes_of_it,
    two_new_attempts_at_a_whole_batch,
    verdicts_of_a_table_that_moved,
    an_early_file_settled_twice,
    an_early_file_and_all_that_comes_of_it,
    rows_put_aside_beside_others,
    the_first_rows_put_aside_twice_at_once,
    attempts_with_a_file_in_common,
    one_of_two_attempts_killed,
    a_crash_settled_twice,
    a_crash_and_all_that_comes_of_it,
    a_crash_and_its_zombie,
    keys_of_a_table,
    keys_of_a_table_and_all_that_comes_of_it,
    a_batch_audited_again_twice_at_once,
    two_retries,
    a_retry_and_another_with_all_that_comes_of_it,
    a_retry_and_a_sweep,
    a_retry_and_a_discard,
    a_discard_and_a_retry_with_all_that_comes_of_it,
    a_discard_and_a_sweep,
    an_approval,
    an_approval_and_a_sweep,
    an_approval_and_a_discard,
    a_discard_and_an_approval,
    pytest.param(two_sweeps, marks=pytest.mark.extended),
    an_event_and_a_sweep,
]


@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
@pytest.mark.share(25)
def test_two_workers_at_once(make: Callable[[], Scene]) -> None:
    stop, stopped = 0, True
    while stopped:
        scene = make()
        first, _ = interleave(scene.world, scene.one, scene.other, (stop, NEVER))
        scene.world.come_to_rest()
        assert_all_is_well(scene)
        stopped, stop = first.stopped, stop + 1
    assert stop > 5


def unclaimed(world: World) -> list[str]:
    return [attempt.branch for attempt in world.attempts() if not files_claimed_on(world.service, attempt)]


@pytest.mark.parametrize(
    "make",
    [
        a_branch_made_anew_on_a_main_that_moved,
        pytest.param(a_stranger_on_the_branch_of_a_new_attempt, marks=pytest.mark.extended),
    ],
)
def test_two_workers_at_once_of_which_one_has_a_branch_without_claims(make: Callable[[], Scene]) -> None:
    """Both are stopped, the second one anywhere."""
    stop, tried, stopped = 0, 0, True
    while stopped:
        other_stop, other_stopped = 0, True
        while other_stopped:
            scene = make()
            first, second = Worker(scene.world, scene.one, stop), Worker(scene.world, scene.other, other_stop)
            first.until_it_stops()
            stopped = first.stopped
            if not unclaimed(scene.world):
                first.to_its_end()
                break
            second.until_it_stops()
            first.to_its_end()
            second.to_its_end()
            scene.world.come_to_rest()
            assert_all_is_well(scene)
            assert "after the audit" not in str(scene.world.entries())
            other_stopped, other_stop, tried = second.stopped, other_stop + 1, tried + 1
        stop += 1
    assert tried > 50


def audited_by_a_contract_that_was_pushed_since(*others: str) -> tuple[World, Attempt]:
    """A newer version of a published file, and others: good ones, and one called `bad`."""
    world = a_world()
    world.drop("newer", rows=3, deliver=False, under=world.key("0"))
    for name in others:
        land(world, name, bad="broken" if name == "bad" else "")
    attempt = audited(world, "newer", *others)
    world.push_contract(changed=True)
    return world, attempt


def where_it_makes_the_next_branch(*others: str) -> int:
    for stop in range(100):
        world, attempt = audited_by_a_contract_that_was_pushed_since(*others)
        worker = Worker(world, settled(attempt), stop)
        worker.until_it_stops()
        worker.to_its_end()
        if worker.at == "create_branch":
            return stop
    raise AssertionError("it makes none")


def test_two_workers_at_once_while_a_contract_is_pushed_by_which_nothing_is_left_to_try() -> None:
    """One is stopped before it makes the next attempt's branch, the other anywhere."""
    stop, stopped, its = 0, True, where_it_makes_the_next_branch()
    while stopped:
        world, attempt = audited_by_a_contract_that_was_pushed_since()
        first, second = Worker(world, settled(attempt), its), Worker(world, settled(attempt), stop)
        first.until_it_stops()
        second.until_it_stops()
        world.push_contract(changed=True, reuploads="reject")
        first.to_its_end()
        second.to_its_end()
        world.come_to_rest()
        decisions: Mapping[str, Decision | None] = {"0": PUBLISHED, "newer": REJECTED}
        told = {"0": [MessageKind.REJECTED]}
        assert_all_is_well(Scene(world=world, one=swept, other=swept, decisions=(decisions,), told=told))
        stopped, stop = second.stopped, stop + 1
    assert stop > 5


def test_what_two_pushes_within_one_settling_leave_is_settled_again_and_all_is_told() -> None:
    """One leaves the next attempt nothing of a file to try, the other opens it again."""
    stop, stopped, its = 0, True, where_it_makes_the_next_branch("bad", "1")
    while stopped:
        world, attempt = audited_by_a_contract_that_was_pushed_since("bad", "1")
        worker = Worker(world, settled(attempt), its)
        worker.until_it_stops()
        world.push_contract(changed=True, reuploads="reject")
        worker.stopped, worker.left = False, stop
        worker.to_its_end()
        world.push_contract(changed=True)
        stopped, stop = worker.stopped, stop + 1
        worker.to_its_end()
        world.come_to_rest()
        rest: dict[str, Decision | None] = {"0": PUBLISHED, "1": PUBLISHED, "bad": REJECTED}
        told, newer = world.told(), world.entries()["newer"]
        decisions = (rest | {"newer": PUBLISHED}, rest | {"newer": REJECTED})
        assert_all_is_well(Scene(world=world, one=swept, other=swept, decisions=decisions, told=told))
        assert newer is not None
        assert "after the audit" not in str(newer.reasons)
        is_rejected = newer.decision is REJECTED
        assert told == {"bad": [MessageKind.REJECTED]} | ({"0": [MessageKind.REJECTED]} if is_rejected else {})
    assert stop > 5
