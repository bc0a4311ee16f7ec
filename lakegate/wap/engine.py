"""The audit's engine for one run: DuckDB and PyIceberg, as the express lane has them, on a branch of any catalog.

What it cannot compute exactly it does not compute: it raises HandedOver, and says so.
"""

# ruff: noqa: ARG002 - the arguments are a protocol's

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.decoding import MOST_BYTES
from lakegate.audit.data_files.statistics import columns_asked
from lakegate.audit.definition import STATISTICS
from lakegate.audit.engine import ProvedTable
from lakegate.audit.errors import HandedOver, JobError, Unfit
from lakegate.audit.evaluation.audits import Row
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name
from lakegate.errors import Conflict
from lakegate.express import appending, footer
from lakegate.express.keys import Base
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.reading import Reader
from lakegate.express.rows import BrokenText, parts_of
from lakegate.publishing.iceberg.refs import pinned, snapshot_of
from lakegate.wap.history import Append, appends_on, summary, written_by
from lakegate.wap.place import Open, Workplace
from lakegate.wap.spool import Spool
from lakegate.wap.table import RunTable
from lakegate.wap.view import RunView

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


class Nowhere:
    """`Storage` of a run, which has no notes: the catalog has what there is to know."""

    def read(self, uri: str) -> bytes:
        raise FileNotFoundError(uri)

    def write(self, uri: str, body: bytes) -> None:
        """Keep nothing."""


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """Files that are to be appended, as parquet in memory, by id."""

    job: Job
    bodies: Mapping[str, bytes] = field(default_factory=dict)

    def inspect(self) -> list[Inspection]:
        limits = self.job.plan.files.limits
        return [footer.inspect(file, self.bodies[file.id], limits) for file in self.job.files]

    def rows(self, plan: Plan, each: Inspection, schema: pa.Schema, most: int) -> Iterable[pa.Table]:
        """Return a file's rows as the table will hold them, in parts of about so many bytes in memory."""
        return parts_of(plan, each, self.bodies[each.id], schema, most)

    def refused(self, each: Inspection, error: BrokenText) -> Inspection:
        """Return a file that cannot be appended with its faults. Raise Unfit if then none is to be."""
        raise Unfit(f"{each.file.key}: {'; '.join(error.faults)}", error.faults[0].advice) from error

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return list(inspections)  # an append is one commit: it is there, or none of it is

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], there: Mapping[str, int]
    ) -> dict[str, int]:
        return {}  # every row of a parquet file parses


