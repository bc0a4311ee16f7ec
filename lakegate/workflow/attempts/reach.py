"""Reach: the storage that an attempt's job needs, so that its runner can keep it from everything else."""

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job
from lakegate.landing.attempts import Attempt
from lakegate.ports import Reach
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.service import Service


def reach_of(service: Service, attempt: Attempt, job: Job) -> Reach:
    """Return what the job needs: its own objects, its table and that one's quarantine, and the tables of its foreign
    keys. It depends on the job's base alone, so that a second launch asks for the same.
    """
    written = (job.plan.table, quarantine_of(job.plan.table))
    targets = {metric.refers_to.table for metric in job.plan.metrics if metric.refers_to}
    referred = sorted(targets - {*written})
    folders = service.branches.table_folders(job.base, (*written, *referred))
    staged = sorted({f"{file.uri.rpartition('/')[0]}/" for file in job.files if file.uri})
    earlier = (job.reuses,) if job.reuses else ()
    return Reach(
        reads=(service.store.uri(job_name(attempt)), *staged, *earlier),
        writes=(job.begun_uri, job.report_uri),
        tables={table: folders.get(table, "") for table in written},
        referred={table: folders.get(table, "") for table in referred},
    )
