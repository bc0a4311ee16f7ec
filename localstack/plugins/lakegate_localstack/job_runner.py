"""Execution of job runs: a place in the queue, the files, the driver, its logs, an event for every change of state.

Each job run belongs to one thread, which alone starts and ends its driver.
"""

import contextlib
import gzip
import json
import logging
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localstack.aws.connect import connect_to
from localstack.config import GATEWAY_LISTEN

from lakegate_localstack import processes
from lakegate_localstack.class_archive import ClassArchive
from lakegate_localstack.files import FetchedFiles
from lakegate_localstack.job_runs import JobRun, State
from lakegate_localstack.settings import PackSettings
from lakegate_localstack.spark import JVM_OPTIONS, TEMPORARY, Image, failure, spark_defaults

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.05
GRACE_SECONDS = 5.0


class JobRunner:
    """A queue of job runs. The settings limit the concurrent drivers, and the other runs wait in their order."""

    def __init__(self, settings: PackSettings) -> None:
        self._settings = settings
        self._files = FetchedFiles(settings.work / "files")
        self._pool = ThreadPoolExecutor(settings.parallel_jobs, thread_name_prefix="job-run")
        java = settings.java_home / "bin/java"
        self._archive = ClassArchive(settings.cache, java, Image.class_path(settings), JVM_OPTIONS)
        self._waiting: dict[str, Future[None]] = {}
        self._closing = False

    def submit(self, run: JobRun) -> None:
        self._move(run, State.PENDING)
        self._waiting[run.job_run_id] = self._pool.submit(self._execute, run)

    def cancel(self, run: JobRun, why: str = "") -> None:
        self._move(run, State.CANCELLING, why)
        run.stop.set()
        waiting = self._waiting.get(run.job_run_id)  # missing if this call overtook `submit`
        if waiting and waiting.cancel():
            self._move(run, State.CANCELLED)

    def close(self, runs: Iterable[JobRun]) -> None:
        """End all drivers and send no more events, because LocalStack stops."""
        self._closing = True
        for run in runs:
            run.stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _execute(self, run: JobRun) -> None:
        """Run the job run to a final state after any error, because nothing reads its thread's result."""
        work = self._settings.jobs / run.job_run_id
        try:
            work.mkdir(parents=True)
            self._move(run, State.SCHEDULED)
            self._finish(run, work, self._run_driver(run, work))
        except Exception as exc:  # the job run's edge: any error fails it
            LOG.exception("job run %s failed of its runner", run.job_run_id)
            if not self._move(run, State.CANCELLED):
                self._move(run, State.FAILED, f"{type(exc).__name__}: {exc}")
        finally:
            self._archive.release(work)
            for name in ("spark", TEMPORARY):
                shutil.rmtree(work / name, ignore_errors=True)

    def _finish(self, run: JobRun, work: Path, exit_code: int | None) -> None:
        if self._move(run, State.CANCELLED) or exit_code is None:
            return
        if exit_code == 0:
            self._move(run, State.SUCCESS)
        else:
            self._move(run, State.FAILED, failure(exit_code, *(read(work / name) for name in ("stdout", "stderr"))))

    def _run_driver(self, run: JobRun, work: Path) -> int | None:
        """Return the driver's exit code, or None if the run was cancelled before the driver started."""
        image = Image(settings=self._settings, endpoint=endpoint(), region=run.region)
        own = credentials(run)
        s3 = as_role(run, own).s3
        overrides = run.request.get("configurationOverrides") or {}
        defaults = spark_defaults(run.application, overrides)
        image.write_configuration(work, defaults, *self._archive.options(work))
        command = image.command(work, run.request["jobDriver"]["sparkSubmit"], lambda uri: self._files.fetch(s3, uri))
        identity = {
            "EMR_SERVERLESS_APPLICATION_ID": run.application["applicationId"],
            "EMR_SERVERLESS_JOB_RUN_ID": run.job_run_id,
        }
        with (work / "stdout").open("wb") as stdout, (work / "stderr").open("wb") as stderr:
            if run.stop.is_set():
                return None
            environment = image.environment(work, own) | identity
            driver = processes.start(command, folder=work, env=environment, stdout=stdout, stderr=stderr)
            self._move(run, State.RUNNING)
            exit_code = self._wait(run, driver)
        upload_logs(s3, run, work)
        if exit_code == 0:
            with logged_errors(run, "no class archive was kept"):
                self._archive.keep(work)
        return exit_code

    def _wait(self, run: JobRun, driver: subprocess.Popen[bytes]) -> int:
        deadline = time.monotonic() + run.timeout_minutes * self._settings.minute
        try:
            while driver.poll() is None and not run.stop.wait(POLL_SECONDS):
                if run.timeout_minutes and time.monotonic() > deadline:
                    self.cancel(run, f"Job run exceeded its execution timeout of {run.timeout_minutes} minutes")
        finally:
            processes.end(driver, grace=0.0 if self._closing else GRACE_SECONDS)
        return driver.returncode

    def _move(self, run: JobRun, state: State, details: str = "") -> bool:
        change = run.move(state, details)
        if change is None:
            return False
        if not self._closing:
            entry = {
                "Source": "aws.emr-serverless",
                "DetailType": "EMR Serverless Job Run State Change",
                "Detail": json.dumps(run.event(change)),
                "Time": change.at,
                "Resources": [],
            }
            with logged_errors(run, "its state change was not sent"):
                client(run).events.put_events(Entries=[entry])
        return True


def credentials(run: JobRun) -> dict[str, str]:
    """Return credentials of the run's role, which is who the driver is to AWS."""
    role, application = run.request["executionRoleArn"], run.application["arn"]
    sts = client(run).sts.request_metadata(service_principal="emr-serverless", source_arn=application)
    found: dict[str, str] = sts.assume_role(RoleArn=role, RoleSessionName=run.job_run_id)["Credentials"]
    return found


def as_role(run: JobRun, own: Mapping[str, str]) -> Any:
    """Return clients of the run's role, by which the service fetches the job's code and writes its logs, too."""
    return connect_to(
        aws_access_key_id=own["AccessKeyId"],
        aws_secret_access_key=own["SecretAccessKey"],
        aws_session_token=own["SessionToken"],
        region_name=run.region,
    )


def upload_logs(s3: Any, run: JobRun, work: Path) -> None:
    """Upload the driver's logs to EMR Serverless's keys, if the job run asks for it."""
    monitoring = (run.request.get("configurationOverrides") or {}).get("monitoringConfiguration") or {}
    uri = (monitoring.get("s3MonitoringConfiguration") or {}).get("logUri")
    if not uri:
        return
    place = urlsplit(uri)
    folder = (
        f"{place.path.strip('/')}/applications/{run.application['applicationId']}/jobs/{run.job_run_id}/SPARK_DRIVER"
    )
    with logged_errors(run, "its logs were not uploaded"):
        for name in ("stdout", "stderr"):
            body = gzip.compress((work / name).read_bytes())
            s3.put_object(Bucket=place.netloc, Key=f"{folder.lstrip('/')}/{name}.gz", Body=body)


@contextlib.contextmanager
def logged_errors(run: JobRun, what: str) -> Iterator[None]:
    """Log an error and go on, because events and logs are best effort, on AWS, too."""
    try:
        yield
    except Exception:
        LOG.exception("job run %s: %s", run.job_run_id, what)


def read(path: Path) -> str:
    return path.read_text(errors="replace")


def endpoint() -> str:
    return f"http://127.0.0.1:{GATEWAY_LISTEN[0].port}"


def client(run: JobRun) -> Any:
    return connect_to(aws_access_key_id=run.account, region_name=run.region)
