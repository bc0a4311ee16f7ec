"""Frozen jobs: an attempt's job as the store has it. It reads them and makes none."""

from contextlib import suppress

from lakegate.audit.model.codec import BROKEN, NewerFormat
from lakegate.audit.model.job import Job, parse_job
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import Store


def job_name(attempt: Attempt) -> str:
    return f"attempts/{attempt.branch}/job.json"


def job_of(store: Store, attempt: Attempt) -> Job | None:
    """The attempt's job as it was frozen, or None where it has none yet. Raises Misconfigured where a newer release
    froze it, or it can't be read: then its files wait, undecided, until this one is updated, or somebody mends it.
    """
    body = store.read(job_name(attempt))
    try:
        return None if body is None else parse_job(body)
    except NewerFormat as error:
        raise Misconfigured(f"{job_name(attempt)}: {error}. Nothing is decided until then") from error
    except BROKEN as error:
        what = f"the job {job_name(attempt)} can't be read: {error!r}"
        raise Misconfigured(f"{what}. Nothing is decided until somebody has put it right") from error


def readable_job_of(store: Store, attempt: Attempt) -> Job | None:
    """The same for who only looks at others' attempts: what can't be read is in nobody else's way, and is None."""
    with suppress(Misconfigured):
        return job_of(store, attempt)
    return None
