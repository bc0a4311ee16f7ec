"""An engine: what the audit's steps need of whoever reads and writes rows. It orders no steps: `run` does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lakegate.audit.completeness import PerFile, RowCounts
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.verdicts import Dependent, Measurements
from lakegate.audit.model.plan import Column, Plan
from lakegate.audit.model.report import CheckResult, DataFile
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import Struct

Table = Any
"""A table as it was loaded at one commit: the engine's own, which is only handed back to it."""
View = Any
"""Rows that are measured, as the engine reads them: its own, too."""


@dataclass(frozen=True, kw_only=True)
class Proved:
    """A table that is proved, and the data files of those file versions (by id) that are measured. The base counts
    without the data files that are `replaced`, and without so many rows of the file versions that are `rewritten`.
    """

    table: Table
    base: Table | None
    difference: Difference
    columns: Mapping[str, IcebergField]
    files: PerFile
    replaced: Sequence[DataFile] = ()
    rewritten: Mapping[str, int] = field(default_factory=dict)


class Engine(Protocol):
    """One job's engine. Questions come first, writes after them."""

    def head(self) -> str:
        """Return the commit that the job's branch points to. Raise OSError where Nessie does not tell."""

    def read(self, uri: str) -> bytes: ...

    def load(self, table: str, *refs: Ref) -> list[Table | None]:
        """Return the table at each `branch` or `branch@hash`, None where there is none."""

    def columns(self, table: Table) -> Struct:
        """Return the table's columns but for lakegate's, with their types."""

    def fields(self, table: Table) -> Mapping[str, IcebergField]: ...

    def same_rows(self, one: Table | None, other: Table) -> bool:
        """Return whether both are the same snapshot, or both have none."""

    def has_deletes(self, table: Table) -> bool:
        """Return whether files of their own delete rows of the table."""

    def compare(self, before: Table | None, after: Table) -> Difference: ...

    def inspect(self) -> list[Inspection]:
        """Inspect each of the job's files, in their order."""

    def within(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """Return the inspections, with a fault where a file's values come to more than is taken."""

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """Return the inspections, with a fault where a file cannot be read to its end or not be written."""

    def unparsed(self, plan: Plan, inspections: Sequence[Inspection], there: Mapping[str, int]) -> Mapping[str, int]:
        """Return the rows that do not parse, by file version; `there` are those that arrived."""

    def check_references(self, plan: Plan) -> None:
        """Raise Unfit where a foreign key does not fit the table that it refers to."""

    def holding(self, table: Table) -> Mapping[str, Any]:
        """Return the data files, by path, that hold rewritten rows which the job replaces."""

    def held(self, table: Table, files: DataFiles) -> RowCounts:
        """Return what these data files hold, by file version."""

    def rewritten_rows(self, table: Table) -> int:
        """Return how many rewritten rows that the job replaces the table has."""

    def view(self, plan: Plan, proved: Proved) -> View: ...

    def measure(self, view: View) -> tuple[Sequence[Measurements], Mapping[str, Dependent]]: ...

    def failing_rows(self, view: View, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
        """Return how many rows of a file fail any of these checks, given the good files before it."""

    def with_samples(
        self, view: View, results: Results, plan: Plan, inspections: Sequence[Inspection]
    ) -> dict[str, tuple[CheckResult, ...]]:
        """Return the same results with failing rows; those that do not parse are read by `plan` from the files."""

    def write(self, uri: str, body: bytes) -> None: ...

    def prepare(self, table: Table | None, columns: Sequence[Column]) -> None:
        """Make the branch's table, or bring it up to these columns. Raise Unfit, and change nothing, where that won't
        do.
        """

    def take_out(self, table: Table, files: Mapping[str, Any]) -> None:
        """Put, in place of these data files, what they hold but for rows that the job replaces."""

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """Append these files in one commit. Return them, with a fault on each that could not be written."""

    def quarantine(
        self,
        view: View,
        order: Sequence[str],
        failed: Mapping[str, Sequence[str]],
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        """Append the rows that `failed` checks to the quarantine table, with the rows of the files of `inspections`
        that do not parse by `plan`; then leave the table without them. `order` are the good files as they landed.
        """
