"""A plan: a contract compiled to plain data, all that the job needs of it. It does not know ODCS or Spark.

A metric is a number; a check compares one metric with a threshold. A new kind of check is a row here, not a new path.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.files import PARQUET, FileFormat


class Relation(StrEnum):
    """Effect of other files' rows on a metric of table scope about the table itself."""

    NO_EFFECT = "it never looks at them"
    SUPPORT = "once they leave, a file that passed may fail"
    CONFLICT = "once they leave, a file that failed may pass"


class Trait(StrEnum):
    """A trait of metric kinds, by which all but the engines' own tables tell them apart."""

    SIZE = "it is the number of all rows"
    NUMBER = "it is a number that SQL has of all rows"
    SINGLE = "it counts rows that fail by their own values"
    REQUIRED = "it counts rows without a value"
    REPEATS = "it counts rows that repeat others"
    LINES = "it counts lines of files, of which no table has rows"
    VALUES = "it compares or adds up values"


class MetricKind(StrEnum):
    """A way of computing a metric, per file version. It counts failing rows, or is a number about all rows."""

    relation: Relation
    traits: tuple[Trait, ...]

    def __new__(cls, value: str, relation: Relation, *traits: Trait) -> Self:
        kind = str.__new__(cls, value)
        kind._value_, kind.relation, kind.traits = value, relation, traits
        return kind

    ROWS = "rows", Relation.SUPPORT, Trait.SIZE  # how many rows
    NULLS = "nulls", Relation.NO_EFFECT, Trait.SINGLE, Trait.REQUIRED  # how many rows are null in the one column
    FAILING = "failing", Relation.NO_EFFECT, Trait.SINGLE  # how many rows satisfy `sql`, the condition of a failing row
    # how many rows repeat an earlier row's `columns` (rows with a null among them don't count)
    DUPLICATES = "duplicates", Relation.CONFLICT, Trait.REPEATS, Trait.VALUES
    # how many rows have a key in `columns` that no row of `refers_to` has (a null makes it no key)
    ORPHANS = "orphans", Relation.SUPPORT, Trait.VALUES
    # how many rows of a text file do not parse as the columns' types: they aren't appended
    MALFORMED = "malformed", Relation.NO_EFFECT, Trait.LINES
    # the result of the aggregate `sql` over the rows; there may be none (a mean of nothing)
    VALUE = "value", Relation.NO_EFFECT, Trait.NUMBER, Trait.VALUES
    # the result of the query `sql` over the rows, which it calls ROWS_VIEW; there may be none
    QUERY = "query", Relation.NO_EFFECT, Trait.NUMBER

    @property
    def counts_rows(self) -> bool:
        return not {Trait.SIZE, Trait.NUMBER} & {*self.traits}


ROWS_VIEW = "_lakegate_rows"
"""A QUERY's name for the rows of the one file version that it is about."""


class Scope(StrEnum):
    """Data that a metric depends on."""

    BATCH = "batch"  # the rows of the batch alone
    TABLE = "table"  # tables on main as well: measured again when one of them has changed there


class Severity(StrEnum):
    """A failed check's effect on its file, the severest first."""

    ERROR = "error"  # rejects it
    QUARANTINE = "quarantine"  # quarantines the failing rows and publishes the rest, up to a budget
    WARNING = "warning"  # publishes it and notifies


class Mode(StrEnum):
    """A failed check's effect on the whole table's files."""

    ENFORCE = "enforce"  # what its severity says
    OBSERVE = "observe"  # none: what can be appended is published, and enforcing's results are reported


class Operator(StrEnum):
    """ODCS's comparisons of a metric with its threshold."""

    MUST_BE = "mustBe"
    MUST_NOT_BE = "mustNotBe"
    GREATER_THAN = "mustBeGreaterThan"
    GREATER_OR_EQUAL = "mustBeGreaterOrEqualTo"
    LESS_THAN = "mustBeLessThan"
    LESS_OR_EQUAL = "mustBeLessOrEqualTo"
    IN_RANGE = "mustBeBetween"
    OUT_OF_RANGE = "mustNotBeBetween"


class Unit(StrEnum):
    """A threshold's unit."""

    ROWS = "rows"
    PERCENT = "percent"  # of the file's rows; a VALUE or a QUERY is a percentage already
    NUMBER = "number"  # neither: a mean, a sum, a query's result


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """A column of the table. `type` is a Spark SQL type (`int`, `decimal(10,2)`, `timestamp_ntz`, …); the values of a
    `masked` one are shown only in the table.
    """

    name: str
    type: str
    doc: str = ""
    masked: bool = False


NOW = "now"
"""A limit of dates and timestamps: the moment of evaluation, which in a job is the moment at which it began."""


