"""A report: every check of an attempt with its verdict, per file version, and the audited commit. Never changed once
written.

Publish trusts it and people read it; it decides nothing itself.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from lakegate.audit.advice import Advice
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import MetricKind, Mode, Severity, Trait, Unit
from lakegate.counts import count


class Verdict(StrEnum):
    """A check's result."""

    PASS = "pass"
    WARN = "warn"  # failed, but its severity is warning
    QUARANTINE = "quarantine"  # failed, but its failing rows are quarantined
    FAIL = "fail"
    WOULD_QUARANTINE = "would quarantine"  # failed, and its failing rows are published: its contract observes
    WOULD_FAIL = "would fail"  # failed, and its file is published: its contract observes


WORST_FIRST = (
    Verdict.FAIL,
    Verdict.WOULD_FAIL,
    Verdict.QUARANTINE,
    Verdict.WOULD_QUARANTINE,
    Verdict.WARN,
    Verdict.PASS,
)


FAILING_VERDICTS = (Verdict.FAIL, Verdict.WOULD_FAIL)
"""Verdicts of files that a contract which enforces does not let through."""


class Source(StrEnum):
    """A metric's source, cheapest first."""

    STATISTICS = "statistics"  # the column statistics that Iceberg wrote for the batch's data files
    DICTIONARIES = "dictionaries"  # all values of a text column, stored in front of its pages
    AGGREGATE = "aggregate"  # one pass over the columns concerned
    QUERY = "query"  # a query of its own
    FILE = "file"  # the file as it arrived, before it was appended


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check on one file version.

    `measured` is the metric itself, `value` is in the check's `unit`; both are None if there is no number (the mean of
    nothing). `sample` holds up to a hundred of the failing rows, column → value as text or JSON scalar, masked as the
    contract says; fewer if they would make the report too large. `advice` is for a check that did not pass. `low`
    and `high` are where the values begin and end that pass; None: nowhere.
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
    advice: Advice | None = None
    low: float | None = None
    high: float | None = None

    def has(self, trait: Trait) -> bool:
        """Return True if its metric's kind has the trait: a check's id begins with that kind."""
        return any(trait in kind.traits for kind in MetricKind if self.check.startswith(f"{kind}-"))

    @property
    def reason(self) -> str:
        """One line for a person: the check, how often it failed, out of how many rows."""
        return f"{self.name}: {self.result}, expected {self.expected}"

    @property
    def result(self) -> str:
        """A result in words: `12 of 2,000 rows`, `4% (80 of 2,000 rows)`, `17.25`, `no value`."""
        if self.value is None:
            return "no value"
        failing_rows = f"{self.failing_rows:,} of {count(self.rows, 'row')}" if self.failing_rows else ""
        if failing_rows and self.unit is Unit.ROWS:
            return failing_rows
        value = _number(self.value) + ("%" if self.unit is Unit.PERCENT else "")
        return f"{value} ({failing_rows})" if failing_rows else value


