"""A whole installation in memory, and the hands of everybody around it: vendors, the queue, clusters, people,
strangers.

Each hand is one verb that does one thing at once; what is done when is the schedule's business, and what must hold at
any time is said in `invariants`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from lakegate.audit.model.codec import from_json
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import Report
from lakegate.errors import Conflict, LakegateError
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lane import Express
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Catalog, Message, MessageKind, Reach, Record, Tables
from lakegate.testing import (
    MemoryCatalog,
    MemoryChannel,
    MemoryClock,
    MemoryJobRunner,
    MemoryLake,
    MemoryNotifier,
    MemoryStore,
    MemoryTables,
)
from lakegate.testing.lake import Key, KeyKind
from lakegate.workflow.approve import approve
from lakegate.workflow.ledger.receipts import CLOSED_PREFIX, PREFIX
from lakegate.workflow.receive import receive, settle_and_gather
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.receiving.queued import PREFIX as QUEUED
from lakegate.workflow.reconcile import LONGEST_LIFE, reconcile
from lakegate.workflow.registry import contract_name
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.service import Service
from tests.simulation.spark import OVERLOADED, ExpressRun, SparkRun
from tests.simulation.worker import OUTCOME_MATTERS, Fate, Worker, stopping, stopping_at, stops, working
from tests.world.engine import Lake
from tests.world.installation import FLIGHTS, PLANES, MemoryInstallation
from tests.world.stories import Story, deletes_of, deleting, files_of

FROZEN = ("reports/", "attempts/")
STRANGERS = "strangers.things"
NAMESAKES = ("nyc.late_trips", "nyc_late.trips")  # tables whose quarantine and audits have one plain name
WINDOW = timedelta(seconds=20)
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/{prefix}/**
    format: parquet
schema:
  - name: rows
    physicalName: {table}
    customProperties: [{settings}]
    properties:
      - {{name: a, logicalType: integer{key}{refers}, quality: [{mean}]}}
      - {{name: b, logicalType: integer{required}, quality: [{aside}, {warned}]}}
"""
MEAN = "{type: custom, engine: lakegate, implementation: {mean: true, mustBeLessThan: 1}}"
KNOWN = "{{metric: invalidValues, arguments: {{validValues: [{known}]}}, mustBe: 0, severity: {severity}}}"
RULES = {
    "mean": MEAN,
    "aside": KNOWN.format(known="1, 2", severity="quarantine"),
    "warned": KNOWN.format(known="1", severity="warning"),
}
CALL = {fate: f"call: {fate}" for fate in Fate}
TAKES = {"newColumns": "evolve", "quarantineBudget": "{rows: 9}"}
SETTING = "{{property: {name}, vendor: lakegate, value: {value}}}"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms of the contract of flights."""

    strict: bool = False  # b is required
    unique: bool = False  # a is unique in the whole table
    refers: bool = False  # a refers to planes
    reuploads: Reuploads = Reuploads.REPLACE
    afterwards: Reuploads = Reuploads.REPLACE  # what it says of them when it is pushed anew
    observes: bool = False  # and enforces when it is pushed anew, and observes again after that
    switches: bool = False

    def changed(self) -> "Terms":
        observes = self.switches and not self.observes
        return replace(
            self, strict=not self.strict, reuploads=self.afterwards, afterwards=self.reuploads, observes=observes
        )

    def text(self) -> bytes:
        return _contract(
            FLIGHTS,
            {"reuploads": self.reuploads}
            | ({"scope": "table"} if self.unique else {})
            | ({"mode": "observe"} if self.observes else {}),
            key=", primaryKey: true, primaryKeyPosition: 1" if self.unique else "",
            refers=f", relationships: [{{to: {PLANES}.a}}]" if self.refers else "",
            required=", required: true" if self.strict else "",
        )


def _contract(table: str, settings: Mapping[str, str], key: str = "", refers: str = "", required: str = "") -> bytes:
    said = ", ".join(SETTING.format(name=name, value=value) for name, value in {**TAKES, **settings}.items())
    prefix = table.rpartition(".")[2]
    text = CONTRACT.format(
        table=table, prefix=prefix, settings=said, key=key, refers=refers, required=required, **RULES
    )
    return text.encode()


PLANES_TEXT = _contract(PLANES, {})
NAMESAKE_TEXTS = {contract_name(table): _contract(table, {}) for table in NAMESAKES}


class Violation(AssertionError):
    """Something that lakegate promises does not hold."""


class WatchedStore(MemoryStore):
    """Refuses what is never to be written twice, and counts what is done to the archive."""

    def __init__(self) -> None:
        super().__init__()
        self.archived = 0

    def write(self, name: str, body: bytes) -> None:
        if name.startswith(FROZEN) and self.objects.get(name, body) != body:
            raise Violation(f"{name} was written again, and differently")
        self.archived += name.startswith((PREFIX, CLOSED_PREFIX))
        super().write(name, body)

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        for name, body in bodies.items():
            self.write(name, body)

    def create(self, name: str, body: bytes) -> bool:
        self.archived += name.startswith((PREFIX, CLOSED_PREFIX))
        return super().create(name, body)

    def delete(self, name: str) -> None:
        self.archived += name.startswith((PREFIX, CLOSED_PREFIX))
        super().delete(name)


class WatchedCatalog(MemoryCatalog):
    """Notes when branches go, and counts what else is seldom."""

    def __init__(self, lake: MemoryLake, world: "Installation") -> None:
        super().__init__(lake=lake)
        self._world = world

    def create_branch(self, name: str, at: str) -> None:
        self._world.check_share(name)
        super().create_branch(name, at)
        self._world.gone.pop(name, None)  # one that nothing was claimed on yet may go, and be made once more

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        was_there = name in self.lake.branches
        super().delete_branch(name, expected)
        if was_there and name not in self.lake.branches:
            self._world.note_gone(name)

    def merge(self, branch: str, head: str, note: Record) -> None:
        try:
            super().merge(branch, head, note)
        except Conflict:
            self._world.say("main: refuses a merge", branch)
            raise

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        super().compact(expected, keys, watermark, shorter)
        self._world.say("main: receipts are archived")


class WatchedRunner(MemoryJobRunner):
    """Notes when each run was started, as the number of calls that all workers had made before."""

    def __init__(self, world: "Installation") -> None:
        super().__init__(world.store, clock=world.clock)
        self._world = world

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        run = super().start(attempt, job_uri, reach, lane)
        self._world.started_after.setdefault(run, self._world.calls)
        if self.job(run).crashed_with_others:
            self._world.counted["job: has a part of a batch that crashed"] += 1
        return run


class WatchedNotifier(MemoryNotifier):
    """Knows when people were told of a branch first."""

    def __init__(self, clock: MemoryClock) -> None:
        super().__init__()
        self.first: dict[tuple[MessageKind, str], datetime] = {}
        self._clock = clock

    def notify(self, message: Message) -> None:
        super().notify(message)
        self.first.setdefault((message.kind, message.branch), self._clock.now())


class Installation(MemoryInstallation):
    """See the module. `trace` is told each thing that happens, in words."""

    store: WatchedStore
    notifier: WatchedNotifier

    def __init__(self, trace: Callable[[str], None] | None = None) -> None:
        self.trace = trace
        clock = MemoryClock()
        super().__init__(clock=clock, store=WatchedStore(), notifier=WatchedNotifier(clock))
        self.lake, catalog, tables = self.make_lake()
        self.listener: MemoryChannel | None = None
        self.heard_from = ""  # the head of main when it began to listen
        self.calls = 0  # of all workers
        self.started_after: dict[str, int] = {}  # runs, after how many calls
        self.runner = WatchedRunner(self)
        # Receipts are truncated all the time.
        self.service = self.make_service(catalog, tables, reminders=self.reminders, truncate_above=1)
        self.began: dict[Worker, int] = {}  # after how many calls
        self.reached = stopping(self.service)  # by workers
        self.order: dict[str, int] = {}  # in which they landed, by id
        self.queue: list[Arrival] = []
        self.reminded: list[FileVersion] = []  # those whose reminders have come
        self.disturbed: set[Worker] = set()  # those to which something came
        self.cut_off: set[str] = set()  # branches whose jobs were
        self.job_events: list[str] = []
        self.workers: list[Worker] = []
        self.jobs: dict[str, SparkRun] = {}  # by run
        self.gone: dict[str, datetime] = {}  # branches, and since when
        self.meddled: set[str] = set()  # branches that a stranger wrote to
        self.discarded: set[str] = set()  # batches that a person gave up
        self.approved: set[str] = set()  # batches that a person let through
        self.retried: set[str] = set()  # batches that a person had tried again
        self.routes = False  # whether the contracts load
        self.unique = False  # whether the contract has always asked for unique keys
        self.reuploads: set[Reuploads] = set()  # what it ever said of them
        self.counted: Counter[str] = Counter()
        self.stranger_rows = 0
        self.started = 0

    def make_lake(self) -> tuple[Lake, Catalog, Tables]:
        """Return what everybody shares, and the ports by which workers reach it."""
        lake = MemoryLake()
        return lake, WatchedCatalog(lake, self), MemoryTables(lake=lake)

    def change(self, **settings: Any) -> None:
        """Workers reach the changed service."""
        super().change(**settings)
        self.reached = replace(self.reached, **settings)

    def limit_jobs(self, slots: int) -> None:
        """So many run at a time."""
        self.change(jobs_at_once=slots)

    def have_express(self, *, there: bool = True) -> None:
        """A deployment gives the installation an express lane, or takes it away."""
        self.say(f"express lane: {'comes' if there else 'goes'}")
        slots = self.service.jobs_at_once
        self.change(express=Express(most_bytes=10**9, spark_only=lambda _: "", at_once=slots) if there else None)

    def listen(self) -> None:
        """Another system is told of what is decided from now on."""
        self.listener = MemoryChannel()
        self.heard_from = self.lake.head(MAIN).hash
        self.service = replace(self.service, channels={"bus": self.listener})
        self.reached = replace(self.reached, channels={"bus": stopping_at(self.listener)})

    def append_audits(self) -> None:
        """Jobs append what they find to audits tables from now on."""
        self.change(notes_audits=True)

    def have_namesakes(self) -> None:
        """There are contracts of tables of one plain name from now on."""
        self.say("contract: pushed of tables of one plain name")
        self.store.write_many(NAMESAKE_TEXTS)

    def wait_for_company(self) -> None:
        """Files wait for others from now on."""
        self.change(batch_window=WINDOW)

    @property
    def window(self) -> timedelta:
        return self.service.batch_window

    def check_share(self, branch: str) -> None:
        """No worker opens a batch of a table that has had a job under way since before it began, if as many jobs of the
        lane have as may run. What became so meanwhile it may have missed. A person's retry waits for nobody.
        """
        worker, attempt = working(), Attempt.parse(branch)
        if worker is None or attempt is None or attempt.number > 1 or attempt.nonce or branch in self.lake.branches:
            return
        if attempt.batch in self.retried:
            return
        since = self.began[worker]
        before = [run for run in self.runner.open_runs() if self.started_after[run.id] <= since]
        tables = [its.table for its in map(Attempt.parse, (run.branch for run in before)) if its]
        lane = Lane.EXPRESS if worker.has_express else Lane.SPARK
        of_lane = [run.branch for run in before if run.lane is lane]
        if attempt.table in tables and len(of_lane) >= self.service.jobs_at_once:
            raise Violation(
                f"{branch} is opened while {of_lane} are under way, of {self.service.jobs_at_once} at a time"
            )

    # What waits.

    def noted(self, table: str) -> list[FileVersion]:
        """Files of a table that are noted as queued."""
        versions = {(file.key, file.version_id): file for file in self.files.values()}
        bodies = [body for name, body in self.store.objects.items() if name.startswith(f"{QUEUED}{table}/")]
        found = [versions.get((it["key"], it["version_id"])) for body in bodies for it in json.loads(body)]
        return [file for file in found if file]

    def may_wait(self, table: str) -> bool:
        """Return True if its queued files may wait for company, by what their notes say of when they were heard of."""
        names = [name for name in self.store.objects if name.startswith(f"{QUEUED}{table}/")]
        heard = [datetime.strptime(f"{name[-20:-5]}Z", "%Y%m%dT%H%M%S%z") for name in names]
        return self.clock.now() < min(heard) + self.window

    def failed_before(self, table: str) -> bool:
        """Return True if a queued file was taken up before, and failed: it waits anew then, behind all others."""
        names = [name.rpartition("/")[2] for name in self.store.objects if name.startswith(f"{QUEUED}{table}/")]
        landed = {f"{file.landed_at:%Y%m%dT%H%M%S}" for file in self.noted(table)}
        return any(name.partition("-")[0] not in landed for name in names)

    def lane_of(self, files: Iterable[FileVersion]) -> Lane:
        """The lane that they take together, where no attempt has handed one of them over."""
        express = self.service.express
        return Lane.EXPRESS if express and len(set(files)) <= express.most_files else Lane.SPARK

    def busy(self) -> set[str]:
        """Tables of open branches, and of those whose jobs go on."""
        names = {*self.lake.branches, *(run.branch for run in self.runner.open_runs())}
        return {attempt.table for name in names if (attempt := Attempt.parse(name))}

    def taken_slots(self, lane: Lane) -> int:
        """Jobs of the lane, and branches that may be about to have one."""
        runs = {run.branch: run.lane for run in self.runner.runs.values()}
        under_way = [run for run in self.runner.open_runs() if run.lane is lane]
        return len(under_way) + sum(name not in runs for name in self.lake.branches if Attempt.parse(name))

    def say(self, kind: str, text: str = "") -> None:
        """`kind` is counted; `text` is what is special about this one."""
        self.counted[kind] += 1
        if self.trace:
            self.trace(f"{kind} {text}".rstrip())

    def note_gone(self, branch: str) -> None:
        self.gone[branch] = self.clock.now()
        if (MessageKind.EXPIRING, branch) in self.notifier.first:
            self.say("branch: expires", branch)

    # Vendors and their events.

    def upload(self, key: str, body: bytes, story: Story) -> FileVersion:
        file = self.landing.add(key, body)
        self.stories[file.id], self.files[file.id] = story, file
        self.order[file.id] = self.landing.uploads
        self.queue.append(self._arrival(file))
        self.say("vendor: uploads", f"{file.key} {file.version_id}: {story}")
        return file

    def delete(self, file: FileVersion) -> None:
        self.say("vendor: deletes", f"{file.key} {file.version_id}")
        self.landing.drop(file.key, file.version_id)

    def deliver(self, arrivals: list[Arrival], *, again: bool) -> None:
        """Events become a worker; they leave the queue, unless they are delivered once more."""
        if not again:
            self.queue = [arrival for arrival in self.queue if arrival not in arrivals]
        what = " and ".join(f"{arrival.key} {arrival.version_id}" for arrival in arrivals)
        checked = self._starts_at_once(arrivals)
        redelivered = self._redeliver(arrivals)

        def ended(worker: Worker) -> None:
            redelivered(worker)
            checked(worker)

        self.start("ingest", what, lambda service: receive(service, arrivals), on_end=ended)

    def _starts_at_once(self, arrivals: list[Arrival]) -> Callable[[Worker], None]:
        """A small file of a quiet table does not wait, where nobody and nothing came between."""
        number, alone = self.started + 1, not self.workers
        quiet = [table for table in (FLIGHTS, PLANES) if table not in self.busy() and not self.noted(table)]

        def ended(worker: Worker) -> None:
            if not alone or self.started != number or worker in self.disturbed or not worker.has_express:
                return
            wanted = {(arrival.key, arrival.version_id) for arrival in arrivals}
            for file in (file for table in quiet for file in self.noted(table)):
                if (file.key, file.version_id) in wanted and isinstance(worker.result, list) and not worker.result:
                    raise Violation(f"{file.key} {file.version_id} waits, and its table is quiet")

        return ended

    def deliver_reminders(self) -> None:
        """All that have come become a worker."""
        self.say("reminder: comes")
        files, self.reminded = self.reminded, []
        keys = [file.key for file in files]
        number, alone = self.started + 1, not self.workers and self.routes
        queued = [table for table in (FLIGHTS, PLANES) if self.noted(table)]

        def ended(worker: Worker) -> None:
            if worker.died:
                self.reminded += files
            elif alone and self.started == number and worker not in self.disturbed and len(queued) == 1:
                self._no_longer_than_its_window(worker, queued[0], files)

        self.start("ingest", f"reminded of {' and '.join(keys)}", lambda it: receive(it, [], keys), on_end=ended)

    def _no_longer_than_its_window(self, worker: Worker, table: str, files: list[FileVersion]) -> None:
        """Files that no other table's wait beside are taken up where a slot is free."""
        left = self.noted(table)
        lane, reminded = self.lane_of(left), {file.id for file in files} & {file.id for file in left}
        if not reminded or worker.result != [] or self.failed_before(table):
            return
        if self.taken_slots(lane) < self.service.jobs_at_once and bool(self.service.express) == worker.has_express:
            raise Violation(f"{left[0].key} waits for longer than its window, and a slot of {lane} is free")

    def _redeliver(self, arrivals: list[Arrival]) -> Callable[[Worker], None]:
        def ended(worker: Worker) -> None:
            failures = worker.result  # nothing where it died
            failed = [it for failure in failures for it in failure.arrivals] if isinstance(failures, list) else arrivals
            self.queue += failed

        return ended

    def send_again(self, file: FileVersion) -> None:
        """The event of anything that ever landed, however long ago: a queue may deliver it once more."""
        self.say("event: sent again", f"{file.key} {file.version_id}")
        self.queue.append(self._arrival(file))

    def _arrival(self, file: FileVersion) -> Arrival:
        return Arrival(key=file.key, version_id=file.version_id, sequencer=f"{self.order[file.id]:08X}")

    def lose_event(self, arrival: Arrival) -> None:
        self.say("event: lost", f"{arrival.key} {arrival.version_id}")
        self.queue.remove(arrival)

    # Clusters.

    def running_jobs(self) -> list[SparkRun]:
        for run_id in self.runner.runs:
            if run_id not in self.jobs:
                kind = ExpressRun if self.runner.runs[run_id].lane is Lane.EXPRESS else SparkRun
                self.jobs[run_id] = kind(self, run_id)
        return [job for job in self.jobs.values() if not job.ended]

    def work(self, job: SparkRun) -> None:
        did = job.step()
        self.say("job: a step", f"of {job.branch}: {did}")
        self.counted["job: ended by its files"] += did.endswith(OVERLOADED)
        if job.ended and not job.is_second:
            self.job_events.append(job.branch)

    def kill_job(self, job: SparkRun) -> None:
        self.say("job: killed" if job.began else "job: never begins", job.branch)
        if isinstance(job, ExpressRun) and job.leaving:
            self.say(f"job: killed {job.leaving}", job.branch)
        job.die()
        self.job_events.append(job.branch)

    def cut_job_off(self, job: SparkRun) -> None:
        self.say("job: cut off", job.branch)
        self.cut_off.add(job.branch)
        job.cut_off()
        self.job_events.append(job.branch)

    def give_job_up(self, job: SparkRun) -> None:
        self.say("job: given up, goes on as a zombie", job.branch)
        job.is_given_up()
        self.job_events.append(job.branch)

    def hand_over(self, job: ExpressRun) -> None:
        self.say("job: meets what only Spark can say", job.branch)
        job.hand_over()

    def run_again(self, job: ExpressRun) -> None:
        """Its event is delivered twice, so there are two at one attempt; nobody hears of the second one."""
        self.say("job: is invoked twice", job.branch)
        self.jobs[f"{job.id} again {len(self.jobs)}"] = ExpressRun(self, job.id)

    def deliver_job_event(self, branch: str, *, again: bool) -> Worker:
        if not again:
            self.job_events.remove(branch)
        attempt = Attempt.parse(branch)
        assert attempt is not None
        return self.start("settle", branch, lambda service: settle_and_gather(service, attempt))

    def lose_job_event(self, branch: str) -> None:
        self.say("event of a job: lost", branch)
        self.job_events.remove(branch)

    # Workers.

    def sweep(self) -> Worker:
        return self.start("sweep", "", reconcile)

    def retry(self, batch: str) -> Worker:
        self.retried.add(batch)
        return self.start("retry", batch, lambda service: retry(service, batch), patient=True)

    def discard(self, batch: str) -> Worker:
        self.discarded.add(batch)
        return self.start(
            "discard", batch, lambda service: discard(service, batch, reason="not wanted", by="ann"), patient=True
        )

    def approve(self, batch: str) -> Worker:
        self.approved.add(batch)
        return self.start(
            "approve", batch, lambda service: approve(service, batch, reason="it is known", by="ann"), patient=True
        )

    def push(self, terms: Terms) -> None:
        """As `registry.push` stores contracts once it has checked them, which would take most of a schedule's time."""
        self.say("contract: pushed", str(terms))
        self.counted[f"contract: re-uploads {terms.reuploads}"] += 1
        self.reuploads.add(terms.reuploads)
        self.store.write(contract_name(PLANES), PLANES_TEXT)
        self.store.write(contract_name(FLIGHTS), terms.text())
        self.routes = True

    def break_contract(self) -> None:
        """Put a contract in the registry that does not load: one written by hand, or of a release that reads less."""
        self.say("contract: broken")
        self.store.write(contract_name(FLIGHTS), b"schema: [")
        self.disturbed |= {*self.workers}
        self.routes = False

    def start(
        self,
        kind: str,
        what: str,
        operation: Callable[[Service], object],
        *,
        patient: bool = False,
        on_end: Callable[[Worker], None] = lambda _: None,
    ) -> Worker:
        self.started += 1
        name = f"[{self.started}] {kind}"
        self.say(f"worker: {kind}", f"[{self.started}] {what}")
        reached = self.reached if kind == "ingest" else replace(self.reached, reminders=None)
        worker = Worker(name, reached, operation, patient=patient, on_end=on_end)
        self.workers.append(worker)
        self.began[worker] = self.calls
        if worker.ended:  # before its first call
            self._look_at(worker)
        return worker

    def step(self, worker: Worker, fate: Fate = Fate.DONE, goes_on: Callable[[], bool] = stops) -> None:
        """As the worker's own; whoever lets it go on notes each call."""
        self.note(worker, fate)
        worker.step(fate, goes_on)
        if worker.ended:
            self._look_at(worker)

    def note(self, worker: Worker, fate: Fate = Fate.DONE) -> None:
        """Record the fate of the call that it waits for."""
        self.calls += 1
        if fate is not Fate.DONE:
            self.disturbed.add(worker)
        if worker.waiting and worker.waiting.method in OUTCOME_MATTERS:
            self.counted[f"calls of {worker.waiting.method}"] += 1
        if worker.waiting and worker.waiting.method == "write" and worker.waiting.arguments[0].startswith(QUEUED):
            self.counted["files: queued"] += 1
        self.counted[CALL[fate]] += 1
        if self.trace:
            self.trace(f"{CALL[fate]} {worker.name}: {worker.waiting}")

    def _look_at(self, worker: Worker) -> None:
        self.workers.remove(worker)
        if worker.error is not None:
            self.say(f"worker: ends with {type(worker.error).__name__}", f"{worker.name}: {worker.error}")
        if worker.error is not None and not isinstance(worker.error, LakegateError):
            raise Violation(f"{worker.name} broke") from worker.error

    # Time.

    def advance(self, span: timedelta) -> None:
        """Functions that would live too long die before anything else happens."""
        self.say("clock: goes on", f"by {span}")
        self.clock.advance(span.total_seconds())
        self.reminded += self.reminders.take_due()
        for worker in list(self.workers):
            if not worker.patient and self.clock.now() - worker.since >= LONGEST_LIFE:
                self.say("worker: its time is up", worker.name)
                worker.kill()
                self._look_at(worker)

    # Strangers.

    def publish_elsewhere(self) -> None:
        """Somebody else's commit to main, of a table that is none of ours."""
        self.stranger_rows += 1
        key = Key(kind=KeyKind.OTHER, name=STRANGERS)
        self.say("stranger: commits another table to main")
        self.lake.commit(MAIN, {key: str(self.stranger_rows)})

    def change_fields(self) -> None:
        """Somebody changes the table of flights on main by hand: the same columns under other field ids."""
        if self.table_on_main(FLIGHTS) is None:
            return
        self.say("stranger: gives the columns on main other field ids")
        table = self.identity(FLIGHTS)
        fields = tuple((number + 10, name, kind) for number, name, kind in table.fields)
        self.change_identity(FLIGHTS, fields=fields, last_id=table.last_id + 10)

    def compact(self, paths: list[str]) -> None:
        """Somebody writes the rows of data files of flights on main into another one."""
        if self.table_on_main(FLIGHTS) is None:
            return
        self.say("stranger: compacts flights on main", " and ".join(paths))
        self.write_together(FLIGHTS, paths)

    def delete_planes(self, path: str) -> None:
        """Somebody deletes rows of planes on main by a delete file; the data file that had them stays."""
        self.say("stranger: deletes rows of planes on main", path)
        self.change_table(PLANES, deletes=deletes_of(self.table_on_main(PLANES)) | {deleting(path)})

    def data_files(self, table: str) -> list[str]:
        """Return those of a table on main."""
        return sorted(files_of(self.table_on_main(table)))

    def meddle(self, branch: str) -> None:
        """Somebody commits to an attempt's branch."""
        self.say("stranger: commits to a branch", branch)
        self.meddled.add(branch)
        self.lake.commit(branch, {Key(kind=KeyKind.OTHER, name=STRANGERS): f"on {branch}"})

    # What can be seen.

    def report(self, branch: str) -> Report | None:
        """The report as the job left it."""
        body = self.store.objects.get(f"reports/{branch}.json")
        return _report(body) if body else None

    def reuploads_of(self, key: str) -> set[Reuploads]:
        """All that a key's contract ever said of them."""
        return self.reuploads if key.startswith("flights/") else {Reuploads.REPLACE}

    def prefix_of(self, file_id: str) -> str:
        """The folder that a file landed in, which is of one contract."""
        return self.files[file_id].key.partition("/")[0]

    def version_of(self, file_id: str) -> str:
        return self.files[file_id].version_id


@lru_cache(maxsize=256)
def _report(body: bytes) -> Report:
    return from_json(Report, body)
