"""A process that dies before or after any call to the world: reconcile brings every file to its end all the same."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import World

PORTS = ("branches", "ledger", "publisher", "tables", "runner", "landing", "store", "notifier")


class Crash(BaseException):
    """The process is gone. No handler of the product may catch it."""


class Dying:
    """Lets the first `calls` calls through, then dies once: before the next call takes effect, or after."""

    def __init__(self, calls: int, *, after: bool) -> None:
        self.left, self.after, self.died = calls, after, False

    def wrap(self, port: Any) -> Any:
        dying = self

        class Port:
            def __getattr__(self, name: str) -> Any:
                found = getattr(port, name)
                return dying.call(found) if callable(found) else found

        return Port()

    def call(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == -1 and not self.after:
                self.died = True
                raise Crash
            result = method(*args, **kwargs)
            if self.left == -1:
                self.died = True
                raise Crash
            return result

        return called


def mortal(world: World, dying: Dying) -> Service:
    """From now on the world's service may die. Returns the one that can't."""
    whole = world.service
    world.service = replace(
        whole, **{f.name: dying.wrap(getattr(whole, f.name)) for f in fields(whole) if f.name in PORTS}
    )
    return whole


def until_it_dies(world: World, dying: Dying) -> None:
    """One batch of a good and a bad file, and then two batches from one base, by processes that die on the way.

    All but the third put rows aside.
    """
    whole = mortal(world, dying)
    one, two = (world.drop(name, rows=3, bad=bad, aside=1, deliver=False) for name, bad in (("1", ""), ("2", "broken")))
    try:
        world.deliver(one, two)
        world.run()
        three, four = (world.drop(name, rows=4, aside=aside, deliver=False) for name, aside in (("3", 0), ("4", 2)))
        world.open_attempt(three)
        world.open_attempt(four)
        world.run()
    except Crash:
        pass
    world.service = whole


def recover(world: World) -> None:
    for name, rows, aside in (("1", 3, 1), ("2", 3, 1), ("3", 4, 0), ("4", 4, 2)):
        if name not in world.files:
            world.drop(name, rows=rows, aside=aside, bad="broken" if name == "2" else "", deliver=False)
    world.come_to_rest()


def assert_all_is_well(world: World) -> None:
    assert world.rows_on_main() == {"1": 3, "3": 4, "4": 4}
    assert world.quarantined_on() == {"1": 1, "4": 2}
    assert [world.publications(name) for name in ("1", "2", "3", "4")] == [1, 0, 1, 1]
    assert set(world.rejected()) == {"2"}
    assert [world.rows_on(branch) for branch in world.branches()] == [{"2": 3}]
    assert [set(world.quarantined_on(branch)) - {"1", "4"} for branch in world.branches()] == [{"2"}]
    assert world.told().keys() == {"1", "2", "4"}
    assert len(world.messages()) <= 4
    assert status(world.service).in_flight == ()


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_loses_nothing_and_doubles_nothing(*, after: bool) -> None:
    calls, died = 0, True
    while died:
        world, dying = World(), Dying(calls, after=after)
        until_it_dies(world, dying)
        recover(world)
        assert_all_is_well(world)
        died, calls = dying.died, calls + 1
    assert calls > 100


def test_an_attempt_whose_opener_died_leaves_no_branch_once_another_has_decided_its_files() -> None:
    world = World()
    world.drop("1", rows=3)
    [first] = world.attempts()
    both = world.open_attempt(world.file("1"), world.drop("2", rows=4, deliver=False))
    world.run(settle_after=False)
    world.push_contract(changed=True)  # so that settling opens another attempt
    start = world.runner.start
    world.runner.start = Dying(0, after=False).call(start)  # type: ignore[method-assign]
    with pytest.raises(Crash):
        settle(world.service, first)
    world.runner.start = start  # type: ignore[method-assign]
    world.push_contract()
    settle(world.service, both)
    assert reconcile(world.service) == []
    assert world.rows_on_main() == {"1": 3, "2": 4}
    assert world.branches() == []


def take_turns_until_it_dies(world: World, dying: Dying) -> None:
    """Two batches from one base, whose keys are unique in the table: one job of the second one crashes, too."""
    world.want_unique_keys()
    world.drop("0", rows=1)
    world.run()
    for name, key in (("1", "a"), ("2", "b"), ("3", "a")):
        world.drop(name, rows=3, holds=key, deliver=False)
        world.clock.advance(60)
    whole = mortal(world, dying)
    try:
        world.open_attempt(world.file("1"))
        world.open_attempt(world.file("2"), world.file("3"))
        world.run(settle_after=False)
        reconcile(world.service)
        world.kill_jobs("out of memory")
        reconcile(world.service)
        world.clock.advance(world.service.grace.total_seconds())
        reconcile(world.service)
        world.run()
    except Crash:
        pass
    world.service = whole


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.share(1)
def test_a_crash_at_any_call_keeps_no_batch_from_its_turn(*, after: bool) -> None:
    calls, died = 0, True
    while died:
        world, dying = World(), Dying(calls, after=after)
        take_turns_until_it_dies(world, dying)
        world.come_to_rest()
        assert world.rows_on_main() in ({"0": 1, "1": 3, "2": 3}, {"0": 1, "2": 3, "3": 3})
        assert len(world.rejected()) == len(world.branches()) == 1
        assert len(world.messages()) in (1, 2)  # one may be repeated
        assert world.publications_by_name() == dict.fromkeys(world.rows_on_main(), 1)
        assert status(world.service).in_flight == ()
        died, calls = dying.died, calls + 1
    assert calls > 100
