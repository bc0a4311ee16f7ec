"""Small files of very many bytes: one long text that every row names, nulls by the million, blocks of one letter."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

ROWS, LETTERS = 60_000, 2**16  # four gigabytes together


def named(rows: int = ROWS, letters: int = LETTERS) -> pa.Array:
    """So many rows that name one text."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * letters]))


def lists(texts: pa.Array, each: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(0, len(texts) + 1, each), pa.int32()), texts)


def maps(texts: pa.Array, each: int) -> pa.Array:
    keys = pa.array([str(at) for at in range(len(texts))])
    return pa.MapArray.from_arrays(pa.array(range(0, len(texts) + 1, each), pa.int32()), keys, texts)


def parquet(columns: Mapping[str, Any], **how: Any) -> bytes:
    pq.write_table(pa.table(columns), sink := io.BytesIO(), compression="zstd", store_schema=False, **how)
    return sink.getvalue()


def late() -> pa.Array:
    """Half a million short texts, and then the long one."""
    places = pa.array([1] * 500_000 + [0] * ROWS, pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(["x" * LETTERS, "y"]))


PARQUET: Mapping[str, Callable[[], bytes]] = {
    "texts": lambda: parquet({"a": named()}),
    "bytes": lambda: parquet({"a": named().cast(pa.dictionary(pa.int32(), pa.binary()))}),
    "few longer texts": lambda: parquet({"a": named(600, 2**23)}, dictionary_pagesize_limit=2**25),
    "late texts": lambda: parquet({"a": late()}),
    "lists": lambda: parquet({"a": lists(named(), 60)}),
    "a list in one row": lambda: parquet({"a": lists(named(), ROWS)}),
    "maps": lambda: parquet({"a": maps(named(), 60)}),
    "structs": lambda: parquet({"a": pa.StructArray.from_arrays([named(), pa.array(range(ROWS))], ["x", "y"])}),
    "lists of structs": lambda: parquet({"a": lists(pa.StructArray.from_arrays([named()], ["x"]), 60)}),
    "many columns": lambda: parquet({f"c{at}": named(1_500) for at in range(40)}),
    "wide nulls": lambda: parquet({f"c{at}": pa.nulls(4 * ROWS, pa.float64()) for at in range(200)}),
    "texts that repeat the one before": lambda: parquet(
        {"a": pa.array(["x" * LETTERS] * 6_000)},
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
    ),
}


def in_orc(column: pa.Array) -> bytes:
    orc.write_table(
        pa.table({"a": column}), sink := io.BytesIO(), compression="zstd", dictionary_key_size_threshold=1.0
    )
    return sink.getvalue()


ORC: Mapping[str, Callable[[], bytes]] = {
    "texts": lambda: in_orc(pa.array(["x" * LETTERS] * 6_000)),
    "lists": lambda: in_orc(lists(pa.array(["x" * LETTERS] * 6_000), 10)),
}


def in_avro(codec: str) -> bytes:
    """A quarter of a gigabyte of one letter in the first of several blocks."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "bytes"}, {"name": "b", "type": "string"}],
    }
    records = [{"a": b"x" * (2**28 + 1), "b": ""}, *({"a": b"", "b": "x" * 100} for _ in range(5))]
    fastavro.writer(sink := io.BytesIO(), schema, records, codec=codec)
    return sink.getvalue()


AVRO: Mapping[str, Callable[[], bytes]] = {codec: partial(in_avro, codec) for codec in ("deflate", "bzip2", "xz")}
