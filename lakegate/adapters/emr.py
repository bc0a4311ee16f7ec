"""`JobRunner` on EMR Serverless. An attempt's job starts once: its token belongs to the attempt, and its arguments are
frozen.

The service's own retries are off: an attempt never runs twice, and another try is another attempt.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import ClientError

from lakegate import bundles
from lakegate.adapters.aws import CONFIG, aws_errors, code
from lakegate.adapters.job_policy import job_policy
from lakegate.audit.model.lane import Lane
from lakegate.errors import Conflict, Misconfigured
from lakegate.landing.attempts import Attempt, earliest_time
from lakegate.ports import JobRun, JobState, Reach, Usage
from lakegate.settings import LONGEST_QUEUE, WORKER_CORES, Settings

if TYPE_CHECKING:
    from mypy_boto3_emr_serverless import EMRServerlessClient
    from mypy_boto3_emr_serverless.literals import JobRunStateType
    from mypy_boto3_emr_serverless.type_defs import JobRunSummaryTypeDef, JobRunTypeDef

UNDER_WAY: list["JobRunStateType"] = ["SUBMITTED", "PENDING", "SCHEDULED", "QUEUED", "RUNNING", "CANCELLING"]
STATES = {
    **dict.fromkeys(UNDER_WAY, JobState.RUNNING),
    "SUCCESS": JobState.SUCCEEDED,
    "FAILED": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
}
EXCEPTIONS, LAST_WORD = "Last few exceptions:", "JobError: "
KIND = re.compile(r"\b(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b")
WAIT = timedelta(minutes=LONGEST_QUEUE)
NOT_IN_TAGS, LONGEST_TAG = re.compile(r"[^A-Za-z0-9 /_.:=+@-]"), 256
WORKER_MEMORY = "7g"  # Java's heap; with Spark's tenth on top, a worker of 8 GB
# A large shuffle fills the default of 20 GB. The maximum is 200 GB, and every GB above 20 costs a little an hour.
DRIVER_DISK, EXECUTOR_DISK = "50G", "100G"
PAGE, A_WHILE = 50, 10  # runs per page (the service's maximum); least seconds for which a listing is reused


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Runs created since a given time; valid until this process's monotonic clock passes `deadline`."""

    start: datetime
    deadline: float
    runs: Sequence["JobRunSummaryTypeDef"]

    def serves(self, moment: datetime) -> bool:
        return self.start <= moment and monotonic() < self.deadline


