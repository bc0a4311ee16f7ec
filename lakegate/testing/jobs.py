"""`JobRunner` in memory."""

from collections.abc import Callable
from dataclasses import replace

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import CUT_OFF, Job, parse_job
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import Report
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobRun, JobState, Reach, Usage
from lakegate.testing.clock import MemoryClock
from lakegate.testing.store import MemoryStore

USAGE = Usage(seconds=90, vcpu_hours=0.1, memory_gb_hours=0.4, storage_gb_hours=2.75)  # of a run that has ended


class MemoryJobRunner:
    """`JobRunner` whose jobs wait until a test runs or fails them. `work` is the job: its report is stored as a job
    would store it. Its runs' ids begin with the `name`.
    """

    def __init__(
        self,
        store: MemoryStore,
        work: Callable[[Job], Report] | None = None,
        clock: MemoryClock | None = None,
        name: str = "run",
    ) -> None:
        self.store, self.work, self.clock, self.name = store, work, clock or MemoryClock(), name
        self.runs: dict[str, JobRun] = {}
        self.jobs: dict[str, str] = {}
        self.reaches: dict[str, Reach] = {}

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        run = self.find(attempt.branch)
        if run:
            return run.id
        number = len(self.runs) + 1
        run = JobRun(id=f"{self.name}-{number:04d}", branch=attempt.branch, state=JobState.RUNNING, lane=lane)
        self.runs[run.id], self.jobs[run.id], self.reaches[run.id] = run, job_uri, reach
        return run.id

    def get(self, run_id: str) -> JobRun:
        if run_id not in self.runs:
            raise Misconfigured(f"there is no job run {run_id}")
        return self.runs[run_id]

    def find(self, branch: str) -> JobRun | None:
        run = next((run for run in reversed(self.runs.values()) if run.branch == branch), None)
        return run and replace(run, usage=None)

    def cancel(self, run_id: str) -> None:
        """Cancel a run as a person does, by the vendor's own means."""
        if self.get(run_id).state is JobState.RUNNING:
            self._end(run_id, JobState.CANCELLED, "")

    def open_runs(self) -> list[JobRun]:
        """Return the runs that have not ended: they wait for a test."""
        return [run for run in self.runs.values() if run.state is JobState.RUNNING]

    def finish(self, run_id: str) -> Report:
        """Do the run's work as its job says, store the report, and end well."""
        if self.work is None:
            raise Misconfigured("this runner was given no work")
        self._begin(run_id)
        report = self.work(self.job(run_id))
        self.store.create(self.store.name(self.job(run_id).report_uri), to_json(report).encode())
        self._end(run_id, JobState.SUCCEEDED, "")
        return report

    def finish_all(self) -> None:
        """Finish every waiting run, oldest first."""
        for run in self.open_runs():
            self.finish(run.id)

    def fail(self, run_id: str, reason: str, *, never_began: bool = False, cut_off: bool = False) -> None:
        """End a run badly, without a report; if it `never_began`, before it began on its files."""
        if not never_began:
            self._begin(run_id, CUT_OFF if cut_off else b"")
        self._end(run_id, JobState.FAILED, reason)

    def hand_over(self, run_id: str, reason: str) -> None:
        """End a run of the express lane that hands its files over."""
        self._begin(run_id)
        self.store.create(self.store.name(self.job(run_id).handover_uri), to_json({"reason": reason}).encode())
        self._end(run_id, JobState.SUCCEEDED, "")

    def job(self, run_id: str) -> Job:
        return parse_job(self.store.objects[self.store.name(self.jobs[run_id])])

    def _begin(self, run_id: str, content: bytes = b"") -> None:
        self.store.write(self.store.name(self.job(run_id).begun_uri), content)

    def _end(self, run_id: str, state: JobState, reason: str) -> None:
        run, now = self.runs[run_id], self.clock.now()
        self.runs[run_id] = replace(run, state=state, reason=reason, ended_at=now, usage=USAGE)
