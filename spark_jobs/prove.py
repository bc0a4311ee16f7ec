"""What the audited commit must hold, whatever the append said: the base's data files but for those that the batch
replaces, and the batch's each once.
"""

from collections.abc import Iterable, Mapping, Sequence

from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.job import Job
from lakegate.audit.report import DataFile
from lakegate.audit.statistics import DataFileStatistics, Field
from spark_jobs.errors import JobError
from spark_jobs.iceberg import Difference

PerFile = dict[str, list[DataFileStatistics]]


def by_file(job: Job, difference: Difference, columns: Mapping[str, Field]) -> PerFile:
    """The commit's new data files by the file version whose rows they hold."""
    column = columns.get(FILE_COLUMN)
    if column is None:
        raise JobError(_said(job, f"it has no column {FILE_COLUMN}"))
    found: PerFile = {}
    for path, data in difference.added.statistics.items():
        file = data.constant(column)
        if file is None:
            raise JobError(_said(job, f"data file {path} does not hold rows of one file version alone"))
        found.setdefault(file, []).append(data)
    return found


def prove(
    job: Job,
    difference: Difference,
    found: Mapping[str, Sequence[DataFileStatistics]],
    rows: Mapping[str, int],
    replaced: Iterable[DataFile] = (),
    table: str = "",
) -> None:
    """JobError unless the base is all there but for just what is replaced, and exactly these file versions came, with
    as many rows as were read.
    """
    if kept := {data.path for data in replaced} - difference.lost:
        raise JobError(_said(job, f"{len(kept)} data files that the batch replaces are still there", table))
    lost = difference.lost - {data.path for data in replaced}
    if lost or difference.deletes:
        raise JobError(_said(job, f"{len(lost)} data files of its base are gone, or rows of it are deleted", table))
    there = {file: sum(data.rows for data in files) for file, files in found.items()}
    if there != rows:
        wrong = sorted(file for file in there.keys() | rows.keys() if there.get(file) != rows.get(file))
        told = "; ".join(f"{file}: {there.get(file, 0)} rows there, {rows.get(file, 0)} read" for file in wrong[:5])
        raise JobError(_said(job, f"it does not hold each file of the batch once ({told})", table))


def prove_carried(job: Job, found: Mapping[str, Sequence[DataFileStatistics]]) -> None:
    """JobError unless the data files are the very ones that the job says were carried over."""
    there = {file: {data.path for data in files} for file, files in found.items()}
    carried = {file.id: set(file.data_files) for file in job.files if file.data_files}
    if there != carried:
        strangers = sorted(set().union(*there.values()) ^ set().union(*carried.values()))
        raise JobError(_said(job, f"its data files are not those that were carried over ({', '.join(strangers[:5])})"))


def _said(job: Job, what: str, table: str = "") -> str:
    table = table or job.plan.table
    return f"batch {job.batch}: branch {job.branch}, table {table}: {what}. Run: lakegate retry {job.batch}"
