"""The job of an attempt: append its files on the branch, audit the branch, write the report.

`lakegate.audit.run` has the order of steps. Bad data is reported with exit code 0; a crash leaves no report.
"""

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from lakegate.audit import run
from lakegate.audit.errors import JobError
from lakegate.audit.evaluation.mask import masked_columns
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import CUT_OFF, Job
from lakegate.audit.model.probe import PROBE, Probe
from lakegate.audit.model.report import Report
from spark_jobs.engine import SparkAttempt, SparkEngine
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, class_names, is_of_issuer, is_refused, is_unreachable, root_cause
from spark_jobs.jvm.session import build
from spark_jobs.probe import report_of


def append_and_audit(spark: SparkSession, job: Job) -> Report:
    """Carry out the job, from staged files to the report."""
    engine = SparkEngine(source=SparkAttempt.start(spark, job))
    return run.append_and_audit(run.Run(job=job, engine=engine, now=lambda: datetime.now(UTC)))


def main(arguments: Sequence[str]) -> int:
    """Run the job at `arguments`: the URI of the attempt's job.json, or of a probe. Return the exit code."""
    if len(arguments) != 1:
        print("usage: append_and_audit.py URI-OF-JOB.JSON", file=sys.stderr)  # noqa: T201 - a command's last word
        return 2
    spark, subject, has_masks = build("lakegate append_and_audit"), f"the job at {arguments[0]}", False
    try:
        if arguments[0].endswith(f"/{PROBE}"):
            probe = from_json(Probe, hadoop.read(spark, arguments[0]))
            hadoop.write(spark, probe.report_uri, to_json(report_of(spark, probe)).encode())
            return 0
        job = from_json(Job, hadoop.read(spark, arguments[0]))
        subject = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        has_masks = bool(masked_columns(job.plan.columns))
        with record_cut_off(spark, job):
            hadoop.write(spark, job.report_uri, to_json(append_and_audit(spark, job)).encode())
    except Exception as error:  # noqa: BLE001 - the process's edge
        if not is_of_issuer(error):
            traceback.print_exc()
        print(last_word(subject, error, has_masks=has_masks), file=sys.stderr, flush=True)  # noqa: T201 - it becomes the run's reason
        return 1
    finally:
        spark.stop()
    return 0


@contextmanager
def record_cut_off(spark: SparkSession, job: Job) -> Iterator[None]:
    """Note that storage or Nessie was out of reach or refused the job, so that the batch is not rejected: its files
    are not at fault.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) or is_unreachable(error) or is_refused(error) or is_of_issuer(error):
            with suppress(*FAILURES):  # without the note it counts as a crash
                hadoop.write(spark, job.begun_uri, CUT_OFF)
        raise


def last_word(subject: str, error: Exception, *, has_masks: bool) -> str:
    """Return one line with the reason first and its subject last, because EMR Serverless cuts off the end.

    `has_masks` is true if the error's text may hold masked values.
    """
    if isinstance(error, JobError):
        of, _, reason = str(error).partition(": ")
        return f"JobError: {reason}; {of}" if reason and of.startswith("batch ") else f"JobError: {error}"
    if is_refused(error):
        return f"JobError: Nessie's rules or the job's role must change: {root_cause(error)}; {subject}"
    kinds = f"{', '.join(class_names(error)[-1:])} (its text is in the job's log alone: columns are masked)"
    return f"JobError: {type(error).__name__}: {kinds if has_masks else root_cause(error)}; {subject}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
