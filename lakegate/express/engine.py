"""DuckDB and PyIceberg as the engine of one job, in this process. The order of steps is in `lakegate.audit.run`.

An attempt of the express lane and a run without the service differ in their `Source` alone. What this engine cannot
compute exactly it does not compute: it raises HandedOver, and says so.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit import engine
from lakegate.audit.engine import ProvedTable
from lakegate.audit.errors import Unfit
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name
from lakegate.express.files import ParquetFiles
from lakegate.express.keys import Base
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.reading import Reader
from lakegate.express.rows import BrokenText
from lakegate.express.tables import ExpressTable
from lakegate.express.view import ExpressView


class Source(engine.Source[ExpressTable, ExpressView], Protocol):
    """Files and a branch for this engine. A source that `counts_keys` wants keys at fault counted, not handed over."""

    job: Job
    counts_keys: bool

    @property
    def files(self) -> ParquetFiles: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def duckdb(self) -> DuckDB: ...

    def reader(self, table: ExpressTable, names: Collection[str]) -> Reader:
        """Return a reader of these columns, at least, of a table's data files."""

    def target(self, plan: Plan) -> Table:
        """Return the prepared table of the branch, with the settings by which data files are written."""

    def write(self, table: Table, rows: pa.Table, file: str, part: int) -> list[DataFile]:
        """Write a part of a file's rows as data files of the table, without a commit."""

    def commit(self, inspections: Sequence[Inspection], files: Mapping[str, Sequence[DataFile]]) -> None:
        """Append the data files, by file version, in one commit."""


@dataclass(frozen=True, kw_only=True)
class DuckDBEngine:
    """One job, or one append or audit of a run."""

    source: Source

    def check_references(self, plan: Plan) -> None:
        """See the protocol. A foreign key that does not fit is found when it is compared, and handed over."""

    def view(self, plan: Plan, proof: ProvedTable[ExpressTable]) -> ExpressView:
        source, job = self.source, self.source.job
        tables = {job.plan.table: proof.base}

        def load(name: str) -> ExpressTable | None:
            if name not in tables:
                [tables[name]] = source.load(name, Ref(job.branch, job.base))
            return tables[name]

        base = Base(
            load=load,
            reader=source.reader,
            limits=source.limits,
            replaced_files=proof.replaced_files,
            counts_keys=source.counts_keys,
        )
        reader = source.reader(proof.table, [column.name for column in job.plan.columns])
        return ExpressView(
            plan=plan,
            files=proof.files,
            columns=proof.columns,
            read=lambda file, names: reader.rows(proof.files[file], names),
            duckdb=source.duckdb,
            base=base,
            past=job.baseline,
            entries=proof.difference.new_files.entries,
        )

    def append(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        source, table = self.source, self.source.target(plan)
        files, faulty = dict[str, list[DataFile]](), dict[str, Inspection]()
        for inspection in inspections:
            try:
                files[inspection.id] = self._write(plan, table, inspection)
            except BrokenText as error:
                faulty[inspection.id] = source.files.with_faults(inspection, error)
        source.commit([inspection for inspection in inspections if inspection.id in files], files)
        return [faulty.get(inspection.id, inspection) for inspection in inspections]

    def _write(self, plan: Plan, table: Table, inspection: Inspection) -> list[DataFile]:
        source, schema = self.source, schema_to_pyarrow(table.schema(), include_field_ids=False)
        names = schema.names
        if FILE_COLUMN not in names:
            schema = schema.append(pa.field(FILE_COLUMN, pa.string()))
        files = list[DataFile]()
        for part, rows in enumerate(source.files.rows(plan, inspection, schema, source.limits.arrow)):
            _check_nulls(table, rows)
            files += source.write(table, rows.select(names), inspection.id, part)
        return files


def _check_nulls(table: Table, rows: pa.Table) -> None:
    """Raise Unfit if a column of the table takes no null, and the rows have one."""
    for field in table.schema().fields:
        if field.required and rows.column(field.name).null_count:
            raise Unfit(f"column {display_name(field.name)} of the table takes no null, and the data has some")
