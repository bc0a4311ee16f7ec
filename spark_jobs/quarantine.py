"""Rows put aside: the failing rows of files that may give them up go to the quarantine table, the rest stays.

It judges nothing. No data file that it writes holds rows of two file versions, and the audit proves that again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.job import Job
from lakegate.audit.plan import Column as Kept
from lakegate.audit.plan import Metric, MetricKind, Plan
from lakegate.audit.quarantine import quarantine_of
from lakegate.audit.types import quoted
from spark_jobs import iceberg
from spark_jobs.aggregates import failing
from spark_jobs.errors import JobError
from spark_jobs.keys import with_key
from spark_jobs.session import BASE, LAKE
from spark_jobs.table import FIXED, making, table_name

Read = Callable[[Iterable[str]], DataFrame]
"""The rows of some file versions of the batch, by their ids: a task has rows of one data file alone."""
Failed = Mapping[str, Sequence[str]]
"""The checks, by id, whose failing rows are to go, of each file version that has some."""
_DATA_FILE, _POSITION, _REASONS = "_file", "_pos", "_lakegate_reasons"
_WHOLE = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_COLUMNS = (
    Kept(name=FILE_COLUMN, type="string", doc="The file version that the row came from."),
    Kept(name="key", type="string", doc="The file's key in the landing bucket."),
    Kept(name="batch", type="string", doc="The batch in which the row was put aside."),
    Kept(name="attempt", type="int", doc="The attempt at the batch."),
    Kept(name="reasons", type="array<string>", doc="The checks that the row failed."),
    Kept(name="row_json", type="string", doc="The row as JSON, every value whole."),
    Kept(name="put_aside_at", type="timestamp", doc="When."),
)


def put_aside(spark: SparkSession, job: Job, read: Read, order: Sequence[str], failed: Failed) -> None:
    """Append the failing rows to the quarantine table on the branch, then leave the files without them.

    `order` are the good files as they landed. A second run of a job that has come so far is refused.
    """
    _make(spark, job)
    aside, table = quarantine_of(job.plan.table), table_name(LAKE, job.plan.table)
    rows, columns = marked(job.plan, read, order, failed), read(failed).columns
    leaving = _aside(job, rows, [name for name in columns if name != FILE_COLUMN])
    leaving.writeTo(table_name(LAKE, aside)).append()
    kept = rows.where(F.size(_REASONS) == 0).select(*map(quoted, columns))
    kept.writeTo(table).overwrite(F.col(FILE_COLUMN).isin(*failed))


def failing_rows(plan: Plan, read: Read, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
    """How many rows of a file fail any of these checks, given the good files before it."""
    rows = marked(plan, read, [*earlier, file], {file: checks})
    return rows.where(F.size(_REASONS) > 0).count()


def marked(plan: Plan, read: Read, order: Sequence[str], failed: Failed) -> DataFrame:
    """The rows of the files that failed, each with the names of the checks that it fails and that its file failed.

    Of rows with the same key the first stays: in the file that landed first, and there in the first data file. Rows are
    never shuffled, so that whoever writes them writes each file version apart.
    """
    rows, reasons = _placed(read(failed)), []
    for number, check in enumerate(check for check in plan.checks if any(check.id in ids for ids in failed.values())):
        metric, files = plan.metric(check.metric), [file for file, ids in failed.items() if check.id in ids]
        if metric.kind is MetricKind.DUPLICATES:
            mark = f"_lakegate_repeats_{number}"
            places = _repeating(read, order, files, metric).withColumn(mark, F.lit(True))  # noqa: FBT003 - a value
            rows = rows.join(F.broadcast(places), on=[_DATA_FILE, _POSITION], how="left")
            fails = F.col(mark).isNotNull()
        else:
            fails = F.col(FILE_COLUMN).isin(files) & failing(metric)
        reasons.append(F.when(fails, F.lit(check.name)))
    return rows.withColumn(_REASONS, F.array_compact(F.array(*reasons)))


def _placed(rows: DataFrame) -> DataFrame:
    return rows.select("*", _DATA_FILE, _POSITION)


def _repeating(read: Read, order: Sequence[str], files: Sequence[str], metric: Metric) -> DataFrame:
    """Where the rows of these files are that repeat an earlier one."""
    before = order[: max(map(order.index, files)) + 1]
    landed = _of_file({file: at for at, file in enumerate(before)})
    first = Window.partitionBy(*map(quoted, metric.columns)).orderBy(landed, _DATA_FILE, _POSITION)
    numbered = with_key(_placed(read(before)), metric.columns).withColumn(_REASONS, F.row_number().over(first))
    return numbered.where((F.col(_REASONS) > 1) & F.col(FILE_COLUMN).isin(files)).select(_DATA_FILE, _POSITION)


def _make(spark: SparkSession, job: Job) -> None:
    """The quarantine table on the branch, as it is at the base. JobError where an earlier run wrote there."""
    table = quarantine_of(job.plan.table)
    there, base = (iceberg.load(spark, catalog, table) for catalog in (LAKE, BASE))
    if there is None:
        for statement in making(table, _COLUMNS, FIXED):
            spark.sql(statement)
    elif not iceberg.same_rows(base, there):
        raise JobError(
            f"batch {job.batch}: branch {job.branch} already holds rows in {table}, of an earlier run of this job. "
            f"Run: lakegate retry {job.batch}"
        )


def _aside(job: Job, rows: DataFrame, columns: Iterable[str]) -> DataFrame:
    values = {
        FILE_COLUMN: F.col(FILE_COLUMN),
        "key": _of_file({file.id: file.key for file in job.files}),
        "batch": F.lit(job.batch),
        "attempt": F.lit(job.attempt),
        "reasons": F.col(_REASONS),
        "row_json": F.to_json(F.struct(*map(quoted, columns)), _WHOLE),
        "put_aside_at": F.current_timestamp(),
    }
    return rows.where(F.size(_REASONS) > 0).select(*(values[column.name].alias(column.name) for column in _COLUMNS))


def _of_file(values: Mapping[str, int | str]) -> Column:
    """What is known of the row's file version."""
    return F.element_at(F.create_map(*map(F.lit, chain.from_iterable(values.items()))), F.col(FILE_COLUMN))
