"""Rows on disk, mapped into memory: they are read where they are asked for, and take the memory that there is."""

from collections.abc import Iterable
from pathlib import Path
from shutil import disk_usage
from tempfile import NamedTemporaryFile

import pyarrow as pa

from lakegate.adapters.decoding import within_limit

SHARE = 2
"""The part of the free disk that one table may take: a half."""


def spool(schema: pa.Schema, rows: Iterable[pa.RecordBatch | pa.Table], folder: Path | None = None) -> pa.Table:
    """Return these rows as one table, whose file goes with it. It is in the folder, by default in `TMPDIR`."""
    with NamedTemporaryFile(prefix="lakegate-rows-", suffix=".arrow", dir=folder) as place:
        limit = disk_usage(place.name).free // SHARE
        with pa.ipc.new_file(place.name, schema) as writer:
            for part in within_limit(rows, limit, "disk in TMPDIR"):
                writer.write(part)
        return pa.ipc.open_file(pa.memory_map(place.name)).read_all()
