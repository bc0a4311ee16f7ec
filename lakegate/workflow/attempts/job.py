"""Frozen jobs: an attempt's job as it is stored, and the storage that it reaches. This module only reads; `launch`
freezes.
"""

from contextlib import suppress

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.codec import PARSE_ERRORS, NewerFormat, OlderFormat
from lakegate.audit.model.job import Job, parse_job
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import Reach, Store
from lakegate.workflow.service import Service


def job_name(attempt: Attempt) -> str:
    return f"attempts/{attempt.branch}/job.json"


def job_of(store: Store, attempt: Attempt) -> Job | None:
    """Return the attempt's frozen job, or None if it has none yet. Raise Misconfigured if it cannot be read, or if
    another release froze it in another format. Its files then wait, undecided, for a person.
    """
    body = store.read(job_name(attempt))
    try:
        return None if body is None else parse_job(body)
    except NewerFormat as error:
        raise Misconfigured(f"{job_name(attempt)}: {error}. Its files stay undecided until then") from error
    except OlderFormat as error:
        what_now = "Its files stay undecided until the earlier release is deployed again and its batches have ended"
        raise Misconfigured(f"{job_name(attempt)}: {error}. {what_now}") from error
    except PARSE_ERRORS as error:
        problem = f"the job {job_name(attempt)} can't be read: {error!r}"
        raise Misconfigured(f"{problem}. Its files stay undecided until it is repaired") from error


def readable_job_of(store: Store, attempt: Attempt) -> Job | None:
    """Return the job of an attempt that is not the caller's own, or None if there is none or it cannot be read."""
    with suppress(Misconfigured):
        return job_of(store, attempt)
    return None


def reach_of(service: Service, attempt: Attempt, job: Job) -> Reach:
    """Return what the job needs: its own objects, its table, that one's quarantine and audits, and the tables of its
    foreign keys. It depends on the job's base alone, so that a second launch asks for the same.
    """
    own_tables = (
        job.plan.table,
        quarantine_of(job.plan.table, distinct=job.distinct),
        *([audits_of(job.plan.table, distinct=job.distinct)] if job.notes_audits else []),
    )
    targets = {metric.refers_to.table for metric in job.plan.metrics if metric.refers_to}
    references = sorted(targets - {*own_tables})
    folders = service.branches.table_folders(job.base, (*own_tables, *references))
    folders_staged = sorted({f"{file.uri.rpartition('/')[0]}/" for file in job.files if file.uri})
    earlier = (job.reuses,) if job.reuses else ()
    return Reach(
        reads=(service.store.uri(job_name(attempt)), *folders_staged, *earlier),
        writes=(job.begun_uri, job.report_uri, *([job.handover_uri] if job.handover_uri else [])),
        tables={table: folders.get(table, "") for table in own_tables},
        references={table: folders.get(table, "") for table in references},
    )
