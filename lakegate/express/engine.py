"""The engine of one job: a module carries out each method. The order of steps is in `lakegate.audit.run`."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import requests
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as IcebergTable

from lakegate.adapters.http import TimeoutAdapter, mount
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.refs import segment
from lakegate.audit.definition import AUDITS, QUARANTINE
from lakegate.audit.engine import Proved
from lakegate.audit.errors import HandedOver, JobError
from lakegate.audit.evaluation.audits import Row, audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.ref import Ref
from lakegate.audit.run import utc_now
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.counts import count
from lakegate.errors import Conflict, OutcomeUnknown
from lakegate.express import appending, footer, noting, own, quarantine
from lakegate.express.creating import create
from lakegate.express.keys import Base
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.objects import Objects
from lakegate.express.plan import spark_only
from lakegate.express.process import Process
from lakegate.express.reading import Reader
from lakegate.express.rows import rows_of
from lakegate.express.tables import ExpressTable, fit, shape
from lakegate.express.view import ExpressView

_AT_ONCE = 8  # staged files that are fetched concurrently


@dataclass(kw_only=True)
class ExpressFiles:
    """The job's staged files, each fetched once."""

    job: Job
    limits: Limits
    objects: Objects
    bodies: dict[str, bytes] = field(default_factory=dict)

    def inspect(self) -> list[Inspection]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            bodies = list(pool.map(self._fetched, self.job.files))
        self.bodies = {file.id: body for file, body in zip(self.job.files, bodies, strict=True)}
        limits = self.job.plan.files.limits
        found = [footer.inspect(file, self.bodies[file.id], limits) for file in self.job.files]
        self._check_sizes([each for each in found if not each.faults])
        return found

    def _fetched(self, file: JobFile) -> bytes:
        try:
            return self.objects.read(file.uri, file.size) if file.size else b""
        except FileNotFoundError as error:
            raise HandedOver(f"The staged copy of {file.key} is gone.") from error

    def _check_sizes(self, found: Sequence[Inspection]) -> None:
        rows = sum(each.rows for each in found)
        if rows > self.limits.rows:
            raise HandedOver(f"The batch has {count(rows, 'row')}, and the express engine takes {self.limits.rows:,}.")
        size = sum(footer.uncompressed(self.bodies[each.id]) for each in found)
        if size > self.limits.uncompressed:
            most = self.limits.uncompressed
            raise HandedOver(
                f"The batch has {count(size, 'byte')} uncompressed, and the express engine takes {most:,}."
            )

    def check_tries(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return list(inspections)  # no plan with tries comes here

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        if inspections:
            raise HandedOver("An earlier run of this attempt has appended a part of its files.")
        return []

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], there: Mapping[str, int]
    ) -> dict[str, int]:
        return {}  # every row of a parquet file parses


