"""Quarantine: failing rows of files that may give them up move to the quarantine table, and the rest stays.

It judges nothing. Each data file that it writes has rows of one file version, and the audit proves that again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.data_files.statistics import with_rows
from lakegate.audit.definition import QUARANTINE
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.evaluation.verdicts import malformed_checks
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.formats.text.lines import TEXT
from spark_jobs.jvm.session import LAKE
from spark_jobs.metrics.failing_keys import PLACE, KeySearch, by_file, with_places
from spark_jobs.metrics.keys import Batch, Read
from spark_jobs.metrics.kinds import KINDS, failing_condition
from spark_jobs.metrics.malformed import LINE, REASON
from spark_jobs.tables import iceberg, own_tables
from spark_jobs.tables.base import Base
from spark_jobs.tables.ddl import table_name
from spark_jobs.tables.overwrite import overwrite

Failures = Mapping[str, Sequence[str]]
"""The checks, by id, with failing rows to quarantine, by file version."""
_REASONS = "_lakegate_reasons"
_JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True, kw_only=True)
class View:
    """The audit's view: the batch as its branch holds it, and tables at the base.

    `read` returns rows of file versions, by id, with no task reading two data files. `entries` are Iceberg's objects of
    the batch's data files, by path.
    """

    plan: Plan
    batch: Batch
    base: Base
    read: Read
    entries: Mapping[str, Any] = field(default_factory=dict)


def quarantine_rows(
    spark: SparkSession,
    job: Job,
    view: View,
    order: Sequence[str],
    failures: Failures,
    malformed: DataFrame | None,
) -> None:
    """Append the failing rows to the quarantine table on the branch, then leave the files without them.

    `order` has the good files as they landed, and `malformed` the rows that do not parse. A second run of a job that
    has come this far is refused.
    """
    name = quarantine_of(job.plan.table, distinct=job.distinct)
    replaced_paths = {data.path for data in job.replaced_quarantined}
    own_tables.prepare(spark, job, name, QUARANTINE, replaced_paths)
    of_rows = _failed_in_table(job.plan, failures)
    parts = [] if malformed is None else [_quarantined_lines(job, malformed)]
    if of_rows:
        rows, columns = with_reasons(view, order, of_rows), view.read(of_rows).columns
        parts.append(_quarantined_rows(job, rows, [name for name in columns if name != FILE_COLUMN]))
    reduce(DataFrame.union, parts).writeTo(table_name(LAKE, name)).append()
    if of_rows:
        good_rows = rows.where(F.size(_REASONS) == 0).select(*map(spark_identifier, columns))
        old_files = [view.entries[data.path] for file in of_rows for data in view.batch.files[file]]
        overwrite(spark, iceberg.load(spark, LAKE, job.plan.table), old_files, good_rows)


def failing_rows(view: View, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
    """Return how many rows of a file fail any of these checks, given the good files before it."""
    rows = with_reasons(view, [*earlier, file], {file: checks})
    return rows.where(F.size(_REASONS) > 0).count()


def without(view: View, order: Sequence[str], failures: Failures) -> View:
    """Return the view of the good files without the rows that failed. These are kept apart once, because each metric
    reads what is left.
    """
    of_rows = _failed_in_table(view.plan, failures)
    files = {file: view.batch.files[file] for file in order}
    if not of_rows:
        return replace(view, batch=replace(view.batch, files=files))
    columns = [spark_identifier(name) for name in view.read(of_rows).columns]
    good_rows = with_reasons(view, order, of_rows).where(F.size(_REASONS) == 0).select(*columns).persist()
    numbers = {row[0]: row[1] for row in good_rows.groupBy(FILE_COLUMN).count().collect()}
    remaining = {
        file: with_rows(data_files, numbers.get(file, 0)) if file in of_rows else data_files
        for file, data_files in files.items()
    }

    def read(ids: Iterable[str]) -> DataFrame:
        file_ids = list(ids)
        whole, rest = ([file for file in file_ids if (file in of_rows) is is_split] for is_split in (False, True))
        frames = [view.batch.read(whole)] if whole else []
        return reduce(DataFrame.union, [*frames, good_rows.where(F.col(FILE_COLUMN).isin(rest))] if rest else frames)

    return replace(view, batch=replace(view.batch, files=remaining, read=read))


def with_reasons(view: View, order: Sequence[str], failures: Failures) -> DataFrame:
    """Return the rows of the files that failed, each with the names of the checks that it and its file failed.

    Of rows with the same key the first stays, unless the table has the key: the one in the file that landed first, and
    there in the first data file. Rows are not shuffled, so that each file version is written apart.
    """
    rows, reasons = with_places(view.read(failures)), []
    checks = [check for check in view.plan.checks if any(check.id in ids for ids in failures.values())]
    for number, check in enumerate(checks):
        metric, files = view.plan.metric(check.metric), [file for file, ids in failures.items() if check.id in ids]
        if by_key := KINDS[metric.kind].by_key:
            mark = f"_lakegate_mark_{number}"
            search = KeySearch(order=order, good=order, files=files)
            places = by_key.places(view.plan, metric, view.batch, view.base, search)
            marks = F.broadcast(places.withColumn(mark, F.lit(True)))  # noqa: FBT003 - a value
            rows = rows.join(marks, on=list(PLACE), how="left")
            fails = F.col(mark).isNotNull()
        else:
            fails = F.col(FILE_COLUMN).isin(files) & failing_condition(metric)
        reasons.append(F.when(fails, F.lit(check.name)))
    return rows.withColumn(_REASONS, F.array_compact(F.array(*reasons)))


def _failed_in_table(plan: Plan, failures: Failures) -> dict[str, list[str]]:
    """Return `failures` without checks of rows that never got to the table."""
    malformed = malformed_checks(plan)
    of_rows = {file: [check for check in ids if check not in malformed] for file, ids in failures.items()}
    return {file: ids for file, ids in of_rows.items() if ids}


def _quarantined_rows(job: Job, rows: DataFrame, columns: Iterable[str]) -> DataFrame:
    row = F.to_json(F.struct(*map(spark_identifier, columns)), _JSON_OPTIONS)
    return _to_quarantine_rows(job, rows.where(F.size(_REASONS) > 0), {"reasons": F.col(_REASONS), "row_json": row})


def _quarantined_lines(job: Job, rows: DataFrame) -> DataFrame:
    malformed_ids = malformed_checks(job.plan)
    names = [F.lit(check.name) for check in job.plan.checks if check.id in malformed_ids]
    line = {"line": F.col(LINE), "text": F.col(TEXT), "why": F.col(REASON)}
    return _to_quarantine_rows(job, rows, {"reasons": F.array(*names), **line})


def _to_quarantine_rows(job: Job, rows: DataFrame, further: Mapping[str, Column]) -> DataFrame:
    values = {
        FILE_COLUMN: F.col(FILE_COLUMN),
        "key": by_file({file.id: file.key for file in job.files}),
        "batch": F.lit(job.batch),
        "attempt": F.lit(job.attempt),
        "quarantined_at": F.current_timestamp(),
        **further,
    }
    return rows.select(
        *(values.get(column.name, F.lit(None).cast(column.type)).alias(column.name) for column in QUARANTINE)
    )
