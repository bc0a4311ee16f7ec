"""A run as the source of an engine: its appends, and its branch of any catalog."""

# ruff: noqa: ARG002 - the arguments are a protocol's

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.decoding import MOST_BYTES
from lakegate.audit.data_files.statistics import columns_asked
from lakegate.audit.definition import STATISTICS
from lakegate.audit.errors import HandedOver, JobError
from lakegate.audit.evaluation.audits import Row
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection
from lakegate.errors import Conflict
from lakegate.express import appending
from lakegate.express.files import ParquetFiles
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.tables import ExpressTable
from lakegate.express.view import ExpressView
from lakegate.publishing.iceberg.refs import snapshot_of, table_at
from lakegate.wap.history import Append, appends_on, summary, written_by
from lakegate.wap.place import Open, Workplace
from lakegate.wap.spool import Spool, SpooledReader
from lakegate.wap.table import RunTable

_GIB = 1024**3
_THREADS = 4  # of DuckDB: each holds rows of its own in memory
LIMITS = Limits(
    bytes=64 * _GIB,
    uncompressed=256 * _GIB,
    rows=1_000_000_000,
    arrow=MOST_BYTES,
    files=10_000,
    compared_files=10_000,
    partitions=10_000,
    memory=_GIB,
    threads=min(_THREADS, os.cpu_count() or 1),
)
"""Limits of a process that is a person's own: `arrow` are bytes of a file's rows in memory at once, and the rest is on
disk, as is what DuckDB has beyond its memory.
"""


def job_of(branch: str, batch: str, base: str, plan: Plan, files: tuple[JobFile, ...], lane: Lane = Lane.SPARK) -> Job:
    """Return the work of a run. It has no service: no place for notes, and no address of a catalog."""
    return Job(
        branch=branch,
        batch=batch,
        attempt=1,
        base=base,
        catalog=NO_CATALOG,
        report_uri="",
        begun_uri="",
        plan=plan,
        files=files,
        lane=lane,
    )


@dataclass(kw_only=True)
class RunSource:
    """One append, or one audit, of a run, whichever engine does it. `branch` is the branch as this step has read it.
    `allow_new_columns` are columns that the table on main may get before the audit. `states` has the states of other
    tables that rows were compared with.
    """

    job: Job
    branches: Workplace
    branch: Open
    key: str
    allow_new_columns: Collection[str] = ()
    states: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.appends: list[Append] = appends_on(self.branches.steps(self.branch))
        self._tables: dict[str, Any] = {}

    @property
    def storage(self) -> NoReturn:
        raise HandedOver("A run has no notes.")  # the catalog has what there is to know

    def head(self) -> str:
        branch = self.branches.find(self.branch.name)
        if branch is None or branch.at != self.branch.at:
            raise Conflict(f"branch {self.branch.name} was changed by somebody while it was worked on")
        return branch.at

    def load(self, table: str, *refs: Ref) -> list[Any]:
        if table != self.job.plan.table:
            return [self._other(table)] * len(refs)
        return [self._as_table(self.branch.base if ref.commit == self.job.base else self.branch.head) for ref in refs]

    def _other(self, name: str) -> Any:
        """Return another table as it is on main at its first use, and keep its state."""
        if name not in self._tables:
            table = self.branches.other(name)
            self.states[name] = snapshot_of(table)
            self._tables[name] = self._as_table(table)
        return self._tables[name]

    def _as_table(self, table: Table | None) -> Any:
        """Return a table as the engine has it; None if there is none."""
        return RunTable(table=table, appends=self.appends) if table else None

    def prepare(self, table: Any, columns: Sequence[TableColumn]) -> None:
        self.branch = self.branches.fit(self.branch, self.job.plan, columns, self.allow_new_columns)

    def target(self, plan: Plan) -> Table:
        """Return the branch's table, by which data files have statistics of each column with a check; its own stay."""
        if self.branch.head is None:
            raise JobError(f"branch {self.branch.name} has no table {plan.table}")
        names = {name for metric in plan.metrics for name in columns_asked(metric)}
        settings = {f"{STATISTICS}{name}": "truncate(16)" for name in names}
        return table_at(self.branch.head, snapshot_of(self.branch.head), settings)

    def commit(self, inspections: Sequence[Inspection], files: Mapping[str, Sequence[DataFile]]) -> None:
        appends = [_append(inspection, files[inspection.id]) for inspection in inspections]
        data_files = [data for inspection in inspections for data in files[inspection.id]]
        self.branch = self.branches.append(self.branch, data_files, summary(self.key, appends))
        self.appends += appends

    def remove_replaced(self, table: Any, files: Mapping[str, Any]) -> None:
        raise HandedOver("A run replaces no rows.")

    def quarantine(self, view: Any, order: Any, failures: Any, plan: Plan, inspections: Sequence[Inspection]) -> None:
        raise HandedOver("A run quarantines no rows.")  # its plan has no such check

    def append_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        raise HandedOver("A run notes no audits.")  # nobody asks it to


@dataclass(kw_only=True)
class DuckDBRun(RunSource):
    """`Source` of an append, or an audit, in DuckDB, whose rows are in a folder."""

    files: ParquetFiles
    folder: str
    limits: Limits = LIMITS
    counts_keys: bool = True

    @cached_property
    def spool(self) -> Spool:
        return Spool(Path(self.folder))

    @cached_property
    def duckdb(self) -> DuckDB:
        return DuckDB(replace(self.limits, spill=str(Path(self.folder) / "duckdb")))

    def close(self) -> None:
        if "duckdb" in vars(self):
            self.duckdb.close()

    def reader(self, table: ExpressTable, names: Collection[str]) -> SpooledReader:
        def fetch(path: str) -> bytes:
            with table.table.io.new_input(path).open() as body:
                return bytes(body.read())

        return SpooledReader(self.spool, fetch, table, names)

    def write(self, table: Table, rows: pa.Table, file: str, part: int) -> list[DataFile]:
        """See the protocol. By their names, parts are read in their order in the file."""
        name = UUID(int=(UUID(file).int + part) % 2**128)
        return appending.write(table, rows, table.io, self.limits.partitions, name)

    def rows(self, view: ExpressView, append: str) -> pa.Table:
        """Return the audited rows of an append, by its id, in the contract's columns."""
        return view.read(append, [column.name for column in self.job.plan.columns])


def _append(inspection: Inspection, files: Iterable[DataFile]) -> Append:
    """Return the record of what was appended, by which its data files are known again."""
    writes = dict.fromkeys(written_by(file.file_path) for file in files)
    paths = tuple(write for write in writes if write != inspection.id)
    return Append(id=inspection.id, name=inspection.file.key, rows=inspection.rows, paths=paths)