def _number(value: float) -> str:
    """Return whole numbers of at most fifteen digits in full, others to nine: `1,234,567`, `33.3333333`, `1e+300`."""
    is_whole = float(value).is_integer()
    return f"{value if is_whole else float(f'{value:.9g}'):,.15g}"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One Iceberg data file of the attempt, as its manifest names it."""

    path: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class ReplacedFiles:
    """Rows that a file version replaces: other `versions` of its key, their data files in the table and in its
    quarantine. They are off the branch before the file is appended.

    `rewritten` are the ids of versions whose rows another writer has since written into other data files; the job takes
    their `rewritten_rows` out of the branch's data files (`Report.rewritten`).
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
    """Data files of the base that held replaced rows among others, and the data files on the branch that hold what is
    `left` of them: all rows but the replaced ones.
    """

    data_files: tuple[DataFile, ...] = ()
    left: tuple[DataFile, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """One file version. `faults` are the reasons that kept it from being appended (unreadable, wrong columns, no rows);
    then it has no checks. `advice` has, for each fault, the next thing to write.

    `rows` are those of its data files, `quarantined` its data files in the quarantine table, and `noted` those in the
    audits table. `evolves` lists its changes to the table (`"zip" string`, `"n" bigint, was int`: a column or a type
    that the contract lacks), `discards` its columns that were not read. It was judged without the rows that it
    `replaces`.

    Of an observing contract, `would_quarantine` is how many of its rows enforcing would quarantine, if it would not
    reject it.
    """

    id: str
    key: str
    verdict: Verdict
    rows: int = 0
    faults: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    data_files: tuple[DataFile, ...] = ()
    quarantined: tuple[DataFile, ...] = ()
    noted: tuple[DataFile, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    replaces: ReplacedFiles = field(default_factory=ReplacedFiles)
    advice: tuple[Advice, ...] = ()
    would_quarantine: int = 0

    @property
    def advice_by_reason(self) -> dict[str, Advice]:
        """The advice for each of the reasons and warnings that has any."""
        checks = {check.reason: check.advice for check in self.checks if check.advice}
        return dict(zip(self.faults, self.advice, strict=False)) | checks  # an older report has none

    @property
    def quarantined_rows(self) -> int:
        return sum(data.rows for data in self.quarantined)

    @property
    def all_rows(self) -> int:
        """The rows of the file as it came, with those that do not parse and those in quarantine."""
        return max((self.rows + self.quarantined_rows, *(check.rows for check in self.checks)))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons for its rejection."""
        if self.verdict is not Verdict.FAIL:
            return ()
        return self.faults + self._reasons(Verdict.FAIL) + self._reasons(Verdict.QUARANTINE)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on a file, its rejection aside: what enforcing would do, quarantined rows, warnings, changes to the
        table.
        """
        return (*self.observations, *self._in_quarantine, *self._reasons(Verdict.WARN), *self.changes)

    @property
    def observations(self) -> tuple[str, ...]:
        """Effects of enforcing on a file that is published because its contract observes: them, and the reasons."""
        if not self.would:
            return ()
        return (self.would, *self._reasons(Verdict.WOULD_FAIL), *self._reasons(Verdict.WOULD_QUARANTINE))

    @property
    def would(self) -> str:
        """The effect of enforcing, as a phrase; "" if it would do the same."""
        if self.verdict is Verdict.WOULD_FAIL:
            return "observed: it would have been rejected"
        rows = f"{self.would_quarantine:,} of {count(self.rows, 'row')}"
        return f"observed: {rows} would have gone to quarantine" if self.would_quarantine else ""

    @property
    def _in_quarantine(self) -> tuple[str, ...]:
        if self.verdict is Verdict.FAIL or not self.quarantined:
            return ()
        rows = f"{self.quarantined_rows:,} of {count(self.rows + self.quarantined_rows, 'row')}"
        return (f"in quarantine: {rows}", *self._reasons(Verdict.QUARANTINE))

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes to the table that the file brings, one line each."""
        place = "on its branch, " if self.verdict is Verdict.FAIL else ""
        return tuple(place + _change_text(change) for change in self.evolves)

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns of the file that the table does not get, one line each."""
        return tuple(f'column "{name}" of the file is not read' for name in self.discards)

    def _reasons(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple(check.reason for check in self.checks if check.verdict is verdict)


def _change_text(change: str) -> str:
    """Return a change (`"zip" string`, `"n" bigint, was int`) in a person's words."""
    name, _, kind = change.rpartition('" ')
    wider, _, before = kind.partition(", was ")
    addition = f'the table gains column {name}" ({kind})'
    return f'column {name}" of the table widens from {before} to {wider}' if before else addition


@dataclass(frozen=True, kw_only=True)
class Report:
    """One attempt. `audited` is the branch's head, with the very tables that the audit loaded afresh; timings are
    seconds per step.

    `error` is set when the whole attempt could not be appended (the table does not fit the contract, …): then no file
    has checks, and `advice` is what to write next. `depends_on` are the tables whose rows at `base` the verdicts
    depend on.

    `columns` are the table's, in its order; those in `key` identify a row, and the values of those in `masked` are not
    shown. `evolves` lists columns and types that the table has on the branch, and not at the base, because of files and
    not of the contract.

    `reused_from` is the branch of an earlier attempt, if this one reuses its data files and their verdicts of batch
    scope from it: only checks of table scope were run, at `base`.

    `rewritten` covers all files together that replace rows which were since rewritten into other data files. `lane` is
    that of the attempt's job, with the reason; None of a run of the library, which has no job. The `mode` is its
    contract's. `unnoted` is why the audits table did not get what was found, although it was to. The
    quarantine and audits have the table's `distinct` name if the job says so.
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
    reused_from: str = ""
    rewritten: Rewritten = field(default_factory=Rewritten)
    lane: Lane | None = Lane.SPARK
    lane_why: str = ""
    advice: tuple[Advice, ...] = ()
    mode: Mode = Mode.ENFORCE
    unnoted: str = ""
    distinct: bool = False
    format: int = 4

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@lru_cache(maxsize=4)
def parse_report(body: bytes) -> Report:
    """Return a report as it was written, cached because one settling reads it several times and a large one takes
    megabytes. Raise as `from_json`.
    """
    return from_json(Report, body)
