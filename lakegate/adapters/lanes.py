"""`JobRunner` of an installation with both lanes. It starts a job with its lane's runner, and asks both about runs.

It asks the express lane first: that one answers from the store, and EMR Serverless with a listing.
"""

from concurrent.futures import ThreadPoolExecutor

from lakegate.audit.model.lane import Lane
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobRun, JobRunner, Reach


class LaneRunner:
    """A job runner of the two lanes' runners."""

    def __init__(self, spark: JobRunner, express: JobRunner) -> None:
        self._runners = {Lane.EXPRESS: express, Lane.SPARK: spark}

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        return self._runners[lane].start(attempt, job_uri, reach, lane)

    def get(self, run_id: str) -> JobRun:
        try:
            return self._runners[Lane.EXPRESS].get(run_id)
        except Misconfigured:  # it is none of the express lane's
            return self._runners[Lane.SPARK].get(run_id)

    def open_runs(self) -> list[JobRun]:
        with ThreadPoolExecutor(len(self._runners)) as pool:
            return [run for runs in pool.map(_running_jobs, self._runners.values()) for run in runs]

    def find(self, branch: str) -> JobRun | None:
        """See the port. An attempt has one lane, so at most one of them has a run of it."""
        return next((run for runner in self._runners.values() if (run := runner.find(branch))), None)


def _running_jobs(runner: JobRunner) -> list[JobRun]:
    return runner.open_runs()