class EmrJobRunner:
    """A job runner for one EMR Serverless application."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._listing: Listing | None = None

    @cached_property
    def _emr(self) -> "EMRServerlessClient":
        return boto3.client("emr-serverless", config=CONFIG)

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        if lane is not Lane.SPARK:
            raise Misconfigured(f"EMR Serverless has no {lane} lane, and {attempt.branch} has a job for it")
        self._listing = None
        with aws_errors(f"starting the job of {attempt.branch}"):
            try:
                return self._start(attempt, job_uri, reach)
            except ClientError as exc:
                if code(exc) != "ConflictException":
                    raise
                # The token was used with other parameters: this job was started before the code was deployed again.
                run = self.find(attempt.branch)
                if run is None:
                    raise Conflict(f"another worker is starting the job of {attempt.branch}") from exc
                return run.id

    def probe(self, nonce: str, probe_uri: str, report_uri: str) -> str:
        """Start a probe as an attempt's job is started, and return the run's id."""
        name = f"probe-{nonce}"
        reach = Reach(reads=(probe_uri,), writes=(report_uri,), tables={})
        policy = job_policy(self._settings, Attempt(table="probe", batch=nonce, number=1), reach)
        with aws_errors("starting the probe"):
            return self._submit(name, name, probe_uri, policy, {})

    def _start(self, attempt: Attempt, job_uri: str, reach: Reach) -> str:
        tags = {"table": tag(attempt.table), "batch": tag(attempt.batch)}
        policy = job_policy(self._settings, attempt, reach)
        return self._submit(attempt.branch, attempt.token, job_uri, policy, tags)

    def _submit(self, name: str, token: str, job_uri: str, policy: str, tags: Mapping[str, str]) -> str:
        settings = self._settings
        start = self._emr.start_job_run(
            applicationId=settings.application_id,
            clientToken=token,
            executionRoleArn=settings.job_role_arn,
            executionIamPolicy={"policy": policy},
            name=name,
            jobDriver={
                "sparkSubmit": {
                    "entryPoint": settings.job_entry_point,
                    "entryPointArguments": [job_uri],
                    "sparkSubmitParameters": f"--py-files {settings.job_py_files} --jars {settings.job_jars}",
                }
            },
            executionTimeoutMinutes=settings.job_timeout_minutes,
            retryPolicy={"maxAttempts": 1},
            tags=tags,
            configurationOverrides={
                # Each run brings them, because AWS changes nothing of an application that is started.
                "applicationConfiguration": [
                    {"classification": "spark-defaults", "properties": spark_defaults(settings)}
                ],
                "monitoringConfiguration": {
                    "s3MonitoringConfiguration": {"logUri": f"s3://{settings.service_bucket}/logs/"},
                    # By default the service keeps a second copy, which holds what is masked elsewhere, for 30 days.
                    "managedPersistenceMonitoringConfiguration": {"enabled": False},
                },
            },
        )
        return start["jobRunId"]

    def get(self, run_id: str, *, with_texts: bool = False) -> JobRun:
        """See the port. A reason has exceptions' texts only for a run that reads nobody's values, as a probe's."""
        self._listing = None  # a caller asks for one run because its state has changed, so the listing is stale
        with aws_errors(f"looking at job run {run_id}"):
            try:
                run_members = self._emr.get_job_run(applicationId=self._settings.application_id, jobRunId=run_id)[
                    "jobRun"
                ]
            except self._emr.exceptions.ResourceNotFoundException as exc:
                raise Misconfigured(f"application {self._settings.application_id} has no job run {run_id}") from exc
        run = replace(_run(run_id, run_members), usage=_usage(run_members))
        if with_texts:
            run = replace(run, reason=run_members.get("stateDetails", ""))
        overdue = _overdue(run_members) if run.state is JobState.CANCELLED else ""
        return replace(run, state=JobState.FAILED, reason=f"{overdue}; {run.reason}") if overdue else run

    def open_runs(self) -> list[JobRun]:
        """See the port. It is asked anew each time: who asks is about to use a slot that has just become free."""
        with aws_errors("looking for the jobs under way"):
            pages = self._emr.get_paginator("list_job_runs").paginate(
                applicationId=self._settings.application_id, states=UNDER_WAY, PaginationConfig={"PageSize": PAGE}
            )
            return [_run(run_members["id"], run_members) for page in pages for run_members in page["jobRuns"]]

    def find(self, branch: str) -> JobRun | None:
        """Find the branch's latest run among those created since the batch landed. The service can't look runs up by
        name.
        """
        matches = [run for run in self._runs_since(_not_before(branch), branch) if run.get("name") == branch]
        if not matches:
            return None
        last = max(matches, key=lambda run: run["createdAt"])
        run = _run(last["id"], last)
        return self.get(run.id) if run.state is JobState.CANCELLED else replace(run, branch=branch)

    def _runs_since(self, moment: datetime, branch: str) -> Sequence["JobRunSummaryTypeDef"]:
        """Return the runs created since a given time, from a cached listing if it is recent enough. The service allows
        one listing per second across all callers, so a sweep that looks for run after run reuses one. A listing stays
        valid for as long as it took to fetch, and 10 s at least, because it may take minutes of pages. Stale entries
        are harmless: the next sweep sees a run that ended meanwhile, and a run that started meanwhile is not started
        twice.
        """
        if self._listing and self._listing.serves(moment):
            return self._listing.runs
        began = monotonic()
        with aws_errors(f"looking for the job of {branch}"):
            pages = self._emr.get_paginator("list_job_runs").paginate(
                applicationId=self._settings.application_id, createdAtAfter=moment, PaginationConfig={"PageSize": PAGE}
            )
            runs = [run for page in pages for run in page["jobRuns"]]
        read = monotonic()
        self._listing = Listing(start=moment, deadline=read + max(A_WHILE, read - began), runs=runs)
        return runs


