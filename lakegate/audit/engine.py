"""An engine: what the audit's steps need of whoever reads and writes rows, by subject. It orders no steps: `run` does.

A new engine implements six protocols. `Storage` holds JSON objects, `StagedFiles` are the files to append, a `Table` is
the table at one commit, and a `View` is what is measured of it. A `Source` has the files and the branch of an attempt,
or of a run without the service. The `Engine` itself measures and appends the rows of any source.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from lakegate.audit.completeness import PerFile, RowCounts
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.evaluation.audits import Row
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.verdicts import Dependent, Measurements
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.model.report import CheckResult, DataFile
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import Struct


class Storage(Protocol):
    """Objects by URI."""

    def read(self, uri: str) -> bytes: ...

    def write(self, uri: str, body: bytes) -> None: ...


class StagedFiles(Protocol):
    """Staged files of the job. Answers have the order of the files."""

    def inspect(self) -> list[Inspection]:
        """Inspect each of the job's files, in their order."""

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """Add a fault to each file that cannot be read to its end, or not be written."""

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], rows_by_file: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return how many rows do not parse, by file version; `rows_by_file` are those on the branch."""


class Table(Protocol):
    """A table at one commit. Entries of its data files, by path, are the engine's own objects."""

    def columns(self) -> Struct:
        """Return its columns with their types, without those of lakegate's."""

    def fields(self) -> Mapping[str, IcebergField]:
        """Return its columns by name, lakegate's too."""

    def has_deletes(self) -> bool:
        """Return True if delete files hide rows of it."""

    def changes_since(self, before: Self | None) -> Difference:
        """Return its difference from an earlier state; None is no table."""

    def data_files_with(self, versions: Collection[str]) -> Mapping[str, Any]:
        """Return the entries of the data files that hold rows of these file versions, by path."""

    def row_counts(self, files: DataFiles, replaced_ids: Collection[str]) -> RowCounts:
        """Count the rows in these data files by file version; those of `replaced_ids` for each data file."""


class View(Protocol):
    """Rows of some file versions in a proved table, and a plan to measure them by."""

    def measure(self) -> tuple[Sequence[Measurements], Mapping[str, Dependent]]:
        """Return each file version's metrics, and by id the metrics that depend on other file versions."""

    def failing_rows(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
        """Return how many rows of a file fail any of these checks, given the good files before it."""

    def without(self, order: Sequence[str], failures: Mapping[str, Sequence[str]]) -> Self:
        """Return the view of the good files, in their `order`, that quarantine would leave: without the rows that
        fail their checks (`failures`, by file). It writes nothing.
        """

    def with_samples(
        self, results: Results, plan: Plan, inspections: Sequence[Inspection]
    ) -> dict[str, tuple[CheckResult, ...]]:
        """Add failing rows to the results; those that do not parse are read by `plan` from the inspected files."""


T = TypeVar("T", bound=Table)
V = TypeVar("V", bound=View)
V_contra = TypeVar("V_contra", bound=View, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class ProvedTable(Generic[T]):
    """A table that is proved, and the data files of those file versions (by id) that are measured. The base counts
    without the data files that are `replaced_files`, and without so many rows of the file versions that are
    `rewritten`.
    """

    table: T
    base: T | None
    difference: Difference
    columns: Mapping[str, IcebergField]
    files: PerFile
    replaced_files: Sequence[DataFile] = ()
    rewritten: Mapping[str, int] = field(default_factory=dict)


class Source(Protocol[T, V_contra]):
    """The files and the branch of one job, with its own tables and views: where rows come from, and where they go."""

    @property
    def storage(self) -> Storage: ...

    @property
    def files(self) -> StagedFiles: ...

    def head(self) -> str:
        """Return the commit that the job's branch points to. Raise OSError if Nessie does not answer."""

    def load(self, table: str, *refs: Ref) -> list[T | None]:
        """Return the table at each `branch` or `branch@hash`, None if there is none."""

    def prepare(self, table: T | None, columns: Sequence[TableColumn]) -> None:
        """Make the branch's table, or bring it up to these columns. Raise Unfit, and change nothing, if it cannot."""

    def remove_replaced(self, table: T, files: Mapping[str, Any]) -> None:
        """Put, in the place of these data files, what they hold without the rows that the job replaces."""

    def quarantine(
        self,
        view: V_contra,
        order: Sequence[str],
        failures: Mapping[str, Sequence[str]],
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        """Append the rows with `failures` to the quarantine table, with the rows of the inspected files that do
        not parse by `plan`; then leave the table without them. `order` are the good files as they landed.
        """

    def append_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Append these rows to the audits table, made if it is not there: in one commit, each file version's in data
        files of its own. Raise Unfit, and change nothing, if the table is not as lakegate makes it, and JobError or
        HandedOver if an earlier run has written there.
        """


class Engine(Protocol[T, V]):
    """A reader, writer and measurer of the rows of one source."""

    @property
    def source(self) -> Source[T, V]: ...

    def check_references(self, plan: Plan) -> None:
        """Raise Unfit if a foreign key does not fit the table that it refers to."""

    def view(self, plan: Plan, proof: ProvedTable[T]) -> V: ...

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        """Append these files in one commit. Return them, with a fault on each that could not be written."""
