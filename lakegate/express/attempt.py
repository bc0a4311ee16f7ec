"""Attempt of the express lane as a source: its staged files, and its branch in Nessie."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import requests
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.http import TimeoutAdapter, mount
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.refs import segment
from lakegate.audit.definition import AUDITS, QUARANTINE
from lakegate.audit.errors import HandedOver, JobError
from lakegate.audit.evaluation.audits import Row, audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.counts import count
from lakegate.errors import Conflict, OutcomeUnknown
from lakegate.express import appending, footer, noting, own, quarantine
from lakegate.express.creating import create
from lakegate.express.engine import DuckDBEngine
from lakegate.express.files import ParquetFiles
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.objects import Objects
from lakegate.express.plan import spark_only
from lakegate.express.process import Process
from lakegate.express.reading import Reader
from lakegate.express.rows import BrokenText, rows_of
from lakegate.express.tables import ExpressTable, fit, shape
from lakegate.express.view import ExpressView

_AT_ONCE = 8  # staged files that are fetched concurrently


@dataclass(kw_only=True)
class StagedParquet(ParquetFiles):
    """Staged files of a job, each fetched once, and let go once its rows are read."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    limits: Limits
    objects: Objects
    memory: int = 0  # of the rows that were read

    def inspect(self) -> list[Inspection]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            bodies = list(pool.map(self._fetch, self.job.files))
        self.bodies = {file.id: body for file, body in zip(self.job.files, bodies, strict=True)}
        inspections = super().inspect()
        self._check_sizes([inspection for inspection in inspections if not inspection.faults])
        return inspections

    def _fetch(self, file: JobFile) -> bytes:
        try:
            return self.objects.read(file.uri, file.size) if file.size else b""
        except FileNotFoundError as error:
            raise HandedOver(f"The staged copy of {file.key} is gone.") from error

    def _check_sizes(self, inspections: Sequence[Inspection]) -> None:
        rows = sum(inspection.rows for inspection in inspections)
        if rows > self.limits.rows:
            raise HandedOver(f"The batch has {count(rows, 'row')}, and the express engine takes {self.limits.rows:,}.")
        size = sum(footer.uncompressed_size(self.bodies[inspection.id]) for inspection in inspections)
        if size > self.limits.uncompressed:
            limit = self.limits.uncompressed
            raise HandedOver(
                f"The batch has {count(size, 'byte')} uncompressed, and the express engine takes {limit:,}."
            )

    def rows(self, plan: Plan, inspection: Inspection, schema: pa.Schema, limit: int) -> list[pa.Table]:
        """Return a file's rows in one part. Raise HandedOver if those of all files take more memory."""
        rows = rows_of(plan, inspection, self.bodies.pop(inspection.id), schema, limit - self.memory)
        self.memory += rows.nbytes
        return [rows]

    def with_faults(self, inspection: Inspection, error: BrokenText) -> Inspection:
        raise error

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        if inspections:
            raise HandedOver("An earlier run of this attempt has appended a part of its files.")
        return []


