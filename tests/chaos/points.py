"""Points on a file's way, seen through the ports, so that something can be broken just there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lakegate import bootstrap
from lakegate.adapters.emr import EmrJobRunner
from lakegate.adapters.lanes import LaneRunner
from lakegate.audit.model.lane import Lane
from lakegate.errors import LakegateError
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, JobRun, JobState, Ref
from lakegate.settings import Settings
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import End, begun_name, how_given_up, report_name
from lakegate.workflow.service import Service

SECONDS = 900.0  # ends what hangs; a busy machine takes minutes


@dataclass(frozen=True, kw_only=True)
class Points:
    """The points on the way of a table's attempts; those that were there before do not count."""

    service: Service
    table: str
    before: frozenset[str]

    def until(self, point: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Wait for it, doing something again and again. A file that passed it unseen is at it, too: what follows then
        comes a little late.
        """
        is_there, deadline = self._points()[point], time.monotonic() + SECONDS
        while not any(self._asked(is_there, attempt) for attempt in self._attempts()):
            assert time.monotonic() < deadline, f"{point}: not within {SECONDS:.0f} s"
            meanwhile()
            time.sleep(0.02)

    def is_undecided(self) -> bool:
        """Return True while an attempt has its branch."""
        return bool(self._attempts())

    def furthest(self) -> str:
        """The last point that any attempt is at; one without a branch any more is decided."""
        attempts = self._attempts()
        reached = [
            point for point, is_there in self._points().items() if any(self._asked(is_there, it) for it in attempts)
        ]
        return reached[-1] if reached else "decided"

    def lanes(self, attempt: Attempt) -> tuple[str, ...]:
        """The lanes of the attempts at a batch, up to this one, that had a job."""
        tries = (replace(attempt, number=number) for number in range(1, attempt.number + 1))
        return tuple(job.lane for it in tries if (job := readable_job_of(self.service.store, it)))

    def run(self) -> str:
        """The id of the job run of the last attempt that has one."""
        return self._runs()[-1][1].id

    def has_died(self) -> bool:
        """Return True if the last job run has ended and left no report."""
        last = self._runs()[-1:]  # a report is there before its run has ended
        return any(run.state is not JobState.RUNNING and not self._is_there(report_name(it)) for it, run in last)

    def _runs(self) -> list[tuple[Attempt, JobRun]]:
        attempts = sorted(self._attempts(), key=lambda attempt: attempt.number)
        runs = ((attempt, self.service.runner.find(attempt.branch)) for attempt in attempts)
        return [(attempt, run) for attempt, run in runs if run is not None]

    def _points(self) -> Mapping[str, Callable[[Attempt], bool]]:
        """Return those of a job that was taken, of an end that was told and of a hand-over are the express lane's; the
        next attempt is Spark's.
        """
        return {
            "branch made": lambda _: True,
            "files claimed": self._has_claims,
            "job started": self._has_a_run,
            "job taken": lambda attempt: self._is_there(f"{begun_name(attempt)}/express.json"),
            "rows appended": lambda attempt: bool(
                self.service.tables.compare(self.table, Ref(MAIN), Ref(attempt.branch)).adds
            ),
            "report written": lambda attempt: self._is_there(report_name(attempt)),
            "end told": lambda attempt: self._is_there(f"attempts/{attempt.branch}/express.json"),
            "handed over": lambda attempt: how_given_up(self.service.store, attempt) is End.HANDED_OVER,
            "next branch made": lambda attempt: attempt.number > 1,
            "next files claimed": lambda attempt: attempt.number > 1 and self._has_claims(attempt),
            "next job started": lambda attempt: attempt.number > 1 and self._has_a_run(attempt),
        }

    def _has_claims(self, attempt: Attempt) -> bool:
        return bool(files_claimed_on(self.service, attempt))

    def _is_there(self, name: str) -> bool:
        return self.service.store.read(name) is not None

    def _has_a_run(self, attempt: Attempt) -> bool:
        runner = self.service.runner
        spark = runner._runners[Lane.SPARK] if isinstance(runner, LaneRunner) else runner
        if isinstance(spark, EmrJobRunner):
            spark._listing = None  # which is good for seconds: a short job would have come and gone
        return runner.find(attempt.branch) is not None

    def _attempts(self) -> list[Attempt]:
        found = list_open_attempts(self.service.branches)
        return [attempt for attempt in found if attempt.table == self.table and attempt.branch not in self.before]

    def _asked(self, is_there: Callable[[Attempt], bool], attempt: Attempt) -> bool:
        """A branch may go while it is looked at: then the file has come further."""
        try:
            return is_there(attempt)
        except LakegateError:
            return True


def service_of(outputs: Mapping[str, str], profile: Mapping[str, str]) -> Service:
    """The installation's own service, of this process; `profile` is what the command line would read."""
    os.environ.update(profile)
    return bootstrap.service(Settings.from_outputs(outputs))


def points(service: Service, table: str) -> Points:
    """From now on."""
    return Points(service=service, table=table, before=frozenset(it.name for it in service.branches.list_branches()))
