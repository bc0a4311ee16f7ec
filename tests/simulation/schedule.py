"""Schedules: a seed decides what happens when, and what becomes of every call; the same seed does the same again.

Each schedule draws its own mixture first (what may happen at all, and how often), so that rare things meet each other
in some of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import ClassVar

from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.ports import MAIN
from tests.simulation.installation import NAMESAKES, WINDOW, Terms, Violation
from tests.simulation.simulation import Simulation
from tests.simulation.spark import ExpressRun, SparkRun
from tests.simulation.worker import CHANNEL, PORTS, Fate, Worker
from tests.world.installation import FLIGHTS, PLANES
from tests.world.stories import KEY, Story, odd_in

FAULTS = (Fate.THROTTLED, Fate.LOST, Fate.UNANSWERED, Fate.CRASH_BEFORE, Fate.CRASH_AFTER)
SPANS = (
    *(timedelta(minutes=minutes) for minutes in (1, 1, 3, 3, 3, 3, 3, 3, 16, 70)),
    timedelta(days=15),
    timedelta(days=40),
)
FEW = 2  # files
MOSTLY, SOMETIMES = 0.8, 0.2
OFTEN = 3  # enough of what happens by itself, whatever else does
ROWS = (0, *range(2, 10))
BYTES = (b"one", b"two", b"three")
AT_ONCE = 4  # workers
RUSH = ("flights/rush", "flights/beside")
LATE, LAST = "flights/late", "flights/the-last"
LISTENED = (6, 7)  # seeds of sixteen in which another system listens
OBSERVE = (9, 20)  # seeds of thirty-two in which the contract observes at first
NOTED = (4, 5)  # seeds of eight, one of them with the express lane, in which audits become rows of tables
GATHER = (2, 3)  # seeds of eight, one of them with the express lane, in which files wait for company
KILLERS = (1, 4, 14, 20, 30)  # seeds of thirty-two in which files may end their job, with the express lane and without
NAMED_ALIKE = (12, 13, 26)  # seeds of thirty-two with two tables of one plain name, with audits of both and without
WEIGHTS_OF_FILES = (0, 0, 1, 2, 3)
REUPLOADS = (*[Reuploads.REPLACE] * 4, Reuploads.APPEND, Reuploads.IGNORE, Reuploads.REJECT)


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The ingredients of a schedule."""

    terms: Terms
    keys: int
    files: int
    actions: int
    faults: float  # of so many calls of a hundred something becomes
    haste: float  # how often a worker goes on rather than another thing happens
    burst: float  # how often it is the one that went on before, and no other gets a turn
    astray: float  # how often a file's key is routed by no contract
    weights: dict[str, float]
    columns: float = 0.0  # how often a file brings a column
    lost_jobs: int = 0  # how many jobs come to nothing, most of them before they begin
    first: float = 0.7  # how often something is on main before
    slots: int = 2  # jobs that run at a time
    rush: bool = False  # whether it begins with several workers that publish the same file at once

    @classmethod
    def draw(cls, chance: Random) -> "Mixture":
        weights = {name: chance.choice((0.0, 0.3, 1.0)) * weight for name, weight in WEIGHTS.items()}
        files = chance.randint(1, 4)
        terms = Terms(strict=chance.random() < 0.5, unique=chance.random() < 0.3, refers=chance.random() < 0.3)
        reuploads = chance.choice(REUPLOADS)
        afterwards = reuploads if chance.random() < 0.7 else chance.choice(REUPLOADS)
        return cls(
            terms=replace(terms, reuploads=reuploads, afterwards=afterwards),
            keys=chance.randint(1, files + 2),
            files=files,
            actions=chance.randint(15, 40),
            faults=chance.choice((0.0, 0.01, 0.03, 0.1)),
            haste=chance.choice((0.5, 0.9, 0.97)),
            burst=chance.choice((0.0, 0.8, 0.95)),
            astray=chance.choice((0.0, 0.0, 0.2)),
            weights=weights | {name: WEIGHTS[name] for name in ("upload", "deliver", "work", "settle")},
            rush=chance.random() < 0.2,
            columns=chance.choice((0.0, 0.0, 0.5)),
            lost_jobs=chance.choice((0, 0, 0, 9)),
            slots=chance.choice((1, 2, 9, 9)),
        )


WEIGHTS = {
    "upload": 4.0,
    "deliver": 4.0,
    "work": 8.0,
    "settle": 4.0,
    "delete": 0.3,
    "lose_event": 0.5,
    "lose_job_event": 0.5,
    "kill_job": 0.5,
    "run_again": 0.3,
    "change_express": 0.2,
    "give_job_up": 0.5,
    "sweep": 1.5,
    "rest": 1.0,
    "retry": 2.0,
    "discard": 1.0,
    "approve": 3.0,
    "send_again": 0.4,
    "undo": 0.4,
    "advance": 1.0,
    "publish_elsewhere": 0.7,
    "change_fields": 0.2,
    "meddle": 0.2,
    "push": 0.5,
    "break_contract": 0.2,
    "delete_planes": 0.5,
    "compact": 0.7,
}


