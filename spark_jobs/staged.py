"""A first look at each staged file: does it open, is it within its limits, does it fit the plan and the table?

One file's trouble is that file's fault and never the job's; that files cannot be reached is the job's.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import SparkSession

from lakegate.audit.files import FileKind
from lakegate.audit.job import JobFile
from lakegate.audit.limits import beyond
from lakegate.audit.look import EMPTY, GONE, Look
from lakegate.audit.plan import Plan
from spark_jobs import hadoop
from spark_jobs.apart import THREADS
from spark_jobs.formats import avro, orc, parquet
from spark_jobs.formats.footer import Ends, Footer, Unreadable
from spark_jobs.java import FAILURES, names, root, unreached
from spark_jobs.staged_text import look_at_text

_FIRST, _LAST = 4, 256  # bytes; the last hold ORC's postscript
_READERS = {FileKind.PARQUET: parquet.read, FileKind.ORC: orc.read, FileKind.AVRO: avro.read}


def look_at_all(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Look]:
    """A look at every file, in their order."""
    wrong = {file.id: beyond(plan.files.limits, bytes=file.size) for file in files}
    within = [file for file in files if not wrong[file.id]]
    looks = {look.file.id: look for look in _looks(spark, plan, within)}
    return [looks.get(file.id) or Look(file=file, faults=wrong[file.id]) for file in files]


def _looks(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Look]:
    kind = plan.files.kind
    if kind.is_text:
        return look_at_text(spark, plan, files)
    with ThreadPoolExecutor(THREADS) as pool:
        looks = list(pool.map(lambda file: _look(spark, plan, file), files))
    return _in_utc(spark, looks) if kind is FileKind.ORC else looks


def _look(spark: SparkSession, plan: Plan, file: JobFile) -> Look:
    if file.size == 0:
        return Look(file=file, faults=(EMPTY,))
    try:
        found = _footer(spark, plan, file)
    except FAILURES as error:
        if unreached(error):
            raise
        found = Footer(faults=(_said(plan, error),))
    return Look(file=file, rows=found.rows, columns=found.columns, faults=found.faults)


def _footer(spark: SparkSession, plan: Plan, file: JobFile) -> Footer:
    """Once more where it fails, so that a network's hiccup does not end the job."""
    try:
        return _read(spark, plan, file.uri)
    except FAILURES:
        return _read(spark, plan, file.uri)


def _read(spark: SparkSession, plan: Plan, uri: str) -> Footer:
    length, first, last = hadoop.ends(spark, uri, _FIRST, _LAST)
    if length == 0:
        return Footer(faults=(EMPTY,))
    try:
        ends = Ends(length=length, first=first, last=last)
        return _READERS[plan.files.kind](spark, uri, ends, plan.files.limits)
    except Unreadable as error:
        return Footer(faults=(error.told(plan.columns),))


def _said(plan: Plan, error: Exception) -> str:
    if any(name.endswith("FileNotFoundException") for name in names(error)):
        return GONE
    known = orc.known(root(error))
    return known or Unreadable("its footer cannot be read", root(error)).told(plan.columns)


def _in_utc(spark: SparkSession, looks: Sequence[Look]) -> list[Look]:
    """The same files; where Spark would read their timestamps by another clock, with that fault."""
    at = [look for look in looks if not look.faults and any("timestamp" in column.type for column in look.columns)]
    if not at or orc.in_utc(spark):
        return list(looks)
    why = "its timestamps would be read by another clock: Spark's machines must be in the time zone UTC for ORC"
    return [replace(look, faults=(why,)) if look in at else look for look in looks]