def spark_defaults(settings: Settings) -> dict[str, str]:
    """Return a run's Spark properties: the bundle's Python, workers within the run's share of the account's capacity,
    and the installation's own.
    """
    names = (
        "spark.pyspark.python",
        "spark.pyspark.driver.python",
        "spark.emr-serverless.driverEnv.PYSPARK_PYTHON",
        "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON",
        "spark.executorEnv.PYSPARK_PYTHON",
    )
    return {
        # A release has several; this name is looked up on its PATH.
        **dict.fromkeys(names, f"python{bundles.of_release(settings.release).python}"),
        "spark.driver.cores": str(WORKER_CORES),
        "spark.driver.memory": WORKER_MEMORY,
        "spark.emr-serverless.driver.disk": DRIVER_DISK,
        "spark.executor.cores": str(WORKER_CORES),
        "spark.executor.memory": WORKER_MEMORY,
        "spark.emr-serverless.executor.disk": EXECUTOR_DISK,
        # A small batch needs one; larger ones get more while they run. EMR's own default is three instances.
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.executor.instances": "1",
        "spark.dynamicAllocation.maxExecutors": str(settings.executors),
        **json.loads(settings.spark_conf or "{}"),
    }


def _run(run_id: str, run_members: "JobRunTypeDef | JobRunSummaryTypeDef") -> JobRun:
    state = STATES.get(run_members["state"], JobState.RUNNING)
    return JobRun(
        id=run_id,
        branch=run_members.get("name", ""),
        state=state,
        reason=_without_texts(run_members.get("stateDetails", "")),
        ended_at=None if state is JobState.RUNNING else run_members["updatedAt"],
    )


def _usage(run_members: "JobRunTypeDef") -> Usage | None:
    """Return what the run took, or None until the service has reckoned it."""
    resources = run_members.get("billedResourceUtilization")
    if not resources:
        return None
    return Usage(
        seconds=run_members.get("totalExecutionDurationSeconds", 0),
        vcpu_hours=resources.get("vCPUHour", 0),
        memory_gb_hours=resources.get("memoryGBHour", 0),
        storage_gb_hours=resources.get("storageGBHour", 0),
    )


def tag(text: str) -> str:
    """Return the text as a tag's value: what the service takes, and nothing that begins as AWS's own tags do."""
    value = NOT_IN_TAGS.sub("_", text)[:LONGEST_TAG]
    return value.replace(":", "_", 1) if value.lower().startswith("aws:") else value


def _without_texts(details: str) -> str:
    """Return the run's details without exception texts. The service appends the last exceptions of the driver's log,
    and their texts may hold values that are masked elsewhere. The job's own last message stays; other exceptions are
    reduced to their class names.
    """
    summary, _, exceptions = details.partition(EXCEPTIONS)
    _, is_ours, last = exceptions.rpartition(LAST_WORD)
    if is_ours:
        return LAST_WORD + (last.splitlines() or [""])[0]
    kinds = ", ".join(dict.fromkeys(KIND.findall(exceptions)))
    return f"{summary}{EXCEPTIONS} {kinds} (their texts are in the run's log)" if kinds else summary.rstrip()


def _overdue(run_members: "JobRunTypeDef") -> str:
    """Return the limit that the run exceeded, or nothing. The service reports such a run as cancelled, as if a person
    had done it, so only its times tell. Time spent waiting for workers counts as running, because the service may count
    it so.
    """
    took = run_members["updatedAt"] - run_members["createdAt"]
    if "startedAt" not in run_members and took >= WAIT:
        return f"it waited for longer than {WAIT}"
    ran = took - timedelta(milliseconds=run_members.get("queuedDurationMilliseconds", 0))
    limit = timedelta(minutes=run_members.get("executionTimeoutMinutes", 0))
    return f"it ran for longer than {limit}" if limit and ran >= limit else ""


def _not_before(branch: str) -> datetime:
    """Return a time that none of the batch's jobs precedes: a batch is named for the minute its first file landed."""
    attempt = Attempt.parse(branch)
    if attempt is None:
        raise Misconfigured(f"{branch} is no attempt's branch, and has no job")
    return earliest_time(attempt.batch)
