"""Noting: what the audit found becomes rows of the audits table. Each data file has rows of one file version."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.audit.evaluation.audits import Row
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express import appending

_AT_ONCE = 8  # data files that are written concurrently


def write(table: Table, rows: Mapping[str, Sequence[Row]], io: PyArrowFileIO) -> list[DataFile]:
    """Write the rows, by file version, as data files of the audits table, without a commit."""
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    tables = [
        pa.Table.from_pylist([{FILE_COLUMN: file, **row} for row in file_rows], schema=schema)
        for file, file_rows in rows.items()
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        file_groups = list(pool.map(lambda part: appending.write(table, part, io, 1), tables))
    return [file for files in file_groups for file in files]
