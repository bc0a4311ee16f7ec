"""The same world under Hypothesis's hand: it looks for a short way to break a promise, and shrinks what it finds."""

from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.simulation.installation import Terms
from tests.simulation.simulation import Simulation
from tests.simulation.spark import Story
from tests.simulation.worker import Fate

ODD = ("", "", "bad", "nulls", "warn", "unreadable")


class Lakegate(RuleBasedStateMachine):
    """Its rules are the hands of the world; which of the workers goes on, and how far, is drawn too."""

    @initialize(strict=st.booleans(), unique=st.booleans(), refers=st.booleans())
    def begin(self, *, strict: bool, unique: bool, refers: bool) -> None:
        self.simulation = Simulation(Terms(strict=strict, unique=unique, refers=refers))
        self.simulation.push_contract()
        self.world = self.simulation.world

    @rule(key=st.integers(0, 2), odd=st.sampled_from(ODD), aside=st.integers(0, 1), body=st.sampled_from([b"1", b"2"]))
    def upload(self, key: int, odd: str, aside: int, body: bytes) -> None:
        odds: dict[str, Any] = {odd: True} if odd else {}
        self.world.upload(f"flights/{key}", body, Story(rows=2, key=key, aside=aside, **odds))

    @precondition(lambda self: self.world.queue)
    @rule(data=st.data(), again=st.booleans())
    def deliver(self, data: st.DataObject, *, again: bool) -> None:
        several = data.draw(st.lists(st.sampled_from(self.world.queue), min_size=1, max_size=3, unique=True))
        self.world.deliver(several, again=again)

    @precondition(lambda self: self.world.queue)
    @rule(data=st.data())
    def lose_event(self, data: st.DataObject) -> None:
        self.world.lose_event(data.draw(st.sampled_from(self.world.queue)))

    @precondition(lambda self: self.world.workers)
    @rule(data=st.data(), calls=st.integers(1, 30), fate=st.sampled_from(Fate))
    def work(self, data: st.DataObject, calls: int, fate: Fate) -> None:
        """A worker goes on for so many calls; the last of them has another fate."""
        worker = data.draw(st.sampled_from(self.world.workers))
        for _ in range(calls - 1):
            if not worker.ended:
                self.simulation.let(worker)
        if not worker.ended:
            self.simulation.let(worker, fate)

    @precondition(lambda self: self.world.running_jobs())
    @rule(data=st.data(), steps=st.integers(1, 5), end=st.sampled_from(["", "", "killed", "given up"]))
    def run_job(self, data: st.DataObject, steps: int, end: str) -> None:
        job = data.draw(st.sampled_from(self.world.running_jobs()))
        for _ in range(steps):
            if not job.ended:
                self.world.work(job)
        if end and not job.ended:
            (self.world.kill_job if end == "killed" else self.world.give_job_up)(job)

    @precondition(lambda self: self.world.job_events)
    @rule(data=st.data(), again=st.booleans())
    def settle(self, data: st.DataObject, *, again: bool) -> None:
        self.world.deliver_job_event(data.draw(st.sampled_from(self.world.job_events)), again=again)

    @rule()
    def sweep(self) -> None:
        self.world.sweep()

    @precondition(lambda self: self.simulation.rejected_batches())
    @rule(data=st.data(), how=st.sampled_from(["retry", "discard", "approve"]))
    def decide(self, data: st.DataObject, how: str) -> None:
        batch = data.draw(st.sampled_from(self.simulation.rejected_batches()))
        decisions = {"retry": self.world.retry, "discard": self.world.discard, "approve": self.world.approve}
        decisions[how](batch)

    @rule(minutes=st.sampled_from([3, 16, 15 * 24 * 60]))
    def wait(self, minutes: int) -> None:
        self.world.advance(timedelta(minutes=minutes))

    @rule(what=st.sampled_from(["elsewhere", "fields", "contract", "broken"]))
    def change(self, what: str) -> None:
        changes = {
            "elsewhere": self.world.publish_elsewhere,
            "fields": self.world.change_fields,
            "broken": self.simulation.break_contract,
        }
        changes.get(what, self.simulation.push_contract)()
        self.simulation.look()

    def teardown(self) -> None:
        if hasattr(self, "simulation"):
            self.simulation.come_to_an_end()


Lakegate.TestCase.settings = settings(
    stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
TestEveryPromiseIsKept = Lakegate.TestCase
