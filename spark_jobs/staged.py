"""A first look at each staged file: does it open, is it within its limits, does it fit the plan and the table?

One file's trouble is that file's fault and never the job's; that files cannot be reached is the job's.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import SparkSession

from lakegate.audit.fit import Agreement, Fit, agree, faults
from lakegate.audit.job import JobFile
from lakegate.audit.limits import beyond, capped
from lakegate.audit.plan import Plan
from lakegate.audit.types import Struct
from spark_jobs import hadoop
from spark_jobs.formats.footer import Ends, Footer, Unreadable
from spark_jobs.formats.format import Read
from spark_jobs.formats.kinds import FORMATS
from spark_jobs.java import FAILURES, names, root, unreached
from spark_jobs.look import EMPTY, GONE, THREADS, Look
from spark_jobs.staged_text import look_at_text

NO_ROWS = "it has no rows"
_FIRST, _LAST = 4, 256  # bytes; the last hold ORC's postscript


def look_at_all(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Look]:
    """A look at every file, in their order."""
    wrong = {file.id: beyond(plan.files.limits, bytes=file.size) for file in files}
    within = [file for file in files if not wrong[file.id]]
    looks = {look.file.id: look for look in _looks(spark, plan, within)}
    return [looks.get(file.id) or Look(file=file, faults=wrong[file.id]) for file in files]


def _looks(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Look]:
    form = FORMATS[plan.files.kind]
    if (read := form.read) is None:
        return look_at_text(spark, plan, files)
    with ThreadPoolExecutor(THREADS) as pool:
        looks = list(pool.map(lambda file: _look(spark, plan, file, read), files))
    return form.misread(spark, looks)


def fit_all(plan: Plan, there: Struct | None, looks: Sequence[Look]) -> tuple[Agreement, list[Look]]:
    """What the table becomes by these files, and the files with what does not fit. `there` are the columns that it has
    at the attempt's base.
    """
    fitting = [look for look in looks if not look.faults and look.rows]
    agreed = agree(plan, there, [look.columns for look in fitting])
    fits = {look.file.id: fit for look, fit in zip(fitting, agreed.fits, strict=True)}
    return agreed, [_fitted(plan, look, fits.get(look.file.id)) for look in looks]


def _fitted(plan: Plan, look: Look, fit: Fit | None) -> Look:
    if fit is not None:
        told = replace(look, columns=fit.reads, faults=fit.faults, evolves=fit.evolves, discards=fit.discards)
    else:
        told = look if look.faults else replace(look, faults=(*faults(plan, look.columns), NO_ROWS))
    return replace(told, faults=capped(told.faults))


def _look(spark: SparkSession, plan: Plan, file: JobFile, read: Read) -> Look:
    if file.size == 0:
        return Look(file=file, faults=(EMPTY,))
    try:
        found = _footer(spark, plan, file, read)
    except FAILURES as error:
        if unreached(error):
            raise
        found = Footer(faults=(_said(plan, error),))
    return Look(file=file, rows=found.rows, columns=found.columns, faults=found.faults)


def _footer(spark: SparkSession, plan: Plan, file: JobFile, read: Read) -> Footer:
    """Once more where it fails, so that a network's hiccup does not end the job."""
    try:
        return _read(spark, plan, file.uri, read)
    except FAILURES:
        return _read(spark, plan, file.uri, read)


def _read(spark: SparkSession, plan: Plan, uri: str, read: Read) -> Footer:
    length, first, last = hadoop.ends(spark, uri, _FIRST, _LAST)
    if length == 0:
        return Footer(faults=(EMPTY,))
    try:
        ends = Ends(length=length, first=first, last=last)
        return read(spark, uri, ends, plan.files.limits)
    except Unreadable as error:
        return Footer(faults=(error.told(plan.columns),))


def _said(plan: Plan, error: Exception) -> str:
    if any(name.endswith("FileNotFoundException") for name in names(error)):
        return GONE
    known = FORMATS[plan.files.kind].means(root(error))
    return known or Unreadable("its footer cannot be read", root(error)).told(plan.columns)
