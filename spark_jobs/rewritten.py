"""Rows that the batch replaces, and that somebody has written into other data files since, among rows of other file
versions: they are taken out of the branch's table.

What is left of such a data file is written anew, and one commit puts that in its place. No delete file is written,
whatever the table's mode of deletes is: a data file that a rebase appends would be younger, and have the rows again.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.difference import DataFiles, Difference
from lakegate.audit.errors import JobError, Unfit
from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.job import Job
from lakegate.audit.prove import Held, as_reported, prove_taken_out
from lakegate.audit.report import DataFile, Rewritten
from spark_jobs import iceberg
from spark_jobs.overwrite import overwrite
from spark_jobs.session import BASE, LAKE
from spark_jobs.table import table_name

# By the first run all data files are younger than all delete files, and any commit of the second drops those.
DELETE_FILES = (
    "batch {batch}: rows of {table} that it replaces were rewritten by somebody, and the table on branch {branch} has "
    "delete files, so that they cannot be taken out safely. Compact the table on main so that it has no delete files: "
    "run twice, in Spark, CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true', "
    "'use-starting-sequence-number', 'false')), then run lakegate retry {batch}"
)
_DATA_FILE = "_file"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a commit shows of the rows that were taken out: the data files concerned, and how many rows there were of
    each file version.
    """

    files: Rewritten = field(default_factory=Rewritten)
    rows: Mapping[str, int] = field(default_factory=dict)


def of(ids: Collection[str]) -> Column:
    """Whether a row is of one of these file versions. One that somebody wrote himself is of none."""
    return F.coalesce(F.col(FILE_COLUMN).isin(*ids), F.lit(False))  # noqa: FBT003 - a value


def take_out(spark: SparkSession, job: Job) -> None:
    """Take these rows out of the table on the branch, if it has any. Unfit where it has delete files: they would take
    nothing from what is written anew, and Iceberg drops some of them with the data files that it takes off.
    """
    table, name = iceberg.load(spark, LAKE, job.plan.table), table_name(LAKE, job.plan.table)
    holding = _holding(spark, name, table, job.rewritten)
    if not holding:
        return
    if iceberg.has_deletes(table):
        raise Unfit(_refused(job))
    left = iceberg.read(spark, name, table, holding).where(~of(job.rewritten))
    overwrite(spark, name, table, holding.values(), left)


def taken(
    spark: SparkSession,
    job: Job,
    base: Any,
    catalog: str,
    table: Any,
    difference: Difference,
    left: Collection[str],
) -> Taken:
    """What was taken out between the base and the table as a catalog of the session has it, where these data files hold
    what is left. JobError unless it is just what the batch replaces.
    """
    lost = difference.lost.but({data.path for data in job.replaced})
    kept = difference.added.but(difference.added.entries.keys() - left)
    if lost.entries and iceberg.has_deletes(base):
        raise JobError(_refused(job))
    before, now = _held(spark, job, BASE, base, lost), _held(spark, job, catalog, table, kept)
    still = _rows(spark, table_name(catalog, job.plan.table), table, _tasks(spark, table, job.rewritten), job.rewritten)
    prove_taken_out(job, before, now, 0 if still is None else still.count())
    rows = sum(map(Counter, before.replaced.values()), Counter[str]())
    return Taken(files=Rewritten(data_files=_named(lost), left=_named(kept)), rows=rows)


def _refused(job: Job) -> str:
    return DELETE_FILES.format(batch=job.batch, table=job.plan.table, branch=job.branch)


def _tasks(spark: SparkSession, table: Any, ids: Collection[str]) -> Any:
    """What Iceberg would read for rows of these file versions: nothing where bounds say that there are none."""
    return iceberg.plan(spark, table, iceberg.any_of(FILE_COLUMN, ids))


def _rows(spark: SparkSession, name: str, table: Any, tasks: Any, ids: Collection[str]) -> DataFrame | None:
    return None if tasks.isEmpty() else iceberg.staged(spark, name, table, tasks).where(of(ids))


def _holding(spark: SparkSession, name: str, table: Any, ids: Collection[str]) -> dict[str, Any]:
    """The data files that have rows of these file versions, by path."""
    tasks = _tasks(spark, table, ids)
    rows = _rows(spark, name, table, tasks, ids)
    found = [] if rows is None else rows.select(_DATA_FILE).distinct().collect()
    files = {task.file().location(): task.file() for task in tasks}
    return {path: files[path] for (path,) in found}


def _held(spark: SparkSession, job: Job, catalog: str, table: Any, files: DataFiles) -> Held:
    """What data files of a table hold: by path and file version what the batch replaces, and the rest."""
    if not files.entries:
        return Held()
    rows = iceberg.read(spark, table_name(catalog, job.plan.table), table, files.entries)
    path = F.when(of(job.rewritten), F.col(_DATA_FILE)).alias(_DATA_FILE)
    counted = rows.groupBy(path, FILE_COLUMN).count().collect()
    replaced: dict[str, dict[str, int]] = {path: {} for path in files.entries}
    for at, file, number in counted:
        if at is not None:
            replaced[at][file] = number
    return Held(replaced=replaced, others={file: number for at, file, number in counted if at is None})


def _named(files: DataFiles) -> tuple[DataFile, ...]:
    return as_reported(files.statistics.values())
