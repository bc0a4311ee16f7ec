"""Footers are read as Spark reads them, and strange files are handed over."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import DEFAULTS, Limits
from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.inspection import EMPTY, Inspection
from lakegate.express import footer


def inspected(body: bytes, limits: Limits = DEFAULTS) -> Inspection:
    return footer.inspect(JobFile(id="f1", key="landed/f1", uri="", size=len(body)), body, limits)


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def of(kind: pa.DataType, **options: Any) -> bytes:
    return parquet(pa.table({"x": pa.nulls(1, kind)}), **options)


@pytest.mark.parametrize(
    ("kind", "spelled"),
    [
        (pa.bool_(), "boolean"),
        (pa.int8(), "tinyint"),
        (pa.int16(), "smallint"),
        (pa.int32(), "int"),
        (pa.int64(), "bigint"),
        (pa.float32(), "float"),
        (pa.float64(), "double"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.binary(), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("us", "America/New_York"), "timestamp"),
        (pa.timestamp("ms"), "timestamp_ntz"),
        (pa.decimal128(7, 2), "decimal(7,2)"),
        (pa.dictionary(pa.int32(), pa.decimal128(7, 2)), "decimal(7,2)"),
        (pa.null(), UNKNOWN_TYPE),
    ],
)
def test_a_plain_column_has_the_type_that_spark_reads_it_as(kind: pa.DataType, spelled: str) -> None:
    found = inspected(of(kind))
    assert [(column.name, column.type) for column in found.columns] == [("x", spelled)]
    assert (found.rows, found.faults) == (1, ())


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.time64("us"), pa.duration("us")),
        *(pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.binary(16), pa.decimal256(50, 2)),
        *(pa.list_(pa.int32()), pa.struct([("a", pa.int32())]), pa.map_(pa.string(), pa.int32())),
    ],
)
def test_a_type_that_spark_reads_in_its_own_way_is_handed_over(kind: pa.DataType) -> None:
    with pytest.raises(HandedOver):
        inspected(of(kind))


def test_moments_of_96_bits_are_handed_over() -> None:
    with pytest.raises(HandedOver, match="of a type that only Spark knows"):
        inspected(of(pa.timestamp("us", "UTC"), use_deprecated_int96_timestamps=True))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "brotli"},
        {"compression": "lz4"},
        {"use_dictionary": False, "column_encoding": {"x": "DELTA_BINARY_PACKED"}},
        {"use_dictionary": False, "column_encoding": {"x": "BYTE_STREAM_SPLIT"}},
    ],
)
def test_rare_codecs_and_encodings_are_handed_over(options: dict[str, Any]) -> None:
    with pytest.raises(HandedOver, match="compressed or encoded"):
        inspected(parquet(pa.table({"x": pa.array([1, 2], pa.int64())}), **options))


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
def test_usual_codecs_are_taken(codec: str) -> None:
    assert inspected(of(pa.int64(), compression=codec)).rows == 1


def test_a_file_of_an_old_spark_is_handed_over() -> None:
    with_metadata = pa.table({"x": [1]}).replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    with pytest.raises(HandedOver, match="another calendar"):
        inspected(parquet(with_metadata))
    new = pa.table({"x": [1]}).replace_schema_metadata({"org.apache.spark.version": "3.5.9"})
    assert inspected(parquet(new)).rows == 1


@pytest.mark.parametrize("body", [b"text", b"PAR1" + bytes(20), of(pa.int64())[:-1], of(pa.int64())[4:]])
def test_a_damaged_file_is_handed_over(body: bytes) -> None:
    with pytest.raises(HandedOver, match=r"no footer|no parquet"):
        inspected(body)


def test_a_file_without_bytes_has_its_fault() -> None:
    assert inspected(b"").faults == (EMPTY,)


@pytest.mark.parametrize("limits", [Limits(rows=1), Limits(columns=1), Limits(footer=10), Limits(uncompressed=10)])
def test_a_file_beyond_a_limit_of_its_contract_is_handed_over(limits: Limits) -> None:
    with pytest.raises(HandedOver, match="beyond a limit"):
        inspected(parquet(pa.table({"x": [1, 2], "y": [1, 2]})), limits)
