"""A probe that is submitted as a job is: what it finds of the image, of Nessie and of its own rights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lakegate.access import Role
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.probe import PROBE, Probe, ProbeReport
from tests.spark.test_identity import OfTheJob
from tests.support.guarded import AUDIENCE, Guarded
from tests.support.jobs import submit
from tests.support.nessie import ROOT, Lake, unique

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


@dataclass(frozen=True, kw_only=True)
class Of(OfTheJob):
    """The same place, for a process that calls AWS as any role."""

    role: Role

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"AWS_ACCESS_KEY_ID": self.role}


def probe_of(lake: Lake, audience: str = "") -> Probe:
    nonce = unique("n")
    return Probe(
        nonce=nonce,
        nessie_uri=lake.nessie_uri,
        warehouse=lake.warehouse,
        report_uri=f"s3://{lake.bucket}/reports/{nonce}.json",
        token_audience=audience,
    )


@pytest.mark.parametrize(("role", "may"), [(Role.SPARK, False)])
def test_a_submitted_probe_reports_what_it_finds_and_leaves_no_branch(
    guarded: Guarded,
    tmp_path: Path,
    role: Role,
    may: bool,  # noqa: FBT001
) -> None:
    lake, probe = guarded.lake, probe_of(guarded.lake, AUDIENCE)
    key = f"staging/{probe.nonce}/{PROBE}"
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(probe).encode())
    place = Of(role=role, nessie_uri=lake.nessie_uri, s3_endpoint=lake.s3_endpoint, sts=guarded.issuer.uri)
    done = submit(place, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [f"s3://{lake.bucket}/{key}"])
    assert done.returncode == 0, done.stdout + done.stderr
    written = lake.s3().get_object(Bucket=lake.bucket, Key=f"reports/{probe.nonce}.json")["Body"].read()
    report = from_json(ProbeReport, written)
    assert (report.nonce, report.iceberg, report.is_tested) == (probe.nonce, "1.11.0", True)
    assert report.python.startswith("3.11.")
    assert report.spark.startswith("3.5.")
    assert report.sdk.startswith("2.")
    assert (report.nessie, report.catalog, report.made_branch) == ("", "", may)
    assert guarded.catalog(Role.PUBLISH).head(f"wap-probe-{probe.nonce}") is None