@dataclass(kw_only=True)
class Attempt:
    """`Source` of one job. `http` reaches Nessie, with the job's identity."""

    job: Job
    process: Process
    http: TimeoutAdapter
    duckdb: DuckDB
    catalogs: dict[Ref, RefCatalog] = field(default_factory=dict)
    current: ExpressTable | None = None
    counts_keys: bool = False

    @classmethod
    @contextmanager
    def start(cls, job: Job, process: Process) -> Iterator[DuckDBEngine]:
        """Yield the engine of a job. Raise HandedOver if the job itself says that Spark must take it."""
        _check(job, process.limits)
        with process.duckdb() as duckdb:
            yield DuckDBEngine(source=cls(job=job, process=process, http=process.http(job), duckdb=duckdb))

    @property
    def limits(self) -> Limits:
        return self.process.limits

    @property
    def storage(self) -> Objects:
        return self.process.objects

    @cached_property
    def files(self) -> StagedParquet:
        return StagedParquet(job=self.job, limits=self.limits, objects=self.storage)

    def head(self) -> str:
        """See the protocol. Errors of Requests are OSErrors."""
        url = f"{self.job.catalog.uri}/api/v2/trees/{segment(Ref(self.job.branch))}"
        answer = mount(requests.Session(), self.http).get(url)
        answer.raise_for_status()
        return str(answer.json()["reference"]["hash"])

    def load(self, table: str, *refs: Ref) -> list[ExpressTable | None]:
        with ThreadPoolExecutor(len(refs)) as pool:
            return list(pool.map(lambda ref: self._load(ref, table), refs))

    def _load(self, ref: Ref, name: str) -> ExpressTable | None:
        with iceberg_errors(f"reading {name} at {ref}"):
            table = self._catalog(ref).find_table(name)
        return None if table is None else ExpressTable(table=table)

    def _catalog(self, ref: Ref) -> RefCatalog:
        if ref not in self.catalogs:
            job = self.job
            metadata = self.process.metadata
            self.catalogs[ref] = RefCatalog(job.catalog.uri, job.catalog.warehouse, ref, http=self.http, files=metadata)
        return self.catalogs[ref]

    def reader(self, table: ExpressTable, names: Collection[str]) -> Reader:
        return Reader(self.storage.read, table)

    def prepare(self, table: ExpressTable | None, columns: Sequence[TableColumn]) -> None:
        if table is None:
            table = ExpressTable(table=create(self._catalog(Ref(self.job.branch)), self.job.plan, columns))
        if changes := fit(self.job.plan, table.table, columns):
            appending.set_properties(table.table, changes)
        self.current = table

    def remove_replaced(self, table: ExpressTable, files: Mapping[str, Any]) -> None:
        raise HandedOver("The batch replaces rows that somebody has rewritten, which only Spark takes out.")

    def target(self, plan: Plan) -> Table:
        if self.current is None:
            raise JobError(f"batch {self.job.batch}: no table was prepared. Run: lakegate retry {self.job.batch}")
        return self.current.table

    def write(self, table: Table, rows: pa.Table, file: str, part: int) -> list[DataFile]:
        return appending.write(table, rows, self.process.data, self.limits.partitions)

    def commit(self, inspections: Sequence[Inspection], files: Mapping[str, Sequence[DataFile]]) -> None:
        plan = self.job.plan
        self._commit(plan.table, self.target(plan), [data for file_group in files.values() for data in file_group])

    def _commit(self, name: str, table: Table, files: Sequence[DataFile]) -> None:
        try:
            appending.commit(table, files)
        except (Conflict, OutcomeUnknown):  # a request that is delivered twice is told that it came too late
            if not self._is_there(name, {file.file_path for file in files}):
                raise

    def _is_there(self, name: str, paths: Collection[str]) -> bool:
        """Return True if a table on the branch has just these data files beyond its base: the answer was lost, and not
        the commit.
        """
        table, base = self._with_base(name)
        return table is not None and table.changes_since(base).new_files.entries.keys() == set(paths)

    def quarantine(
        self,
        view: ExpressView,
        order: Sequence[str],
        failures: Mapping[str, Sequence[str]],
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        job, ref, io = self.job, Ref(self.job.branch), self.process.data
        name = quarantine_of(plan.table, distinct=job.distinct)
        replaced_paths = {data.path for data in job.replaced_quarantined}
        current, base = self._with_base(name)
        quarantine_table = own.table_for(self._catalog(ref), name, QUARANTINE, current, base, replaced_paths)
        [table] = self.load(plan.table, ref)
        if table is None:
            raise JobError(f"batch {job.batch}: branch {job.branch} has no table {plan.table}")
        kinds = {column: kind for column, kind in shape(table.table).columns.items() if column != FILE_COLUMN}
        quarantine_files, old_files, new_files = [], [], []
        for file, checks in failures.items():
            row_reasons, rows = view.reasons(file, (), checks), view.read(file, [*kinds, FILE_COLUMN])
            quarantine_files += quarantine.leave(quarantine_table, job, file, kinds, rows, row_reasons, io)
            old_files += [view.entries[data.path] for data in view.files[file]]
            new_files += quarantine.write_rest(table.table, rows, row_reasons, io, self.limits)
        appending.commit(quarantine_table, quarantine_files)
        appending.replace(table.table, old_files, new_files)

    def append_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        name = audits_of(self.job.plan.table, distinct=self.job.distinct)
        current, base = self._with_base(name)
        own.check(name, AUDITS, current)
        table = own.table_for(self._catalog(Ref(self.job.branch)), name, AUDITS, current, base)
        self._commit(name, table, noting.write(table, rows, self.process.data))

    def _with_base(self, name: str) -> list[ExpressTable | None]:
        """Return a table as it is on the branch, and as it is at the base."""
        return self.load(name, Ref(self.job.branch), Ref(self.job.branch, self.job.base))


def _check(job: Job, limits: Limits) -> None:
    if reason := spark_only(job.plan):
        raise HandedOver(reason)
    if job.reuses:
        raise HandedOver("The attempt reuses data files of an earlier one, which only Spark does.")
    if job.rewritten:
        raise HandedOver("The batch replaces rows that somebody has rewritten, which only Spark takes out.")
    if len(job.files) > limits.files:
        raise HandedOver(
            f"The batch has {count(len(job.files), 'file')}, and the express engine takes {limits.files:,}."
        )
    if (size := sum(file.size for file in job.files)) > limits.bytes:
        raise HandedOver(f"The batch has {count(size, 'byte')}, and the express engine takes {limits.bytes:,}.")
