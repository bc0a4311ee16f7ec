"""A world under watch: whatever is done in it, every step is looked at. It does nothing of itself until the end.

The end is a quiet time, in which no event arrives and only sweeps and jobs go on, until nothing changes any more.
"""

from collections.abc import Callable
from datetime import timedelta

from lakegate.audit.model.lane import Lane
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN
from lakegate.workflow.receiving.queued import PREFIX as QUEUED
from tests.simulation.installation import Installation, Terms, Violation
from tests.simulation.invariants import LIFE, NOTICE
from tests.simulation.spark import SparkRun
from tests.simulation.watch import Watch
from tests.simulation.worker import Fate, Worker, stops

ENOUGH_SWEEPS = 40
LONGEST_WAIT = timedelta(minutes=61)


class Simulation:
    """See the module. A `hasty` one believes the first sweep that changes nothing after the longest wait there is."""

    hasty = False

    def __init__(self, terms: Terms, trace: Callable[[str], None] | None = None) -> None:
        self.world = self.make_world(trace)
        self.world.unique = terms.unique
        self.watch = Watch(self.world)
        self.terms = terms
        self.broken = False  # whether the contract in the registry does not load
        self.began: dict[Worker, int] = {}
        self.acting_since = 0

    def make_world(self, trace: Callable[[str], None] | None) -> Installation:
        return Installation(trace)

    def let(self, worker: Worker, fate: Fate = Fate.DONE) -> None:
        """Make one call, and look."""
        self._let(worker, fate, stops)

    def let_on(self, worker: Worker) -> None:
        """Make one call after the other, up to its end or to one of which something came, and look at that."""
        self._let(worker, Fate.DONE, lambda: self._goes_on(worker))

    def _let(self, worker: Worker, fate: Fate, goes_on: Callable[[], bool]) -> None:
        began = self.began.setdefault(worker, self.watch.ticks)
        self.acting_since = began
        self.world.step(worker, fate, goes_on)
        self.watch.look(self.since(began))

    def _goes_on(self, worker: Worker) -> bool:
        if not self.watch.passes():
            return False
        self.world.note(worker)
        return True

    def since(self, began: int) -> int:
        """Return when the last step's worker, or a later one, began."""
        return began

    def come_to_an_end(self) -> None:
        """A quiet time, and then what must hold at the end."""
        self._quiet_time()
        self.watch.end()

    def outlive_every_branch(self) -> None:
        """So long a time after the end that no branch is kept any more. What was decided stays so."""
        for span in (LIFE, NOTICE):
            self.world.advance(span)
            self._quiet_time()
        self.watch.end()
        if left := self.world.service.branches.list_branches():
            raise Violation(f"{', '.join(branch.name for branch in left)}: nobody looks at it any more")

    def look(self) -> None:
        """After what was no worker's doing."""
        self.watch.look(self.since(self.watch.ticks))

    def push_contract(self) -> None:
        if self.watch.contracts:
            self.terms = self.terms.changed()
        self.world.push(self.terms)
        self.broken = False
        self.watch.note_contract()

    def break_contract(self) -> None:
        if self.watch.contracts:
            self.world.break_contract()
            self.watch.note_contract()
            self.broken = True

    def rejected_batches(self) -> list[str]:
        return list(self.watch.rejected)

    def _quiet_time(self) -> None:
        """Nothing new happens, no event arrives; workers and jobs come to their ends, and sweeps go on."""
        world = self.world
        world.say("quiet: from now on")
        if self.broken or not self.watch.contracts:
            self.push_contract()
        self.finish()
        before = self.state() if self.hasty else None
        for _ in range(ENOUGH_SWEEPS):
            world.advance(LONGEST_WAIT)
            sweep = world.sweep()
            self.finish()
            now = self.state()
            if now == before and not sweep.result:
                return
            before = now
        raise Violation(f"after {ENOUGH_SWEEPS} sweeps there is still something to do: {sweep.result}")

    def finish(self) -> None:
        """Every worker and every job comes to its end."""
        while self.world.workers or self.world.running_jobs():
            if self.world.workers:
                self.let_on(self.world.workers[0])
            else:
                self.work(self.world.running_jobs()[0])
                self.look()

    def settle_all(self) -> None:
        """Every job's event arrives, and what comes of it comes to its end."""
        events = list(self.world.job_events)
        told = {branch: self.world.deliver_job_event(branch, again=False) for branch in events}
        self.finish()
        if events and self.watch.contracts and not self.broken:
            self._none_waits_for_nothing()
            # What the network has kept from settling, the sweep hands over.
            self._none_waits_to_be_handed_over([branch for branch, worker in told.items() if worker.error is None])

    def _none_waits_for_nothing(self) -> None:
        """Whoever came to the end of a job has looked: of a table with queued files a job is under way, or is about to
        start, or its event is about to arrive; or they wait for company, for no longer than they may.
        """
        runs = {run.branch for run in self.world.runner.runs.values()}
        starting = {name for name in self.world.lake.branches if name not in runs}
        busy = {attempt.table for it in (*starting, *self.world.job_events) if (attempt := Attempt.parse(it))}
        for table in sorted({name.split("/")[2] for name in self.world.store.names(QUEUED)} - busy):
            alone = self.world.lane_of(self.world.noted(table)) is Lane.EXPRESS
            if alone or not self.world.may_wait(table):
                raise Violation(f"{table}: its files wait, and no job of their table is under way")

    def _none_waits_to_be_handed_over(self, branches: list[str]) -> None:
        """The end of a job that handed its files over has been told, and Spark has them: no time has passed. Its branch
        is kept for what was rejected there, because another version of its key is on main.
        """
        world = self.world
        notes = [commit.record for commit in world.lake.line(world.lake.head(MAIN).hash) if commit.record]
        kept = {Attempt(table=note.table, batch=note.batch, number=note.attempt).branch for note in notes}
        for branch in sorted(set(branches) & world.lake.branches.keys() - kept):
            names = {f"handovers/{branch}.json", f"attempts/{branch}/handover.json"}
            if names & world.store.objects.keys() and world.report(branch) is None:
                raise Violation(f"{branch} is handed over, and its files wait")

    def work(self, job: SparkRun) -> None:
        """The job does its next step."""
        self.world.work(job)

    def state(self) -> object:
        """Return what there is: if it is as before, nothing happened."""
        world = self.world
        return (
            tuple(sorted(world.lake.branches.items())),
            len(world.store.objects),
            len(world.notifier.messages),
            world.lake.head(MAIN).hash,
        )
