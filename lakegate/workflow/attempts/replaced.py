"""Replacing: what a new version of a key takes the place of, and taking data files off its attempt's branch.

The data files of the versions before are known from their reports. Where they are not on main any more, one by one,
somebody has written their rows into others, which metadata alone can't take apart: that is the job's to do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import DataFile, FileReport, Replaced, Report
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Entry
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class Published:
    """What of one table is published at a commit of main."""

    service: Service
    table: str
    ref: Ref
    reports: dict[Attempt, Report | None] = field(default_factory=dict)  # as far as they were read
    listed: dict[str, frozenset[str]] = field(default_factory=dict)  # data files by table, the same

    def replaced(self, file: FileVersion, versions: Iterable[Entry]) -> Replaced:
        """What the file takes the place of. Of a version whose report is gone nobody knows what is in quarantine."""
        versions = list(versions)
        old = [entry.file(file.bucket, file.key) for entry in versions]
        reports = {it.id: self._report(entry, it) for entry, it in zip(versions, old, strict=True)}
        known = [report for report in reports.values() if report]
        there = [report for report in known if paths_of(report.data_files) <= self._paths(self.table)]
        quarantined = self._paths(quarantine_of(self.table)) if any(report.quarantined for report in known) else ()
        return Replaced(
            versions=tuple(entry.version_id for entry in versions),
            data_files=tuple(data for report in there for data in report.data_files),
            # What somebody has cleared from quarantine is gone from there, as it was to be.
            quarantined=tuple(data for report in known for data in report.quarantined if data.path in quarantined),
            rewritten=tuple(it for it in reports if reports[it] not in there),
        )

    def _report(self, entry: Entry, old: FileVersion) -> FileReport | None:
        report = self._read(Attempt(table=entry.table, batch=entry.batch, number=entry.attempt))
        return next((each for each in report.files if each.id == old.id), None) if report else None

    def _read(self, attempt: Attempt) -> Report | None:
        if attempt not in self.reports:
            self.reports[attempt] = read_report(self.service.store, attempt)
        return self.reports[attempt]

    def _paths(self, table: str) -> frozenset[str]:
        if table not in self.listed:
            self.listed[table] = self.service.tables.paths(self.ref, table)
        return self.listed[table]


def paths_of(files: Iterable[DataFile]) -> frozenset[str]:
    return frozenset(data.path for data in files)


def remove_replaced(service: Service, job: Job) -> None:
    """Take what the job's files replace off its branch, before it starts. Done again it changes nothing."""
    _take_off(service, job, job.plan.table, paths_of(job.replaced))
    _take_off(service, job, quarantine_of(job.plan.table), paths_of(job.replaced_quarantined))


def _take_off(service: Service, job: Job, table: str, paths: frozenset[str]) -> None:
    there = paths and paths - service.tables.compare(table, Ref(MAIN, job.base), Ref(job.branch)).removed
    if not there:
        return
    try:
        service.tables.remove(table, job.branch, there)
    except Refused:
        if (
            paths - service.tables.compare(table, Ref(MAIN, job.base), Ref(job.branch)).removed
        ):  # otherwise another worker was at it
            raise
