"""Quarantine: failing rows of files that may give them up move to the quarantine table, and the rest stays.

It judges nothing. Each data file that it writes has rows of one file version, and the audit proves that again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.run import utc_now
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
    table: Table, job: Job, file: str, kinds: Mapping[str, str], rows: pa.Table, row_reasons: Reasons, io: PyArrowFileIO
) -> list[DataFile]:
    """Write those of a file's rows that fail something, as JSON, without a commit: data files of the quarantine table.
    `kinds` are the Spark SQL types of the columns in the JSON, in their order.
    """
    [key] = [entry.key for entry in job.files if entry.id == file]
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    bad = rows.filter(pa.array([bool(names) for names in row_reasons], pa.bool_()))
    texts = [row_json(kinds, row) for row in zip(*(values_of(bad.column(name)) for name in kinds), strict=True)]
    reasons = [list(names) for names in row_reasons if names]
    of_file = {FILE_COLUMN: file, "key": key, "batch": job.batch, "attempt": job.attempt, "quarantined_at": utc_now()}
    values: dict[str, Any] = {name: [of_file.get(name)] * bad.num_rows for name in schema.names}
    values |= {"row_json": texts, "reasons": reasons}
    return appending.write(table, pa.table(values, schema=schema), io, 1)


def write_rest(table: Table, rows: pa.Table, row_reasons: Reasons, io: PyArrowFileIO, limits: Limits) -> list[DataFile]:
    """Write those of a file's rows that fail nothing, as data files of its table, without a commit."""
    stay = rows.filter(pa.array([not names for names in row_reasons]))
    return appending.write(table, stay, io, limits.partitions) if stay.num_rows else []
