"""Quarantine: failing rows of files that may give them up move to the quarantine table, and the rest stays.

It judges nothing. Each data file that it writes has rows of one file version, and the audit proves that again.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express import appending
from lakegate.express.limits import Limits
from lakegate.express.metrics import UNSURE, DuckDB
from lakegate.express.samples import values_of
from lakegate.express.spelling import row_json

Reasons = Sequence[tuple[str, ...]]
"""The names of the checks that each row of a file fails, in the order of the rows."""


def reasons(plan: Plan, rows: pa.Table, checks: Collection[str], duckdb: DuckDB) -> Reasons:
    """Return for each row of a file which of these checks, by id, it fails. Of rows with one key the first stays."""
    rejects = [check for check in plan.checks if check.id in checks]
    marks = duckdb.marks([plan.metric(check.metric) for check in rejects], rows)
    if any(mark is None for row in marks for mark in row):
        raise HandedOver(UNSURE)
    return [tuple(check.name for check, fails in zip(rejects, row, strict=True) if fails) for row in marks]


def leave(
    table: Table, job: Job, file: str, rows: Sequence[str], row_reasons: Reasons, at: datetime, io: PyArrowFileIO
) -> list[DataFile]:
    """Write those of a file's rows, told as JSON, that fail something: data files of the quarantine table, without a
    commit.
    """
    [key] = [entry.key for entry in job.files if entry.id == file]
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    quarantined_rows = [(row, names) for row, names in zip(rows, row_reasons, strict=True) if names]
    of_all = {FILE_COLUMN: file, "key": key, "batch": job.batch, "attempt": job.attempt, "quarantined_at": at}
    of_each = {
        "row_json": [row for row, _ in quarantined_rows],
        "reasons": [list(names) for _, names in quarantined_rows],
    }
    values = {**{name: [value] * len(quarantined_rows) for name, value in of_all.items()}, **of_each}
    columns = [pa.array(values.get(field.name, [None] * len(quarantined_rows)), field.type) for field in schema]
    return appending.write(table, pa.Table.from_arrays(columns, schema=schema), io, 1)


def row_texts(rows: pa.Table, kinds: Mapping[str, str]) -> list[str]:
    """Return each row as JSON; `kinds` are the Spark SQL types of the columns to tell, in their order."""
    columns = [values_of(rows.column(name)) for name in kinds]
    return [row_json(kinds, row) for row in zip(*columns, strict=True)]


def write_rest(table: Table, rows: pa.Table, row_reasons: Reasons, io: PyArrowFileIO, limits: Limits) -> list[DataFile]:
    """Write those of a file's rows that fail nothing, as data files of its table, without a commit."""
    stay = rows.filter(pa.array([not names for names in row_reasons]))
    return appending.write(table, stay, io, limits.partitions) if stay.num_rows else []
