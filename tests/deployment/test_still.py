"""A change of the application finds an installation at rest, and leaves it at work, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lakegate.deployment.still import REFUSALS, change
from lakegate.errors import Conflict, Misconfigured, Retryable
from lakegate.testing import MemoryIntake


@dataclass(kw_only=True)
class World:
    """An intake, and what happens while a deployment pauses: one thing a pause, then a job run ends at each."""

    intake: MemoryIntake = field(default_factory=MemoryIntake)
    events: list[Callable[[], None]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    deployed: list[MemoryIntake] = field(default_factory=list)

    def pause(self, _: float) -> None:
        if self.events:
            self.events.pop(0)()
        elif self.intake.runs:
            self.intake.runs.pop()

    def deploy(self) -> None:
        self.deployed.append(
            MemoryIntake(runs=set(self.intake.runs), takes=self.intake.takes, may_start=self.intake.may_start)
        )

    def change(self, *, must_stand_still: bool = True) -> None:
        change(self.intake, self.deploy, self.told.append, self.pause, must_stand_still=must_stand_still)


def test_the_application_changes_when_no_job_runs_and_none_can_begin() -> None:
    world = World(intake=MemoryIntake(runs={"a", "b", "c"}))
    world.change()
    assert world.deployed == [MemoryIntake(runs=set(), takes=False, may_start=False)]
    assert world.intake.is_open()
    assert "waiting for 3 job runs to end" in world.told


def test_a_job_that_a_late_function_begins_is_waited_for() -> None:
    world = World(intake=MemoryIntake(runs={"a"}))
    world.events = [world.intake.runs.clear, lambda: None]
    stop = world.intake.stop
    late = iter([lambda: world.intake.begin("late")])

    def stop_late() -> None:
        next(late, lambda: None)()
        stop()

    world.intake.stop = stop_late  # type: ignore[method-assign]
    world.change()
    assert world.deployed == [MemoryIntake(runs=set(), takes=False, may_start=False)]


def test_an_application_that_does_not_stop_is_not_asked_for_ever() -> None:
    world, asked = World(), []

    def refuse() -> None:
        asked.append(1)
        raise Conflict("it is in use")

    world.intake.stop = refuse  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        world.change()
    assert (len(asked), world.deployed, world.intake.is_open()) == (REFUSALS, [], True)


def test_the_intake_is_open_again_where_the_deployment_fails() -> None:
    world = World()

    def fail() -> None:
        raise Misconfigured("cdk deploy has failed")

    world.deploy = fail  # type: ignore[method-assign]
    with pytest.raises(Misconfigured):
        world.change()
    assert world.intake.is_open()


@pytest.mark.parametrize("fails", [True, False])
def test_an_intake_that_does_not_open_is_told_with_what_had_failed_before(*, fails: bool) -> None:
    world = World()

    def deploy() -> None:
        if fails:
            raise Misconfigured("cdk deploy has failed")

    def refuse() -> None:
        raise Retryable("Lambda does not answer")

    world.deploy, world.intake.open = deploy, refuse  # type: ignore[method-assign]
    with pytest.raises(Retryable, match="Lambda does not answer") as error:
        world.change()
    [closed, *before] = error.value.__notes__
    assert closed.endswith("files that land wait: run the same deployment again")
    assert before == ["Before that: Misconfigured: cdk deploy has failed"] * fails


def test_the_intake_is_open_again_where_a_person_interrupts_the_wait() -> None:
    world = World(intake=MemoryIntake(runs={"a"}))

    def interrupt() -> None:
        raise KeyboardInterrupt

    world.events = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        world.change()
    assert (world.deployed, world.intake.is_open()) == ([], True)


def test_nothing_waits_where_the_application_stays_as_it_is() -> None:
    world = World(intake=MemoryIntake(runs={"a"}))
    world.change(must_stand_still=False)
    assert (world.deployed, world.told) == ([MemoryIntake(runs={"a"})], [])


def test_an_intake_that_was_left_closed_is_opened() -> None:
    world = World(intake=MemoryIntake(takes=False))
    world.change(must_stand_still=False)
    assert world.intake.is_open()
    assert "is open again" in world.told[0]
