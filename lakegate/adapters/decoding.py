"""Rows of files in bounded memory: parquet, ORC and Avro, decoded by as many rows as their bytes allow.

A few kilobytes of a file may be gigabytes of rows: one long text in a dictionary that each row names, nulls by the
million, a block of zeros that was packed. So texts of parquet come as a dictionary has them and are counted before they
are spelled out, and blocks of Avro are unpacked within a bound.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lakegate.counts import count
from lakegate.errors import Refused

MOST_BYTES = 256 * 1024**2
"""Bytes of rows in memory that are held at once, as many as the express lane's function takes."""
PIECE = 32 * 1024**2  # bytes that are decoded at once
_ROWS = 64 * 1024  # that are read at once at most
_VALUE = 16  # bytes of a value that has no length, at most, and of a text's place in its dictionary with its levels
MOST_NESTED_VALUES = 2**27  # values of a nested column in one row group: its levels alone take a gigabyte
_ORC_ROWS = 128  # nobody says how long their texts are
_DELTA_ROWS = 16  # rows of texts that repeat the beginning of the one before
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}


Rows = TypeVar("Rows", pa.RecordBatch, pa.Table, pa.RecordBatch | pa.Table)


class TooLarge(Refused):
    """Rows take more memory than there is for them."""


def within_limit(batches: Iterable[Rows], limit: int = MOST_BYTES, of: str = "memory") -> Iterator[Rows]:
    """Yield the batches. Raise TooLarge once they take more than `limit` bytes together."""
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > limit:
            raise _too_large("its rows take", limit, of)
        yield batch


def _too_large(subject: str, limit: int, of: str = "memory") -> TooLarge:
    return TooLarge(f"{subject} more than {count(limit, 'byte')} of {of}")


def parquet_batches(
    source: Any, columns: Sequence[str] | None = None, *, far: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield these columns of a parquet file's rows, all by default, with no dictionary in them. A `far` file is asked
    for all columns of a row group at once. Raise TooLarge at a row that takes more than `MOST` bytes.
    """
    plain = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")  # Spark reads no finer
    leaves = [leaf for leaf in _leaves(plain.metadata) if columns is None or leaf.is_of(columns)]
    if any(leaf.is_nested and leaf.longest > MOST_NESTED_VALUES for leaf in leaves):
        raise TooLarge(f"a row group has more than {MOST_NESTED_VALUES:,} values of one column")
    dictionary_columns = [leaf.path for leaf in leaves if leaf.has_dictionary]
    file = pq.ParquetFile(source, read_dictionary=dictionary_columns, coerce_int96_timestamp_unit="us", pre_buffer=far)
    names = plain.schema_arrow.names if columns is None else list(columns)
    types = pa.schema([plain.schema_arrow.field(name) for name in names])
    rows = _rows_at_once(plain.metadata, leaves)
    for group in range(file.num_row_groups):  # each has dictionaries of its own, which Arrow joins in no nested column
        for batch in file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False):
            yield from _pieces(batch.select(names), types) if names else [batch]


def _rows_at_once(about: pq.FileMetaData, leaves: Sequence["_Leaf"]) -> int:
    """Return how many rows take no more than a piece, if texts in dictionaries take no more than their places there.
    Those that are spelled out in the file may all stand in few rows of it.
    """
    largest = max((about.row_group(at).total_byte_size for at in range(about.num_row_groups)), default=0)
    by_width, by_size = PIECE // max(1, sum(leaf.width for leaf in leaves)), _ROWS * PIECE // max(PIECE, largest)
    return max(1, min(by_width, max(_DELTA_ROWS, by_size), *(leaf.rows for leaf in leaves)))


@dataclass(frozen=True, kw_only=True)
class _Leaf:
    """A column of a parquet file, or one without parts in a nested one, as the footer describes it in all row groups:
    the `longest` values in one, and the bytes that a row takes by its `width`.
    """

    path: str
    is_nested: bool
    has_dictionary: bool
    longest: int
    width: int
    rows: int

    def is_of(self, columns: Sequence[str]) -> bool:
        return any(self.path == name or self.path.startswith(f"{name}.") for name in columns)


def _leaves(about: pq.FileMetaData) -> list[_Leaf]:
    groups = [about.row_group(at) for at in range(about.num_row_groups)]
    return [
        _leaf(about.schema.column(at), [(group.num_rows, group.column(at)) for group in groups])
        for at in range(about.num_columns)
    ]


def _leaf(column: pq.ColumnSchema, chunks: Sequence[tuple[int, pq.ColumnChunkMetaData]]) -> _Leaf:
    encodings = {encoding for _, chunk in chunks for encoding in chunk.encodings}
    is_text = column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL"
    is_delta = is_text and "DELTA_BYTE_ARRAY" in encodings  # Arrow makes no dictionary of such
    values = max((chunk.num_values // max(1, rows) for rows, chunk in chunks), default=1)
    return _Leaf(
        path=column.path,
        is_nested=column.max_repetition_level > 0,
        has_dictionary=is_text and not is_delta and not _DICTIONARIES.isdisjoint(encodings),
        longest=max((chunk.num_values for _, chunk in chunks), default=0),
        width=max(1, values) * max(_VALUE, column.length),
        rows=_DELTA_ROWS if is_delta else _ROWS,
    )


def _pieces(batch: pa.RecordBatch, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows with their dictionaries spelled out, by as many at once as make up a piece."""
    ends, start = _ends(_sum(_repeat(0, len(batch)), map(_sizes, batch.columns))), 0
    if len(batch) and ends[-1].as_py() <= PIECE:
        yield _spelled_out(batch, types)
        return
    places: list[int] = ends.to_pylist()
    while start < len(batch):
        if places[start + 1] - places[start] > MOST_BYTES:
            raise _too_large("a row takes", MOST_BYTES)
        end = max(start + 1, bisect_right(places, places[start] + PIECE) - 1)
        yield _spelled_out(batch.slice(start, end - start), types)
        start = end


def _ends(sizes: pa.Array) -> pa.Array:
    """Return where each value begins if all stand in a row, and where the last one ends."""
    return pa.concat_arrays([_repeat(0, 1), pc.cumulative_sum(sizes)])


def _sum(first: pa.Array, rest: Iterable[pa.Array]) -> pa.Array:
    return reduce(pc.add, rest, first)


def _repeat(number: int, times: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int64()), times)


