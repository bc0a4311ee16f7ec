"""An installation on a real Nessie and an emulated S3, whose real jobs wait until a test runs them.

They share the layer's one Spark, each in a session of its own; tests/spark/test_job.py submits one as the cluster does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lakegate import bootstrap
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.lane import Lane
from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.files import FileVersion
from lakegate.ports import JobRun, JobState, Reach
from lakegate.settings import Settings
from lakegate.testing import MemoryNotifier
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.registry import push
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from spark_jobs.append_and_audit import append_and_audit
from spark_jobs.jvm import hadoop
from tests.support.nessie import Lake, make_bucket, unique
from tests.support.spark import reaching
from tests.support.tables import rows_of

CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/{prefix}/*.parquet
    format: parquet
schema:
  - name: things
    physicalName: {table}
    customProperties: [{settings}]
    properties:
"""


@dataclass(kw_only=True)
class SubmittedRuns:
    """A job runner on this machine: a run waits until a test submits it, and each is submitted once."""

    job: Callable[[str], None]  # does what is in the job.json at a URI
    runs: dict[str, JobRun] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:  # noqa: ARG002
        found = self.find(attempt.branch)
        if found is None:
            found = JobRun(id=f"run-{len(self.runs)}", branch=attempt.branch, state=JobState.RUNNING)
            self.runs[found.id], self.jobs[found.id] = found, job_uri
        return found.id

    def get(self, run_id: str) -> JobRun:
        return self.runs[run_id]

    def open_runs(self) -> list[JobRun]:
        return [run for run in self.runs.values() if run.state is JobState.RUNNING]

    def find(self, branch: str) -> JobRun | None:
        return next((run for run in self.runs.values() if run.branch == branch), None)

    def submit_all(self) -> list[str]:
        """Run every waiting job to its end. Returns their branches."""
        waiting = self.open_runs()
        for run in waiting:
            self.job(self.jobs[run.id])
            self.runs[run.id] = replace(run, state=JobState.SUCCEEDED)
        return [run.branch for run in waiting]


@dataclass(kw_only=True)
class Installation:
    """One table of its own, and the hands of the people around it."""

    lake: Lake
    service: Service
    runner: SubmittedRuns
    notifier: MemoryNotifier
    folder: Path
    landing: str
    table: str
    prefix: str

    def push(self, *properties: str, settings: str = "") -> None:
        """The contract of now: one line of YAML a column, and the table's settings."""
        head = CONTRACT.format(table=self.table, prefix=self.prefix, settings=settings)
        push(self.service.store, [("things.yaml", (head + "".join(f"      - {{{p}}}\n" for p in properties)).encode())])

    def drop(self, columns: Mapping[str, Sequence[Any]], key: str = "") -> FileVersion:
        """Under a key of its own, or as the next version of one."""
        path = self.folder / f"{unique('file')}.parquet"
        pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)
        landed = self.service.landing.upload(path, key or f"{self.prefix}/{path.name}")
        file = self.service.landing.describe(landed.key, landed.version_id)
        assert file is not None
        return file

    def landed(self, file: FileVersion) -> bytes:
        """The bytes of a file version."""
        where = {"Bucket": self.landing, "Key": file.key, "VersionId": file.version_id}
        return bytes(self.lake.s3().get_object(**where)["Body"].read())

    def attempt(self, *files: FileVersion) -> Attempt:
        attempt = Attempt(table=self.table, batch=batch_id(self.table, files), number=1)
        start_attempt(self.service, attempt, files)
        return attempt

    def settle(self, *attempts: Attempt) -> None:
        for attempt in attempts:
            settle(self.service, attempt)

    def publish(self, *files: FileVersion) -> None:
        attempt = self.attempt(*files)
        self.runner.submit_all()
        self.settle(attempt)

    def rows(self, ref: str = "main") -> list[dict[str, Any]]:
        """The rows a reader finds, without lakegate's own column."""
        found = rows_of(self.lake, ref, self.table)
        return [{name: value for name, value in row.items() if name != "_lakegate_file"} for row in found]

    def branches(self) -> list[str]:
        return [branch.name for branch in self.service.branches.list_branches() if self.table in branch.name]


@pytest.fixture
def installation(lake: Lake, cluster: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    return installed(
        unique("flow"), lake, cluster, tmp_path, lambda landing: bootstrap.service(settings(lake, landing))
    )


def installed(
    name: str, lake: Lake, cluster: SparkSession, folder: Path, service: Callable[[str], Service]
) -> Installation:
    """An installation with a landing bucket of its own, for which `service` is made. Its jobs run in the session."""
    landing = f"landing-{name}".replace("_", "-")
    make_bucket(lake, landing)
    runner, notifier = SubmittedRuns(job=lambda uri: work(reaching(cluster, lake), uri)), MemoryNotifier()
    return Installation(
        lake=lake,
        service=replace(service(landing), runner=runner, notifier=notifier),
        runner=runner,
        notifier=notifier,
        folder=folder,
        landing=landing,
        table=f"{name}.things",
        prefix=name,
    )


def work(spark: SparkSession, uri: str) -> None:
    """Do what the job's `main` does with the job.json at this URI, in a session that is there already."""
    job = from_json(Job, hadoop.read(spark, uri))
    hadoop.write(spark, job.report_uri, to_json(append_and_audit(spark, job)).encode())


def settings(lake: Lake, landing: str) -> Settings:
    return Settings(
        landing_bucket=landing,
        service_bucket=lake.bucket,
        lake_bucket=lake.bucket,
        nessie_uri=lake.nessie_uri,
        warehouse=lake.warehouse,
        application_id="none",
        job_role_arn="none",
        job_entry_point="none",
        job_py_files="none",
        job_jars="none",
    )
