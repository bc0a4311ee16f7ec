"""Back-off: the jobs of a batch that crashed in a row, and when its next attempt is due. It reads and starts nothing.

A job that a person cancelled has not crashed. A job that never reached its files tells nothing about them, so it does
not count. Crashes of several files together tell that one of them may end the job, and not which: after the second one
their halves are tried, and only the crashes of a file alone count towards the number that rejects it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakegate.audit.model.job import Job
from lakegate.ports import JobRun, JobState

LONGEST = timedelta(hours=1)  # between a crash and the next attempt
CRASHES_BEFORE_HALVING = 2  # crashes of several files, after which their halves are tried
_DOUBLINGS = 12  # times: a second is over an hour by then
_END_TEXTS = {JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Crash:
    """A run that left no report. It `began` if it reached its files and was not cut off from them. `attempts` are
    numbers of attempts whose jobs began and crashed in a row, the last one last; those `with_others` had other files
    beside the run's `files`, which are so many. `tries` counts the attempts at just these files, those that did not
    begin, too. `shortest` is the wait after the first crash, and `limit` is how many may crash.
    """

    run: JobRun
    began: bool
    attempts: tuple[int, ...]
    tries: int
    shortest: timedelta
    limit: int
    with_others: tuple[int, ...] = ()
    files: int = 1

    @property
    def is_last(self) -> bool:
        """True if no attempt follows: a file alone has ended as many jobs as may crash."""
        return self.began and self.files <= 1 and len(self._single_attempts) >= self.limit

    @property
    def halves(self) -> bool:
        """True if the next attempts take half of the files each."""
        return self.began and self.files > 1 and len(self.attempts) >= min(CRASHES_BEFORE_HALVING, self.limit)

    @property
    def due(self) -> datetime:
        """Time at which the next attempts may begin, after twice the wait before the last one at just these files."""
        wait: timedelta = self.shortest * 2 ** min(self.tries - 1, _DOUBLINGS)
        return (self.run.ended_at or _LONG_AGO) + min(LONGEST, wait)

    def __str__(self) -> str:
        reason = why_no_report(self.run) if self.began else _not_through(self.run)
        if self.is_last and self.with_others:
            return f"{reason}; {self._single_text}"
        return reason if len(self.attempts) <= 1 else f"{reason}; {named_attempts(self.attempts)} crashed in a row"

    @property
    def _single_attempts(self) -> tuple[int, ...]:
        return tuple(number for number in self.attempts if number not in self.with_others)

    @property
    def _single_text(self) -> str:
        before = f"{named_attempts(self.with_others)} had crashed with other files beside it"
        return (
            f"this file was isolated: {named_attempts(self._single_attempts)} had it alone and crashed, after {before}"
        )


def named_attempts(attempts: Sequence[int]) -> str:
    """Return `attempt a1`, or `attempts a1, a2 and a3`."""
    *front, last = [f"a{number}" for number in attempts]
    return f"attempts {', '.join(front)} and {last}" if front else f"attempt {last}"


def ending(run: JobRun) -> str:
    """Return how a run without a report ended, as a verb with `job` for its subject."""
    return _END_TEXTS.get(run.state, "ended without a report")


def why_no_report(run: JobRun) -> str:
    return f"the {run.lane.label} job {ending(run)}{_run(run)}"


def _not_through(run: JobRun) -> str:
    return f"the {run.lane.label} job ended before it read a file{_run(run)}"


def _run(run: JobRun) -> str:
    return f" (run {run.id})" + (f": {run.reason}" if run.reason else "")


def crash(job: Job, run: JobRun, *, began: bool, shortest: timedelta, limit: int) -> Crash | None:
    """Return the crash of a run that has ended without a report, or None if a person cancelled it."""
    if run.state is JobState.CANCELLED:
        return None
    began_before = [number for number in job.consecutive_crashes if number not in job.never_began]
    with_others = job.crashed_with_others
    return Crash(
        run=run,
        began=began,
        attempts=(*began_before, *([job.attempt] if began else [])),
        with_others=tuple(number for number in began_before if number in with_others),
        files=len(job.files),
        tries=len(job.consecutive_crashes) - len(with_others) + 1,
        shortest=shortest,
        limit=limit,
    )