@dataclass(kw_only=True)
class RunEngine:
    """One append, or one audit, of a run. `branch` is the branch as this step has found it; `asked_for` are columns
    that the table on main may get before the audit. Its rows are in a folder that goes with it.
    """

    job: Job
    branches: Workplace
    branch: Open
    key: str
    files: RunFiles
    limits: Limits = LIMITS
    asked_for: Collection[str] = ()
    seen: dict[str, int | None] = field(default_factory=dict)
    viewed: Any = None

    def __post_init__(self) -> None:
        self.appends: list[Append] = appends_on(self.branches.steps(self.branch))
        self._others: dict[str, RunTable | None] = {}

    @cached_property
    def folder(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(prefix="lakegate-rows-")

    @cached_property
    def reading(self) -> Spool:
        """A maker of readers of data files."""
        return Spool(Path(self.folder.name))

    @cached_property
    def duckdb(self) -> DuckDB:
        return DuckDB(replace(self.limits, spill=str(Path(self.folder.name) / "duckdb")))

    def close(self) -> None:
        if "duckdb" in vars(self):
            self.duckdb.close()
        if "folder" in vars(self):
            self.folder.cleanup()

    @property
    def storage(self) -> Nowhere:
        return Nowhere()

    def head(self) -> str:
        found = self.branches.find(self.branch.name)
        if found is None or found.at != self.branch.at:
            raise Conflict(f"branch {self.branch.name} was changed by somebody while it was worked on")
        return found.at

    def load(self, table: str, *refs: Ref) -> list[RunTable | None]:
        return [self._at(ref) if table == self.job.plan.table else self._other(table) for ref in refs]

    def _at(self, ref: Ref) -> RunTable | None:
        found = self.branch.base if ref.commit == self.job.base else self.branch.head
        return self._known(found) if found else None

    def _known(self, found: Table) -> RunTable:
        return RunTable(table=found, appends=self.appends)

    def _other(self, name: str) -> RunTable | None:
        """Return another table as it is on main at its first use, and note its state."""
        if name not in self._others:
            found = self.branches.other(name)
            self.seen[name] = snapshot_of(found)
            self._others[name] = self._known(found) if found else None
        return self._others[name]

    def check_references(self, plan: Plan) -> None:
        """See the protocol. A foreign key that does not fit is found when it is compared."""

    def view(self, plan: Plan, proved: ProvedTable[RunTable]) -> RunView:
        reader, base = self._reader(), self._base(proved)
        view = self.viewed = RunView.of(plan, proved, reader, self.duckdb, base, self.job.baseline)
        return view

    def rows(self, append: str) -> pa.Table:
        """Return the audited rows of an append, by its id, in the contract's columns."""
        return self.viewed.read(append, [column.name for column in self.job.plan.columns])

    def _reader(self) -> Reader:
        table = self._known(self._table())
        named = {column.name for column in self.job.plan.columns}
        schema = schema_to_pyarrow(table.table.schema(), include_field_ids=False)
        types = pa.schema([column for column in schema if column.name in named])
        return self.reading(self._fetch, table.fields(), types, table.names())

    def _table(self) -> Table:
        if self.branch.head is None:
            raise JobError(f"branch {self.branch.name} has no table {self.job.plan.table}")
        return self.branch.head

    def _base(self, proved: ProvedTable[RunTable]) -> Base:
        def load(name: str) -> RunTable | None:
            return proved.base if name == self.job.plan.table else self._other(name)

        return Base(load=load, fetch=self._fetch, limits=self.limits, reading=self.reading)

    def _fetch(self, path: str) -> bytes:
        with self._table().io.new_input(path).open() as body:
            return bytes(body.read())

    def prepare(self, table: RunTable | None, columns: Sequence[TableColumn]) -> None:
        self.branch = self.branches.fit(self.branch, self.job.plan, columns, self.asked_for)

    def remove_replaced(self, table: RunTable, files: Mapping[str, Any]) -> None:
        raise HandedOver("A run replaces no rows.")

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        table = self._table()
        written, faulty = dict[str, list[DataFile]](), dict[str, Inspection]()
        for each in inspections:
            try:
                written[each.id] = self._written(plan, table, each)
            except BrokenText as error:
                faulty[each.id] = self.files.refused(each, error)
        files = [file for its in written.values() for file in its]
        appends = [_append(each, written[each.id]) for each in inspections if each.id in written]
        self.branch = self.branches.append(self.branch, files, summary(self.key, appends))
        self.appends += appends
        return [faulty.get(each.id, each) for each in inspections]

    def _written(self, plan: Plan, table: Table, each: Inspection) -> list[DataFile]:
        own = schema_to_pyarrow(table.schema(), include_field_ids=False)
        with_file = own if FILE_COLUMN in own.names else own.append(pa.field(FILE_COLUMN, pa.string()))
        told = pinned(table, snapshot_of(table), statistics_of(plan))
        files, first = list[DataFile](), UUID(each.id).int
        for at, part in enumerate(self.files.rows(plan, each, with_file, self.limits.arrow)):
            rows = part.select(own.names)
            _check_nulls(table, rows)
            name = UUID(int=(first + at) % 2**128)  # by their names they are read in the order of the file
            files += appending.write(told, rows, table.io, self.limits.partitions, name)
        return files

    def quarantine(
        self,
        view: RunView,
        order: Sequence[str],
        failed: Mapping[str, Sequence[str]],
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        raise HandedOver("A run quarantines no rows.")  # its plan has no such check

    def note_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        raise HandedOver("A run notes no audits.")  # nobody asks it to


def _append(each: Inspection, files: Iterable[DataFile]) -> Append:
    """Return the note of what was appended, by which its data files are known again."""
    writes = dict.fromkeys(written_by(file.file_path) for file in files)
    return Append(id=each.id, name=each.file.key, rows=each.rows, paths=tuple(it for it in writes if it != each.id))


def statistics_of(plan: Plan) -> dict[str, str]:
    """Return the settings by which data files have statistics of each column with a check; the table's own stay."""
    return {f"{STATISTICS}{name}": "truncate(16)" for metric in plan.metrics for name in columns_asked(metric)}


def _check_nulls(table: Table, rows: pa.Table) -> None:
    """Raise Unfit if a column of the table takes no null, and the rows have one."""
    for field_ in table.schema().fields:
        if field_.required and rows.column(field_.name).null_count:
            raise Unfit(f"column {display_name(field_.name)} of the table takes no null, and the data has some")
