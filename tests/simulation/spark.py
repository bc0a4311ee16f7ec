"""Runs of jobs, step by step: each may die, or be given up and go on as a zombie, between any two of its writes."""

from dataclasses import replace
from enum import StrEnum

from greenlet import getcurrent, greenlet

from lakegate.audit.errors import HandedOver, JobError
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import CUT_OFF
from lakegate.audit.run import Run, append_and_audit
from lakegate.ports import JobState
from tests.world.engine import Cluster, StoryEngine

MEMORY = 2  # of a job: files that weigh more, alone or together, end it
OVERLOADED = "out of memory"


class SparkRun:
    """One run of one job, step by step."""

    def __init__(self, cluster: Cluster, run_id: str) -> None:
        self.cluster, self.id = cluster, run_id
        self.branch = cluster.runner.get(run_id).branch
        self.began, self.ended = False, False
        self.is_second = False  # of two at one attempt
        self._strand = greenlet(self._work)

    def step(self) -> str:
        """Do the next step and say which; at the end the run has ended, well or badly."""
        if self.began and self._is_overloaded():
            return self._end(JobState.FAILED, OVERLOADED)
        self._strand.parent = getcurrent()
        try:
            said = self._strand.switch()
        except JobError as error:
            return self._end(JobState.FAILED, str(error))
        return self._end(JobState.SUCCEEDED) if self._strand.dead else str(said)

    def _is_overloaded(self) -> bool:
        """Return True if its files take more memory than it has, as they do whenever they are tried together."""
        files = self.cluster.runner.job(self.id).files
        return sum(self.cluster.stories[file.id].weight for file in files) > MEMORY

    def die(self) -> None:
        """The driver is gone, or the run's turn never came."""
        self._end(JobState.FAILED, "the driver was killed" if self.began else "there was no room for it")

    def cut_off(self) -> None:
        """Its storage is out of reach, which it notes. Of one that was given up that comes too late."""
        self.cluster.store.write(self.cluster.store.name(self.cluster.runner.job(self.id).begun_uri), CUT_OFF)
        self.began = self.began and self.cluster.runner.runs[self.id].state is not JobState.RUNNING
        self._end(JobState.FAILED, "storage is out of reach")

    def is_given_up(self) -> None:
        """The runner says that it has failed; what it does goes on, or only begins then."""
        self._say(JobState.FAILED, "it took longer than it may")

    def _end(self, state: JobState, reason: str = "") -> str:
        self.ended = True
        self._say(state, reason)
        return f"ends: {state} {reason}"

    def _say(self, state: JobState, reason: str) -> None:
        run = self.cluster.runner.runs[self.id]
        if run.state is JobState.RUNNING:
            ended = replace(run, state=state, reason=reason, ended_at=self.cluster.clock.now())
            self.cluster.runner.runs[self.id] = ended

    def _work(self) -> None:
        """Do what the job's `main` does."""
        job = self.cluster.runner.job(self.id)
        engine = StoryEngine(cluster=self.cluster, job=job, did=self._pause)
        report = append_and_audit(Run(job=job, engine=engine, now=self.cluster.clock.now, ticks=float))
        self._pause("audits")
        self.cluster.store.write(self.cluster.store.name(job.report_uri), to_json(report).encode())
        self._pause("reports")

    def _pause(self, did: str) -> None:
        """Whoever holds the run says when it goes on, if ever."""
        self.began = True  # the first that it does is to note so
        getcurrent().parent.switch(did)


class Leaving(StrEnum):
    """Steps of an express job that hands its files over."""

    NOT = ""
    ABOUT = "before it hands over"
    IN = "in the hand-over"
    AFTER = "after the hand-over"


class ExpressRun(SparkRun):
    """One run of the express lane's job, which may find at any step that only Spark can go on."""

    def __init__(self, cluster: Cluster, run_id: str) -> None:
        super().__init__(cluster, run_id)
        self.leaving = Leaving.NOT

    def hand_over(self) -> None:
        """At its next step."""
        self.leaving = Leaving.ABOUT

    def _say(self, state: JobState, reason: str) -> None:
        if not self.is_second:
            super()._say(state, reason)

    def _work(self) -> None:
        job, store = self.cluster.runner.job(self.id), self.cluster.store
        if not store.create(f"{store.name(job.begun_uri)}/express.json", b"{}"):
            self.is_second = True
            return
        engine = StoryEngine(cluster=self.cluster, job=job, did=self._pause_or_leave)
        try:
            report = append_and_audit(Run(job=job, engine=engine, now=self.cluster.clock.now, ticks=float))
            self._pause_or_leave("audits")
        except HandedOver as why:
            self._pause("stops")
            store.create(store.name(job.handover_uri), to_json({"reason": str(why)}).encode())
            self.leaving = Leaving.AFTER
            self._pause("hands over")
            return
        store.write(store.name(job.report_uri), to_json(report).encode())
        self._pause("reports")

    def _pause_or_leave(self, did: str) -> None:
        self._pause(did)
        if self.leaving is Leaving.ABOUT:
            self.leaving = Leaving.IN
            raise HandedOver("a value that only Spark can compare")
