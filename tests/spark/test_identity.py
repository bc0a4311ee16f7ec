"""A job that is submitted as the cluster does it, with its own identity: its token is in nothing that it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lakegate.access import Role
from lakegate.audit.model.codec import to_json
from lakegate.ports import MAIN
from tests.spark.test_job import IDS, a_plan, rows
from tests.support.guarded import AUDIENCE, Guarded
from tests.support.jobs import report_of, stage, submit
from tests.support.nessie import ROOT, Lake, unique

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


@dataclass(frozen=True, kw_only=True)
class OfTheJob(Lake):
    """The same place, for a process that calls AWS as the job's role."""

    sts: str

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"AWS_ACCESS_KEY_ID": Role.SPARK, "AWS_ENDPOINT_URL_STS": self.sts}


def test_a_submitted_job_has_its_role_s_tokens_and_leaves_none(guarded: Guarded, tmp_path: Path) -> None:
    catalog, branch, lake = guarded.catalog(Role.INGEST), unique("wap-flights"), guarded.lake
    base = catalog.head(MAIN) or ""
    catalog.create_branch(branch, base)
    staged = stage(lake, a_plan(), branch, base, {IDS[0]: rows(1, 2)})
    job = replace(staged.job, token_audience=AUDIENCE)
    lake.s3().put_object(Bucket=lake.bucket, Key=staged.uri.split("/", 3)[3], Body=to_json(job).encode())
    guarded.issuer.issued.clear()
    before = {*keys(lake)}
    place = OfTheJob(nessie_uri=lake.nessie_uri, s3_endpoint=lake.s3_endpoint, sts=guarded.issuer.uri)
    events = tmp_path / "events"
    events.mkdir()
    told = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri()}
    done = submit(place, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [staged.uri], told, "info")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report_of(lake, job).rows == 2
    tokens = guarded.issuer.issued
    assert len(tokens) > 2
    left = [done.stdout, done.stderr, *files(tmp_path), *objects(lake, before)]
    assert any("modifiedConfigs" in text and "catalog.lake.token" in text for text in left)  # so Spark does write it
    assert not [text[:200] for text in left if any(token in text for token in tokens)]


def files(folder: Path) -> Iterator[str]:
    return (path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def keys(lake: Lake) -> Iterator[str]:
    for page in lake.s3().get_paginator("list_objects_v2").paginate(Bucket=lake.bucket):
        yield from (entry["Key"] for entry in page.get("Contents", ()))


def objects(lake: Lake, before: set[str]) -> Iterator[str]:
    """What the job wrote: reports and notes in the service's bucket, metadata and data files in the lake."""
    for key in keys(lake):
        if key not in before:
            yield lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read().decode("latin-1")
