"""The same world under Hypothesis's hand: it looks for a short way to break a promise, and shrinks what it finds.

Its rules are small and large: a call of a worker, and a file's whole way to its verdict, so that in some tens of steps
it comes to where decisions meet.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lakegate.ports import MAIN
from tests.simulation.installation import Installation, Terms, Violation
from tests.simulation.mutations import MUTATIONS, Mutation
from tests.simulation.schedule import REUPLOADS
from tests.simulation.simulation import Simulation
from tests.simulation.spark import ExpressRun
from tests.simulation.worker import Fate
from tests.world.installation import FLIGHTS
from tests.world.stories import Story, odd_in

ODD = ("", "", "", "bad", "nulls", "warn", "unreadable")
FATES = (*[Fate.DONE] * 3, *Fate)
SETTINGS = settings(
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TERMS = st.builds(Terms, strict=st.booleans(), unique=st.booleans(), reuploads=st.sampled_from(REUPLOADS))
FILES = st.tuples(st.integers(0, 2), st.sampled_from([b"1", b"2"]), st.sampled_from(ODD), st.integers(0, 1))
CALLS = (1, 2, 5, 10, 20, 40)
MINUTES = (3, 3, 3, 16, 15 * 24 * 60)
MOST_AT_WORK = 4
BAD_ENDS = {
    "killed": Installation.kill_job,
    "given up": Installation.give_job_up,
    "cut off": Installation.cut_job_off,
}
LEAVES = "leaves its files to Spark"
COVERED = (
    *(f"call: {fate}" for fate in Fate),
    *(f"worker: {kind}" for kind in ("ingest", "settle", "sweep", "retry", "discard", "approve")),
    "contract: broken",
    "event of a job: lost",
    "event: lost",
    "event: sent again",
    "job: given up, goes on as a zombie",
    "job: killed",
    "job: meets what only Spark can say",
    "main: commit of what is discarded",
    "main: commit of what is rejected",
    "main: merge of what is published",
    "main: receipts are archived",
    "stranger: commits to a branch",
    "stranger: compacts flights on main",
    "vendor: deletes",
    "worker: its time is up",
)
SEEN = (
    "a merge is forced: it overwrites what main changed meanwhile",
    "publish asks not whether the contract was pushed anew",
    "a file is decided whatever main's receipts say",
    "bytes that are on main are published once more",
)


class Lakegate(RuleBasedStateMachine):
    """Its rules are the hands of the world; which of the workers goes on, and how far, is drawn too."""

    counted: ClassVar[Counter[str]] = Counter()  # of all runs, before their quiet ends

    @initialize(
        strict=st.booleans(),
        unique=st.booleans(),
        reuploads=st.sampled_from(REUPLOADS),
        files=st.lists(FILES, max_size=3),
        decided=st.booleans(),
        express=st.booleans(),
    )
    def begin(
        self, *, strict: bool, unique: bool, reuploads: Any, files: list[Any], decided: bool, express: bool
    ) -> None:
        """Perhaps with files whose jobs are about to run, or that are decided."""
        self.simulation = Simulation(Terms(strict=strict, unique=unique, reuploads=reuploads, afterwards=reuploads))
        self.simulation.push_contract()
        self.world = self.simulation.world
        if express:
            self.world.have_express()
        for file in files:
            self._upload(*file)
            self.world.deliver(list(self.world.queue), again=False)
            self._finish_workers()
        if decided:
            self.simulation.finish()
            self.simulation.settle_all()

    @rule(file=FILES)
    def upload(self, file: Any) -> None:
        self._upload(*file)

    @precondition(lambda self: self.world.queue)
    @rule(data=st.data(), again=st.booleans())
    def deliver(self, data: st.DataObject, *, again: bool) -> None:
        several = data.draw(st.lists(st.sampled_from(self.world.queue), min_size=1, max_size=3, unique=True))
        self.world.deliver(several, again=again)

    @precondition(lambda self: self.world.workers)
    @rule(data=st.data(), calls=st.sampled_from(CALLS), fate=st.sampled_from(FATES))
    def work(self, data: st.DataObject, calls: int, fate: Fate) -> None:
        """A worker goes on for so many calls; the last of them has another fate."""
        worker = data.draw(st.sampled_from(self.world.workers))
        for _ in range(calls - 1):
            if not worker.ended:
                self.simulation.let(worker)
        if not worker.ended:
            self.simulation.let(worker, fate)

    @precondition(lambda self: self.world.workers)
    @rule()
    def work_to_the_end(self) -> None:
        self._finish_workers()

    @precondition(lambda self: self.world.running_jobs())
    @rule(data=st.data(), steps=st.sampled_from([1, 2, 9, 9]), end=st.sampled_from(["", "", "", LEAVES, *BAD_ENDS]))
    def run_job(self, data: st.DataObject, steps: int, end: str) -> None:
        job = data.draw(st.sampled_from(self.world.running_jobs()))
        for _ in range(steps if not end else steps % 3):
            if not job.ended:
                self.world.work(job)
        if end in BAD_ENDS and not job.ended:
            BAD_ENDS[end](self.world, job)
        if end == LEAVES and isinstance(job, ExpressRun) and not job.ended and not job.leaving:
            self.world.hand_over(job)
        self.simulation.look()

    @precondition(lambda self: self.world.job_events)
    @rule(data=st.data(), again=st.booleans(), whole=st.booleans())
    def settle(self, data: st.DataObject, *, again: bool, whole: bool) -> None:
        self.world.deliver_job_event(data.draw(st.sampled_from(self.world.job_events)), again=again)
        if whole:
            self._finish_workers()

    @precondition(lambda self: len(self.world.workers) < MOST_AT_WORK)
    @rule()
    def sweep(self) -> None:
        self.world.sweep()

    @precondition(lambda self: self.simulation.rejected_batches())
    @rule(data=st.data(), how=st.sampled_from(["retry", "discard", "approve", "approve"]), whole=st.booleans())
    def say(self, data: st.DataObject, how: str, *, whole: bool) -> None:
        """A person's word on a batch."""
        batch = data.draw(st.sampled_from(self.simulation.rejected_batches()))
        decisions = {"retry": self.world.retry, "discard": self.world.discard, "approve": self.world.approve}
        decisions[how](batch)
        if whole:
            self._finish_workers()

    @rule(data=st.data())
    def something_else(self, data: st.DataObject) -> None:
        """Do something rare: time, what gets lost, strangers, contracts."""
        possible = self._else(data)
        possible[data.draw(st.sampled_from(sorted(possible)))]()
        self.simulation.look()

    def _else(self, data: st.DataObject) -> dict[str, Callable[[], object]]:
        world, simulation = self.world, self.simulation
        branches, files = sorted(world.lake.branches.keys() - {MAIN}), list(world.landing.files.values())
        found: dict[str, Callable[[], object]] = {
            "wait": lambda: world.advance(timedelta(minutes=data.draw(st.sampled_from(MINUTES)))),
            "publish elsewhere": world.publish_elsewhere,
            "change fields": world.change_fields,
            "push": simulation.push_contract,
            "break contract": simulation.break_contract,
        }
        for name, do, of in (
            ("delete", world.delete, files),
            ("send again", world.send_again, list(world.files.values())),
            ("lose event", world.lose_event, world.queue),
            ("lose job event", world.lose_job_event, world.job_events),
            ("meddle", world.meddle, branches),
        ):
            if of:
                found[name] = partial(_with_one, data, do, of)
        if flights := world.data_files(FLIGHTS):
            found["compact"] = lambda: world.compact(flights)
        return found

    def _upload(self, key: int, body: bytes, odd: str, aside: int) -> None:
        self.world.upload(f"flights/{key}", body, Story(rows=2, key=key, aside=aside, **odd_in(odd)))

    def _finish_workers(self) -> None:
        while self.world.workers:
            self.simulation.let_on(self.world.workers[0])

    def teardown(self) -> None:
        if hasattr(self, "simulation"):
            Lakegate.counted += self.world.counted
            self.simulation.come_to_an_end()


def _with_one(data: st.DataObject, do: Callable[[Any], object], of: Sequence[Any]) -> None:
    do(data.draw(st.sampled_from(of)))


@pytest.mark.parametrize("examples", [100, pytest.param(200, marks=pytest.mark.extended)])
def test_every_promise_is_kept_and_all_comes_about(examples: int) -> None:
    Lakegate.counted.clear()
    run_state_machine_as_test(Lakegate, settings=settings(SETTINGS, max_examples=examples))
    assert [what for what in COVERED if not Lakegate.counted[what]] == []


@pytest.mark.extended
@pytest.mark.parametrize("mutation", [it for it in MUTATIONS if it.says in SEEN], ids=lambda mutation: mutation.says)
def test_a_mutation_is_found(mutation: Mutation) -> None:
    with mutation.applied(), pytest.raises(Violation):
        run_state_machine_as_test(Lakegate, settings=settings(SETTINGS, phases=[Phase.generate], max_examples=1000))
