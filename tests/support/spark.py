"""One Spark for all tests of a layer; each test gets a session of its own in it, with catalogs of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakegate.audit.model.job import Job
from lakegate.audit.model.report import Report
from spark_jobs.append_and_audit import append_and_audit
from spark_jobs.jvm.gateway import jvm, session_state
from spark_jobs.jvm.session import LAKE, build
from tests.support.image import image_jars, job_jars
from tests.support.jobs import configure, s3_options, spark_options
from tests.support.nessie import KEY, REGION, SECRET, Lake


@pytest.hookimpl(trylast=True)  # of the items that are chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pyspark leaves the closing of the socket that it collects rows from to the garbage collector.

    It comes when it likes: in any test of a process that has a Spark.
    """
    if any("cluster" in getattr(item, "fixturenames", ()) for item in items):
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark: as the product builds it, on a small image. What tests do beside the job may take Iceberg's own
    SQL, which the job has not (tests/spark/test_job.py submits it without).
    """
    folder = tmp_path_factory.mktemp("spark")
    properties = spark_options(cores=1) | {
        "spark.driver.extraClassPath": os.pathsep.join([*job_jars(), *image_jars()]),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    }
    with pytest.MonkeyPatch.context() as patch:  # what the JVM sees when it starts, and nobody after that
        patch.setenv("SPARK_CONF_DIR", str(configure(folder, properties)))
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_REGION", REGION)
        session = build("tests")
    yield session
    session.stop()


def fresh(cluster: SparkSession) -> SparkSession:
    """A session without catalogs, and the one that Spark itself takes its options from."""
    session = cluster.newSession()
    sessions = jvm(session).org.apache.spark.sql.SparkSession
    sessions.setActiveSession(session._jsparkSession)
    sessions.setDefaultSession(session._jsparkSession)
    return session


@pytest.fixture
def spark(cluster: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session whose catalog `lake` is a folder: what needs no Nessie is tested without."""
    session = fresh(cluster)
    session.conf.set(f"spark.sql.catalog.{LAKE}", "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set(f"spark.sql.catalog.{LAKE}.type", "hadoop")
    session.conf.set(f"spark.sql.catalog.{LAKE}.warehouse", f"file:{tmp_path}/warehouse")
    session.conf.set(f"spark.sql.catalog.{LAKE}.cache-enabled", "false")
    yield session
    shutil.rmtree(tmp_path / "warehouse", ignore_errors=True)


@pytest.fixture
def on_nessie(cluster: SparkSession, lake: Lake) -> SparkSession:
    """A session that reaches the object storage of the running Nessie; the job brings its own catalogs."""
    return reaching(cluster, lake)


@pytest.fixture
def run(cluster: SparkSession, lake: Lake) -> Callable[[Job], Report]:
    """Runs a job in a session that no other job has used, as the cluster does."""
    return lambda job: append_and_audit(reaching(cluster, lake), job)


def raised(spark: SparkSession, failure: Any) -> Py4JJavaError:
    """A failure of the JVM as it comes to Python."""
    future = jvm(spark).java.util.concurrent.CompletableFuture()
    future.completeExceptionally(failure)
    try:
        future.join()
    except Py4JJavaError as error:
        return error
    raise AssertionError


def reaching(cluster: SparkSession, lake: Lake) -> SparkSession:
    session = fresh(cluster)
    for option, value in s3_options(lake).items():
        session.conf.set(option.removeprefix("spark.hadoop."), value)
    assert session_state(session).newHadoopConf().get("fs.s3a.endpoint") == lake.s3_endpoint
    return session
