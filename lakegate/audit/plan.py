"""The plan: a contract compiled to plain data, all that the job needs to know of it. It does not know ODCS or Spark.

A metric is a number; a check compares one metric with a threshold. The next kind of check is a row here, not a new
path.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

from lakegate.audit.files import PARQUET, FileFormat
from lakegate.audit.wire import later, to_json


class Others(StrEnum):
    """What the rows of other files are to a metric of table scope about the table itself."""

    APART = "it never looks at them"
    NEEDED = "once they leave, a file that passed may fail"
    REPEATED = "once they leave, a file that failed may pass"


class MetricKind(StrEnum):
    """How a metric is computed, per file version. It counts the rows that fail, or is a number about all rows."""

    counts_rows: bool
    others: Others

    def __new__(cls, value: str, counts_rows: bool, others: Others = Others.APART) -> Self:  # noqa: FBT001
        kind = str.__new__(cls, value)
        kind._value_, kind.counts_rows, kind.others = value, counts_rows, others
        return kind

    ROWS = "rows", False, Others.NEEDED  # how many rows
    NULLS = "nulls", True  # how many rows are null in the one column
    FAILING = "failing", True  # how many rows satisfy `sql`, which says what is wrong with a row
    # how many rows repeat an earlier row's `columns` (rows with a null among them don't count)
    DUPLICATES = "duplicates", True, Others.REPEATED
    # how many rows have a key in `columns` that no row of `refers_to` has (a null makes it no key)
    ORPHANS = "orphans", True, Others.NEEDED
    UNPARSED = "unparsed", True  # how many rows of a text file do not parse as the columns' types: they aren't appended
    # the number that the aggregate `sql` gives over the rows; there may be none (a mean of nothing)
    VALUE = "value", False
    # the number that the query `sql` gives over the rows, which it calls ROWS_VIEW; there may be none
    QUERY = "query", False


ROWS_VIEW = "_lakegate_rows"
"""What a QUERY calls the rows of the one file version that it is about."""


class Scope(StrEnum):
    """What a metric depends on."""

    BATCH = "batch"  # the rows of the batch alone
    TABLE = "table"  # what tables hold on main besides: measured again when one of them has changed there


class Severity(StrEnum):
    """What a failed check does to its file, the severest first."""

    ERROR = "error"  # rejects it
    QUARANTINE = "quarantine"  # puts the failing rows aside and publishes the rest, up to a budget
    WARNING = "warning"  # publishes it and tells


class Operator(StrEnum):
    """ODCS's comparisons of a metric with its threshold."""

    MUST_BE = "mustBe"
    MUST_NOT_BE = "mustNotBe"
    GREATER = "mustBeGreaterThan"
    GREATER_OR_EQUAL = "mustBeGreaterOrEqualTo"
    LESS = "mustBeLessThan"
    LESS_OR_EQUAL = "mustBeLessOrEqualTo"
    BETWEEN = "mustBeBetween"
    NOT_BETWEEN = "mustNotBeBetween"


class Unit(StrEnum):
    """What the threshold counts."""

    ROWS = "rows"
    PERCENT = "percent"  # of the file's rows; a VALUE or a QUERY is a percentage already
    NUMBER = "number"  # neither: a mean, a sum, what a query gives


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the table. `type` is a Spark SQL type (`int`, `decimal(10,2)`, `timestamp_ntz`, …); the values of a
    `masked` one are shown nowhere but in the table.
    """

    name: str
    type: str
    doc: str = ""
    masked: bool = False


NOW = "now"
"""As a limit of dates and timestamps: the moment at which it is asked, which in a job is the one at which it began."""


class Stance(StrEnum):
    """What becomes of a difference between a file's columns and the contract's."""

    FREEZE = "freeze"  # the file is rejected
    ALLOW = "allow"  # the file's rows are taken as the table has its columns
    EVOLVE = "evolve"  # the table changes, on the branch
    DISCARD = "discard"  # what the contract does not have is not read


@dataclass(frozen=True, kw_only=True)
class SchemaPolicy:
    """A stance for each way in which a file's columns may differ; each takes those that its comment names."""

    new_columns: Stance = Stance.FREEZE  # or evolve, or discard
    missing_columns: Stance = Stance.FREEZE  # or allow: they are null
    widened_types: Stance = Stance.FREEZE  # or evolve, where Iceberg can
    narrowed_types: Stance = Stance.ALLOW  # or freeze
    reordered_columns: Stance = Stance.ALLOW  # or freeze


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What column statistics must show to prove that no row fails: the column's bounds lie within these (None: open),
    what can lie between them is among `values` (if any), and nothing of `without` does. `nulls` tells whether a null
    passes.

    Values are JSON numbers, or strings (for temporal columns ISO dates and timestamps, or NOW). NaN is outside every
    range.
    """

    column: str
    minimum: int | float | str | None = None
    maximum: int | float | str | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    values: tuple[int | float | str, ...] = ()
    without: tuple[int | float | str, ...] = ()
    nulls: bool = True


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a foreign key refers to: a table of the lake (`namespace.table`), and its columns in the key's order."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number computed per file version. `id` is derived from what it is, so that checks share it.

    `sql` is in Spark's dialect: of FAILING a predicate, true for a failing row and never null; of VALUE an aggregate
    expression; of QUERY a query. A VALUE that is too heavy for the one pass with others is `alone`; one that is the
    least or the greatest value of its column says so in `bound` (`lower`, `upper`), so that statistics can tell it.
    `passes` is a predicate in Spark's dialect that is true of no row that fails. It costs less than that of FAILING, or
    other metrics of the column share it, so that it is asked once for all of them. `tries` is how often a pattern may
    be tried with a row's texts, where that may be many times for each letter: a number, and never null.
    """

    id: str
    kind: MetricKind
    columns: tuple[str, ...] = ()
    sql: str = ""
    proof: Proof | None = None
    scope: Scope = Scope.BATCH
    refers_to: Reference | None = None
    alone: bool = False
    bound: str = ""
    passes: str = ""
    tries: str = later("")


