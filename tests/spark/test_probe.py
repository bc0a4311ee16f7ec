"""A probe that is submitted as a job is: what it finds of the image, of Nessie and of its own rights."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
from pyspark.sql import SparkSession

from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.probe import PROBE, Probe, ProbeReport
from spark_jobs.jvm import identity
from spark_jobs.probe import report_of
from tests.spark.test_identity import OfTheJob
from tests.support.image import BUNDLE
from tests.support.jobs import catalog_of, moved, submit
from tests.support.nessie import ROOT, Lake, unique
from tests.support.nessie_auth import AUDIENCE, NessieAuth

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


def probe_of(lake: Lake, audience: str = "") -> Probe:
    nonce = unique("n")
    return Probe(
        nonce=nonce,
        catalog=catalog_of(lake, audience=audience),
        report_uri=f"s3://{lake.bucket}/reports/{nonce}.json",
    )


@pytest.mark.extended
def test_a_submitted_probe_reports_what_it_finds(guarded: NessieAuth, tmp_path: Path) -> None:
    lake, probe = guarded.lake, probe_of(guarded.lake, AUDIENCE)
    key = f"staging/{probe.nonce}/{PROBE}"
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(probe).encode())
    place = OfTheJob(nessie_uri=lake.nessie_uri, s3_endpoint=lake.s3_endpoint, aws=guarded.issuer.uri)
    done = submit(place, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [f"s3://{lake.bucket}/{key}"])
    assert done.returncode == 0, done.stdout + done.stderr
    written = lake.s3().get_object(Bucket=lake.bucket, Key=f"reports/{probe.nonce}.json")["Body"].read()
    report = from_json(ProbeReport, written)
    assert (report.nonce, report.iceberg, report.is_tested) == (probe.nonce, "1.11.0", True)
    assert report.python.startswith(f"{BUNDLE.python}.")
    assert report.spark.startswith(f"{BUNDLE.spark}.")
    assert report.sdk.startswith("2.")
    assert (report.nessie, report.catalog, report.made_branch) == ("", "", False)


def test_a_nessie_that_lets_the_job_make_a_branch_is_told_and_the_branch_goes(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "token", lambda *_: "")  # this Nessie asks for none
    probe = probe_of(lake, AUDIENCE)
    assert report_of(spark, probe).made_branch
    with pytest.raises(requests.HTTPError, match="404"):
        lake.head(f"wap-probe-{probe.nonce}")


def test_what_is_out_of_reach_is_told_and_stops_nothing_else(spark: SparkSession, lake: Lake) -> None:
    report = report_of(spark, moved(probe_of(lake), "http://127.0.0.1:9"))
    assert "refused" in report.nessie.lower()
    assert "refused" in report.catalog.lower()
    assert report.is_tested


def test_without_identities_no_branch_is_tried(spark: SparkSession, lake: Lake) -> None:
    report = report_of(spark, probe_of(lake))
    assert (report.nessie, report.catalog, report.made_branch) == ("", "", False)
