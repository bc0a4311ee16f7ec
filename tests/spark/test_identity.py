"""Jobs that are submitted as the cluster does it, with their own identity: no token and no password is in anything that
they leave.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.access import Role
from lakegate.audit.model.codec import to_json
from lakegate.ports import MAIN
from tests.spark.test_job import IDS, a_plan, rows
from tests.support.issuer import CLAIM, client
from tests.support.jobs import Staged, report_of, stage, submit
from tests.support.nessie import Lake, unique
from tests.support.nessie_auth import AUDIENCE, NessieAuth

pytestmark = [pytest.mark.nessie, pytest.mark.spark]


@dataclass(frozen=True, kw_only=True)
class OfTheJob(Lake):
    """The same place, for a process that calls AWS as the job's role."""

    aws: str  # the address of STS and of Secrets Manager

    @property
    def environment(self) -> dict[str, str]:
        places = {f"AWS_ENDPOINT_URL_{service}": self.aws for service in ("STS", "SECRETS_MANAGER")}
        return super().environment | places | {"AWS_ACCESS_KEY_ID": Role.SPARK}


EACH = """\
import sys
from spark_jobs.append_and_audit import main
sys.exit(max(main([job]) for job in sys.argv[1:]))
"""


def staged_by(guarded: NessieAuth, **identity: Any) -> Staged:
    """A job with this identity, on a branch of its own."""
    catalog, branch, lake = guarded.catalog(Role.INGEST), unique("wap-flights"), guarded.lake
    base = catalog.head(MAIN) or ""
    catalog.create_branch(branch, base)
    staged = stage(lake, a_plan(), branch, base, {IDS[0]: rows(1, 2)})
    job = replace(staged.job, catalog=replace(staged.job.catalog, **identity))
    lake.s3().put_object(Bucket=lake.bucket, Key=staged.uri.split("/", 3)[3], Body=to_json(job).encode())
    return replace(staged, job=job)


@pytest.mark.extended
def test_submitted_jobs_have_tokens_of_their_role_or_client_and_leave_no_token_and_no_password(
    guarded: NessieAuth, tmp_path: Path
) -> None:
    """Both in one process, one after the other, as that takes half of the time."""
    lake, issuer = guarded.lake, guarded.issuer
    jobs = [
        staged_by(guarded, audience=AUDIENCE),
        staged_by(guarded, client=client(issuer, Role.SPARK)),
    ]
    issuer.issued.clear()
    before = {*keys(lake)}
    place = OfTheJob(nessie_uri=lake.nessie_uri, s3_endpoint=lake.s3_endpoint, aws=issuer.uri)
    events, script = tmp_path / "events", tmp_path / "each.py"
    events.mkdir()
    script.write_text(EACH)
    told = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), "spark.eventLog.compress": "false"}
    told["spark.scheduler.listenerbus.logSlowEvent.threshold"] = "0s"  # so that each event counts as slow
    done = submit(place, tmp_path, script, [each.uri for each in jobs], told, "info")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [report_of(lake, each.job).rows for each in jobs] == [2, 2]
    secrets = [*issuer.issued, issuer.passwords[Role.SPARK]]
    claims = [json.loads(decoded(token.split(".")[1])) for token in issuer.issued]
    assert min(sum(CLAIM in each for each in claims), sum(CLAIM not in each for each in claims)) > 2
    left = [done.stdout, done.stderr, *files(tmp_path), *objects(lake, before)]
    for option in ("catalog.lake.token", "catalog.lake.credential"):  # so Spark does write them
        assert any("modifiedConfigs" in text and option in text for text in left)
    assert not [text[:200] for text in left if any(secret in text for secret in secrets)]


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def files(folder: Path) -> Iterator[str]:
    return (path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def keys(lake: Lake) -> Iterator[str]:
    for page in lake.s3().get_paginator("list_objects_v2").paginate(Bucket=lake.bucket):
        yield from (entry["Key"] for entry in page.get("Contents", ()))


def objects(lake: Lake, before: set[str]) -> Iterator[str]:
    """Yield what the job wrote: reports and notes in the service's bucket, metadata and data files in the lake."""
    for key in keys(lake):
        if key not in before:
            yield lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read().decode("latin-1")
