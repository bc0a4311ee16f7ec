"""Jobs that crashed: how many in a row, and when the next attempt is due. One that a person cancelled has not crashed.

It starts nothing: that is settling's.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakegate.audit.job import Job
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import JobRun, JobState
from lakegate.workflow.claims import open_files
from lakegate.workflow.early import Again
from lakegate.workflow.reports import End, end
from lakegate.workflow.service import Service

LONGEST = timedelta(hours=1)  # between a crash and the next attempt
_ENDED = {JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Crash:
    """A run that left no report. `attempts` are those whose jobs crashed one after the other, by number, this one's
    last; one that waited in vain has not crashed. `shortest` is the wait after the first of them.
    """

    run: JobRun
    attempts: tuple[int, ...]
    shortest: timedelta

    @property
    def due(self) -> datetime:
        """When the next attempt may begin: after twice the wait of the one before."""
        wait: timedelta = self.shortest * 2 ** max(len(self.attempts) - 1, 0)
        return (self.run.ended_at or _LONG_AGO) + min(LONGEST, wait)

    def __str__(self) -> str:
        said = why_no_report(self.run)
        names = [f"a{number}" for number in self.attempts]
        return said if len(names) <= 1 else f"{said}; attempts {', '.join(names[:-1])} and {names[-1]} crashed in a row"


def why_no_report(run: JobRun) -> str:
    ended = _ENDED.get(run.state, "ended without a report")
    return f"the Spark job {ended} (run {run.id})" + (f": {run.reason}" if run.reason else "")


def crash(service: Service, job: Job, run: JobRun) -> Crash | None:
    """The crash of the job's run that has ended and left no report; None where a person cancelled it."""
    if run.state is JobState.CANCELLED:
        return None
    counted = [number for number in job.crashed if number not in job.waited]
    attempts = (*counted, *([] if run.waited else [job.attempt]))
    return Crash(run=run, attempts=attempts, shortest=service.grace)


def tried_again(service: Service, attempt: Attempt, crashed: Crash, files: list[FileVersion]) -> Again:
    """Those of the files that the next attempt is to take, and whether it is time. None are left after the last."""
    if len(crashed.attempts) >= service.attempts:
        return Again()
    undecided, how = tuple(open_files(service, attempt, files)), End.WAITED if crashed.run.waited else End.GIVEN_UP
    now = not undecided or (service.clock.now() >= crashed.due and end(service.store, attempt, how))
    return Again(files=undecided, now=now)
