"""Completeness of the audited commit, proved from its manifests alone, because an append that fails may still commit.

The commit must hold the base's data files without those that the batch replaces, and each data file of the batch once.
A data file that held replaced rows among others must have lost just these.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.errors import JobError
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import DataFile, Rewritten
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.counts import count

PerFile = dict[str, list[DataFileStatistics]]
# By the first run all data files are younger than all delete files, and any commit of the second drops those.
DELETE_FILES = (
    "batch {batch}: rows of {table} that it replaces were rewritten by somebody, and the table on branch {branch} has "
    "delete files, so that they cannot be removed safely. Compact the table on main so that it has no delete files: "
    "run twice, in Spark, CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true', "
    "'use-starting-sequence-number', 'false')), then run lakegate retry {batch}"
)


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """Row counts by file version (id): `replaced_rows` counts those that the batch replaces, for each data file's path;
    `other_rows` counts all others, in all data files together.
    """

    replaced_rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    other_rows: Mapping[str | None, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RemovedRows:
    """Rows that were removed from data files, as a commit shows them: the data files concerned, and how many rows there
    were of each file version.
    """

    files: Rewritten = field(default_factory=Rewritten)
    rows: Mapping[str, int] = field(default_factory=dict)


def left_of(job: Job, difference: Difference, columns: Mapping[str, IcebergField]) -> frozenset[str]:
    """Return the paths of the commit's new data files that hold what is left of rewritten ones. Each of the batch's own
    holds rows of one of its file versions only.
    """
    if not job.rewritten:
        return frozenset()
    column, own_ids = _file_column(job, columns), {file.id for file in job.files}
    return frozenset(
        path for path, data in difference.new_files.statistics.items() if data.constant(column) not in own_ids
    )


def by_file(
    job: Job, difference: Difference, columns: Mapping[str, IcebergField], leftovers: Collection[str] = frozenset()
) -> PerFile:
    """Group the commit's new data files by the file version they hold, without `leftovers`."""
    column, files = _file_column(job, columns), PerFile()
    for path, data in difference.new_files.but(leftovers).statistics.items():
        file = data.constant(column)
        if file is None:
            raise JobError(_message(job, f"data file {path} does not hold rows of one file version alone"))
        files.setdefault(file, []).append(data)
    return files


def prove(
    job: Job,
    difference: Difference,
    files_by_id: Mapping[str, Sequence[DataFileStatistics]],
    rows: Mapping[str, int],
    replaced_files: Iterable[DataFile] = (),
    table: str = "",
) -> None:
    """Raise JobError unless just what is replaced is gone from the base, and exactly these file versions came, with as
    many rows as were read.
    """
    if remaining := {data.path for data in replaced_files} - difference.lost_files.statistics.keys():
        raise JobError(
            _message(
                job,
                f"the batch replaces {count(len(remaining), 'data file', 'that is', 'that are')} still there",
                table,
            )
        )
    lost_paths = difference.lost_files.statistics.keys() - {data.path for data in replaced_files}
    if lost_paths or difference.deletes:
        raise JobError(
            _message(job, f"its base has lost {count(len(lost_paths), 'data file')}, or rows of it are deleted", table)
        )
    actual = rows_of(files_by_id)
    if actual != rows:
        wrong = sorted(file for file in actual.keys() | rows.keys() if actual.get(file) != rows.get(file))
        differences = "; ".join(
            f"{file}: {count(actual.get(file, 0), 'row')} there, {rows.get(file, 0):,} read" for file in wrong[:5]
        )
        raise JobError(_message(job, f"it does not hold each file of the batch once ({differences})", table))


def expected(inspections: Iterable[Inspection], malformed: Mapping[str, int]) -> dict[str, int]:
    """Return, by file version, the rows that must be there: all that parse. Of some files there may be none."""
    rows = {inspection.id: inspection.rows - malformed.get(inspection.id, 0) for inspection in inspections}
    return {file: number for file, number in rows.items() if number}


def prove_appended(job: Job, actual: Mapping[str, int], rows: Mapping[str, int]) -> None:
    """Raise JobError unless the `actual` rows, on the branch beyond its base, are just those that the job appends."""
    if actual != rows:
        raise JobError(
            f"batch {job.batch}: branch {job.branch} already holds other rows of table {job.plan.table} than this "
            f"attempt's files. Nothing was appended. Run: lakegate retry {job.batch}"
        )


def prove_reused(job: Job, files_by_id: Mapping[str, Sequence[DataFileStatistics]]) -> None:
    """Raise JobError unless the data files are the very ones that the job says are reused."""
    actual = {file: {data.path for data in files} for file, files in files_by_id.items()}
    reused_paths = {file.id: set(file.data_files) for file in job.files if file.data_files}
    if actual != reused_paths:
        strangers = sorted(set().union(*actual.values()) ^ set().union(*reused_paths.values()))
        raise JobError(_message(job, f"its data files are not those that it reuses ({', '.join(strangers[:5])})"))


def prove_removed(job: Job, base: RowCounts, after: RowCounts, remaining: int) -> None:
    """Raise JobError unless each data file that the `base` lost held rows that the batch replaces, no data file holds
    any (`remaining`), and all the others that they held are in `after`, no more and no less of any file version.
    """
    if wrong_paths := [path for path, replaced_rows in base.replaced_rows.items() if not replaced_rows]:
        message = (
            f"its base has lost {count(len(wrong_paths), 'data file')} that held nothing of what the batch replaces"
        )
        raise JobError(_message(job, message))
    if remaining:
        raise JobError(_message(job, f"rows that the batch replaces are still in {count(remaining, 'data file')}"))
    if after.other_rows != base.other_rows:
        wrong = sum(
            after.other_rows.get(file) != base.other_rows.get(file)
            for file in after.other_rows.keys() | base.other_rows.keys()
        )
        message = f"its rewritten data files do not keep the rows of {count(wrong, 'other file version')}"
        raise JobError(_message(job, message))


def removed_rows(
    job: Job, lost_files: DataFiles, new_files: DataFiles, base: RowCounts, after: RowCounts, remaining: int
) -> RemovedRows:
    """Return what was removed, if the base's `lost_files` held just that and what is left of them in `new_files`. Raise
    JobError if they did not.
    """
    prove_removed(job, base, after, remaining)
    files = Rewritten(
        data_files=as_reported(lost_files.statistics.values()), left=as_reported(new_files.statistics.values())
    )
    return RemovedRows(files=files, rows=sum(map(Counter, base.replaced_rows.values()), Counter[str]()))


def delete_files_message(job: Job) -> str:
    """Say that replaced rows cannot be removed from a table that has delete files."""
    return DELETE_FILES.format(batch=job.batch, table=job.plan.table, branch=job.branch)


def rows_of(files_by_id: Mapping[str, Iterable[DataFileStatistics]]) -> dict[str, int]:
    """Return the number of rows of each file version."""
    return {file: sum(data.rows for data in files) for file, files in files_by_id.items()}


def as_reported(statistics: Iterable[DataFileStatistics]) -> tuple[DataFile, ...]:
    """Return data files as the report names them."""
    return tuple(DataFile(path=data.path, rows=data.rows) for data in statistics)


def _file_column(job: Job, columns: Mapping[str, IcebergField]) -> IcebergField:
    column = columns.get(FILE_COLUMN)
    if column is None:
        raise JobError(_message(job, f"it has no column {FILE_COLUMN}"))
    return column


def _message(job: Job, problem: str, table: str = "") -> str:
    table = table or job.plan.table
    return f"batch {job.batch}: branch {job.branch}, table {table}: {problem}. Run: lakegate retry {job.batch}"