@dataclass(kw_only=True)
class ExpressEngine:
    """One job. `http` reaches Nessie, with the job's identity."""

    job: Job
    process: Process
    http: TimeoutAdapter
    duckdb: DuckDB
    catalogs: dict[Ref, RefCatalog] = field(default_factory=dict)
    there: ExpressTable | None = None

    @classmethod
    @contextmanager
    def opened(cls, job: Job, process: Process) -> Iterator["ExpressEngine"]:
        """Yield the engine. Raise HandedOver if the job itself tells that Spark must take it."""
        _check(job, process.limits)
        with process.duckdb() as duckdb:
            yield cls(job=job, process=process, http=process.http(job), duckdb=duckdb)

    @property
    def limits(self) -> Limits:
        return self.process.limits

    @property
    def objects(self) -> Objects:
        return self.process.objects

    @property
    def storage(self) -> Objects:
        return self.objects

    @cached_property
    def files(self) -> ExpressFiles:
        return ExpressFiles(job=self.job, limits=self.limits, objects=self.objects)

    def head(self) -> str:
        """See the protocol. Errors of Requests are OSErrors."""
        url = f"{self.job.nessie_uri}/api/v2/trees/{segment(Ref(self.job.branch))}"
        answer = mount(requests.Session(), self.http).get(url)
        answer.raise_for_status()
        return str(answer.json()["reference"]["hash"])

    def load(self, table: str, *refs: Ref) -> list[ExpressTable | None]:
        with ThreadPoolExecutor(len(refs)) as pool:
            return list(pool.map(lambda ref: self._load(ref, table), refs))

    def _load(self, ref: Ref, name: str) -> ExpressTable | None:
        with iceberg_errors(f"reading {name} at {ref}"):
            found = self._catalog(ref).find_table(name)
        return None if found is None else ExpressTable(own=found)

    def _catalog(self, ref: Ref) -> RefCatalog:
        if ref not in self.catalogs:
            job = self.job
            known = self.process.metadata
            self.catalogs[ref] = RefCatalog(job.nessie_uri, job.warehouse, ref, http=self.http, files=known)
        return self.catalogs[ref]

    def check_references(self, plan: Plan) -> None:
        """See the protocol. A foreign key that does not fit is found when it is compared, and handed over."""

    def view(self, plan: Plan, proved: Proved[ExpressTable]) -> ExpressView:
        schema = schema_to_pyarrow(proved.table.own.schema(), include_field_ids=False)
        reader = Reader(self.objects.read, proved.columns, schema, proved.table.names())
        return ExpressView.of(plan, proved, reader, self.duckdb, self._base(proved), self.job.baseline)

    def _base(self, proved: Proved[ExpressTable]) -> Base:
        known: dict[str, ExpressTable | None] = {self.job.plan.table: proved.base}

        def load(name: str) -> ExpressTable | None:
            if name not in known:
                known[name] = self._load(Ref(self.job.branch, self.job.base), name)
            return known[name]

        return Base(load=load, fetch=self.objects.read, limits=self.limits, replaced=proved.replaced)

    def prepare(self, table: ExpressTable | None, columns: Sequence[TableColumn]) -> None:
        if table is None:
            table = ExpressTable(own=create(self._catalog(Ref(self.job.branch)), self.job.plan, columns))
        if changed := fit(self.job.plan, table.own, columns):
            appending.set_properties(table.own, changed)
        self.there = table

    def remove_replaced(self, table: ExpressTable, files: Mapping[str, Any]) -> None:
        raise HandedOver("The batch replaces rows that somebody has rewritten, which only Spark takes out.")

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        if self.there is None:
            raise JobError(f"batch {self.job.batch}: no table was prepared. Run: lakegate retry {self.job.batch}")
        table, left = self.there.own, self.limits.arrow
        schema, files = schema_to_pyarrow(table.schema(), include_field_ids=False), []
        for each in inspections:
            rows = rows_of(plan, each, self.files.bodies.pop(each.id), schema, left)
            left -= rows.nbytes
            files += appending.write(table, rows, self.process.data, self.limits.partitions)
        self._commit(self.job.plan.table, table, files)
        return list(inspections)

    def _commit(self, name: str, table: IcebergTable, files: Sequence[DataFile]) -> None:
        try:
            appending.commit(table, files)
        except (Conflict, OutcomeUnknown):  # a request that is delivered twice is told that it came too late
            if not self._is_there(name, {file.file_path for file in files}):
                raise

    def _is_there(self, name: str, paths: Collection[str]) -> bool:
        """Return True if a table on the branch has just these data files beyond its base: the answer was lost, and not
        the commit.
        """
        there, base = self._with_base(name)
        return there is not None and there.changes_since(base).added.entries.keys() == set(paths)

    def quarantine(
        self,
        view: ExpressView,
        order: Sequence[str],
        failed: Mapping[str, Sequence[str]],
        plan: Plan,
        inspections: Sequence[Inspection],
    ) -> None:
        job, ref = self.job, Ref(self.job.branch)
        name = quarantine_of(plan.table, distinct=job.distinct)
        replaced = {data.path for data in job.replaced_quarantined}
        there, base = self._with_base(name)
        aside = own.table_for(self._catalog(ref), name, QUARANTINE, there, base, replaced)
        [table] = self.load(plan.table, ref)
        if table is None:
            raise JobError(f"batch {job.batch}: branch {job.branch} has no table {plan.table}")
        kinds = {column: kind for column, kind in shape(table.own).columns.items() if column != FILE_COLUMN}
        going, gone, left = [], [], []
        for file, checks in failed.items():
            why, rows = view.reasons(file, checks), view.read(file, [*kinds, FILE_COLUMN])
            going += quarantine.leave(aside, job, file, quarantine.told(rows, kinds), why, utc_now(), self.process.data)
            gone += [view.entries[data.path] for data in view.files[file]]
            left += quarantine.kept(table.own, rows, why, self.process.data, self.limits)
        appending.commit(aside, going)
        appending.replace(table.own, gone, left)

    def note_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        name = audits_of(self.job.plan.table, distinct=self.job.distinct)
        there, base = self._with_base(name)
        own.check(name, AUDITS, there)
        table = own.table_for(self._catalog(Ref(self.job.branch)), name, AUDITS, there, base)
        self._commit(name, table, noting.write(table, rows, self.process.data))

    def _with_base(self, name: str) -> list[ExpressTable | None]:
        """Return a table as it is on the branch, and as it is at the base."""
        return self.load(name, Ref(self.job.branch), Ref(self.job.branch, self.job.base))


def _check(job: Job, limits: Limits) -> None:
    if why := spark_only(job.plan):
        raise HandedOver(why)
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
