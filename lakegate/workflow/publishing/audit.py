"""An attempt's audit, on which publishing relies, and main as a publish finds it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.report import DataFile, FileReport, Report
from lakegate.contracts import Contract
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.publishing.guards import AuditedBranch, NeedsNewAttempt
from lakegate.workflow.attempts.replacement import paths_of


@dataclass(frozen=True)
class DecidedMeanwhile:
    """An objection to publishing a file that was rejected, discarded or superseded since the audit, by main and the
    current contract.
    """

    reason: str


Objection = NeedsNewAttempt | DecidedMeanwhile


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An attempt with its report, which is all that publishing relies on. `base` is the commit of main that its branch
    was made from, and `claims` are the file versions that the branch claims. `is_recorded`: the audits table on
    main already holds this attempt's results.
    """

    attempt: Attempt
    base: str
    report: Report
    claims: tuple[FileVersion, ...]
    is_recorded: bool = False

    @cached_property
    def branch(self) -> AuditedBranch:
        return AuditedBranch(
            name=self.attempt.branch,
            base=self.report.base,
            head=self.report.audited,
            advice=f"Run: lakegate retry {self.attempt.batch}",
            own_tables=frozenset({self.audits}),
        )

    @property
    def audits(self) -> str:
        """The table that has what was found."""
        return audits_of(self.attempt.table, distinct=self.report.distinct)

    @cached_property
    def reports(self) -> dict[str, FileReport]:
        """Reports of the files, by file version's id."""
        return {entry.id: entry for entry in self.report.files}

    def claims_without(self, files: Collection[FileVersion]) -> list[FileVersion]:
        """Return the claimed files that are not among these."""
        return [file for file in self.claims if file not in files]

    def paths(self, files: Iterable[FileVersion]) -> dict[str, frozenset[str]]:
        """Return the files' own data files in each table that the attempt changed: its table, the quarantine if
        rows went there or left it, and the audits table if what was found is there. A file version that was gone before
        its job has none.
        """
        reports = [report for file in files if (report := self.reports.get(file.id))]
        data_files = [data for report in reports for data in report.data_files]
        audits = [] if self.is_recorded else [data for report in reports for data in report.noted]
        return self._by_table(data_files, [data for report in reports for data in report.quarantined], audits)

    def audit_files(self, files: Iterable[FileVersion]) -> frozenset[str]:
        """Return the data files in the audits table that hold what was found of these files."""
        return paths_of(data for file in files if (report := self.reports.get(file.id)) for data in report.noted)

    def removes(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """Return the data files that leave main when these files are published, in the same tables."""
        replacements = [report.replaces for file in files if (report := self.reports.get(file.id))]
        data_files = [data for entry in replacements for data in entry.data_files]
        if self.rewriters(files):
            data_files += self.report.rewritten.data_files
        return self._by_table(data_files, [data for entry in replacements for data in entry.quarantined])

    def adds(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """Return the data files that main gets with these files: their own, and the rest of rewritten ones."""
        paths, table = self.paths(files), self.attempt.table
        return paths | {table: paths[table] | paths_of(self.report.rewritten.left)} if self.rewriters(files) else paths

    def gains(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """Return `adds` without the tables that get none."""
        return {table: paths for table, paths in self.adds(files).items() if paths}

    def losses(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """Return `removes` without the tables that lose none."""
        return {table: paths for table, paths in self.removes(files).items() if paths}

    def rewriters(self, files: Iterable[FileVersion]) -> frozenset[str]:
        """Return the ids of those files for which rows were taken out of data files that other files share."""
        ids = (file.id for file in files if (report := self.reports.get(file.id)) and report.replaces.rewritten)
        return frozenset(ids) if self.report.rewritten.data_files else frozenset()

    def _by_table(
        self, data: Iterable[DataFile], quarantine: Iterable[DataFile], audits: Iterable[DataFile] = ()
    ) -> dict[str, frozenset[str]]:
        paths = {self.attempt.table: paths_of(data)}
        if any(entry.quarantined or entry.replaces.quarantined for entry in self.report.files):
            paths[quarantine_of(self.attempt.table, distinct=self.report.distinct)] = paths_of(quarantine)
        if any(entry.noted for entry in self.report.files):
            paths[self.audits] = paths_of(audits)
        return paths


@dataclass(frozen=True, kw_only=True)
class Main:
    """Main as one try finds it: its head, its receipts of the claimed keys, and the table's contract."""

    head: str
    receipts: dict[str, Receipt]
    contract: Contract
