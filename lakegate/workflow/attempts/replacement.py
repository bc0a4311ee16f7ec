"""Replacing: a new version of a key takes the place of older ones, and their data files are removed from its branch.

The data files of the older versions are known from their reports. If main does not have them any more, somebody has
rewritten their rows into other data files. Metadata alone cannot take those apart, so the job does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import DataFile, FileReport, ReplacedFiles, Report
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Entry
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class MainSnapshot:
    """A table and its quarantine at a commit of main, with the reports of what is published."""

    service: Service
    table: str
    quarantine: str
    ref: Ref
    reports: dict[Attempt, Report | None] = field(default_factory=dict)  # those that were read so far
    paths: dict[str, frozenset[str]] = field(default_factory=dict)  # paths of data files, by table, likewise

    def replaced_by(self, file: FileVersion, versions: Iterable[Entry]) -> ReplacedFiles:
        """Return what the file takes the place of. Quarantined rows are not found if a version's report is gone."""
        versions = list(versions)
        old = [entry.file(file.bucket, file.key) for entry in versions]
        reports = {version.id: self._report(entry, version) for entry, version in zip(versions, old, strict=True)}
        readable = [report for report in reports.values() if report]
        in_table = [report for report in readable if paths_of(report.data_files) <= self._paths(self.table)]
        quarantine_paths = self._paths(self.quarantine) if any(report.quarantined for report in readable) else ()
        return ReplacedFiles(
            versions=tuple(entry.version_id for entry in versions),
            data_files=tuple(data for report in in_table for data in report.data_files),
            # Rows that somebody has cleared from quarantine are gone, as they were to be.
            quarantined=tuple(
                data for report in readable for data in report.quarantined if data.path in quarantine_paths
            ),
            rewritten=tuple(id_ for id_ in reports if reports[id_] not in in_table),
        )

    def _report(self, entry: Entry, old: FileVersion) -> FileReport | None:
        report = self._read(Attempt(table=entry.table, batch=entry.batch, number=entry.attempt))
        return next((entry for entry in report.files if entry.id == old.id), None) if report else None

    def _read(self, attempt: Attempt) -> Report | None:
        if attempt not in self.reports:
            self.reports[attempt] = read_report(self.service.store, attempt)
        return self.reports[attempt]

    def _paths(self, table: str) -> frozenset[str]:
        if table not in self.paths:
            self.paths[table] = self.service.tables.paths(self.ref, table)
        return self.paths[table]


def paths_of(files: Iterable[DataFile]) -> frozenset[str]:
    return frozenset(data.path for data in files)


def remove_replaced(service: Service, job: Job) -> None:
    """Remove what the job's files replace from its branch, before the job starts. Done again, it changes nothing."""
    _remove(service, job, job.plan.table, paths_of(job.replaced_files))
    _remove(service, job, quarantine_of(job.plan.table, distinct=job.distinct), paths_of(job.replaced_quarantined))


def _remove(service: Service, job: Job, table: str, paths: frozenset[str]) -> None:
    paths_left = _not_removed(service, job, table, paths) if paths else paths
    if not paths_left:
        return
    try:
        service.tables.remove(table, job.branch, paths_left)
    except Refused:
        if _not_removed(service, job, table, paths):  # otherwise another worker was first
            raise


def _not_removed(service: Service, job: Job, table: str, paths: frozenset[str]) -> frozenset[str]:
    return paths - service.tables.compare(table, Ref(MAIN, job.base), Ref(job.branch)).removes
