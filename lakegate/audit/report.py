"""The report: every check of an attempt with its verdict, per file version, and the audited commit. Never changed
once written.

It is what publish trusts and what a person reads; it decides nothing itself.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from lakegate.audit.plan import Severity, Unit
from lakegate.audit.wire import from_json


class Verdict(StrEnum):
    """What a check says."""

    PASS = "pass"
    WARN = "warn"  # failed, but its severity is warning
    QUARANTINE = "quarantine"  # failed, but its failing rows are put aside
    FAIL = "fail"


class Source(StrEnum):
    """Where a metric came from, cheapest first."""

    STATISTICS = "statistics"  # the column statistics that Iceberg wrote for the batch's data files
    DICTIONARIES = "dictionaries"  # all the values there are of a column of texts, in front of its pages
    AGGREGATE = "aggregate"  # one pass over the columns concerned
    QUERY = "query"  # a query of its own
    FILE = "file"  # the file as it arrived, before it was appended


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check on one file version.

    `measured` is the metric as it is, `value` is in the check's `unit`; both are None where there is no number (the
    mean of nothing). `sample` holds up to a hundred of the failing rows, column → value as text or JSON scalar, masked
    where the contract says so; there are fewer where they would make the report too large.
    """

    check: str
    name: str
    columns: tuple[str, ...]
    severity: Severity
    verdict: Verdict
    value: float | None
    expected: str
    failing_rows: int
    rows: int
    source: Source
    sample: tuple[dict[str, Any], ...] = ()
    metric: str = ""
    measured: float | None = None
    unit: Unit = Unit.ROWS

    @property
    def reason(self) -> str:
        """One line for a person: what failed, how often, out of how many."""
        return f"{self.name}: {self.found}, expected {self.expected}"

    @property
    def found(self) -> str:
        """`12 of 2,000 rows`, `4% (80 of 2,000 rows)`, `17.25`, `no value`."""
        if self.value is None:
            return "no value"
        failing = f"{self.failing_rows:,} of {self.rows:,} rows" if self.failing_rows else ""
        if failing and self.unit is Unit.ROWS:
            return failing
        value = _number(self.value) + ("%" if self.unit is Unit.PERCENT else "")
        return f"{value} ({failing})" if failing else value


def _number(value: float) -> str:
    """Whole numbers in full, if they are of fifteen digits, others to nine: `1,234,567`, `33.3333333`, `1e+300`."""
    is_whole = float(value).is_integer()
    return f"{value if is_whole else float(f'{value:.9g}'):,.15g}"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One Iceberg data file of the attempt, as its manifest names it."""

    path: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """What a file version takes the place of: other `versions` of its key, their data files in the table and in its
    quarantine. They are off the branch before the file is appended.

    Of those whose rows somebody has written into other data files since, `rewritten` are the ids; the job takes their
    `rewritten_rows` out of what the branch holds (`Report.rewritten`).
    """

    versions: tuple[str, ...] = ()
    data_files: tuple[DataFile, ...] = ()
    quarantined: tuple[DataFile, ...] = ()
    rewritten: tuple[str, ...] = ()
    rewritten_rows: int = 0

    @property
    def rows(self) -> int:
        return sum(data.rows for data in self.data_files) + self.rewritten_rows


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """Data files of the base that held replaced rows among others, and those that hold what is `left` of them on the
    branch: all that they held but the replaced rows.
    """

    data_files: tuple[DataFile, ...] = ()
    left: tuple[DataFile, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """One file version. `faults` are what kept it from being appended (unreadable, wrong columns, no rows); then it
    has no checks.

    `rows` are those of its data files, and `quarantined` its data files in the quarantine table.
    `evolves` is what the file asked of the table (`"zip" string`, `"n" bigint, was int`: a column or a type that the
    contract has not), `discards` are its columns that were not read. It was judged as if what it
    `replaces` were not there.
    """

    id: str
    key: str
    verdict: Verdict
    rows: int = 0
    faults: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    data_files: tuple[DataFile, ...] = ()
    quarantined: tuple[DataFile, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    replaces: Replaced = field(default_factory=Replaced)

    @property
    def quarantined_rows(self) -> int:
        return sum(data.rows for data in self.quarantined)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is rejected."""
        if self.verdict is not Verdict.FAIL:
            return ()
        return self.faults + self._reasons(Verdict.FAIL) + self._reasons(Verdict.QUARANTINE)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else is to be said of it."""
        if self.verdict is not Verdict.QUARANTINE:
            return (*self._reasons(Verdict.WARN), *self.changes)
        aside = f"in quarantine: {self.quarantined_rows:,} of {self.rows + self.quarantined_rows:,} rows"
        return (aside, *self._reasons(Verdict.QUARANTINE), *self._reasons(Verdict.WARN), *self.changes)

    @property
    def changes(self) -> tuple[str, ...]:
        """What the table gets by it, one line each."""
        where = "on its branch, " if self.verdict is Verdict.FAIL else ""
        return tuple(where + _changed(change) for change in self.evolves)

    @property
    def unread(self) -> tuple[str, ...]:
        """What the table does not get of it, one line each."""
        return tuple(f'column "{name}" of the file is not read' for name in self.discards)

    def _reasons(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple(check.reason for check in self.checks if check.verdict is verdict)


def _changed(change: str) -> str:
    """`"zip" string`, `"n" bigint, was int` as a person says it."""
    name, _, kind = change.rpartition('" ')
    wider, _, before = kind.partition(", was ")
    gained = f'the table gains column {name}" ({kind})'
    return f'column {name}" of the table widens from {before} to {wider}' if before else gained


@dataclass(frozen=True, kw_only=True)
class Report:
    """One attempt. `audited` is the branch's head that the audit loaded afresh; timings are seconds per step.

    `error` is set when the whole attempt could not be appended (the table does not fit the contract, …): then no file
    has checks. `depends_on` are the tables whose rows at `base` the verdicts depend on.

    `columns` are the table's, in its order; by those of `key` a row is known, and the values of those that are `masked`
    are not shown. `evolves` is what the table has on the branch, and not at the base, by files and not by the contract.

    `carried_from` is the branch of an earlier attempt, where this one has its data files and their verdicts of batch
    scope from it: only checks of table scope were run, at `base`.

    `rewritten` is what was done for all files together that replace rows which somebody has rewritten.
    """

    branch: str
    batch: str
    attempt: int
    table: str
    base: str
    audited: str
    plan_hash: str
    contract_hash: str
    contract_version: str
    started_at: datetime
    finished_at: datetime
    files: tuple[FileReport, ...]
    error: str = ""
    depends_on: tuple[str, ...] = ()
    evolves: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    carried_from: str = ""
    rewritten: Rewritten = field(default_factory=Rewritten)
    format: int = 3

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@lru_cache(maxsize=4)
def parse_report(body: bytes) -> Report:
    """A report as it was written. One settling asks for it several times; a large one takes megabytes. Raises as
    `from_json`.
    """
    return from_json(Report, body)
