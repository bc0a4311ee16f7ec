"""Attempts for the express engine to work on: its tables as Spark would make them, and its runs in this process.

It judges nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.ref import Ref
from lakegate.express.creating import create
from tests.support.nessie import Lake


def make_table(lake: Lake, plan: Plan, branch: str) -> None:
    """Make the plan's table on a branch, empty."""
    create(RefCatalog(lake.nessie_uri, lake.warehouse, Ref(branch)), plan, plan.columns)


def handed_over(lake: Lake, job: Job) -> str:
    """The reason for which the job was handed over; "" if it was not."""
    key = job.handover_uri.removeprefix(f"s3://{lake.bucket}/")
    if "Contents" not in lake.s3().list_objects_v2(Bucket=lake.bucket, Prefix=key):
        return ""
    return str(json.loads(lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read())["reason"])


def for_express(lake: Lake, job: Job) -> Job:
    """The same job, with a place for a hand-over."""
    return replace(job, handover_uri=f"s3://{lake.bucket}/handovers/{job.branch}.json")
