"""The whole way over a Nessie that has our rules: each part with its own role's tokens, and none left behind."""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakegate import bootstrap
from lakegate.access import Role
from lakegate.adapters.http import door
from lakegate.adapters.lake import IcebergLake
from lakegate.audit.errors import JobError
from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, JobState, Ref
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.service import Service
from spark_jobs.append_and_audit import append_and_audit, last_word, record_cut_off
from spark_jobs.jvm import hadoop, identity
from spark_jobs.jvm.failures import FAILURES, is_of_issuer, is_refused
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import REST, open_catalog
from tests.flow.conftest import Installation, installed, settings
from tests.support.issuer import client, expiry
from tests.support.jobs import catalog_of, has_begun
from tests.support.nessie import unique
from tests.support.nessie_auth import AUDIENCE, FixedToken, NessieAuth, act_as
from tests.support.spark import reaching

pytestmark = [pytest.mark.nessie, pytest.mark.spark, pytest.mark.usefixtures("job_role")]


@pytest.fixture
def job_role(cluster: SparkSession, guarded: NessieAuth) -> Iterator[Any]:
    """Sets the role that the JVM calls AWS as; the stand-in for AWS tells it by the access key."""
    system = jvm(cluster).java.lang.System
    names = ("aws.accessKeyId", "aws.secretAccessKey", "aws.endpointUrlSts", "aws.endpointUrlSecretsManager")

    def become(role: str) -> None:
        for name, value in zip(names, (role, "x", *[guarded.issuer.uri] * 2), strict=True):
            system.setProperty(name, value)

    become(Role.SPARK)
    yield become
    for name in names:
        system.clearProperty(name)