def _spelled_out(batch: pa.RecordBatch, types: pa.Schema) -> pa.RecordBatch:
    columns = [_as(column, _plain(field.type)) for column, field in zip(batch.columns, types, strict=True)]
    fields = [field.with_type(column.type) for field, column in zip(types, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_nested(column.type):
        indices = pc.indices_nonzero(pa.repeat(pa.scalar(value=True), len(column)))
        column = column.take(indices)  # a cast would spell out what lies beside the slice, too
    return column.cast(_plain(column.type)).cast(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type without dictionaries, at any depth."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    return pa.list_(_plain_field(kind.value_field)) if pa.types.is_list(kind) else kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))


def _sizes(values: pa.Array) -> Any:
    """Return the bytes that each value takes, with its dictionary spelled out."""
    if isinstance(values.type, pa.BaseExtensionType):
        return _sizes(values.storage)
    for is_such, sizes in _SIZES:
        if is_such(values.type):
            return sizes(values)
    return _repeat(max(1, values.nbytes // max(1, len(values))), len(values))


def _of_texts(values: pa.Array) -> Any:
    return pc.add(pc.binary_length(values).fill_null(0).cast(pa.int64()), _VALUE)


def _of_dictionary(values: pa.DictionaryArray) -> Any:
    """Return at least the mean of the dictionary's texts: Arrow reserves as much for each value that it spells out."""
    lengths = pc.binary_length(values.dictionary)
    mean = -(-(pc.sum(lengths).as_py() or 0) // max(1, len(lengths)))
    own_lengths = lengths.take(values.indices).fill_null(0).cast(pa.int64())
    return pc.add(pc.max_element_wise(own_lengths, pa.scalar(mean, pa.int64())), _VALUE)


def _of_struct(values: pa.StructArray) -> Any:
    return _sum(_repeat(1, len(values)), (_sizes(values.field(at)) for at in range(values.type.num_fields)))


def _of_lists(values: Any, parts: Any) -> Any:
    ends = _ends(parts).take(values.offsets)
    return pc.add(pc.subtract(ends[1:], ends[:-1]), _VALUE)


def _of_fixed_lists(values: pa.FixedSizeListArray) -> Any:
    length, size = len(values), values.type.list_size
    places = range(values.offset * size, (values.offset + length) * size + 1, size) if size else [0] * (length + 1)
    ends = _ends(_sizes(values.values)).take(pa.array(places, pa.int64()))
    return pc.subtract(ends[1:], ends[:-1])


_SIZES: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]] = (
    (pa.types.is_dictionary, _of_dictionary),
    (pa.types.is_struct, _of_struct),
    (pa.types.is_map, lambda values: _of_lists(values, pc.add(_sizes(values.keys), _sizes(values.items)))),
    (
        lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind),
        lambda array: _of_lists(array, _sizes(array.values)),
    ),
    (pa.types.is_fixed_size_list, _of_fixed_lists),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_string(kind), _of_texts),
)


def orc_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield an ORC file's rows, few at once."""
    with pa.OSFile(str(path)) as source:
        options = {"batch_size": _ORC_ROWS, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        yield from ds.Scanner.from_fragment(ds.OrcFileFormat().make_fragment(source), **options).to_batches()
