"""The one reader of files in bounded memory: what it reads is what Arrow reads, in pieces no larger than asked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from lakegate.adapters import decoding
from lakegate.adapters.avro_blocks import Records
from lakegate.adapters.decoding import TooLarge, orc_batches, parquet_batches, within_limit

TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "long " * 40, "é"]), st.text(max_size=5))
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "number": (pa.int64(), st.one_of(st.none(), st.integers(-9, 9))),
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "bytes": (pa.binary(), st.one_of(st.none(), st.binary(max_size=40))),
    "fixed": (pa.binary(3), st.one_of(st.none(), st.binary(min_size=3, max_size=3))),
    "decimal": (pa.decimal128(20, 2), st.one_of(st.none(), st.decimals(-9, 9, places=2))),
    "list": (pa.list_(pa.string()), st.one_of(st.none(), st.lists(TEXTS, max_size=4))),
    "lists": (pa.list_(pa.list_(pa.string())), st.one_of(st.none(), st.lists(st.lists(TEXTS, max_size=3), max_size=3))),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.list_(pa.string()))]),
        st.one_of(st.none(), st.fixed_dictionaries({"a": TEXTS, "b": st.lists(TEXTS, max_size=3)})),
    ),
    "map": (
        pa.map_(pa.string(), pa.string()),
        st.one_of(st.none(), st.dictionaries(st.text(max_size=3), TEXTS, max_size=3).map(lambda it: [*it.items()])),
    ),
    "parts": (
        pa.list_(pa.struct([("a", pa.string()), ("n", pa.int32())])),
        st.one_of(st.none(), st.lists(st.fixed_dictionaries({"a": TEXTS, "n": st.integers(0, 9)}), max_size=3)),
    ),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 30))
    columns = {
        kind: pa.array(draw(st.lists(KINDS[kind][1], min_size=rows, max_size=rows)), KINDS[kind][0]) for kind in kinds
    }
    return pa.table(columns)


def written(table: pa.Table, **how: Any) -> io.BytesIO:
    pq.write_table(table, sink := io.BytesIO(), **how)
    return sink


HOW = st.fixed_dictionaries(
    {
        "use_dictionary": st.booleans(),
        "store_schema": st.booleans(),
        "row_group_size": st.integers(1, 40),
        "dictionary_pagesize_limit": st.sampled_from([20, 2**20]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
    }
)


@settings(deadline=None)
@given(table=tables(), how=HOW, piece=st.sampled_from([1, 60, 400, 2**20]))
def test_parquet_is_read_as_arrow_reads_it_in_pieces(table: pa.Table, how: dict[str, Any], piece: int) -> None:
    body = written(table, **how)
    whole = pq.ParquetFile(body).read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE", piece)
        batches = list(parquet_batches(body))
    assert pa.Table.from_batches(batches, whole.schema).equals(whole)
    if piece == 1:
        assert all(batch.num_rows == 1 for batch in batches)


@settings(deadline=None)
@given(table=tables(), how=HOW)
def test_columns_are_read_in_the_order_that_is_asked_for(table: pa.Table, how: dict[str, Any]) -> None:
    names, body = table.column_names[::-1], written(table, **how)
    read = pa.Table.from_batches(parquet_batches(body, names), pq.ParquetFile(body).read().select(names).schema)
    assert read.to_pylist() == table.select(names).to_pylist()


@pytest.mark.parametrize("store_schema", [True, False])
def test_texts_that_are_written_as_a_dictionary_are_read_as_texts(*, store_schema: bool) -> None:
    table = pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode()})
    read = pa.Table.from_batches(parquet_batches(written(table, store_schema=store_schema)))
    assert read.to_pydict() == {"a": ["x", None, "x"]}
    assert read.schema.field("a").type == pa.string()


@pytest.mark.parametrize("rows", [0, 1, 127, 128, 129, 5_000])
def test_orc_is_read_as_arrow_reads_it(rows: int, tmp_path: Path) -> None:
    texts = [None if at % 3 == 0 else f"text {at % 5}" for at in range(rows)]
    text = pa.string()
    columns = {
        "a": pa.array(texts, text),
        "n": pa.array(range(rows), pa.int64()),
        "l": pa.array([[each, each] for each in texts], pa.list_(text)),
        "s": pa.array([{"x": each} for each in texts], pa.struct([("x", text)])),
    }
    orc.write_table(pa.table(columns), tmp_path / "some.orc")
    whole = orc.ORCFile(tmp_path / "some.orc").read()
    assert pa.Table.from_batches(orc_batches(tmp_path / "some.orc"), whole.schema).equals(whole)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
@settings(deadline=None, max_examples=20)
@given(texts=st.lists(TEXTS, max_size=3000))
def test_avro_is_read_as_fastavro_reads_it(codec: str, texts: list[str | None]) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "string"]}]}
    fastavro.writer(body := io.BytesIO(), schema, ({"a": text} for text in texts), codec=codec, sync_interval=500)
    body.seek(0)
    assert [record["a"] for piece in Records(body).pieces() for record in piece] == texts


@pytest.mark.parametrize("cut", [1, 3, 17, 40])
def test_an_avro_file_that_breaks_off_is_no_short_one(cut: int) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
    fastavro.writer(body := io.BytesIO(), schema, [{"a": "x" * 50}])
    with pytest.raises((ValueError, EOFError)):
        list(Records(io.BytesIO(body.getvalue()[:-cut])).pieces())


def test_the_bound_is_of_all_rows_together() -> None:
    batch = pa.record_batch({"a": pa.array(range(100), pa.int64())})
    assert len(list(within_limit([batch, batch], 2 * batch.nbytes))) == 2
    with pytest.raises(TooLarge, match=f"more than {2 * batch.nbytes - 1:,} bytes"):
        list(within_limit([batch, batch], 2 * batch.nbytes - 1))
