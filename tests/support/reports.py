"""The report of a job that nobody ran: who plays Spark says what the files became."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lakegate.audit.model.job import Job
from lakegate.audit.model.report import FileReport, Report


def audited_report(job: Job, audited: str, files: Iterable[FileReport], at: datetime) -> Report:
    """One that begins and ends `at` a moment; `audited` is the branch's head then."""
    return Report(
        branch=job.branch,
        batch=job.batch,
        attempt=job.attempt,
        table=job.plan.table,
        base=job.base,
        audited=audited,
        plan_hash=job.plan.hash,
        contract_hash=job.plan.contract_hash,
        contract_version=job.plan.contract_version,
        started_at=at,
        finished_at=at,
        files=tuple(files),
        lane=job.lane,
        lane_why=job.lane_why,
        mode=job.plan.mode,
        distinct=job.distinct,
    )
