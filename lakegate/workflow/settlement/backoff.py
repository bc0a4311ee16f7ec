"""Back-off: the jobs of a batch that crashed in a row, and when its next attempt is due. It reads and starts nothing.

A job that a person cancelled has not crashed. A job that never reached its files tells nothing about them, so it does
not count towards the number that may crash.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakegate.audit.model.job import Job
from lakegate.ports import JobRun, JobState

LONGEST = timedelta(hours=1)  # between a crash and the next attempt
_DOUBLED = 12  # times: a second is over an hour by then
_ENDED = {JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Crash:
    """A run that left no report. It `began` if it reached its files and was not cut off from them. `attempts` are
    numbers of attempts whose jobs began and crashed in a row, the last one last; `tries` counts those that did not
    begin, too. `shortest` is the wait after the first crash, and `most` is how many may crash.
    """

    run: JobRun
    began: bool
    attempts: tuple[int, ...]
    tries: int
    shortest: timedelta
    most: int

    @property
    def is_last(self) -> bool:
        """True if no attempt follows."""
        return self.began and len(self.attempts) >= self.most

    @property
    def due(self) -> datetime:
        """Time at which the next attempt may begin, after twice the wait before the last one."""
        wait: timedelta = self.shortest * 2 ** min(self.tries - 1, _DOUBLED)
        return (self.run.ended_at or _LONG_AGO) + min(LONGEST, wait)

    def __str__(self) -> str:
        said = why_no_report(self.run) if self.began else _not_through(self.run)
        names = [f"a{number}" for number in self.attempts]
        return said if len(names) <= 1 else f"{said}; attempts {', '.join(names[:-1])} and {names[-1]} crashed in a row"


def ending(run: JobRun) -> str:
    """Return how a run without a report ended, as a verb with `job` for its subject."""
    return _ENDED.get(run.state, "ended without a report")


def why_no_report(run: JobRun) -> str:
    return f"the {run.lane.named} job {ending(run)}{_run(run)}"


def _not_through(run: JobRun) -> str:
    return f"the {run.lane.named} job ended before it read a file{_run(run)}"


def _run(run: JobRun) -> str:
    return f" (run {run.id})" + (f": {run.reason}" if run.reason else "")


def crash(job: Job, run: JobRun, *, began: bool, shortest: timedelta, most: int) -> Crash | None:
    """Return the crash of a run that has ended without a report, or None if a person cancelled it."""
    if run.state is JobState.CANCELLED:
        return None
    counted = [number for number in job.consecutive_crashes if number not in job.never_began]
    return Crash(
        run=run,
        began=began,
        attempts=(*counted, *([job.attempt] if began else [])),
        tries=len(job.consecutive_crashes) + 1,
        shortest=shortest,
        most=most,
    )
