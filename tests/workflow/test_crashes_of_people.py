"""A process that dies in what happens less often: a person's retry or discard, an unrouted file's pick-up, a new
attempt, a rebase. Whoever was at it does it again, or reconcile does.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace

import pytest

from lakegate.errors import LakegateError
from lakegate.ports import MessageKind
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.service import Service
from tests.workflow.test_crashes import PORTS, Crash, Dying
from tests.workflow.test_interleavings import (
    DISCARDED,
    PUBLISHED,
    REJECTED,
    TOLD,
    Scene,
    a_rejected_batch,
    a_replacement,
    a_replacement_received_twice,
    a_replacement_that_failed_on_the_main_it_was_made_from,
    a_world,
    an_approval,
    an_early_file_settled_twice,
    assert_all_is_well,
    discarded,
    land,
    lived,
    other_bytes_under_a_published_key,
    rebased_twice,
    retried,
    swept,
    two_new_attempts,
    verdicts_of_a_table_that_moved,
)


def again(operation: Callable[[Service], object]) -> Callable[[Service], object]:
    """As a person does it who saw it fail: an answer that there is nothing left to do is fine."""

    def operate(service: Service) -> None:
        with suppress(LakegateError):
            operation(service)

    return operate


def a_retry() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED},)
    return Scene(world=world, one=retried(batch), other=again(retried(batch)), decisions=decisions, told=TOLD)


def a_retry_that_fails_again() -> Scene:
    world, batch = a_rejected_batch(mended=False)
    decisions = ({"0": PUBLISHED, "1": REJECTED},)
    told = {"1": [MessageKind.REJECTED, MessageKind.REJECTED]}

    def retried_to_its_end(service: Service) -> None:
        retried(batch)(service)
        world.runner.finish_all()
        reconcile(service)

    return Scene(world=world, one=retried_to_its_end, other=swept, decisions=decisions, told=told)


def a_discard() -> Scene:
    world, batch = a_rejected_batch()
    decisions = ({"0": PUBLISHED, "1": DISCARDED},)
    return Scene(world=world, one=discarded(batch), other=again(discarded(batch)), decisions=decisions, told=TOLD)


def an_unrouted_files_pick_up() -> Scene:
    world = a_world()
    world.remove_contract()
    land(world, "1")
    world.deliver(world.files["1"])
    world.push_contract()
    decisions = ({"0": PUBLISHED, "1": PUBLISHED},)
    return Scene(world=world, one=swept, other=swept, decisions=decisions, told={"1": [MessageKind.UNROUTED]})


def a_new_attempt() -> Scene:
    return replace(two_new_attempts(), other=swept)


def a_rebase() -> Scene:
    return replace(rebased_twice(), other=swept)


def verdicts_of_a_table() -> Scene:
    return replace(verdicts_of_a_table_that_moved(), other=swept)


def an_early_file() -> Scene:
    return replace(an_early_file_settled_twice(), other=swept)


def other_bytes_of_a_published_key() -> Scene:
    """The queue delivers the event again."""
    scene = other_bytes_under_a_published_key()
    return replace(scene, other=scene.one)


def a_replacement_crashed() -> Scene:
    return replace(a_replacement(), other=swept)


def a_replacement_that_fails() -> Scene:
    return replace(a_replacement_that_failed_on_the_main_it_was_made_from(), other=swept)


def a_replacement_and_all_that_comes_of_it() -> Scene:
    scene = a_replacement_received_twice()
    return replace(scene, one=lived(scene.world, scene.one), other=swept)


def an_approval_crashed() -> Scene:
    scene = an_approval()
    return replace(scene, other=again(scene.one))


def other_bytes_whose_event_is_lost() -> Scene:
    return replace(other_bytes_under_a_published_key(), other=swept)


def dying_service(service: Service, dying: Dying) -> Service:
    return replace(
        service, **{f.name: dying.wrap(getattr(service, f.name)) for f in fields(service) if f.name in PORTS}
    )


def assert_well_after_a_crash(scene: Scene) -> None:
    """As without it, but a message may have been told once more."""
    told = scene.world.told()
    assert scene.told is not None
    assert not callable(scene.told)
    assert {key: set(kinds) for key, kinds in told.items()} == {key: set(kinds) for key, kinds in scene.told.items()}
    assert all(len(kinds) <= len(scene.told[key]) * 2 for key, kinds in told.items())
    assert_all_is_well(replace(scene, told=told))


SCENES = [
    a_retry,
    a_retry_that_fails_again,
    a_discard,
    an_approval_crashed,
    an_unrouted_files_pick_up,
    a_new_attempt,
    a_rebase,
    a_replacement_crashed,
    a_replacement_that_fails,
    a_replacement_and_all_that_comes_of_it,
    verdicts_of_a_table,
    an_early_file,
    other_bytes_of_a_published_key,
    other_bytes_whose_event_is_lost,
]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("make", SCENES, ids=lambda make: make.__name__)
@pytest.mark.share(8)
def test_a_crash_at_any_call(make: Callable[[], Scene], *, after: bool) -> None:
    calls, died = 0, True
    while died:
        scene, dying = make(), Dying(calls, after=after)
        with suppress(Crash):
            scene.one(dying_service(scene.world.service, dying))
        scene.other(scene.world.service)
        scene.world.come_to_rest()
        assert_well_after_a_crash(scene)
        died, calls = dying.died, calls + 1
    assert calls > 5