def faults_of(worker: Worker) -> tuple[Fate, ...]:
    """Return what may become of the call that it waits for; of a request, the network has its own say."""
    return (
        FAULTS if worker.waiting and worker.waiting.port in (*PORTS, CHANNEL) else (Fate.CRASH_BEFORE, Fate.CRASH_AFTER)
    )


class Schedule(Simulation):
    """One run of one seed."""

    named_alike: ClassVar[tuple[int, ...]] = NAMED_ALIKE
    outlives = 0.1  # how often it goes on until no branch is kept any more

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        self.chance = Random(seed)
        self.mixture = self.draw(self.chance)
        observes = seed % 32 in OBSERVE
        super().__init__(replace(self.mixture.terms, observes=observes, switches=observes), trace)
        self.world.limit_jobs(self.mixture.slots)
        self.unsure = 0.0  # how often a step of an express job meets what only Spark can say
        if seed % 2:
            self.world.have_express()
            self.unsure = self.chance.choice((0.0, 0.1, 0.3))
        self.killing = Random(f"killers of {seed}") if seed % 32 in KILLERS else None  # so other seeds stay as they are
        self.naming = Random(f"names of {seed}") if seed % 32 in self.named_alike else None  # as above
        self.last: Worker | None = None  # who went on
        self.left = {
            "upload": self.mixture.files,
            "push": OFTEN,
            "publish_elsewhere": OFTEN,
            "advance": OFTEN,
            "rest": OFTEN,
            "retry": OFTEN,
            "discard": 1,
            "approve": OFTEN,
            "send_again": OFTEN,
            "break_contract": 1,
            "delete": 1,
            "undo": 1,
            "change_fields": 1,
            "meddle": 1,
            "delete_planes": 1,
            "compact": 2,
            "lost_jobs": 0,
            "run_again": 1,
            "change_express": 1,
        }
        if self.chance.random() < 0.9:
            self.push_contract()
        rush = self.mixture.rush and self.watch.contracts
        if rush or self.chance.random() < self.mixture.first:
            self.publish_first()
        if rush:
            self._rush()
        if seed % 8 in GATHER:
            self.world.wait_for_company()
        if seed % 8 in NOTED:
            self.world.append_audits()
        if seed % 16 in LISTENED:
            self.world.listen()
        if self.naming:
            self._race_for_a_name()
        self.left["lost_jobs"] = self.mixture.lost_jobs

    def draw(self, chance: Random) -> Mixture:
        return Mixture.draw(chance)

    def run(self) -> None:
        """All of it. Raises Violation."""
        for _ in range(self.mixture.actions):
            self._act()
            while self.world.workers and self.chance.random() < self.mixture.haste:
                self._step()
        self.come_to_an_end()
        if self.chance.random() < self.outlives:
            self.outlive_every_branch()

    # One thing after the other.

    def _step(self) -> None:
        worker = self._whose_turn()
        self.let(worker, self._fate(worker))

    def _fate(self, worker: Worker) -> Fate:
        return self.chance.choice(faults_of(worker)) if self.chance.random() < self.mixture.faults else Fate.DONE

    def _whose_turn(self) -> Worker:
        """Chance alone rarely lets one overtake another by many calls."""
        if self.last not in self.world.workers or self.chance.random() >= self.mixture.burst:
            self.last = self.chance.choice(self.world.workers)
        return self.last

    def _act(self) -> None:
        possible = self._possible()
        names = [name for name in possible if self.mixture.weights[name] and self.left.get(name, 1)]
        if not names:
            return
        [name] = self.chance.choices(names, [self.mixture.weights[name] for name in names])
        possible[name]()
        if name in self.left:
            self.left[name] -= 1
        self.look()

    def _possible(self) -> dict[str, Callable[[], object]]:
        world, chance = self.world, self.chance
        found: dict[str, Callable[[], object]] = {
            "advance": lambda: world.advance(chance.choice(SPANS)),
            "publish_elsewhere": world.publish_elsewhere,
            "change_fields": world.change_fields,
            "push": self.push_contract,
            "break_contract": self.break_contract,
            "rest": self.rest,
            "upload": self._upload,
        }
        if world.landing.files:
            found["delete"] = lambda: world.delete(chance.choice(list(world.landing.files.values())))
            found["undo"] = lambda: self._undo(chance.choice(list(world.landing.files.values())))
        if world.files:
            found["send_again"] = lambda: world.send_again(chance.choice(list(world.files.values())))
        if world.queue:
            found["lose_event"] = lambda: world.lose_event(chance.choice(world.queue))
        if world.job_events:
            found["lose_job_event"] = lambda: world.lose_job_event(chance.choice(world.job_events))
        if jobs := world.running_jobs():
            found["work"] = lambda: self.work(chance.choice(jobs))
            found["kill_job"] = lambda: self._end_badly(chance.choice(jobs))
            found["give_job_up"] = lambda: world.give_job_up(chance.choice(jobs))
            found |= self._of_express([job for job in jobs if isinstance(job, ExpressRun)])
        if world.service.express:
            found["change_express"] = lambda: world.have_express(there=False)
        if flights := world.data_files(FLIGHTS):
            found["compact"] = lambda: world.compact(chance.sample(flights, chance.randint(1, len(flights))))
        if planes := world.data_files(PLANES):
            found["delete_planes"] = lambda: world.delete_planes(chance.choice(planes))
        if branches := sorted(world.lake.branches.keys() - {MAIN}):
            found["meddle"] = lambda: world.meddle(chance.choice(branches))
        return found | (self._new_workers() if len(world.workers) < AT_ONCE else {})

    def _of_express(self, jobs: list[ExpressRun]) -> dict[str, Callable[[], object]]:
        world, chance = self.world, self.chance
        return {"run_again": lambda: world.run_again(chance.choice(jobs))} if jobs else {}

    def _new_workers(self) -> dict[str, Callable[[], object]]:
        world, chance = self.world, self.chance
        found: dict[str, Callable[[], object]] = {"sweep": world.sweep}
        if world.queue or world.reminded:
            found["deliver"] = self._deliver
        if world.job_events:
            found["settle"] = lambda: world.deliver_job_event(chance.choice(world.job_events), again=self._rarely())
        if batches := self.rejected_batches():
            found["retry"] = lambda: world.retry(chance.choice(batches))
            found["discard"] = lambda: world.discard(chance.choice(batches))
            found["approve"] = lambda: self._approve(chance.choice(batches[-2:]))
        return found

    def _end_badly(self, job: SparkRun) -> None:
        cut_off = job.began and self.chance.random() < 0.5
        (self.world.cut_job_off if cut_off else self.world.kill_job)(job)

    def _rarely(self) -> bool:
        return self.chance.random() < 0.15

    def _deliver(self) -> None:
        world, chance = self.world, self.chance
        if world.reminded:
            self._deliver_reminders()
            return
        several = chance.sample(world.queue, min(len(world.queue), chance.choice((1, 1, 2, 3))))
        world.deliver(several, again=self._rarely())

    def _deliver_reminders(self) -> None:
        if self._rarely():
            self.world.say("reminder: lost")
            self.world.reminded.pop()
        else:
            self.world.deliver_reminders()

    def _approve(self, batch: str) -> None:
        """Somebody else may be of another opinion at the same time."""
        self.world.approve(batch)
        if self.chance.random() < 0.5:
            self.world.discard(batch)

    def _rush(self) -> None:
        """Several workers publish a file at once, perhaps without another of its batch. Since its audit its table may
        have got another's rows, and the one that it refers to may have got rows, or lost those that it needs.
        """
        world, planes = self.world, self.chance.choice(("gain", "replaced", "deleted"))
        again = self.terms.reuploads is Reuploads.REPLACE and self.chance.random() < 0.4
        if again:
            self._compact_rush()
        if self.chance.random() < 0.5:
            world.upload("flights/before", b"before", Story(rows=2))
        if self.terms.refers and planes != "deleted":
            world.upload("planes/first" if planes == "replaced" else "planes/more", b"now", Story(rows=1, key=1))
        needs = 0 if self.terms.refers else None
        key = self._late_key()
        world.upload(RUSH[0], b"rush", Story(rows=3, key=key, needs=needs, column=self._column()))
        if again or self.chance.random() < 0.5:
            odd = Story(rows=2, column=self._column(), **odd_in(self._what_is_odd()))
            world.upload(RUSH[1], b"beside", odd)
        self._repeat(key)
        batch = [arrival for arrival in world.queue if arrival.key in (LATE, *RUSH, LAST)]
        for arrival in [arrival for arrival in world.queue if arrival not in batch]:
            world.deliver([arrival], again=False)
        world.deliver(batch, again=False)
        self.finish()
        *before, rush = world.job_events
        for branch in before:
            world.deliver_job_event(branch, again=False)
            self.finish()
        if self.terms.refers and planes == "deleted":
            world.delete_planes(world.data_files(PLANES)[0])
        for _ in range(AT_ONCE - 1):
            world.deliver_job_event(rush, again=True)
        while world.workers:
            self._step()

    def _race_for_a_name(self) -> None:
        """The first batches of two tables of one plain name begin at the same time, and go on in turns."""
        self.world.have_namesakes()
        for table in NAMESAKES:
            self.world.upload(f"{table.partition('.')[2]}/first", b"first", Story(rows=2, aside=1))
        for arrival in list(self.world.queue):
            self.world.deliver([arrival], again=False)
        while self.world.workers:
            for worker in list(self.world.workers):
                self.let(worker, self._fate(worker))

    def _late_key(self) -> int | None:
        """Perhaps a key that files after it have, too. One before it fails once rows have left it, with that key or
        another.
        """
        if not self.terms.unique or self.mixture.files % 2:
            return None
        late = KEY if self.mixture.files == FEW else KEY + 1
        self.world.upload(LATE, b"late", Story(rows=2, key=late, bad="bad", aside=1))
        return KEY

    def _repeat(self, key: int | None) -> None:
        if key:
            self.world.upload(LAST, b"last", Story(rows=2, key=key))

    def _compact_rush(self) -> None:
        """Compact the data files that its files replace into one, as a stranger would."""
        for key in RUSH:
            self.world.upload(key, b"compacted", Story(rows=2))
        self.rest()
        self.world.compact(self.world.data_files(FLIGHTS))

    def publish_first(self) -> None:
        world = self.world
        world.upload("flights/first", b"first", Story(rows=1))
        if self.terms.refers:
            world.upload("planes/first", b"first", Story(rows=1, key=0))
        self.rest()

    def rest(self) -> None:
        """Nothing is lost or late for a while: what has landed is decided, and people may say something to it."""
        for _ in range(OFTEN):
            if self.world.queue:
                self.world.deliver(list(self.world.queue), again=False)
                self.finish()
            if self.world.reminders.reminders or self.world.reminded:
                self.world.advance(WINDOW)
                self.world.deliver_reminders()
                self.finish()
            self.settle_all()

    def work(self, job: SparkRun) -> None:
        if self.left["lost_jobs"] and self.chance.random() < (SOMETIMES if job.began else MOSTLY):
            self.left["lost_jobs"] -= 1
            self._end_badly(job)
            return
        if isinstance(job, ExpressRun) and job.leaving and self._rarely():
            self.world.kill_job(job)
            return
        if isinstance(job, ExpressRun) and not job.leaving and self.chance.random() < self.unsure:
            self.world.hand_over(job)
        super().work(job)

    def _upload(self) -> None:
        chance = self.chance
        if chance.random() < 0.5:
            self.world.clock.advance(1)
        kind = "planes" if self.terms.refers and chance.random() < 0.3 else "flights"
        kind = "elsewhere" if chance.random() < self.mixture.astray else kind
        if self.naming and self.naming.random() < 0.5:
            kind = self.naming.choice(NAMESAKES).partition(".")[2]
        number = chance.randrange(self.mixture.keys)
        body = chance.choice(BYTES) if self._rarely() else f"{self.left['upload']}".encode()
        self.world.upload(f"{kind}/{number}", body, self._story(number, kind))

    def _undo(self, file: FileVersion) -> None:
        """Somebody uploads other bytes under a key by mistake, and then the right ones again."""
        story, body = self.world.stories[file.id], self.world.landing.bodies[file.key, file.version_id]
        self.world.upload(file.key, b"mistake", replace(story, rows=story.rows + 1))
        self.world.clock.advance(1)
        self.world.upload(file.key, body, story)

    def _story(self, number: int, kind: str) -> Story:
        chance = self.chance
        story = Story(
            rows=chance.choice(ROWS),
            files=chance.choice((1, 1, 2)),
            key=chance.randrange(2) if kind == "planes" else chance.randrange(4) if self.terms.unique else number,
            needs=chance.randrange(2) if kind == "flights" and chance.random() < 0.5 else None,
            **odd_in(self._what_is_odd() if chance.random() < 0.35 else ""),
            aside=chance.choice((0, 0, 0, 1)),
            column=self._column(),
        )
        story = replace(story, weight=self.killing.choice(WEIGHTS_OF_FILES) if self.killing else 0)
        return story if story.rows else replace(story, key=None, needs=None, nulls=False)

    def _column(self) -> str:
        return self.chance.choice("cd") if self.chance.random() < self.mixture.columns else ""

    def _what_is_odd(self) -> str:
        return self.chance.choice(("bad", "bad", "nulls", "warn", "unreadable"))


def run(seed: int, trace: Callable[[str], None] | None = None, kind: type[Schedule] = Schedule) -> Schedule:
    """Run a seed's schedule. Raises Violation, with the seed."""
    schedule = kind(seed, trace)
    try:
        schedule.run()
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    return schedule