@pytest.fixture
def own(guarded: NessieAuth, cluster: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """An installation whose service is ingest's; `as_publisher` is the other functions'."""
    act_as(Role.INGEST, guarded, monkeypatch)
    return installed(unique("own"), guarded.lake, cluster, tmp_path, lambda landing: service(guarded.lake, landing))


def service(lake: Any, landing: str) -> Service:
    """The service of the role that this process has now: it asks for its token at once, and keeps it."""
    found = bootstrap.service(replace(settings(lake, landing), token_audience=AUDIENCE))
    assert found.branches.head(MAIN)
    return found


def as_publisher(own: Installation, guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch) -> Installation:
    act_as(Role.PUBLISH, guarded, monkeypatch)
    its = replace(service(own.lake, own.landing), runner=own.runner, notifier=own.notifier)
    return replace(own, service=its)


def reads(own: Installation, guarded: NessieAuth, role: Role) -> list[int]:
    """The ids that a person of this role finds on main, by the command line's own reader."""
    uri = own.lake.nessie_uri
    lake = IcebergLake(uri, own.lake.warehouse, door(uri, FixedToken(guarded.token(role))))
    assert own.table in lake.tables(Ref(MAIN))
    assert not [table for table in lake.tables(Ref(MAIN)) if table.startswith("_")]
    return sorted(lake.rows(Ref(MAIN), own.table, ["id"], None).column("id").to_pylist())


def take(own: Installation, publisher: Installation, *files: FileVersion) -> None:
    """Each part does its own: ingest receives, the job appends and audits, settle publishes or rejects."""
    assert receive(own.service, [Arrival(key=it.key, version_id=it.version_id) for it in files]) == []
    for branch in own.runner.submit_all():
        attempt = Attempt.parse(branch)
        assert attempt
        publisher.settle(attempt)


def test_the_whole_way_goes_with_each_part_s_own_role_and_leaves_no_token(
    own: Installation,
    guarded: NessieAuth,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    guarded.issuer.issued.clear()
    publisher = as_publisher(own, guarded, monkeypatch)
    own.push("name: id, physicalType: bigint, required: true")
    first = own.drop({"id": [1]}, f"{own.prefix}/one.parquet")
    take(own, publisher, first)
    assert reads(own, guarded, Role.READER) == [1]

    again = own.drop({"id": [2]}, first.key)  # in the first one's place
    bad = own.drop({"id": [None]})
    take(own, publisher, again, bad)
    assert reads(own, guarded, Role.READER) == [2]
    assert decisions(publisher) == [Decision.PUBLISHED, Decision.PUBLISHED, Decision.REJECTED]

    both = [own.attempt(own.drop({"id": [number]})) for number in (3, 4)]
    own.runner.submit_all()
    publisher.settle(*both)  # the second is rebased on what the first has made of main
    assert reads(own, guarded, Role.READER) == [2, 3, 4]

    _, log = guarded.ask(guarded.token(Role.PUBLISH), "GET", f"/api/v2/trees/{MAIN}/history")
    tables = [entry for entry in log["logEntries"] if f"published {own.table}" in entry["commitMeta"]["message"]]
    assert {entry["commitMeta"]["committer"].rpartition("/")[2] for entry in tables} == {"lakegate-publish"}

    canaries = set(guarded.issuer.issued)
    assert len(canaries) >= 3  # ingest's, publish's, the job's
    said = capfd.readouterr()
    left = [said.out, said.err, caplog.text, *objects(own)]
    assert not [token for token in canaries for text in left if token in text]


@pytest.mark.extended
def test_each_part_notes_audits_with_its_own_role_and_a_reader_reads_them(
    own: Installation, guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = as_publisher(own, guarded, monkeypatch)
    own.service = replace(own.service, notes_audits=True)
    own.push("name: id, physicalType: bigint, required: true")
    take(own, publisher, own.drop({"id": [1]}), own.drop({"id": [None]}))
    uri, name = own.lake.nessie_uri, audits_of(own.table)
    lake = IcebergLake(uri, own.lake.warehouse, door(uri, FixedToken(guarded.token(Role.READER))))
    assert [table for table in lake.tables(Ref(MAIN)) if table.startswith("_")] == [name]
    rows = lake.rows(Ref(MAIN), name, ["check_id", "verdict"], None).to_pylist()
    assert sorted(row["verdict"] for row in rows if row["check_id"] == "file") == ["fail", "pass"]


def decisions(publisher: Installation) -> list[Decision]:
    return sorted(found.record.decision for found in publisher.service.ledger.decisions(9, table=publisher.table))


def objects(own: Installation) -> Iterator[str]:
    """Every object of the service's bucket, the lake included."""
    s3 = own.lake.s3()
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=own.lake.bucket):
        for entry in page.get("Contents", ()):
            body = s3.get_object(Bucket=own.lake.bucket, Key=entry["Key"])["Body"].read()
            yield body.decode("latin-1")


@pytest.mark.parametrize(
    ("role", "why"),
    [
        (Role.READER, "does not return the branch: HTTP Error 403"),
        ("nobody", "AccessDenied|not you"),
    ],
)
def test_a_job_of_another_role_rejects_no_file(
    own: Installation, cluster: SparkSession, job_role: Any, role: str, why: str
) -> None:
    own.push("name: id, physicalType: bigint, required: true")
    attempt = own.attempt(own.drop({"id": [1]}))
    spark = reaching(cluster, own.lake)
    job = from_json(Job, hadoop.read(spark, own.runner.jobs["run-0"]))
    assert job.catalog.audience == AUDIENCE
    job_role(role)
    with pytest.raises((JobError, Py4JJavaError), match=why), record_cut_off(spark, job):
        own.runner.submit_all()
    assert not has_begun(own.lake, job)
    assert own.service.branches.head(attempt.branch)


def test_a_job_whose_token_has_ended_rejects_no_file(
    own: Installation, guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.push("name: id, physicalType: bigint, required: true")
    attempt = own.attempt(own.drop({"id": [1]}))
    spark = reaching(cluster, own.lake)
    job = from_json(Job, hadoop.read(spark, own.runner.jobs["run-0"]))
    with monkeypatch.context() as patch:
        patch.setattr(guarded.issuer, "now", lambda: datetime.now(UTC) - timedelta(hours=2))
        with pytest.raises(JobError, match="HTTP Error 401"), record_cut_off(spark, job):
            own.runner.submit_all()
    assert not has_begun(own.lake, job)
    own.runner.submit_all()  # what it asks for now is good
    as_publisher(own, guarded, monkeypatch).settle(attempt)
    assert reads(own, guarded, Role.READER) == [1]


@pytest.mark.parametrize("seconds", [120, 30])
def test_a_job_has_a_token_for_as_long_as_its_session_lasts(
    own: Installation, guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    spark, end = reaching(cluster, own.lake), datetime.now(UTC) + timedelta(seconds=seconds)
    monkeypatch.setattr(guarded.issuer, "session_end", end)
    address = catalog_of(own.lake, audience=AUDIENCE)
    if seconds > 60:
        assert expiry(identity.token(spark, address)) <= end
        return
    with pytest.raises(identity.NoTokenError, match="the session of lakegate-spark ends within a minute"):
        identity.token(spark, address)


@pytest.mark.extended
def test_a_job_rejects_no_file_whichever_of_its_tokens_has_ended(
    own: Installation, guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for one whenever it opens a catalog or looks where its branch is: one after the other is refused."""
    own.push("name: id, physicalType: bigint, required: true")
    spark, real, given = reaching(cluster, own.lake), guarded.issuer.of, list[str]()

    def good_but_for(ended: int) -> Callable[..., str]:
        def of(role: str, audience: str, life: timedelta) -> str:
            is_over = role == Role.SPARK and len(given) == ended
            given.append(role)
            return real(role, audience, timedelta(minutes=-5) if is_over else life)

        return of

    for ended in count():
        attempt = own.attempt(own.drop({"id": [ended]}))
        run = own.runner.find(attempt.branch)
        assert run
        job = from_json(Job, hadoop.read(spark, own.runner.jobs[run.id]))
        given.clear()
        with monkeypatch.context() as patch:
            patch.setattr(guarded.issuer, "of", good_but_for(ended))
            if not refused(own, spark, job):
                break
        assert not has_begun(own.lake, job)
        own.runner.runs[run.id] = replace(run, state=JobState.FAILED)
    assert ended == len(given) >= 4  # the last one was asked for none more, and has ended well
    as_publisher(own, guarded, monkeypatch).settle(attempt)
    assert reads(own, guarded, Role.READER) == [ended]


def refused(own: Installation, spark: SparkSession, job: Job) -> bool:
    """Run what waits, of which this is the job. Return True if it was refused for its token."""
    try:
        with record_cut_off(spark, job):
            own.runner.submit_all()
    except (JobError, HTTPError, Py4JJavaError) as error:
        if not re.search(r"HTTP Error 401|NotAuthorized", str(error)):
            raise
        return True
    return False


def test_a_job_that_is_refused_in_its_middle_says_so_and_rejects_no_file(
    own: Installation, cluster: SparkSession
) -> None:
    """A branch that is none of ours: the job may read it, and Nessie answers its commit with a server error."""
    own.push("name: id, physicalType: bigint, required: true")
    own.attempt(own.drop({"id": [1]}))
    spark = reaching(cluster, own.lake)
    job = from_json(Job, hadoop.read(spark, own.runner.jobs["run-0"]))
    elsewhere = replace(job, branch=MAIN, base=own.service.branches.head(MAIN) or "")
    with pytest.raises(Exception, match="is not allowed for role") as caught, record_cut_off(spark, elsewhere):
        append_and_audit(spark, elsewhere)
    assert not has_begun(own.lake, elsewhere)
    said = last_word("batch x", caught.value, has_masks=True)
    assert said.startswith("JobError: Nessie's rules or the job's role must change: ")
    assert "'COMMIT_CHANGE_AGAINST_REFERENCE' is not allowed" in said


def clients(own: Installation, guarded: NessieAuth) -> Installation:
    """The installation, with its jobs' client at another issuer."""
    service = replace(own.service, catalog=catalog_of(own.lake, client=client(guarded.issuer, Role.SPARK)))
    return replace(own, service=service)


def test_a_job_is_its_client_where_an_issuer_has_one_and_rejects_no_file_that_it_is_refused_for(
    own: Installation, guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = clients(own, guarded)
    own.push("name: id, physicalType: bigint, required: true")
    attempt = own.attempt(own.drop({"id": [1]}))
    spark = reaching(cluster, own.lake)
    job = from_json(Job, hadoop.read(spark, own.runner.jobs["run-0"]))
    assert (job.catalog.client, job.catalog.audience) == (client(guarded.issuer, Role.SPARK), "")
    with monkeypatch.context() as patch:
        patch.setitem(guarded.issuer.known, Role.SPARK, "another")
        refusal = "gives the client lakegate-spark no token: HTTP Error 401"
        with pytest.raises(OSError, match=refusal) as caught, record_cut_off(spark, job):
            own.runner.submit_all()
    assert not has_begun(own.lake, job)
    assert guarded.issuer.passwords[Role.SPARK] not in "".join(traceback.format_exception(caught.value))
    own.runner.submit_all()
    as_publisher(own, guarded, monkeypatch).settle(attempt)
    assert reads(own, guarded, Role.READER) == [1]


def test_a_catalog_of_a_client_has_a_new_token_before_its_own_ends(
    guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer, lake = guarded.issuer, guarded.lake
    spark, own = reaching(cluster, lake), client(issuer, Role.SPARK)
    monkeypatch.setattr(issuer, "life", timedelta(seconds=5))  # Iceberg asks for another half a second before its end
    open_catalog(spark, REST, catalog_of(lake, client=own), Ref(MAIN))
    until = time.monotonic() + 120
    while not is_listed(spark) and time.monotonic() < until:  # on a slow machine, the first token may be over at once
        time.sleep(0.1)
    before = len(issuer.issued)
    while len(issuer.issued) == before and time.monotonic() < until:
        time.sleep(0.1)
    assert len(issuer.issued) > before  # by itself: nobody has called


def test_what_an_issuer_echoes_to_iceberg_s_own_client_is_in_no_last_word_and_rejects_no_file(
    own: Installation, guarded: NessieAuth, cluster: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = clients(own, guarded)
    own.push("name: id, physicalType: bigint, required: true")
    own.attempt(own.drop({"id": [1]}))
    spark, issuer = reaching(cluster, own.lake), guarded.issuer
    job = from_json(Job, hadoop.read(spark, own.runner.jobs["run-0"]))
    secret = issuer.passwords[Role.SPARK]
    # The job's own request is granted, and Iceberg's that follows is not.
    open_catalog(spark, REST, job.catalog, Ref(MAIN))
    echo = {"error": "invalid_grant", "error_description": f"no: {secret}"}
    monkeypatch.setattr(issuer, "grant", lambda _: (400, echo))
    with pytest.raises(FAILURES, match=secret) as caught, record_cut_off(spark, job):  # so Iceberg does quote it
        spark.sql(f"SHOW NAMESPACES IN {REST}").collect()
    assert not has_begun(own.lake, job)
    assert is_of_issuer(caught.value)
    for hidden in (True, False):
        said = last_word("batch x", caught.value, has_masks=hidden)
        assert secret not in said
    assert "the issuer gives the job's client no token invalid_grant" in said
    log4j = jvm(spark).org.apache.logging.log4j
    for logger in ("org.apache.iceberg.rest.auth.OAuth2Util", "org.apache.iceberg.util.Tasks"):
        assert not log4j.LogManager.getLogger(logger).isErrorEnabled()


def is_listed(spark: SparkSession) -> bool:
    """Return True if the catalog answers, and False if it is refused for its token."""
    try:
        spark.sql(f"SHOW NAMESPACES IN {REST}").collect()
    except FAILURES as error:
        if not is_refused(error):
            raise
        return False
    return True


def test_ingest_cannot_publish_what_it_received(
    own: Installation, guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.push("name: id, physicalType: bigint, required: true")
    attempt = own.attempt(own.drop({"id": [1]}))
    own.runner.submit_all()
    with pytest.raises(Misconfigured, match=r"merging .* is not allowed for role '.*lakegate-ingest'"):
        own.settle(attempt)
    as_publisher(own, guarded, monkeypatch).settle(attempt)
    assert reads(own, guarded, Role.READER) == [1]
