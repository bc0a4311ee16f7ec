"""Attempts for Spark's part to work on: staged files, job.json, and a `spark-submit` as the cluster would make it.

It stages what it is given and judges nothing.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

from lakegate.audit.model.catalog import NO_CATALOG, CatalogAddress
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import CUT_OFF, Job, JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.probe import Probe
from lakegate.audit.model.report import Report
from lakegate.workflow.service import Service
from tests.support.image import ROOT, image_jars, job_jars
from tests.support.nessie import Lake
from tests.support.plans import plan as made

T = TypeVar("T", Job, Probe, Service)
LOG = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def parquet(table: pa.Table) -> bytes:
    """The table as a parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def spark_options(cores: int = 2) -> dict[str, str]:
    """A small Spark with a JVM that starts fast."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        # By the quick compiler alone, which else has a fifth of the room for code: hundreds of tests fill that.
        "spark.driver.defaultJavaOptions": (
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xshare:auto"
        ),
        "spark.ui.enabled": "false",
        # Hundreds of tests ask alike: Spark keeps the code of a hundred queries, unless it is told.
        "spark.sql.codegen.cache.maxEntries": "5000",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
    }


def s3_options(lake: Lake) -> dict[str, str]:
    """Return where S3A finds its storage."""
    return {
        "spark.hadoop.fs.s3a.endpoint": lake.s3_endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": lake.region,
    }


def catalog_of(lake: Lake, **more: Any) -> CatalogAddress:
    """The address of the lake's catalog."""
    return CatalogAddress(uri=lake.nessie_uri, warehouse=lake.warehouse, **more)


def moved(holder: T, uri: str) -> T:
    """The same, with its catalog at another address."""
    return replace(holder, catalog=replace(holder.catalog, uri=uri))


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A job and where its job.json is."""

    job: Job
    uri: str


def stage(lake: Lake, plan: Plan, branch: str, base: str, files: Mapping[str, bytes]) -> Staged:
    """An attempt on a branch that exists: files (id → bytes, oldest first) in staging, and its job.json."""
    s3, staged = lake.s3(), []
    for file, body in files.items():
        key = f"staging/{branch}/{file}{plan.files.suffix(file)}"
        s3.put_object(Bucket=lake.bucket, Key=key, Body=body)
        staged.append(JobFile(id=file, key=f"landed/{file}", uri=f"s3://{lake.bucket}/{key}", size=len(body)))
    job = Job(
        branch=branch,
        batch=f"20130131T0405-{branch[-8:]}",
        attempt=1,
        base=base,
        catalog=catalog_of(lake),
        report_uri=f"s3://{lake.bucket}/reports/{branch}.json",
        begun_uri=f"s3://{lake.bucket}/begun/{branch}",
        plan=plan,
        files=tuple(staged),
    )
    s3.put_object(Bucket=lake.bucket, Key=f"attempts/{branch}/job.json", Body=to_json(job).encode())
    return Staged(job=job, uri=f"s3://{lake.bucket}/attempts/{branch}/job.json")


def job(*files: JobFile) -> Job:
    """One that nobody runs."""
    return Job(
        branch="wap-nyc.t-20130131T0405-1a2b3c4d-a1",
        batch="20130131T0405-1a2b3c4d",
        attempt=1,
        base="0" * 64,
        catalog=NO_CATALOG,
        report_uri="",
        begun_uri="",
        plan=made("nyc.t", {"id": "bigint"}),
        files=files,
    )


def report_of(lake: Lake, job: Job) -> Report:
    """The report that the job has written."""
    key = job.report_uri.removeprefix(f"s3://{lake.bucket}/")
    return from_json(Report, lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read())


def has_begun(lake: Lake, job: Job) -> bool:
    """Return True if the job has noted that it began on its files, and not that it was cut off from them."""
    key = job.begun_uri.removeprefix(f"s3://{lake.bucket}/")
    if "Contents" not in lake.s3().list_objects_v2(Bucket=lake.bucket, Prefix=key):
        return False
    return bool(lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read() != CUT_OFF)


def configure(folder: Path, properties: Mapping[str, str], level: str = "warn") -> Path:
    """A configuration folder for Spark."""
    configuration = folder / "conf"
    configuration.mkdir(exist_ok=True)
    lines = [f"{name} {value}\n" for name, value in properties.items()]
    (configuration / "spark-defaults.conf").write_text("".join(lines))
    (configuration / "log4j2.properties").write_text(
        LOG.replace("rootLogger.level = warn", f"rootLogger.level = {level}")
    )
    return configuration


def submit(
    lake: Lake,
    folder: Path,
    script: Path,
    arguments: Sequence[str],
    more: Mapping[str, str] = MappingProxyType({}),
    level: str = "warn",
) -> subprocess.CompletedProcess[str]:
    """Run a script by `spark-submit` in a process of its own, as the cluster does. `more` are Spark's options, and
    `level` is the least that it logs.
    """
    image = {
        **spark_options(),
        **s3_options(lake),
        **more,
        "spark.driver.extraClassPath": os.pathsep.join(image_jars()),
    }
    home = Path(pyspark.__file__).parent
    return subprocess.run(
        [
            str(home / "bin/spark-submit"),
            *("--jars", ",".join(f"local:{jar}" for jar in job_jars())),
            *(str(script), *arguments),
        ],
        cwd=folder,
        env={
            **os.environ,
            **lake.environment,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(configure(folder, image, level)),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
