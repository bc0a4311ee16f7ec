"""Jobs that crashed: how many in a row, and when the next attempt is due. One that a person cancelled has not crashed.

A job that did not get through to its files, because it never began or was cut off, says nothing of them: it is tried
again however often. It starts nothing and notes nothing: settling does.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakegate.audit.job import Job
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import JobRun, JobState
from lakegate.workflow.claims import open_files
from lakegate.workflow.reports import End, given_up, has_begun
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.references import Again

LONGEST = timedelta(hours=1)  # between a crash and the next attempt
_DOUBLED = 12  # times: a second is over an hour by then
_ENDED = {JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Crash:
    """A run that left no report. `attempts` are those whose jobs crashed one after the other, by number, this one's
    last if it `began` and was not cut off; `tries` counts the others, too. `shortest` is the wait after the first of
    them, and so many as `most` may crash.
    """

    run: JobRun
    began: bool
    attempts: tuple[int, ...]
    tries: int
    shortest: timedelta
    most: int

    @property
    def is_last(self) -> bool:
        """Whether no attempt follows."""
        return self.began and len(self.attempts) >= self.most

    @property
    def due(self) -> datetime:
        """When the next attempt may begin: after twice the wait of the one before."""
        wait: timedelta = self.shortest * 2 ** min(self.tries - 1, _DOUBLED)
        return (self.run.ended_at or _LONG_AGO) + min(LONGEST, wait)

    @property
    def end(self) -> End:
        """The end to note of the attempt when another follows."""
        return End.GIVEN_UP if self.began else End.WAITED

    def __str__(self) -> str:
        said = why_no_report(self.run) if self.began else _not_through(self.run)
        names = [f"a{number}" for number in self.attempts]
        return said if len(names) <= 1 else f"{said}; attempts {', '.join(names[:-1])} and {names[-1]} crashed in a row"


def why_no_report(run: JobRun) -> str:
    return f"the Spark job {_ENDED.get(run.state, 'ended without a report')}{_told(run)}"


def _not_through(run: JobRun) -> str:
    return f"the Spark job did not get through to its files{_told(run)}"


def _told(run: JobRun) -> str:
    return f" (run {run.id})" + (f": {run.reason}" if run.reason else "")


def crash(service: Service, attempt: Attempt, job: Job, run: JobRun) -> Crash | None:
    """The crash of the attempt's run that has ended and left no report; None where a person cancelled it."""
    if run.state is JobState.CANCELLED:
        return None
    began = _began(service, attempt, job)
    counted = [number for number in job.crashed if number not in job.waited]
    return Crash(
        run=run,
        began=began,
        attempts=(*counted, *([attempt.number] if began else [])),
        tries=len(job.crashed) + 1,
        shortest=service.grace,
        most=service.attempts,
    )


def _began(service: Service, attempt: Attempt, job: Job) -> bool:
    """As it was when the attempt was given up, if it was: its job may go on, and nobody is to think otherwise then."""
    how = given_up(service.store, attempt)
    return how is End.GIVEN_UP if how else has_begun(service.store, attempt, job)


def tried_again(service: Service, attempt: Attempt, crashed: Crash, files: list[FileVersion]) -> Again:
    """Those of the files that the next attempt is to take, and whether it is time. None are left after the last."""
    if crashed.is_last:
        return Again()
    undecided = tuple(open_files(service, attempt, files))
    return Again(files=undecided, now=not undecided or service.clock.now() >= crashed.due)
