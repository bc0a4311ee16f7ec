"""The job of an attempt on the express lane: append its files on the branch, audit the branch, write the report.

A job ends in one way of four: with a report, handed over, cut off from a service, or failed without a word. Bad data is
reported. It never works on an attempt that another run of it has taken.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum

from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.mask import masked_columns
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import CUT_OFF, Job, parse_job
from lakegate.audit.model.report import Report
from lakegate.audit.run import Run, append_and_audit, utc_now
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.express.attempt import Attempt
from lakegate.express.objects import Objects
from lakegate.express.process import Process

RUN_MARK = "express.json"
_OUTAGES = (OSError, Retryable, OutcomeUnknown, Misconfigured)
_LOG = logging.getLogger(__name__)


class Outcome(StrEnum):
    """An end of a run."""

    REPORTED = "reported"
    HANDED_OVER = "handed over"
    CUT_OFF = "cut off"  # a service was out of reach, or refused the job: no file is at fault
    FAILED = "failed"
    TAKEN = "taken"  # by another run of it: nothing was done


def run_job(uri: str, process: Process, now: Callable[[], datetime] = utc_now) -> Outcome:
    """Run the job at `uri`, and write how it ended where the job says. Raise only what says that no job was read, or
    that its end could not be written.
    """
    objects = process.objects
    job = parse_job(objects.read(uri))
    if not objects.create(f"{job.begun_uri}/{RUN_MARK}", to_json({"taken_at": now()}).encode()):
        return Outcome.TAKEN
    try:
        report = _report(job, process, now)
    except HandedOver as error:
        return _hand_over(objects, job, error.reason)
    except MemoryError:
        return _hand_over(objects, job, "The batch takes more memory than the express engine has.")
    except Exception as error:  # noqa: BLE001 - Spark is asked about what this engine was not made for
        return _fail(objects, job, error)
    objects.write(job.report_uri, to_json(report).encode())
    return Outcome.REPORTED


def _fail(objects: Objects, job: Job, error: Exception) -> Outcome:
    """Note that the job was cut off, if it was: Spark would meet the same outage."""
    outcome = Outcome.CUT_OFF if isinstance(error, _OUTAGES) or isinstance(error.__cause__, OSError) else Outcome.FAILED
    _log(job, outcome, error)
    if outcome is Outcome.CUT_OFF:
        with suppress(LakegateError):  # without the note its files are handed over
            objects.write(job.begun_uri, CUT_OFF)
    return outcome


def _log(job: Job, outcome: Outcome, error: Exception) -> None:
    """Log the error, but not its text if that may hold masked values."""
    message = f"batch {job.batch} of {job.plan.table}, branch {job.branch}: {outcome} by {type(error).__name__}"
    _LOG.error(message, exc_info=None if masked_columns(job.plan.columns) else error)


def _report(job: Job, process: Process, now: Callable[[], datetime]) -> Report:
    with Attempt.start(job, process) as engine:
        return append_and_audit(Run(job=job, engine=engine, now=now))


def _hand_over(objects: Objects, job: Job, reason: str) -> Outcome:
    objects.create(job.handover_uri, to_json({"reason": reason}).encode())
    return Outcome.HANDED_OVER