class Comparison(StrEnum):
    """How a metric is compared with what it was before."""

    DIFFERENCE = "difference"  # what it is above the mean of before
    RATE = "rate"  # that, in percent of the mean: 50 is half as much again, -100 is nothing left
    Z_SCORE = "zScore"  # that, in (sample) standard deviations of before


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A comparison with the file versions of the table that were published last, `files` of them.

    With fewer than `at_least` of them there is nothing to compare with, and the check passes.
    """

    comparison: Comparison
    files: int
    at_least: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """A rule over one metric, or over how far that has drifted. `line` is where the contract says it; `name` is what a
    person reads (`arr_time required`).
    """

    id: str
    name: str
    metric: str
    operator: Operator
    threshold: tuple[float, ...]
    unit: Unit = Unit.ROWS
    severity: Severity = Severity.ERROR
    columns: tuple[str, ...] = ()
    line: int = 0
    drift: Drift | None = None

    @property
    def holds_with_less(self) -> bool:
        """Whether it passes a smaller count wherever it passes a greater one."""
        most = self.operator in (Operator.LESS, Operator.LESS_OR_EQUAL)
        return self.drift is None and (most or (self.operator, self.threshold) == (Operator.MUST_BE, (0,)))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many rows of one file version may go to quarantine: so many, or so many percent of the file's."""

    rows: int | None = None
    percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything the job must know of a contract. `partitions` are Spark SQL transforms (`months(time_hour)`).

    `key` are the columns of the primary key, in its order: by them a person knows a row.

    `contract_hash` is over the contract's meaning, not its comments.
    """

    table: str
    contract_id: str
    contract_version: str
    contract_hash: str
    columns: tuple[Column, ...]
    partitions: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    checks: tuple[Check, ...] = ()
    budget: Budget | None = None
    key: tuple[str, ...] = ()
    policy: SchemaPolicy = SchemaPolicy()
    files: FileFormat = PARQUET
    format: int = 2

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(to_json(self).encode()).hexdigest()

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The tables whose rows on main the verdicts depend on: its own, or those that it refers to."""
        depending = (metric for metric in self.metrics if metric.scope is Scope.TABLE)
        return tuple(sorted({m.refers_to.table if m.refers_to else self.table for m in depending}))

    @property
    def refers_to(self) -> frozenset[str]:
        """Those of them that verdicts depend on by foreign keys alone: what such a table gains makes none fail."""
        asked = {check.metric for check in self.checks if not check.holds_with_less}
        depending = [metric for metric in self.metrics if metric.scope is Scope.TABLE]
        keys = [metric for metric in depending if metric.kind is MetricKind.ORPHANS and metric.id not in asked]
        others = {m.refers_to.table if m.refers_to else self.table for m in depending if m not in keys}
        return frozenset({key.refers_to.table for key in keys if key.refers_to} - others - {self.table})

    def metric(self, metric_id: str) -> Metric:
        return next(metric for metric in self.metrics if metric.id == metric_id)

    def comparing(self, others: Others) -> frozenset[str]:
        """Return the metrics, by id, that compare files of a batch with each other in this way."""
        depending = (metric for metric in self.metrics if metric.scope is Scope.TABLE and metric.kind.others is others)
        return frozenset(m.id for m in depending if m.refers_to is None or m.refers_to.table == self.table)
