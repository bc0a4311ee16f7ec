"""Rows of a staged file as the table will hold them, in Arrow. What Spark would read otherwise is handed over."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakegate.adapters.decoding import TooLarge, parquet_batches, within_limit
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.faults import broken_text
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name

_UNICODE = (pa.string(), pa.large_string())
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
_DAYS = tuple((day - date(1970, 1, 1)).days for day in (date(1, 1, 1), date(9999, 12, 31)))
"""Days that Python, DuckDB and Spark spell alike, as numbers since 1970."""
_DAY = 86_400_000_000  # microseconds


class BrokenText(HandedOver):
    """A file has columns with text that is not UTF-8, in so many rows each. Spark words the same `faults`."""

    def __init__(self, inspection: Inspection, rows: Mapping[str, int]) -> None:
        name = display_name(next(iter(rows)))
        super().__init__(f"Column {name} of file {inspection.file.key} has text that is not UTF-8.")
        self.faults = broken_text(rows)


def rows_of(plan: Plan, inspection: Inspection, body: bytes, schema: pa.Schema, limit: int) -> pa.Table:
    """Return the file's rows in the table's columns, with the file version. Raise HandedOver if they take more than
    `limit` bytes in memory, or cannot be read to the end.
    """
    return pa.concat_tables(
        _parts(plan, inspection, body, schema, lambda batches: [list(within_limit(batches, limit))])
    )


def parts_of(plan: Plan, inspection: Inspection, body: Any, schema: pa.Schema, limit: int) -> Iterator[pa.Table]:
    """Yield the same rows, about `limit` bytes of them at once. The body may be a file that is mapped into memory."""
    return _parts(plan, inspection, body, schema, lambda batches: _group(batches, limit))


def tables_of(
    inspection: Inspection, batches: Iterable[pa.RecordBatch], schema: pa.Schema, limit: int
) -> Iterator[pa.Table]:
    """Yield rows that were read from text as the table will hold them, about `limit` bytes of them at once."""
    for group in _group(batches, limit):
        rows = _as_table(pa.Table.from_batches(group), schema, inspection.id)
        for name in schema.names:
            _check_days(inspection, name, rows.column(name))
        yield rows


def _parts(
    plan: Plan,
    inspection: Inspection,
    body: Any,
    schema: pa.Schema,
    group: Callable[[Iterator[pa.RecordBatch]], Iterable[list[pa.RecordBatch]]],
) -> Iterator[pa.Table]:
    number, size, broken_texts = 0, 0, Counter[str]()
    try:
        file, names = pq.ParquetFile(pa.BufferReader(body)), [column.name for column in inspection.columns]
        types = pa.schema([file.schema_arrow.field(name) for name in names])
        for batches in group(parquet_batches(pa.BufferReader(body), names)):
            read = pa.Table.from_batches(batches, batches[0].schema if batches else types)
            rows = _as_table(read, schema, inspection.id)
            broken_texts += _count_broken_texts(rows)
            if broken_texts:
                continue  # to count them all
            rows.validate(full=True)  # decimals beyond their type
            number, size = number + rows.num_rows, size + _texts(rows)
            _check_texts(plan, inspection, size)
            for name in schema.names:
                _check_days(inspection, name, rows.column(name))
            yield rows
    except MemoryError:  # Arrow's own, too
        raise
    except TooLarge as error:
        raise HandedOver("The batch's rows take more memory than the express engine has for them.") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise HandedOver(f"File {inspection.file.key} has rows that Arrow does not read as they are.") from error
    if broken_texts:
        raise BrokenText(inspection, broken_texts)
    if number != inspection.rows:
        raise HandedOver(f"File {inspection.file.key} has other rows than its footer says.")


def _group(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield neighbouring batches together, until they have so many bytes."""
    group, size = list[pa.RecordBatch](), 0
    for batch in batches:
        group, size = [*group, batch], size + batch.nbytes
        if size >= limit:
            yield group
            group, size = [], 0
    if group:
        yield group


def _as_table(read: pa.Table, schema: pa.Schema, file: str) -> pa.Table:
    """Return the rows with the table's columns and types; columns that the file lacks are null."""
    ids = pa.repeat(pa.scalar(file, schema.field(FILE_COLUMN).type), read.num_rows)
    columns = [ids if field.name == FILE_COLUMN else _cast(read, field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(read: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name not in read.column_names:
        return pa.nulls(read.num_rows, field.type)
    values = read.column(field.name)
    return values.cast(field.type)


def _texts(rows: pa.Table) -> int:
    """Return how many bytes the texts have."""
    texts = [column for column in rows.drop_columns(FILE_COLUMN).columns if column.type in _TEXTS]
    return sum(pc.sum(pc.binary_length(text).cast(pa.int64())).as_py() or 0 for text in texts)


def _check_texts(plan: Plan, inspection: Inspection, size: int) -> None:
    """Raise HandedOver if the texts amount to more bytes than the contract takes of a file: Spark words that fault."""
    if beyond_limits(plan.files.limits, uncompressed=size):
        raise HandedOver(f"File {inspection.file.key} has more bytes of text than its contract takes.")


def _count_broken_texts(rows: pa.Table) -> Counter[str]:
    """Count, by column, the texts that are not UTF-8: Arrow reads them as they are."""
    return Counter({name: number for name in rows.column_names if (number := _count_broken(rows.column(name)))})


def _count_broken(values: pa.ChunkedArray) -> int:
    """Count the texts that are not UTF-8. They are looked at one by one only if there is one."""
    try:
        values.validate(full=values.type in _UNICODE)
    except pa.ArrowInvalid:
        return sum(not _is_utf8(value.as_buffer()) for chunk in values.chunks for value in chunk if value.is_valid)
    return 0


def _is_utf8(text: pa.Buffer) -> bool:
    try:
        text.to_pybytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_days(inspection: Inspection, name: str, values: pa.ChunkedArray) -> None:
    """Raise HandedOver if a date or timestamp is beyond the years 1 to 9999."""
    if pa.types.is_date(values.type):
        numbers, unit = values.cast(pa.int32()), 1
    elif pa.types.is_timestamp(values.type):
        numbers, unit = values.cast(pa.int64()), _DAY
    else:
        return
    bounds = pc.min_max(numbers)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and not (_DAYS[0] * unit <= low and high < (_DAYS[1] + 1) * unit):
        raise HandedOver(f"Column {display_name(name)} of file {inspection.file.key} has days of a far-off year.")
