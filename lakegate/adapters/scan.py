"""A scan of an Iceberg table in bounded memory: PyIceberg's, over data files that are decoded by as many rows as their
bytes allow. PyIceberg decodes 131,072 rows at once, of all files at the same time.
"""

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.visitors import bind, translate_column_names
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _combine_positional_deletes,
    _get_column_projection_values,
    _read_all_delete_files,
    _to_requested_schema,
    expression_to_pyarrow,
    pyarrow_to_schema,
    schema_to_pyarrow,
)
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema, prune_columns
from pyiceberg.table import DataScan, FileScanTask

from lakegate.adapters.decoding import TooLarge, parquet_batches
from lakegate.adapters.spool import spool

_FETCHES = 8  # data files that are fetched while others are decoded
_SMALL = 8 * 1024**2  # bytes of a data file that is fetched whole
_NANOSECONDS = 3  # the version of Iceberg from which on there are any


def read(scan: DataScan, seconds: float = math.inf) -> pa.Table:
    """Return the rows of a scan. They are on disk. Raise TooLarge if that takes more than so many seconds."""
    of = (scan.table_metadata, scan.io, scan.projection(), scan.row_filter, scan.case_sensitive, scan.limit)
    batches = _by_deadline(seconds, BoundedScan(*of).to_record_batches(scan.plan_files()))
    first = next(batches, None)
    if first is None:
        return schema_to_pyarrow(scan.projection(), include_field_ids=False).empty_table()
    schema = first.schema  # files differ in how long a text may be
    return spool(schema, (batch.cast(schema) for batch in chain([first], batches)))


def _by_deadline(seconds: float, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    end = time.monotonic() + seconds
    for batch in batches:
        if time.monotonic() > end:
            raise TooLarge(f"its rows take more than {seconds:g} s to read")
        yield batch


class BoundedScan(ArrowScan):
    """A scan that reads one data file after the other, and what follows only when it is asked for."""

    def to_record_batches(self, tasks: Iterable[FileScanTask]) -> Iterator[pa.RecordBatch]:
        remaining = self._limit
        for batch in self._batches(list(tasks)):
            yield batch if remaining is None else batch.slice(0, remaining)
            remaining = None if remaining is None else max(0, remaining - len(batch))
            if remaining == 0:
                return

    def _batches(self, tasks: Sequence[FileScanTask]) -> Iterator[pa.RecordBatch]:
        deletes = _read_all_delete_files(self._io, tasks)
        for task, body in self._bodies(tasks):
            path = task.file.file_path
            if task.file.file_format != FileFormat.PARQUET:
                yield from self._record_batches_from_scan_tasks_and_deletes([task], deletes)
            else:
                with self._io.new_input(path).open() if body is None else pa.BufferReader(body) as source:
                    yield from self._rows(task, source, deletes.get(path))

    def _bodies(self, tasks: Iterable[FileScanTask]) -> Iterator[tuple[FileScanTask, bytes | None]]:
        """Yield each data file with its bytes, if they are few. The next ones are fetched meanwhile."""
        fetches = deque[tuple[FileScanTask, Future[bytes | None]]]()
        with ThreadPoolExecutor(_FETCHES) as pool:
            for task in tasks:
                fetches.append((task, pool.submit(self._fetch, task)))
                if len(fetches) > _FETCHES:
                    first, body = fetches.popleft()
                    yield first, body.result()
            for first, body in fetches:
                yield first, body.result()

    def _fetch(self, task: FileScanTask) -> bytes | None:
        if task.file.file_size_in_bytes > _SMALL or task.file.file_format != FileFormat.PARQUET:
            return None
        with self._io.new_input(task.file.file_path).open() as source:
            return bytes(source.read())

    def _rows(self, task: FileScanTask, source: Any, deletes: list[pa.ChunkedArray] | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a data file that are not deleted and meet the filter, as the table has them."""
        file_schema = self._schema_of(source)
        missing_values = self._missing_values(task, file_schema)
        read_schema = prune_columns(file_schema, self._projected_field_ids, select_full_types=False)
        condition, at = self._condition(file_schema, missing_values), 0
        for batch in parquet_batches(source, [column.name for column in read_schema.columns], far=True):
            rest = _without(batch, deletes, at)
            at += len(batch)
            for rows in _matching_rows(rest, condition):
                yield _to_requested_schema(
                    self._projected_schema,
                    read_schema,
                    rows,
                    downcast_ns_timestamp_to_us=self._downcasts(),
                    projected_missing_fields=missing_values,
                    allow_timestamp_tz_mismatch=True,
                )

    def _downcasts(self) -> bool:
        option = self._downcast_ns_timestamp_to_us
        return self._table_metadata.format_version < _NANOSECONDS if option is None else option

    def _schema_of(self, source: Any) -> Schema:
        about = self._table_metadata
        return pyarrow_to_schema(
            pq.ParquetFile(source, coerce_int96_timestamp_unit="us").schema_arrow,
            about.name_mapping(),
            downcast_ns_timestamp_to_us=self._downcasts(),
            format_version=about.format_version,
        )

    def _missing_values(self, task: FileScanTask, file_schema: Schema) -> dict[int, Any]:
        """Return the values, by field id, of columns that are in the data file's partition only."""
        about, spec = self._table_metadata, self._table_metadata.specs().get(task.file.spec_id)
        schema = about.schema()  # the filter's columns as well, which may not be asked for
        return _get_column_projection_values(task.file, schema, schema, spec, file_schema.field_ids)

    def _condition(self, file_schema: Schema, missing_values: dict[int, Any]) -> Any:
        """Return the filter in Arrow's terms and the data file's names, or None."""
        if self._bound_row_filter == AlwaysTrue():
            return None
        sensitive = self._case_sensitive
        own_filter = translate_column_names(
            self._bound_row_filter, file_schema, sensitive, projected_field_values=missing_values
        )
        return expression_to_pyarrow(bind(file_schema, own_filter, sensitive), file_schema)


def _without(batch: pa.RecordBatch, deletes: list[pa.ChunkedArray] | None, at: int) -> pa.RecordBatch:
    if not deletes:
        return batch
    return batch.take(_combine_positional_deletes(deletes, at, at + len(batch)))


def _matching_rows(batch: pa.RecordBatch, condition: Any) -> list[pa.RecordBatch]:
    table = pa.Table.from_batches([batch])
    matches = table if condition is None else table.filter(condition)
    return [rows for rows in matches.to_batches() if len(rows)]
