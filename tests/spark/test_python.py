"""An image that lacks the job's Python, as a submitted job, the run's reason and the doctor tell of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lakegate_localstack.spark import failure

from lakegate.doctor import checks
from lakegate.ports import JobRun, JobState
from tests.support.image import BUNDLE
from tests.support.jobs import submit
from tests.support.nessie import ROOT, Lake

pytestmark = pytest.mark.spark


def test_an_image_without_the_job_s_python_is_told_by_the_doctor(tmp_path: Path) -> None:
    nowhere = Lake(nessie_uri="http://127.0.0.1:9", s3_endpoint="http://127.0.0.1:9")
    lacking = {"spark.pyspark.python": "python0.0", "spark.pyspark.driver.python": "python0.0"}
    done = submit(nowhere, tmp_path, ROOT / "spark_jobs/append_and_audit.py", ["s3://lake/probe.json"], lacking)
    reason = failure(done.returncode, done.stdout, done.stderr)
    run = JobRun(id="00run", branch="probe-n", state=JobState.FAILED, reason=reason)
    [finding] = checks.probe(run, None, BUNDLE, has_identity=False)
    assert finding.todo.startswith(f"the image has no python{BUNDLE.python}: "), finding