class Stance(StrEnum):
    """A treatment of a difference between a file's columns and the contract's."""

    FREEZE = "freeze"  # the file is rejected
    ALLOW = "allow"  # the file's rows are taken as the table has its columns
    EVOLVE = "evolve"  # the table changes, on the branch
    DISCARD = "discard"  # columns that the contract lacks are not read


@dataclass(frozen=True, kw_only=True)
class SchemaPolicy:
    """A stance for each way in which a file's columns may differ; each takes the stances that its comment names."""

    new_columns: Stance = Stance.FREEZE  # or evolve, or discard
    missing_columns: Stance = Stance.FREEZE  # or allow: they are null
    widened_types: Stance = Stance.FREEZE  # or evolve, if Iceberg can
    narrowed_types: Stance = Stance.ALLOW  # or freeze
    reordered_columns: Stance = Stance.ALLOW  # or freeze


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A condition on column statistics that proves that no row fails: the column's bounds lie within these (None:
    open), every possible value between them is among `values` (if any), and none of `without` is between them.
    `nulls` is true if a null passes.

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
    """A foreign key's target: a table of the lake (`namespace.table`), and its columns in the key's order."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number computed per file version. `id` is derived from its definition, so that checks share it.

    `sql` is in Spark's dialect: for FAILING a predicate, true for a failing row and never null; for VALUE an aggregate
    expression; for QUERY a query. A VALUE that is too heavy for the one pass with others is `alone`; one that is the
    least or the greatest value of its column says so in `bound` (`lower`, `upper`), so that statistics can give it.
    `passes` is a predicate in Spark's dialect that is true of no failing row. It costs less than the predicate of
    FAILING, or is shared with other metrics of the column and evaluated once.
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

    def has(self, trait: Trait) -> bool:
        return trait in self.kind.traits


class Comparison(StrEnum):
    """A comparison of a metric with its past values."""

    DIFFERENCE = "difference"  # the value minus the mean of the past values
    RATE = "rate"  # the difference in percent of the mean: 50 is half as much again, -100 is nothing left
    Z_SCORE = "zScore"  # the difference in (sample) standard deviations of the past values


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
    """A rule over one metric, or over its drift. `line` is its place in the contract; `name` is for people (`arr_time
    required`). `lines` are the contract's lines that let through what fails it, as YAML, and `place` is where they go.
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
    place: str = ""
    lines: str = ""

    @property
    def holds_with_less(self) -> bool:
        """True if the check passes every count smaller than one that it passes."""
        is_upper = self.operator in (Operator.LESS_THAN, Operator.LESS_OR_EQUAL)
        return self.drift is None and (is_upper or (self.operator, self.threshold) == (Operator.MUST_BE, (0,)))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A limit on one file version's rows that may go to quarantine, as a number or in percent of the file's rows."""

    rows: int | None = None
    percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A contract as the job needs it. `partitions` are Spark SQL transforms (`months(time_hour)`).

    `key` are the columns of the primary key, in its order: they identify a row for a person.

    `contract_hash` covers the contract's meaning, not its comments.
    """

    table: str
    contract_id: str
    contract_version: str
    contract_hash: str
    columns: tuple[TableColumn, ...]
    partitions: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    checks: tuple[Check, ...] = ()
    budget: Budget | None = None
    key: tuple[str, ...] = ()
    policy: SchemaPolicy = SchemaPolicy()
    files: FileFormat = PARQUET
    mode: Mode = Mode.ENFORCE
    format: int = 1

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(to_json(self).encode()).hexdigest()

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Tables whose rows on main the verdicts depend on: the plan's own, or those that it refers to."""
        metrics = (metric for metric in self.metrics if metric.scope is Scope.TABLE)
        return tuple(sorted({m.refers_to.table if m.refers_to else self.table for m in metrics}))

    @property
    def refers_to(self) -> frozenset[str]:
        """Tables among `depends_on` that verdicts depend on by foreign keys alone: a row added there makes no verdict
        fail.
        """
        metric_ids = {check.metric for check in self.checks if not check.holds_with_less}
        table_metrics = [metric for metric in self.metrics if metric.scope is Scope.TABLE]
        supports = [metric for metric in table_metrics if metric.kind.relation is Relation.SUPPORT]
        keys = [metric for metric in supports if metric.refers_to and metric.id not in metric_ids]
        other_tables = {m.refers_to.table if m.refers_to else self.table for m in table_metrics if m not in keys}
        return frozenset({key.refers_to.table for key in keys if key.refers_to} - other_tables - {self.table})

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.id: metric for metric in self.metrics}

    def metric(self, metric_id: str) -> Metric:
        return self._metrics[metric_id]

    def comparing(self, relation: Relation) -> frozenset[str]:
        """Return the metrics, by id, that compare files of a batch with each other in this way."""
        table_metrics = (
            metric for metric in self.metrics if metric.scope is Scope.TABLE and metric.kind.relation is relation
        )
        return frozenset(m.id for m in table_metrics if m.refers_to is None or m.refers_to.table == self.table)
