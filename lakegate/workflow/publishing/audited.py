"""What an attempt's audit allows to be published, and main as a publish finds it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.report import DataFile, FileReport, Report
from lakegate.contracts import Contract
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.replaced import paths_of


@dataclass(frozen=True)
class NeedsNewAttempt:
    """A reason for which the audited data files may not be moved onto main as it is now: only a new append and a new
    audit are right.
    """

    why: str


@dataclass(frozen=True)
class DecidedMeanwhile:
    """A reason not to publish what was audited, and right: a file was rejected, discarded or superseded meanwhile, by
    main and the contract of now.
    """

    why: str


Objection = NeedsNewAttempt | DecidedMeanwhile


@dataclass(frozen=True, kw_only=True)
class Audited:
    """An attempt whose report is in: what publishing is allowed to rely on. `base` is the commit of main that its
    branch was made from.
    """

    attempt: Attempt
    base: str
    report: Report
    claims: tuple[FileVersion, ...]

    @property
    def ref(self) -> Ref:
        return Ref(self.attempt.branch, self.report.audited)

    @property
    def base_ref(self) -> Ref:
        return Ref(MAIN, self.report.base)

    @cached_property
    def reported(self) -> dict[str, FileReport]:
        """By file version's id."""
        return {entry.id: entry for entry in self.report.files}

    def claims_without(self, files: Collection[FileVersion]) -> list[FileVersion]:
        """The claimed files that are none of these."""
        return [file for file in self.claims if file not in files]

    def paths(self, files: Iterable[FileVersion]) -> dict[str, frozenset[str]]:
        """Their data files in each table that the attempt changed: its own, and that one's quarantine if rows went
        there or came from there. A file version that was gone before its job has none.
        """
        reports = [report for file in files if (report := self.reported.get(file.id))]
        data_files = [data for report in reports for data in report.data_files]
        return self._by_table(data_files, [data for report in reports for data in report.quarantined])

    def removed(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """The data files that they take the place of, in the same tables."""
        replaced = [report.replaces for file in files if (report := self.reported.get(file.id))]
        data_files = [data for each in replaced for data in each.data_files]
        if self.rewriting(files):
            data_files += self.report.rewritten.data_files
        return self._by_table(data_files, [data for each in replaced for data in each.quarantined])

    def added(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """What main gets with them: their data files, and those that hold what is left of rewritten ones."""
        found, table = self.paths(files), self.attempt.table
        return found | {table: found[table] | paths_of(self.report.rewritten.left)} if self.rewriting(files) else found

    def rewriting(self, files: Iterable[FileVersion]) -> frozenset[str]:
        """Those of the files, by id, for which rows were taken out of data files that held others' rows, too."""
        found = (file.id for file in files if (it := self.reported.get(file.id)) and it.replaces.rewritten)
        return frozenset(found) if self.report.rewritten.data_files else frozenset()

    def _by_table(self, own: Iterable[DataFile], quarantined: Iterable[DataFile]) -> dict[str, frozenset[str]]:
        found = {self.attempt.table: paths_of(own)}
        if any(entry.quarantined or entry.replaces.quarantined for entry in self.report.files):
            found[quarantine_of(self.attempt.table)] = paths_of(quarantined)
        return found


@dataclass(frozen=True, kw_only=True)
class Main:
    """Main as one try finds it: its head, its receipts of the claims' keys there, and the table's contract."""

    head: str
    receipts: dict[str, Receipt]
    contract: Contract
